"""The SVM on a Gram matrix against LIBSVM, by each of its ways."""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF
from sklearn.svm import SVC

from mercer.solvers.superkernel import svm
from mercer.solvers.superkernel.svm import balance, best_bias, solve_dense_svm, turn_round


def some_data(rng, n=60, share=0.5, noise=0.5):
    X = rng.normal(size=(n, 3))
    score = X[:, 0] * X[:, 1] + noise * rng.normal(size=n)
    return X, np.where(score > np.quantile(score, 1 - share), 1.0, -1.0)


def primal(K, y, coef, bias):
    """½ ‖f‖² + Σ hinge, written out."""
    f = K @ coef + bias
    return coef @ K @ coef / 2 + sum(max(0.0, 1 - y[i] * f[i]) for i in range(len(y)))


def libsvm(K, y):
    svc = SVC(kernel="precomputed", C=1.0, tol=1e-9).fit(K, y)
    coef = np.zeros(len(y))
    coef[svc.support_] = svc.dual_coef_[0]
    return primal(K, y, coef, svc.intercept_[0])


def solve(K, y, tol=1e-7, start=None, is_hard=False):
    return solve_dense_svm(K.copy(), y, balance(y) if start is None else start, tol, is_hard)


def assert_solves(found, K, y, tol):
    """c is feasible, and the objectives are what they are called, up to rounding."""
    assert np.all(found.coef * y >= 0)
    assert np.all(found.coef * y <= 1)
    assert abs(found.coef.sum()) <= 1e-9 * np.abs(found.coef).sum()
    quadratic = found.coef @ K @ found.coef
    assert found.dual == pytest.approx(found.coef @ y - quadratic / 2, rel=1e-6, abs=1e-9)
    value = primal(K, y, found.coef, best_bias(y, K @ found.coef))
    assert found.primal <= value * (1 + 1e-6)
    assert found.is_hard or found.primal >= value * (1 - 1e-6)
    gap = (found.primal - found.dual) / found.primal
    assert gap <= tol


@pytest.mark.parametrize("share", [0.5, 0.1])
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("width", [0.3, 2.0])
def test_the_objective_is_libsvms(rng, share, scale, width):
    X, y = some_data(rng, share=share)
    K = scale * RBF(width)(X)
    found = solve(K, y)
    assert_solves(found, K, y, 1e-7)
    assert found.primal == pytest.approx(libsvm(K, y), rel=3e-5 if scale > 1 else 3e-6)
    assert not found.is_hard


@pytest.mark.parametrize(("scale", "width"), [(1e4, 5.0), (1e7, 15.0), (1e9, 30.0)])
def test_a_wide_kernel_of_a_large_scale_is_hard_and_solved_by_newton_steps(rng, scale, width):
    X, y = some_data(rng, n=200)
    K = scale * RBF(width)(X)
    found = solve(K, y, tol=1e-5)
    assert found.is_hard
    assert_solves(found, K, y, 1e-5)
    # a rival that sees the features: those of the eigenvectors
    values, V = np.linalg.eigh(K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean())
    kept = values > 1e-13 * values[-1]
    F, w, b = V[:, kept] * np.sqrt(values[kept]), cp.Variable(int(kept.sum())), cp.Variable()
    loss = cp.sum(cp.pos(1 - cp.multiply(y, F @ w + b)))
    value = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + loss)).solve(solver=cp.CLARABEL)
    assert found.primal == pytest.approx(value, rel=1e-4)
    again = solve(K, y, tol=1e-5, start=found.coef, is_hard=True)
    assert again.primal == pytest.approx(found.primal, rel=2e-5)


