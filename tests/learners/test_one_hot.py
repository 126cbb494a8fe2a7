"""Columns that one-hot encode a category are found by what they hold, not by their scale or names."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import OneHotEncoder

from mercer.learners.one_hot import category_scale, find_one_hot


def encode(codes):
    return OneHotEncoder(sparse_output=False).fit_transform(np.reshape(codes, (-1, 1)))


def groups_of(X):
    return [group.tolist() for group in find_one_hot(X)]


def test_neighbouring_categories_are_told_apart(rng):
    parts = [rng.normal(size=(60, 1)), encode(rng.integers(0, 3, 60)), encode(rng.integers(0, 2, 60))]
    X = np.hstack([*parts, rng.normal(size=(60, 2))])
    assert groups_of(X) == [[1, 2, 3], [4, 5]]
    assert groups_of(X * 0.3 - 7.0) == [[1, 2, 3], [4, 5]]


def test_a_yes_or_no_before_a_category_is_not_part_of_it(rng):
    X = np.hstack([rng.integers(0, 2, (60, 1)), encode(rng.integers(0, 4, 60))]).astype(float)
    assert groups_of(X) == [[1, 2, 3, 4]]


def test_numbers_constants_and_binary_columns_are_no_categories(rng):
    X = np.column_stack([rng.normal(size=60), np.ones(60), rng.integers(0, 2, (60, 3))])
    assert groups_of(X) == []
    assert category_scale(X) is None


def test_a_step_is_two_deviations_of_the_other_columns(rng):
    X = np.hstack([rng.normal(size=(200, 3)) * [1.0, 5.0, 9.0], 4.0 * encode(rng.integers(0, 3, 200))])
    scale = category_scale(X)
    assert_array_equal(scale[:3], 1.0)
    assert_allclose(4.0 / scale[3:], X[:, 1].std())  # in each of two columns


def test_without_other_columns_a_step_is_one(rng):
    X = encode(rng.integers(0, 3, 50))
    assert_allclose(X / category_scale(X), X / 2)
    assert_allclose(X / category_scale(X, np.ones(50)), X / 2)


def test_rows_of_a_weight_are_repeated_rows(rng):
    X = np.hstack([rng.normal(size=(40, 3)) ** 3, encode(np.arange(40) % 3)])
    weight = rng.integers(1, 6, size=40)
    repeated = category_scale(np.repeat(X, weight, axis=0))
    assert_allclose(category_scale(X, weight), repeated, rtol=1e-9)
    assert np.abs(category_scale(X) / repeated - 1.0).max() > 1e-3  # or nothing would be seen
