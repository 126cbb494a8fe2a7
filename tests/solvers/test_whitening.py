"""The pivoted Cholesky factor: coordinates whose inner products are the Gram matrix."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF

from mercer.solvers.cholesky import NotPositiveSemiDefiniteError, factor_gram


def assert_explains(factor, K, tol=1e-8):
    F = factor.coordinates(K[:, factor.landmarks])
    assert F.shape == (len(K), len(factor.landmarks))
    assert_allclose(F @ F.T, K, atol=tol * np.abs(K).max())


@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e60])
@pytest.mark.parametrize("rank", [1, 4, 15])
def test_coordinates_have_the_gram_matrix_as_inner_products(rng, rank, scale):
    F = rng.normal(size=(15, rank))
    K = scale * F @ F.T
    factor = factor_gram(K)
    assert len(factor.landmarks) == rank
    assert_explains(factor, K)


def test_the_triangle_is_that_of_the_landmarks(rng):
    K = RBF()(rng.normal(size=(12, 3)))
    landmarks, L = factor_gram(K)
    assert_array_equal(L, np.tril(L))
    assert_allclose(L @ L.T, K[np.ix_(landmarks, landmarks)], atol=1e-12)
    assert len(set(landmarks)) == len(landmarks)


def test_rows_that_others_span_up_to_rounding_are_left_out(rng):
    X = rng.normal(size=(60, 2))
    K = RBF(5.0)(X)  # numerically singular: a bare Cholesky factor does not exist
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(K)
    factor = factor_gram(K)
    assert len(factor.landmarks) < 40
    assert_explains(factor, K)


def test_new_rows_keep_their_inner_products_with_what_is_spanned(rng):
    X, new = rng.normal(size=(8, 3)), rng.normal(size=(5, 3))
    factor = factor_gram(X @ X.T)
    F, F_new = (factor.coordinates(Z @ X[factor.landmarks].T) for Z in (X, new))
    assert_allclose(F_new @ F.T, new @ X.T, atol=1e-10)
    assert_allclose(F_new @ F_new.T, new @ new.T, atol=1e-10)  # three rows span all of R³


def test_expanded_directions_have_their_values_and_lengths(rng):
    X = rng.normal(size=(10, 3))
    K = RBF(0.8)(X)
    factor = factor_gram(K)
    U = rng.normal(size=(len(factor.landmarks), 4))
    coef = factor.expand(U)
    at = K[:, factor.landmarks]
    assert_allclose(at @ coef, factor.coordinates(at) @ U, atol=1e-9)
    assert_allclose(coef.T @ K[np.ix_(factor.landmarks, factor.landmarks)] @ coef, U.T @ U, atol=1e-9)


def test_the_matrix_is_left_as_it_was(rng):
    for order in ("C", "F"):  # LAPACK works on the latter in place, if it may
        K = np.array(RBF()(rng.normal(size=(9, 2))), order=order)
        before = K.copy()
        factor_gram(K)
        assert np.array_equal(K, before)


def test_a_matrix_of_zeros_has_rank_zero():
    factor = factor_gram(np.zeros((4, 4)))
    assert len(factor.landmarks) == 0
    assert factor.coordinates(np.zeros((3, 0))).shape == (3, 0)
    assert factor.expand(np.zeros((0, 2))).shape == (0, 2)


@pytest.mark.parametrize(
    "K",
    [
        -np.eye(5),
        np.ones((5, 5)) - np.eye(5),
        np.diag([1.0, 1, 1, 1, -1e-6]),
        2 * np.ones((5, 5)) - np.eye(5),
        np.diag([1.0, 2, 3, 0, 0]) + np.eye(5)[::-1] - np.diag([0, 0, 1.0, 0, 0]),
    ],
    ids=["negative", "no diagonal", "barely", "off the diagonal", "rest"],
)
@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e60])
def test_a_matrix_that_is_not_psd_is_refused(K, scale):
    assert np.linalg.eigvalsh(K).min() < -1e-7
    with pytest.raises(NotPositiveSemiDefiniteError, match="not positive semi-definite") as caught:
        factor_gram(scale * K)
    assert caught.value.left > 1e-8
