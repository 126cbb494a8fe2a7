"""The folds that all share, and the rows that a search looks at."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import PredefinedSplit, ShuffleSplit

from mercer.search.label_task import LabelTask, draw_by_class


def make_folds(y, n_folds, seed):
    return LabelTask(np.zeros((len(y), 1)), y).split(n_folds, seed)


@pytest.mark.parametrize(("counts", "n_folds"), [([20, 20], 5), ([30, 7, 13], 3), ([40, 3], 5), ([9, 2], 5)])
def test_each_row_is_tested_once_and_each_fold_has_every_class(counts, n_folds):
    y = np.repeat(np.arange(len(counts)), counts)
    folds = make_folds(y, n_folds, seed=0)
    assert len(folds) == min(n_folds, min(counts))
    assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(len(y)))
    for train, test in folds:
        assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(len(y)))
        assert set(y[train]) == set(y[test]) == set(y)


def test_a_class_of_one_row_does_not_stand_in_the_way():
    y = np.array([0] * 10 + [1] * 10 + [2])
    folds = make_folds(y, 4, seed=1)
    assert len(folds) == 4
    assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(21))


def test_folds_without_two_classes_to_learn_from_are_left_out():
    folds = make_folds(np.array([0, 0, 0, 1]), 4, seed=0)
    assert len(folds) == 3  # not that one in which the single row of class 1 is tested
    assert all(3 in train for train, _ in folds)
    with pytest.raises(ValueError, match="2 samples are too few"):
        make_folds(np.array([0, 1]), 5, seed=0)


def test_the_seed_decides_the_folds():
    y = np.arange(40) % 2
    first, again, other = (make_folds(y, 4, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a[1], b[1]) for a, b in zip(first, other, strict=True))


@pytest.mark.parametrize("n", [10, 101, 640, 999])
def test_thinned_rows_keep_the_shares_of_the_classes_to_a_row(n):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(["a", "b", "c", "rare"], [500, 300, 199, 1]))
    some = draw_by_class(y, n, seed=0)
    assert len(set(some)) == n
    for label, share in [("a", 0.5), ("b", 0.3), ("c", 0.199)]:
        assert abs(np.sum(y[some] == label) - n * share) <= 1.5
    assert np.sum(y[some] == "rare") == 1


def test_thinned_rows_are_drawn_at_random_by_the_seed():
    y = np.zeros(1000)
    chosen = np.array([np.isin(np.arange(1000), draw_by_class(y, 300, seed)) for seed in range(100)])
    assert_array_equal(chosen[0], np.isin(np.arange(1000), draw_by_class(y, 300, 0)))
    # each row comes in with probability 0.3, whatever its place
    halves = chosen[:, :500].sum(axis=1)
    assert abs(halves.mean() - 150) < 4 * np.sqrt(1000 * 0.3 * 0.7 / 4 / 100)
    assert np.all(np.abs(chosen.mean(axis=0) - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 100))


def test_more_classes_than_rows_asked_for_keep_a_row_each():
    y = np.repeat(np.arange(30), 3)
    assert_array_equal(np.sort(y[draw_by_class(y, 10, seed=0)]), np.arange(30))


def test_folds_never_tear_a_group_apart_and_are_stratified(rng):
    y, groups = rng.integers(3, size=120), rng.integers(25, size=120)
    task = LabelTask(np.zeros((120, 1)), y, groups=groups)
    folds = task.split(5, 0)
    assert len(folds) == 5
    for train, test in folds:
        assert not set(groups[train]) & set(groups[test])
        assert len(np.unique(y[train])) == 3
    for _, more in zip(folds, task.plan(5, 60, 0).whole, strict=True):
        assert len(more) > 60
    for (train, test), whole in zip(task.plan(5, 60, 0).folds, task.plan(5, 60, 0).whole, strict=True):
        assert set(train) <= set(whole)
        assert not set(groups[test]) & set(groups[whole])


def test_a_splitter_an_iterable_and_a_number_give_folds(rng):
    y = np.arange(40) % 2
    task = LabelTask(np.zeros((40, 1)), y)
    listed = [(np.arange(20), np.arange(20, 40)), (np.arange(20, 40), np.arange(20))]
    for given in (listed, iter(listed), PredefinedSplit(np.arange(40) // 20)):
        folds = task.split(given, 0)
        assert sorted(test[0] for _, test in folds) == [0, 20]
    repeated = task.split(ShuffleSplit(3, test_size=10, random_state=0), 0)
    assert [len(test) for _, test in repeated] == [10, 10, 10]
    plan = task.plan(PredefinedSplit(np.arange(40) // 20), 20, 0)
    assert sum(len(test) for _, test in plan.folds) == 20
    assert [len(train) for train in plan.whole] == [20, 20]
