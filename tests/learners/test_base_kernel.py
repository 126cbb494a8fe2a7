"""Coordinates in the feature space of a base kernel against the Gram matrix that they must reproduce."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, DotProduct, Kernel

from mercer.kernels import Projected
from mercer.learners.base_kernel import check_base, evaluate, frame_rows

BASES = pytest.mark.parametrize("base", [None, RBF(0.7), DotProduct(1.0)], ids=str)
SHAPES = pytest.mark.parametrize("shape", [(12, 3), (6, 20), (5, 5)], ids=str)


class Broken(Kernel):
    """A base kernel that gives what it is told."""

    def __init__(self, value):
        self.value = value

    def __call__(self, X, Y=None, eval_gradient=False):
        return np.full((len(X), len(X if Y is None else Y)), self.value)

    def diag(self, X):
        return np.diag(self(X))

    def is_stationary(self):
        return False


def gram(base, X, Y=None):
    return (base or DotProduct(0.0))(X, Y)


@BASES
@SHAPES
def test_inner_products_of_coordinates_are_the_base_kernel(base, shape, rng):
    X = rng.normal(size=shape)
    frame = frame_rows(X, base, 100)
    K = gram(base, X)
    assert_allclose(frame.coordinates @ frame.coordinates.T, K, atol=1e-8 * np.abs(K).max())
    assert frame.coordinates.shape[1] <= min(shape[0], shape[1] if base is None else shape[0])


@BASES
@SHAPES
def test_directions_mean_the_same_for_new_rows(base, shape, rng):
    X, new = rng.normal(size=shape), rng.normal(size=(7, shape[1]))
    frame = frame_rows(X, base, 100)
    Z = frame.coordinates
    U = rng.normal(size=(Z.shape[1], 2))
    kernel = Projected(frame.expand(U), frame.base, frame.landmarks)
    assert_allclose(kernel.transform(X), Z @ U, atol=1e-7)
    # a direction in the span of the rows: its values are κ(new, X) K⁺ (Z U)
    K = gram(base, X)
    expected = gram(base, new, X) @ np.linalg.pinv(K, hermitian=True, rcond=1e-12) @ Z @ U
    in_span = kernel.transform(new) if base is not None or shape[0] <= shape[1] else new @ U
    assert_allclose(in_span, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("base", [None, RBF(20.0), DotProduct(1.0)], ids=str)
@pytest.mark.parametrize("max_rank", [1, 3])
def test_a_low_rank_keeps_the_directions_that_hold_most_of_the_rows(base, max_rank, rng):
    X = rng.normal(size=(12, 8)) * np.arange(1, 9)
    Z = frame_rows(X, base, max_rank).coordinates
    K = gram(base, X)
    values, V = np.linalg.eigh(K)
    best = (V[:, -max_rank:] * values[-max_rank:]) @ V[:, -max_rank:].T  # Eckart and Young
    assert Z.shape[1] == max_rank
    assert_allclose(Z @ Z.T, best, atol=1e-8 * values[-1])


def test_few_columns_without_a_base_are_the_coordinates(rng):
    X = rng.normal(size=(9, 4))
    frame = frame_rows(X, None, 4)
    assert_array_equal(frame.coordinates, X)
    assert_array_equal(frame.expand(np.eye(4)), np.eye(4))
    assert frame.base is None
    assert frame.landmarks is None


def test_rows_that_others_span_add_no_coordinates(rng):
    X = rng.normal(size=(4, 30))
    assert frame_rows(np.vstack([X, X, X[:2] + X[2:]]), None, 100).coordinates.shape == (10, 4)
    twice = frame_rows(np.vstack([X, X]), RBF(5.0), 100)
    assert twice.coordinates.shape == (8, 4)
    assert len(twice.landmarks) == 4


def test_the_base_kernel_is_copied_and_rows_that_change_later_do_no_harm(rng):
    X, base = rng.normal(size=(6, 3)), RBF(0.7)
    frame = frame_rows(X, base, 100)
    landmarks = frame.landmarks.copy()
    X[:] = 0.0
    assert frame.base == base
    assert frame.base is not base
    assert_array_equal(frame.landmarks, landmarks)


@pytest.mark.parametrize("base", ["rbf", 1.0, RBF, np.dot])
def test_a_base_that_is_no_kernel_is_refused(base):
    with pytest.raises(TypeError, match="base must be a scikit-learn kernel or None"):
        check_base(base)


def test_a_kernel_or_none_is_a_base():
    check_base(None)
    check_base(RBF())


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(value, rng):
    with pytest.raises(ValueError, match="has values on these rows that are not finite"):
        evaluate(Broken(value), rng.normal(size=(3, 2)))
    with pytest.raises(ValueError, match="not finite"):
        frame_rows(rng.normal(size=(3, 2)), Broken(value), 5)


def test_a_base_that_is_not_positive_semi_definite_is_refused(rng):
    with pytest.raises(ValueError, match=r"not positive semi-definite on these rows .* take one that is"):
        frame_rows(rng.normal(size=(3, 2)), Broken(-1.0), 5)


def test_too_many_rows_are_refused_before_the_work_starts(have_memory, rng):
    have_memory(10_000)
    with pytest.raises(
        MemoryError, match=r"The base kernel of 20 rows needs .* Lower max_rows, or use no base"
    ):
        frame_rows(rng.normal(size=(20, 2)), RBF(), 5)
