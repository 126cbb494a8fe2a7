"""The kernel nearest to a target against its formula written out, and the best aligned one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from mercer.metrics import alignment
from mercer.solvers.superkernel.alignment import (
    LeastSquares,
    compare_with_labels,
    compare_with_pairs,
    minimize_distance,
)
from mercer.solvers.superkernel.grams import HeldGrams

N = 25


def some_problem(rng):
    X = rng.normal(size=(N, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=N) > 0.4, 1.0, -1.0)
    return np.stack([RBF(0.5)(X), RBF(2.0)(X), *(RBF(1.0)(X[:, [j]]) for j in range(3))]), np.outer(y, y)


def centred(K):
    H = np.eye(len(K)) - np.ones_like(K) / len(K)
    return H @ K @ H


def literal(stack, T, M, beta):
    return np.sum(centred(np.tensordot(beta, stack, 1) - T) ** 2) / (2 * N**2) + beta @ M @ beta / 2


def rival(stack, T, M):
    cp = pytest.importorskip("cvxpy")
    beta = cp.Variable(len(stack), nonneg=True)
    K = np.stack([centred(K).ravel() for K in stack], axis=1)
    distance = cp.sum_squares(K @ beta - centred(T).ravel()) / (2 * N**2)
    problem = cp.Problem(cp.Minimize(distance + cp.quad_form(beta, cp.psd_wrap(M)) / 2))
    problem.solve(solver="CLARABEL")
    return problem.value


@pytest.mark.parametrize("strength", [1e-6, 1e-2, 10.0])
@pytest.mark.parametrize("diagonal", [True, False])
def test_the_minimum_is_that_of_the_literal_objective(rng, strength, diagonal):
    stack, T = some_problem(rng)
    A = rng.normal(size=(5, 5))
    M = strength * (np.diag(rng.uniform(0.5, 2, 5)) if diagonal else A @ A.T + 0.1 * np.eye(5))
    found = minimize_distance(compare_with_labels(HeldGrams(stack), T), np.diag(M) if diagonal else M)
    assert found.objective == pytest.approx(literal(stack, T, M, found.beta), rel=1e-9)
    assert found.objective == pytest.approx(rival(stack, T, M), rel=1e-6)
    assert np.all(found.beta >= 0)
    assert found.bound <= found.objective
    assert found.gap < 1e-9


def test_without_a_penalty_no_mixture_is_aligned_better(rng):
    stack, T = some_problem(rng)
    found = minimize_distance(compare_with_labels(HeldGrams(stack), T), np.full(5, 1e-12))

    def aligned(beta):
        return alignment(centred(np.tensordot(beta, stack, 1)), centred(T))

    best = aligned(found.beta)
    for _ in range(300):
        mixture = rng.exponential(size=5) * rng.integers(0, 2, size=5)
        assert not np.any(mixture) or aligned(mixture) <= best + 1e-9
        assert aligned(np.maximum(found.beta + 0.05 * rng.normal(size=5), 1e-9)) <= best + 1e-9
    # the docstring's ½ ‖HTH‖² (1 − A²) / n²
    assert found.objective == pytest.approx(np.sum(centred(T) ** 2) * (1 - best**2) / (2 * N**2), rel=1e-6)


def test_on_pairs_it_is_the_distance_of_centred_values(rng):
    values, target = rng.normal(size=(4, 30)), np.repeat([1.0, -1.0], [10, 20])
    A, b, c = compare_with_pairs(values, target)
    for _ in range(5):
        beta = rng.exponential(size=4)
        f = beta @ values
        expected = np.mean(((f - f.mean()) - (target - target.mean())) ** 2) / 2
        assert beta @ A @ beta / 2 - b @ beta + c / 2 == pytest.approx(expected)


def test_the_bound_is_below_the_minimum_even_where_least_squares_stop_early(rng, monkeypatch):
    F = rng.normal(size=(6, 4))
    problem, M = LeastSquares(F.T @ F, np.array([1.0, 2.0, -1.0, 0.5]), 9.0), np.full(4, 0.1)
    exact = minimize_distance(problem, M)
    assert exact.gap < 1e-12
    guesses = [np.zeros(4), 0.5 * exact.beta, *(exact.beta + rng.exponential(size=(10, 4)))]
    for wrong in guesses:
        monkeypatch.setattr("mercer.solvers.superkernel.alignment.nnls", lambda A, b, w=wrong: (w, 0.0))
        found = minimize_distance(problem, M)
        assert found.bound <= exact.objective + 1e-12
        assert found.objective >= exact.objective


def test_equal_kernels_share_the_weight_and_do_no_harm(rng):
    stack, T = some_problem(rng)
    many = np.concatenate([stack] * 20)
    once = minimize_distance(compare_with_labels(HeldGrams(stack), T), np.full(5, 1e-9))
    found = minimize_distance(compare_with_labels(HeldGrams(many), T), np.full(100, 20e-9))
    assert_allclose(found.objective, once.objective, rtol=1e-6)


def test_progress_is_told_once(rng):
    stack, T = some_problem(rng)
    steps = []
    minimize_distance(compare_with_labels(HeldGrams(stack), T), np.ones(5), steps.append)
    assert steps == [1]
