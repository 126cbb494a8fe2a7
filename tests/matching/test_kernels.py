"""Columns are compared by kernels: values by oracles, and positive semi-definite."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from matching.tables import fitted, judged_customers
from mercer.matching.cells import plain_texts
from mercer.matching.columns import Ordered, Spelled, choose_column
from mercer.matching.comparison import WHOLE, Comparison
from mercer.matching.edits import as_letters, edit_similarity
from mercer.matching.record_kernel import RecordKernel
from mercer.matching.terms import Terms
from mercer.preprocessing import TableError


def literal_distance(a, b):
    """The edit distance with swaps of neighbours, as it is defined."""

    @cache
    def between(s, t):
        if s == 0 or t == 0:
            return s + t
        least = min(
            between(s - 1, t) + 1, between(s, t - 1) + 1, between(s - 1, t - 1) + (a[s - 1] != b[t - 1])
        )
        if s > 1 and t > 1 and a[s - 1] == b[t - 2] and a[s - 2] == b[t - 1]:
            least = min(least, between(s - 2, t - 2) + 1)
        return least

    return between(len(a), len(b))


def test_the_edit_distance_is_that_of_its_recursion():
    rng = np.random.default_rng(0)
    texts = np.array(["".join(rng.choice(list("abc"), rng.integers(0, 8))) for _ in range(60)], dtype=object)
    i, j = rng.integers(60, size=(2, 300))
    letters = as_letters(texts)
    expected = [
        1 - literal_distance(texts[a], texts[b]) / max(len(texts[a]), len(texts[b]), 1)
        for a, b in zip(i, j, strict=True)
    ]
    np.testing.assert_allclose(edit_similarity(letters, letters, i, j), expected)


def test_terms_are_weighed_as_scikit_learn_weighs_them():
    texts = np.array(["ada meyer", "ada meyyer", "bo lund", "cy orr"], dtype=object)
    ours = Terms.of(texts, "words").transform(texts)
    theirs = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
    np.testing.assert_allclose((ours @ ours.T).toarray(), (theirs @ theirs.T).toarray(), atol=1e-12)


def test_a_word_that_training_did_not_have_counts_as_the_rarest():
    terms = Terms.of(np.array(["ada meyer", "ada lund"], dtype=object), "words")
    found = terms.transform(np.array(["ada xyz", "bo xyz"], dtype=object)).toarray()
    assert found[0] @ found[1] > 0.4  # xyz weighs log(3) + 1, ada 1
    known = terms.transform(np.array(["ada xyz", "ada uvw"], dtype=object)).toarray()
    assert known[0] @ known[1] < found[0] @ found[1]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1,200", "90", None, "7"], Ordered),
        (["8.10 %", "5.60 %", "-", "4.00 %"], Ordered),
        (["2024-01-31", "2023-05-06", None, "2022-01-01"], Ordered),
        (["May 18 , 2015", "June 1 , 2014", "May 2 , 2011", "May 3 , 2011"], Ordered),
        (["01234", "10115", "04109", "01234"], Spelled),
        (["Ada", "Bo", "Cy", None], Spelled),
    ],
)
def test_a_column_is_compared_by_what_it_holds(cells, kind):
    assert isinstance(choose_column("a", [pd.Series(cells, dtype=object)]), kind)


def test_dates_of_two_tables_may_be_written_in_two_ways():
    left, right = (
        pd.DataFrame({"day": ["18-May-15", "01-Jun-14"]}),
        pd.DataFrame({"day": ["May 18 , 2015", "May 1 , 2014"]}),
    )
    comparison = Comparison.of(left, right)
    a, b = comparison.prepare(left, "left"), comparison.prepare(right, "right")
    found = comparison.paired(a, b, np.array([0, 1]), np.array([0, 1]))
    np.testing.assert_allclose(found.values[0], 1.0)
    assert (found.values[1] < 1.0).all()


def test_numbers_are_near_by_the_exponential_of_their_difference():
    table = pd.DataFrame({"x": [0.5, 2.0, 7.25]})
    comparison = Comparison.of(table, None)
    records = comparison.prepare(table, "X")
    found = comparison.paired(records, records, np.array([0]), np.array([1])).values[0]
    np.testing.assert_allclose(found, np.exp(-1.5 / comparison.columns[0].scales))


def test_spelling_is_plain_in_case_accents_and_marks():
    assert plain_texts(pd.Series(["Zoë  O'Neil", " zoe o neil", None])).tolist() == [
        "zoe o neil",
        "zoe o neil",
        "",
    ]


def test_every_kernel_of_a_column_is_positive_semidefinite_with_gaps_too():
    table, _, _ = judged_customers()
    comparison = Comparison.of(table, None)
    records = comparison.prepare(table, "X")
    for k in range(len(comparison.column_of)):
        K = RecordKernel(comparison, np.eye(len(comparison.column_of))[k]).gram(records, records)
        np.testing.assert_allclose(K, K.T)
        assert np.linalg.eigvalsh(K).min() > -1e-10


def test_the_learned_kernel_is_the_weighted_sum_of_the_columns_kernels_and_positive_semidefinite():
    matcher, table, _, _ = fitted()
    comparison, records = matcher.comparison_, matcher.comparison_.prepare(table, "X")
    weights = matcher.decision_.weights
    K = matcher.kernel_(table)
    assert (weights >= 0.0).all()
    assert weights.max() > 0.0
    i, j = np.triu_indices(len(table))
    np.testing.assert_allclose(
        K[i, j], comparison.paired(records, records, i, j).values @ weights, atol=1e-10
    )
    assert np.linalg.eigvalsh(K).min() > -1e-9 * K.max()


def test_features_of_the_kernel_reproduce_it():
    matcher, table, _, _ = fitted()
    F = matcher.kernel_.features(table)
    K = matcher.kernel_(table)
    np.testing.assert_allclose(F @ F.T, K, atol=1e-7 * K.max())


def test_a_few_cells_that_are_no_numbers_or_dates_are_not_known():
    prices = pd.Series([f"$ {k}.99" for k in range(1, 20)] + ["album only"], dtype=object)
    days = pd.Series([f"{k:02d}-May-15" for k in range(1, 20)] + ["soon"], dtype=object)
    for cells, expected in ((prices, np.arange(1, 20) + 0.99), (days, 86400.0 * np.arange(19))):
        column = choose_column("a", [cells])
        assert isinstance(column, Ordered)
        prepared = column.prepare(cells, "X")
        assert prepared.known.tolist() == [True] * 19 + [False]
        values = prepared.views[0].value[:19]
        np.testing.assert_allclose(values - values[0], expected - expected[0])
        with pytest.raises(TableError, match="should hold"):
            column.prepare(pd.Series(["x", "y", "z"], dtype=object), "X")


def test_swapped_cells_are_alike_in_the_whole_record():
    table = pd.DataFrame({"first": ["Ada", "Meyer", "Bo"], "last": ["Meyer", "Ada", "Lund"]})
    comparison = Comparison.of(table, None)
    records = comparison.prepare(table, "X")
    found = comparison.paired(records, records, np.array([0, 0]), np.array([1, 2]))
    whole = comparison.column_of == 2
    assert comparison.columns[2].name == WHOLE
    assert comparison.names == ["first", "last"]
    words = [name.endswith("words") for name in comparison.kernel_names]
    np.testing.assert_allclose(found.values[0, whole & words], 1.0)
    assert (found.values[1] < 0.2).all()