def test_a_hard_kernel_of_full_rank_takes_more_steps(rng, monkeypatch):
    X, y = some_data(rng, n=80, noise=2.0)
    K = 3e3 * RBF(1.5)(X)
    few = solve(K, y)
    monkeypatch.setattr(svm, "SETTINGS", svm.SETTINGS._replace(few_steps=1, low_rank=0))
    monkeypatch.setattr(svm, "solve_path", None)  # not called
    found = solve(K, y)
    assert_solves(found, K, y, 1e-7)
    assert found.primal == pytest.approx(few.primal, rel=1e-6)
    assert not found.is_hard


def test_where_even_those_steps_end_the_nearest_is_given_and_called_hard(rng, monkeypatch):
    X, y = some_data(rng)
    monkeypatch.setattr(svm, "SETTINGS", svm.SETTINGS._replace(few_steps=1, most_steps=1, low_rank=0))
    found = solve(100 * RBF(1.0)(X), y, tol=1e-9)
    assert found.is_hard
    assert found.primal > found.dual  # a true bound all the same


@pytest.mark.parametrize("is_hard", [False, True])
def test_any_feasible_start_ends_at_the_same_objective(rng, is_hard):
    X, y = some_data(rng)
    K = 3.0 * RBF(1.0)(X)
    cold = solve(K, y, start=np.zeros(60), is_hard=is_hard)
    for scale in (0.3, 1.0, 10.0):
        start = solve(scale * RBF(2.0)(X), y).coef
        before = start.copy()
        warm = solve(K, y, start=start, is_hard=is_hard)
        assert warm.primal == pytest.approx(cold.primal, rel=2e-7)
        assert_allclose(start, before, atol=0)


def test_a_warm_start_at_the_solution_takes_no_steps(rng):
    X, y = some_data(rng)
    K = RBF(1.0)(X)
    found = solve(K, y, tol=1e-4)
    assert_allclose(solve(K, y, tol=1e-4, start=found.coef).coef, found.coef, atol=0)


def test_one_row_of_each_class_is_known_exactly():
    # f = ±1 at distance² d apart, if c = 2 / d² is in the box, and c = 1 if not
    for K, coef in [(np.eye(2) * 4.0, 0.25), (np.eye(2) * 0.1, 1.0)]:
        assert_allclose(solve(K, np.array([1.0, -1.0])).coef, [coef, -coef], rtol=1e-9)


def test_equal_rows_of_both_classes_do_no_harm():
    y = np.array([1.0, -1.0, 1.0, -1.0, -1.0])
    found = solve(np.ones((5, 5)), y)
    assert found.primal == pytest.approx(4.0)  # f = b = −1: two wrong rows, a loss of two each


def test_turning_round_gives_half_squared_distances_and_back(rng):
    X, _ = some_data(rng)
    K = RBF(1.0)(X) * (1 + np.outer(X[:, 0], X[:, 0]))
    D, half = K.copy(), 0.5 * np.diag(K)
    turn_round(D, half)
    expected = [[(K[i, i] + K[j, j]) / 2 - K[i, j] for j in range(60)] for i in range(60)]
    assert_allclose(D, expected, atol=1e-14)
    turn_round(D, half)
    assert_allclose(D, K, atol=1e-14)


@pytest.mark.parametrize("n_positive", [1, 5, 9])
def test_the_best_intercept_is_that_of_brute_force(rng, n_positive):
    y = np.where(np.arange(10) < n_positive, 1.0, -1.0)
    for f in (rng.normal(size=10), rng.integers(-2, 3, size=10).astype(float), np.zeros(10)):

        def loss(b, f=f):
            return np.maximum(0, 1 - y * (f + b)).sum()

        assert loss(best_bias(y, f)) == pytest.approx(min(map(loss, y - f)))  # it is least at a kink


def test_balanced_coefficients_are_feasible():
    coef = balance(np.array([1.0, -1.0, -1.0, -1.0]))
    assert_allclose(coef, [1.0, -1 / 3, -1 / 3, -1 / 3])
    assert_allclose(balance(np.array([1.0, -1.0, 1.0])), [0.5, -1.0, 0.5])
