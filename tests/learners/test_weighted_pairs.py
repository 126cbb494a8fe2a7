"""From labels and pairs to weights: against the exact sums, over all pairs or over many samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare

from mercer import Pairs
from mercer.learners.base import TrainingData
from mercer.learners.weighted_pairs import sample_pairs, tabulate
from mercer.losses import LOSSES
from mercer.solvers.boosted.pair_table import AllPairs, ListedPairs
from reference import signs

UNEQUAL = np.array([2, 0, 1, 1, 2, 2, 2])  # classes of one, two and four rows
EACH_LABEL = pytest.mark.parametrize(
    "label", [UNEQUAL, np.array([0, 1]), np.array([1, 0, 1, 1, 1])], ids=["three", "two rows", "two classes"]
)


def training_data(label=None, pairs=None, n_rows=None):
    n = len(label) if pairs is None else n_rows
    checked = None if pairs is None else pairs.check(n)
    return TrainingData(np.zeros((n, 1)), label if pairs is None else None, checked, None)


def make_table(balance="auto", max_pairs=None, seed=0, loss="log", **given):
    rng = np.random.RandomState(seed)
    return tabulate(training_data(**given), LOSSES[loss], balance, max_pairs, rng)


def matrix_of(table, m):
    """B, column by column."""
    return np.column_stack([table.multiply(column) for column in np.eye(m)])


@EACH_LABEL
def test_labels_weigh_all_ordered_pairs_the_same(label):
    rows, table = make_table(label=label, balance=False, loss="exp")
    assert isinstance(table, AllPairs)
    assert_array_equal(rows, np.arange(len(label)))
    assert_allclose(matrix_of(table, len(label)), signs(label))  # exp(−0) = 1


@EACH_LABEL
@pytest.mark.parametrize("balance", [True, False, "auto"])
@pytest.mark.parametrize("loss", ["log", "exp"])
def test_pairs_of_labels_are_the_labels(label, balance, loss):
    m = len(label)
    pairs = Pairs.from_labels(label)
    rows, listed = make_table(pairs=pairs, n_rows=m, balance=balance, loss=loss)
    _, table = make_table(label=label, balance=balance, loss=loss)
    assert isinstance(listed, ListedPairs)
    assert_array_equal(rows, np.arange(m))
    assert listed.n_pairs == table.n_pairs
    assert_allclose(matrix_of(listed, m), matrix_of(table, m), rtol=1e-12)
    assert_allclose([listed.loss, listed.mass], [table.loss, table.mass], rtol=1e-12)


@pytest.mark.parametrize(
    ("given", "by_default"),
    [
        ({"label": UNEQUAL}, True),
        ({"label": np.array([0, 1, 1, 1])}, False),
        ({"pairs": Pairs.from_labels(UNEQUAL), "n_rows": 7}, True),
        ({"pairs": Pairs([(0, 1), (1, 2)], [(2, 3)]), "n_rows": 5}, False),
        ({"pairs": Pairs([(0, 1)], [(2, 3), (3, 4), (4, 2)]), "n_rows": 5}, True),
        ({"label": UNEQUAL, "max_pairs": 6}, True),
    ],
    ids=["labels", "two classes", "pairs", "pairs of two groups", "a triangle", "sampled"],
)
def test_balanced_kinds_weigh_the_same_in_total(given, by_default):
    m = len(given["label"]) if "label" in given else given["n_rows"]

    def weights(balance):
        rows, table = make_table(balance=balance, **given)
        B = matrix_of(table, len(rows))
        return B[B > 0].sum(), -B[B < 0].sum(), table.mass

    similar, dissimilar, mass = weights(balance=True)
    assert_allclose(similar, dissimilar, rtol=1e-12)
    assert_allclose(mass, weights(balance=False)[2], rtol=1e-12)  # in all they weigh what they did
    assert weights("auto") == weights(by_default)
    uneven = weights(balance=False)
    assert abs(uneven[0] - uneven[1]) > 0.01 * mass
    assert m >= 4


def test_a_row_and_itself_weigh_like_its_average_pair():
    # rows 1, 3, 4, 6 occur; row 3 is in three of its three pairs, row 6 in one
    pairs = Pairs([(1, 3)], [(3, 4), (6, 3)])
    rows, table = make_table(pairs=pairs, n_rows=8, balance=False, loss="exp")
    assert_array_equal(rows, [1, 3, 4, 6])
    expected = [[1 / 3, 1, 0, 0], [1, 1, -1, -1], [0, -1, 1 / 3, 0], [0, -1, 0, 1 / 3]]
    assert_allclose(matrix_of(table, 4), expected)


def test_a_row_and_itself_may_be_listed_and_make_no_difference():
    pairs = [(0, 1), (2, 1)], [(3, 2)]
    rows, table = make_table(pairs=Pairs(*pairs), n_rows=9)
    more, other = make_table(pairs=Pairs([(1, 1), *pairs[0], (7, 7)], pairs[1]), n_rows=9)
    assert_array_equal(more, rows)
    assert_array_equal(matrix_of(other, 4), matrix_of(table, 4))
    with pytest.raises(ValueError, match=r"all pairs are similar.*: give dissimilar pairs as well"):
        make_table(pairs=Pairs([(1, 1)]), n_rows=9)


@EACH_LABEL
def test_every_ordered_pair_of_a_kind_is_drawn_equally_often(label):
    m = len(label)
    kinds = sample_pairs(label, 200_001, np.random.RandomState(0))
    assert [len(kind.rows) for kind in kinds] == [100_001, 100_000]
    for kind, sign in zip(kinds, (1, -1), strict=True):
        assert np.all(kind.rows[:, 0] <= kind.rows[:, 1])
        drawn = np.zeros((m, m))
        np.add.at(drawn, tuple(kind.rows.T), 1)
        share = np.triu(2.0 - np.eye(m)) * (signs(label) == sign)  # (i, j) stands for (j, i) as well
        assert np.all(drawn[share == 0] == 0)
        expected = len(kind.rows) * share[share > 0] / share.sum()
        if len(expected) > 1:
            assert chisquare(drawn[share > 0], expected).pvalue > 1e-3
        assert_allclose(kind.share.sum(), share.sum())


@pytest.mark.parametrize(("label", "balance"), [(UNEQUAL, True), (np.array([1, 0, 1, 1, 1]), False)])
def test_samples_of_labels_are_unbiased(label, balance):
    m, n_draws = len(label), 1500
    tables = [make_table(label=label, balance=balance, max_pairs=2, seed=s)[1] for s in range(n_draws)]
    assert all(isinstance(table, ListedPairs) for table in tables)
    assert_unbiased(tables, make_table(label=label, balance=balance)[1], m)


def test_samples_of_listed_pairs_are_unbiased():
    pairs = Pairs([(0, 1), (1, 2), (3, 4)], [(0, 3), (1, 4), (2, 5), (5, 0), (3, 5)])
    exact = make_table(pairs=pairs, n_rows=6, balance=True)[1]
    tables = [make_table(pairs=pairs, n_rows=6, balance=True, max_pairs=4, seed=s)[1] for s in range(1000)]
    assert tables[0].n_pairs == 2 * 4 + 6
    assert_unbiased(tables, exact, 6)


def assert_unbiased(tables, exact, m):
    drawn = np.array([matrix_of(table, m) for table in tables])
    error = drawn.std(axis=0) / np.sqrt(len(tables))
    assert np.all(np.abs(drawn.mean(axis=0) - matrix_of(exact, m)) <= 4.5 * error + 1e-12)
    assert_allclose([table.mass for table in tables], exact.mass, rtol=1e-12)
    assert np.any(error > 0)


def test_no_more_pairs_are_drawn_than_there_are():
    label = np.array([0, 1, 1, 0])
    assert isinstance(make_table(label=label, max_pairs=10)[1], AllPairs)
    assert isinstance(make_table(label=label, max_pairs=9)[1], ListedPairs)
    pairs = Pairs.from_labels(label)
    exact, same = (make_table(pairs=pairs, n_rows=4, max_pairs=most)[1] for most in (None, 8))
    assert_array_equal(matrix_of(same, 4), matrix_of(exact, 4))


def test_the_same_seed_draws_the_same_pairs():
    first, again, other = (make_table(label=UNEQUAL, max_pairs=6, seed=s)[1] for s in (1, 1, 2))
    assert_array_equal(matrix_of(first, 7), matrix_of(again, 7))
    assert np.any(matrix_of(first, 7) != matrix_of(other, 7))


def test_what_one_kind_of_listed_pairs_does_not_need_goes_to_the_other():
    pairs = Pairs(similar=[(0, 1)], dissimilar=[(i, j) for i in range(2) for j in range(2, 12)])
    every = make_table(pairs=pairs, n_rows=12)[1]
    assert_array_equal(
        matrix_of(make_table(pairs=pairs, n_rows=12, max_pairs=21)[1], 12), matrix_of(every, 12)
    )
    drawn = matrix_of(make_table(pairs=pairs, n_rows=12, max_pairs=11)[1], 12)
    assert np.sum(drawn < 0) == 2 * 10
    assert_allclose(drawn[drawn < 0].sum(), matrix_of(every, 12)[matrix_of(every, 12) < 0].sum())
