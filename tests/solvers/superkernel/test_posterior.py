"""The posterior of a Gaussian process against its formula, its slopes against differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.gaussian_process.kernels import RBF

from mercer.solvers.superkernel.grams import HeldGrams
from mercer.solvers.superkernel.posterior import (
    minimize_at_variance_one,
    minimize_posterior,
    most_probable,
)
from mercer.solvers.superkernel.weights import Penalty, Stopping
from mercer.superkernels import Posterior


def some_problem(rng, n=30):
    X = rng.normal(size=(n, 3))
    targets = [np.where(X[:, j] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0) for j in range(2)]
    return np.stack([RBF(0.3)(X), RBF(1.0)(X), RBF(3.0)(X), X @ X.T]), targets


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_the_most_probable_f_is_stationary_and_the_least(rng, scale):
    stack, (y, _) = some_problem(rng)
    K = scale * stack[1] + 1e-3 * np.eye(30)
    found = most_probable(K, y)
    f = K @ found.a
    assert_allclose(found.a, y / (1 + np.exp(y * f)), atol=1e-4)  # K⁻¹ f = −∇ loss

    def cost(f):
        return np.logaddexp(0, -y * f).sum() + f @ np.linalg.solve(K, f) / 2

    assert found.value == pytest.approx(cost(f), rel=1e-6)
    for _ in range(20):
        assert cost(f + 0.1 * np.sqrt(scale) * rng.normal(size=30)) > found.value


def literal(stack, targets, M, noise, beta):
    K = np.tensordot(beta, stack, 1)
    each = [Posterior(noise)(K, y) for y in targets]
    return np.mean(each) / len(K) + beta @ M @ beta / 2


def search(stack, targets, M, noise=1.0, **kwargs):
    stopping = Stopping(**{"tol": 1e-8, "max_iter": 500, **kwargs})
    return minimize_posterior(HeldGrams(stack), targets, Penalty(M), noise, stopping)


@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize("noise", [0.3, 1.0])
@pytest.mark.parametrize("diagonal", [True, False])
def test_where_it_ends_is_stationary_for_the_literal_objective(rng, n_targets, noise, diagonal):
    stack, targets = some_problem(rng)
    targets = targets[:n_targets]
    A = rng.normal(size=(4, 4))
    M = 1e-3 * (np.eye(4) if diagonal else A @ A.T + np.eye(4))
    found = search(stack, targets, np.diag(M) if diagonal else M, noise)
    assert found.objective == pytest.approx(literal(stack, targets, M, noise, found.beta), rel=1e-8)
    assert np.any(found.beta > 0)
    for i in range(4):
        h = 1e-4 * max(1.0, found.beta[i])
        base = found.beta + h * np.eye(4)[i]  # so that no weight is negative
        ends = [literal(stack, targets, M, noise, base + s * h * np.eye(4)[i]) for s in (-1, 1)]
        slope = (ends[1] - ends[0]) / (2 * h)
        assert slope > -1e-4
        assert slope < 1e-4 or found.beta[i] < 1e-6


@pytest.mark.parametrize("n_targets", [1, 2])
def test_of_kernels_of_variance_one_it_finds_one_that_none_near_by_beats(rng, n_targets):
    stack = np.stack([some_problem(rng)[0][i] for i in (0, 1, 3)] + [np.ones((30, 30))])
    targets = [rng.choice([-1.0, 1.0], 30) for _ in range(n_targets)]  # which nothing explains
    assert not search(stack, targets, np.full(4, 1e-2)).beta.any()
    found = minimize_at_variance_one(HeldGrams(stack), targets, 1.0, Stopping(1e-8, 500))

    def cost(beta):
        return literal(stack, targets, np.zeros((4, 4)), 1.0, beta)

    spreads = np.array([np.trace(K) / 30 - K.mean() for K in stack])
    assert found.beta @ spreads == pytest.approx(1.0)
    assert found.beta[3] == 0.0
    assert found.objective == pytest.approx(cost(found.beta), rel=1e-8)
    for _ in range(30):
        moved = found.beta[:3] * spreads[:3] + 0.03 * rng.dirichlet(np.ones(3))
        near = np.append(moved / moved.sum() / spreads[:3], 0.0)
        assert cost(near) >= found.objective - 1e-6


def test_steps_fall_and_there_is_no_bound(rng):
    stack, targets = some_problem(rng)
    found = search(stack, targets, np.full(4, 1e-3))
    assert np.all(np.diff(found.history) <= 1e-12)
    assert found.n_iter == len(found.history)
    assert found.gap == np.inf


def test_it_stops_when_it_is_told_to_or_after_so_many_steps(rng):
    stack, targets = some_problem(rng)
    told = search(stack, targets, np.full(4, 1e-3), progress=lambda step: step == 2)
    cut = search(stack, targets, np.full(4, 1e-3), max_iter=2)
    assert told.n_iter == cut.n_iter == 2
    for found in (told, cut):
        value = literal(stack, targets, 1e-3 * np.eye(4), 1.0, found.beta)
        assert found.objective == pytest.approx(value)


def test_a_search_of_another_kind_finds_no_lower_value_near_by(rng):
    stack, targets = some_problem(rng)
    M = 1e-2 * np.eye(4)
    found = search(stack, targets, np.full(4, 1e-2))
    rival = minimize(
        lambda u: literal(stack, targets, M, 1.0, u**2), np.sqrt(found.beta) + 0.05, method="Nelder-Mead"
    )
    assert found.objective <= rival.fun + 1e-5
