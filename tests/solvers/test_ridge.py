"""Kernel ridge regression: by one Cholesky factor as by all eigenvalues, and against the problem itself."""

import numpy as np
import pytest

from mercer.kernels import Stump
from mercer.solvers.ridge import RidgePath, leave_one_out, leave_one_out_of_features, solve_ridge, spread


def draw(rng, n=60):
    X = rng.normal(size=(n, 3))
    return X, rng.normal(size=(n, 2)), rng.uniform(0.5, 2.0, size=n)


def gram(X, kind):
    if kind == "linear":
        return X @ X.T
    return Stump()(X) - 50.0 if kind == "conditional" else -np.eye(len(X))  # of no kernel at all


@pytest.mark.parametrize("C", [1e-3, 2.0, 100.0])
@pytest.mark.parametrize("kind", ["linear", "conditional", "negative"])
def test_one_c_by_a_cholesky_factor_is_that_of_the_eigenvalues(C, kind, rng):
    X, Y, weight = draw(rng)
    K = gram(X, kind)
    both = solve_ridge(K, Y, weight, C), leave_one_out(K, Y, weight, C)
    for ours, theirs in zip(both, RidgePath.of(K, Y, weight).solve(C), strict=True):
        if kind != "negative" or C >= 1.0:  # below, it is positive: eigenvalues are cut off, a factor is not
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8 * np.abs(theirs).max())


def test_the_errors_without_a_row_are_those_of_a_fit_without_it(rng):
    X, Y, weight = draw(rng, 20)
    K = gram(X, "conditional")
    left_out = leave_one_out(K, Y, weight, 0.7)
    for i in range(20):
        rest = np.delete(np.arange(20), i)
        among, own = K[np.ix_(rest, rest)], weight[rest]
        a = solve_ridge(among, Y[rest], own, 0.7)
        b = own @ (Y[rest] - among @ a) / own.sum()
        np.testing.assert_allclose(left_out[i], Y[i] - K[i, rest] @ a - b, rtol=1e-7)


@pytest.mark.parametrize("C", [1e-3, 0.7, 1e3])
def test_the_errors_without_a_row_are_those_of_the_gram_matrix_of_its_features(C, rng):
    X, Y, weight = draw(rng, 30)
    expected = leave_one_out(X @ X.T, Y, weight, C)
    np.testing.assert_allclose(leave_one_out_of_features(X, Y, weight, C), expected, rtol=1e-6)


def test_the_spread_is_half_the_mean_squared_distance_of_two_rows(rng):
    X, _, weight = draw(rng)
    share = weight / weight.sum()
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    assert spread(X @ X.T, weight) == pytest.approx(0.5 * share @ squares @ share)


@pytest.mark.parametrize("C", [1e-4, 1e4, 1e7, 1e10])
@pytest.mark.parametrize(
    "solve", [leave_one_out, lambda K, Y, weight, C: RidgePath.of(K, Y, weight).solve(C)[1]]
)
def test_the_errors_without_a_row_have_their_digits_where_the_fit_interpolates(solve, C, rng):
    X, Y, weight = draw(rng, 40)
    weight[0] *= 5000.0
    K = Stump()(X) + 20.0
    left_out = solve(K, Y, weight, C)
    for i in range(40):
        rest = np.delete(np.arange(40), i)
        a = solve_without_centring(K[np.ix_(rest, rest)], Y[rest], weight[rest], C)
        expected = Y[i] - np.append(K[i, rest], 1.0) @ a
        np.testing.assert_allclose(left_out[i], expected, rtol=1e-6)


def solve_without_centring(K, Y, weight, C):
    """Return a and b of (K + W⁻¹ / C) a + b = y with 1ᵀ a = 0: the conditions of the minimum."""
    n = len(K)
    A = np.ones((n + 1, n + 1))
    A[:n, :n] = K + np.diag(1.0 / (C * weight))
    A[n, n] = 0.0
    return np.linalg.solve(A, np.vstack([Y, np.zeros(Y.shape[1])]))
