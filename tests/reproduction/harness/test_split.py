import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.datasets import Dataset
from reproduction.harness import Split, customary_split, random_split


def dataset_of(X, y, n_train=None):
    return Dataset("made up", X, y, (), "a test", n_train=n_train)


def test_a_random_split_has_its_share_of_rows_and_features_scaled_on_the_training_part(rng):
    X, y = rng.normal(size=(50, 3)) * [1, 100, 0] + 7, rng.integers(2, size=50)
    split = random_split(dataset_of(X, y), 0.6, 0).scaled(-1, 1)
    assert split.X_train.shape == (30, 3)
    assert split.X_test.shape == (20, 3)
    assert_allclose(split.X_train[:, :2].min(axis=0), -1)
    assert_allclose(split.X_train[:, :2].max(axis=0), 1)
    assert abs(split.X_test[:, :2]).max() > 1  # these rows did not choose the scale
    assert np.ptp(split.X_train[:, 2]) == 0  # a constant feature stays constant


def test_scaling_is_affine_and_every_row_is_used_once(rng):
    X, y = rng.normal(size=(50, 2)), np.arange(50)  # the label tells the row
    split = random_split(dataset_of(X, y), 0.6, 0).scaled(-1, 1)
    assert sorted([*split.y_train, *split.y_test]) == list(range(50))
    lower, upper = X[split.y_train].min(axis=0), X[split.y_train].max(axis=0)
    assert_allclose(split.X_test, 2 * (X[split.y_test] - lower) / (upper - lower) - 1)


def test_the_customary_split_is_in_the_order_of_the_file_and_so_are_some_of_its_classes(rng):
    X, y = rng.normal(size=(9, 2)), np.array([0, 1, 2, 1, 0, 2, 1, 0, 2])
    split = customary_split(dataset_of(X, y, n_train=5))
    assert_array_equal(split.X_train, X[:5])
    assert_array_equal(split.y_test, [2, 1, 0, 2])
    two = split.only((0, 2))
    assert_array_equal(two.X_train, X[[0, 2, 4]])
    assert_array_equal(two.X_test, X[[5, 7, 8]])
    assert_array_equal(two.y_train, [0, 2, 0])


def test_wrong_predictions_are_counted_in_percent():
    split = Split(np.zeros((1, 1)), np.zeros(1), np.zeros((4, 1)), np.array([0, 1, 1, 0]))
    assert split.percent_wrong(np.array([0, 1, 0, 0])) == pytest.approx(25)
