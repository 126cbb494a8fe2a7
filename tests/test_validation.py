"""Sparse matrices work in every estimator, and a table gets a sentence that says what to do."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.preprocessing import OneHotEncoder

import mercer
from baseline_registry import BASELINES
from mercer import (
    IdealizedKernel,
    KernelSearchCV,
    KernelSVC,
    Pairs,
    PerceptronSVC,
    StumpSVC,
    Superkernel,
    TableEncoder,
)
from mercer.validation import check_rows
from registry import ESTIMATORS

KINDS = np.random.default_rng(0).choice(list("abc"), size=(40, 3))
Y = np.where(KINDS[:, 0] == "a", "yes", "no")


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *BASELINES], ids=str)
def test_what_an_encoder_leaves_sparse_works_as_if_it_were_dense(estimator):
    if getattr(estimator, "kernel", None) == "precomputed":
        pytest.skip("it takes a kernel matrix")
    X = OneHotEncoder().fit_transform(KINDS)
    assert sparse.issparse(X)
    use = "decision_function" if is_classifier(estimator) else "transform"
    use, y = ("predict", np.arange(len(Y))) if is_regressor(estimator) else (use, Y)
    estimator = clone(estimator)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    found = getattr(clone(estimator).fit(X, y), use)(X)
    assert_array_equal(found, getattr(clone(estimator).fit(X.toarray(), y), use)(X.toarray()))


def test_a_sparse_matrix_too_large_to_be_dense_is_refused_before_it_is_made():
    X = sparse.csr_matrix((10**7, 10**7))
    with pytest.raises(MemoryError, match=r"10000000 samples and 10000000 features.*TruncatedSVD"):
        StumpSVC().fit(X, np.arange(10**7) % 2)


@pytest.mark.parametrize("estimator", [StumpSVC(), PerceptronSVC(), KernelSVC(), Superkernel()], ids=str)
@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"city": ["Rome", "Bonn"] * 10, "size": np.arange(20.0)}),
        pd.DataFrame({"city": pd.Categorical(["Rome", "Bonn"] * 10), "size": np.arange(20.0)}),
        pd.DataFrame({"size": [np.nan, *np.arange(19.0)]}),
        pd.DataFrame({"size": pd.array([None, *range(19)], dtype="Int64")}),
        np.array([["a"], ["b"]] * 10),
    ],
    ids=["texts", "categories", "gaps", "pandas gaps", "array of texts"],
)
def test_texts_and_gaps_get_a_sentence_that_names_the_encoder(estimator, table):
    with pytest.raises(ValueError, match=r"takes numbers alone\. .* put mercer\.TableEncoder before it"):
        clone(estimator).fit(table, np.arange(20) % 2)


def test_other_mistakes_keep_the_words_of_scikit_learn():
    with pytest.raises(ValueError, match="infinity"):
        check_rows(StumpSVC(), np.array([[np.inf], [1.0]]))
    with pytest.raises(ValueError, match="Expected 2D array"):
        check_rows(StumpSVC(), np.arange(3.0))


def make_table(n_rows=80, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n_rows) < 0.5, "in", "out")
    table = pd.DataFrame(
        {
            "kind": pd.Categorical(np.where(rng.random(n_rows) < 0.9, y, "other")),
            "size": rng.normal(size=n_rows) + (y == "in"),
            "day": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, n_rows), unit="D"),
        }
    )
    table.loc[::9, "size"] = np.nan
    table.loc[4, "kind"] = np.nan
    return table, y


def test_the_search_takes_a_table_with_categories_dates_and_gaps(tmp_path):
    (table, y), (new, truth) = make_table(), make_table(seed=1)
    some = {"linear": KernelSVC(), "stump": StumpSVC()}
    search = KernelSearchCV(some, random_state=0).fit(table, y, unlabelled=new)
    encoder = TableEncoder().fit(pd.concat([table, new]))  # of all samples, labelled or not
    by_hand = KernelSearchCV(some, random_state=0).fit(
        encoder.transform(table), y, unlabelled=encoder.transform(new)
    )
    assert_array_equal(search.decision_function(new), by_hand.decision_function(encoder.transform(new)))
    assert search.score(new, truth) > 0.8
    assert list(search.feature_names_in_) == ["kind", "size", "day"]
    assert search.n_features_in_ == 3
    assert by_hand.encoder_ is None
    mercer.save(search, tmp_path / "search")
    assert_array_equal(mercer.load(tmp_path / "search").predict(new), search.predict(new))


def test_the_search_takes_a_table_with_pairs():
    table, y = make_table()
    pairs = Pairs.from_labels(y[:40])
    search = KernelSearchCV({"idealized": IdealizedKernel(C_dissimilar=1e6)}, random_state=0).fit(
        table, pairs=pairs
    )
    assert search.encoder_ is not None
    assert search.auc_ > 0.6


def test_a_table_of_numbers_needs_no_encoder():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a", "b"])
    search = KernelSearchCV({"linear": KernelSVC()}, random_state=0).fit(X, X["a"] > 0)
    assert search.encoder_ is None


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_tables_of_other_libraries_are_those_of_pandas(library):
    frames = pytest.importorskip(library)
    make = frames.DataFrame if library == "polars" else frames.table
    table, y = make_table()
    cells = {name: [None if pd.isna(cell) else cell for cell in table[name].tolist()] for name in table}
    some = {"linear": KernelSVC()}
    expected = KernelSearchCV(some, random_state=0).fit(table, y)
    search = KernelSearchCV(some, random_state=0).fit(make(cells), y)
    assert_array_equal(search.decision_function(make(cells)), expected.decision_function(table))
    assert list(search.feature_names_in_) == ["kind", "size", "day"]
    numbers = table[["size"]].fillna(0.0)
    model = StumpSVC().fit(make({"size": numbers["size"].tolist()}), y)
    assert list(model.feature_names_in_) == ["size"]
    assert_array_equal(model.predict(numbers), StumpSVC().fit(numbers, y).predict(numbers))
