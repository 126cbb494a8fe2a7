"""The risk with the squared error as a function of the kernel: against ridge regression and cvxpy."""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from mercer.solvers.superkernel.grams import HeldGrams
from mercer.solvers.superkernel.squared_risk import SquaredRiskOfKernel, minimize_squared_risk
from mercer.solvers.superkernel.weights import Penalty, Stopping


def some_data(m=25, n_targets=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    return X, X[:, :1] * X[:, 1 : 1 + n_targets] + 0.3 * rng.normal(size=(m, n_targets)) + 1.0


def some_grams(X):
    return HeldGrams(np.stack([RBF(0.3)(X), RBF(1.0)(X), RBF(3.0)(X), RBF(1.0)(X[:, :1])]))


def literal_risk(K, y):
    """(6) at its minimum over coefficients and intercept, by linear equations."""
    m = len(y)
    A = np.block([[K @ K + K, K @ np.ones((m, 1))], [np.ones((1, m)) @ K, np.array([[m]])]])
    solution = np.linalg.lstsq(A, np.append(K @ y, y.sum()), rcond=1e-13)[0]
    alpha, b = solution[:-1], solution[-1]
    return (0.5 * np.sum((y - K @ alpha - b) ** 2) + 0.5 * alpha @ K @ alpha) / m


def least_by_cvxpy(Ks, Y, M):
    """The minimum of φ(β) + ½ βᵀMβ, with φ as a fraction of matrices."""
    m = len(Y)
    P = np.eye(m) - 1.0 / m
    beta = cp.Variable(len(Ks), nonneg=True)
    A = np.eye(m) + sum(beta[i] * (P @ K @ P) for i, K in enumerate(Ks))
    phi = sum(cp.matrix_frac(P @ y, A) for y in Y.T) / (2 * Y.size)
    problem = cp.Problem(cp.Minimize(phi + cp.sum(cp.multiply(M, beta**2)) / 2))
    problem.solve(solver="CLARABEL")
    return problem.value


def test_the_value_is_the_risk_of_ridge_regression_and_the_slope_its_derivative(rng):
    X, Y = some_data(n_targets=2)
    grams = some_grams(X)
    beta = rng.uniform(0.5, 2.0, grams.n_terms)
    plane = SquaredRiskOfKernel(grams, Y).ask(beta, 1.0)
    literal = np.mean([literal_risk(grams.combine(beta), y) for y in Y.T])
    assert plane.value == pytest.approx(literal, rel=1e-7)
    assert plane.value == pytest.approx(plane.offset + plane.slope @ beta, rel=1e-10)  # it touches
    for i in range(grams.n_terms):
        step = 1e-5 * np.eye(grams.n_terms)[i]
        values = [SquaredRiskOfKernel(grams, Y).ask(beta + s * step, 1.0).value for s in (1, -1)]
        assert plane.slope[i] == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-5)


def test_planes_are_below_and_values_above_whatever_the_coefficients_are(rng):
    X, Y = some_data()
    grams = some_grams(X)
    risk = SquaredRiskOfKernel(grams, Y)
    P = np.eye(len(Y)) - 1.0 / len(Y)
    for _ in range(20):
        here, there = rng.exponential(size=(2, grams.n_terms)) * 10.0 ** rng.integers(-2, 3)
        K = P @ grams.combine(here) @ P
        plane = risk.plane(K, risk.solve(K) + 0.1 * P @ rng.normal(size=Y.shape))
        assert plane.value >= risk.ask(here, 1.0).value
        assert plane.offset + plane.slope @ there <= risk.ask(there, 1.0).value


@pytest.mark.parametrize("strength", [1e-6, 1e-2, 10.0])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_the_minimum_is_that_of_cvxpy_and_the_gap_is_true(strength, n_targets):
    X, Y = some_data(n_targets=n_targets)
    grams = some_grams(X)
    M = strength * np.linspace(0.5, 2.0, grams.n_terms)
    least = least_by_cvxpy(grams.stack, Y, M)
    found = minimize_squared_risk(grams, Y, Penalty(M), Stopping(1e-6, 300))
    assert found.gap <= 1e-6
    assert found.bound <= least * (1 + 1e-6)
    assert found.objective == pytest.approx(least, rel=3e-6)
    value = SquaredRiskOfKernel(grams, Y).ask(found.beta, 1.0).value + Penalty(M).value(found.beta)
    assert found.objective == pytest.approx(value, rel=1e-10)  # what is returned belongs together


def test_a_matrix_of_penalties_has_its_minimum_where_no_step_along_a_weight_gains(rng):
    X, Y = some_data()
    grams = some_grams(X)
    A = rng.normal(size=(4, 4))
    penalty = Penalty(1e-2 * (A @ A.T + np.eye(4)))
    found = minimize_squared_risk(grams, Y, penalty, Stopping(1e-9, 300))
    slope = SquaredRiskOfKernel(grams, Y).ask(found.beta, 1.0).slope + penalty.slope(found.beta)
    assert_allclose(slope[found.beta > 0], 0.0, atol=1e-4)
    assert np.all(slope >= -1e-4)
