"""Cutting planes on functions whose minimum another solver finds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.solvers.superkernel.cutting_planes import (
    Plane,
    minimize_by_planes,
    minimize_on_simplex,
    solve_master,
)
from mercer.solvers.superkernel.weights import Penalty, Stopping, relative_gap

EACH_PENALTY = pytest.mark.parametrize("diagonal", [True, False])
EACH_SLOPE = pytest.mark.parametrize("falling", [True, False])


def random_penalty(rng, r, diagonal):
    if diagonal:
        return Penalty(rng.uniform(0.1, 2.0, r))
    A = rng.normal(size=(r, r))
    return Penalty(A @ A.T + 0.1 * np.eye(r))


class HighestPlane:
    """A convex function: the highest of many planes. It may be told to be a little too high."""

    def __init__(self, rng, r, falling, n_planes=30):
        self.h = rng.uniform(0.5, 2.0, n_planes)
        self.G = rng.normal(size=(n_planes, r))
        if falling:
            self.G = -np.abs(self.G)
        self.asked = []

    def ask(self, beta, tol):
        self.asked.append((beta, tol))
        i = np.argmax(self.h + self.G @ beta)
        return Plane(float(self.h[i] + self.G[i] @ beta), self.h[i], self.G[i])


def rival(h, G, M):
    """The minimum of the highest plane plus ½ βᵀMβ over β ≥ 0."""
    cp = pytest.importorskip("cvxpy")
    beta = cp.Variable(G.shape[1], nonneg=True)
    M = np.diag(M) if M.ndim == 1 else M
    problem = cp.Problem(cp.Minimize(cp.max(h + G @ beta) + cp.quad_form(beta, cp.psd_wrap(M)) / 2))
    problem.solve(solver="CLARABEL")
    return problem.value, beta.value


@EACH_PENALTY
@EACH_SLOPE
def test_the_minimum_is_the_rivals_and_the_gap_is_true_after_any_number_of_planes(rng, diagonal, falling):
    function, penalty = HighestPlane(rng, 6, falling), random_penalty(rng, 6, diagonal)
    least, where = rival(function.h, function.G, penalty.M)
    start = np.full(6, 0.1)
    for max_iter in (1, 2, 5, 10, 200):
        found = minimize_by_planes(function.ask, penalty, start, Stopping(1e-7, max_iter))
        assert found.bound <= least + 1e-7
        assert found.objective >= least - 1e-7
        assert found.gap == (found.objective - found.bound) / found.objective
        assert found.objective == found.history[-1]
        assert found.n_iter == len(found.history) <= max_iter
        assert found.is_cut_off == (found.n_iter == max_iter and found.gap > 1e-7)
        value = np.max(function.h + function.G @ found.beta) + penalty.value(found.beta)
        assert found.objective == pytest.approx(value)
    assert found.gap <= 1e-7
    assert found.n_iter < 100
    assert_allclose(found.beta, where, atol=2e-3)
    assert np.all(np.diff(found.history) <= 0)
    assert np.all(found.beta >= 0)


def test_more_is_asked_of_values_the_nearer_the_minimum_is(rng):
    function = HighestPlane(rng, 4, True)
    minimize_by_planes(function.ask, Penalty(np.ones(4)), np.ones(4), Stopping(1e-5, 100))
    accuracy = [tol for _, tol in function.asked]
    assert accuracy[0] == 0.1
    assert np.all(np.diff(accuracy) <= 0)
    assert min(accuracy) >= 0.1e-5


def test_values_that_are_too_high_leave_the_gap_true(rng):
    function, penalty = HighestPlane(rng, 4, True), Penalty(np.ones(4))

    def too_high(beta, tol):
        plane = function.ask(beta, tol)
        return plane._replace(value=plane.value * (1 + tol / 2), offset=plane.offset * (1 - tol / 2))

    least, _ = rival(function.h, function.G, penalty.M)
    found = minimize_by_planes(too_high, penalty, np.ones(4), Stopping(1e-4, 100))
    assert found.bound <= least <= found.objective
    assert found.gap <= 1e-4


def test_it_stops_when_it_is_told_to_and_keeps_what_it_has(rng):
    function = HighestPlane(rng, 4, True)
    steps = []

    def progress(step):
        steps.append(step)
        return step == 3

    found = minimize_by_planes(function.ask, Penalty(np.ones(4)), np.ones(4), Stopping(1e-9, 100, progress))
    assert steps == [1, 2, 3]
    assert found.n_iter == 3
    assert found.bound <= found.objective


@EACH_PENALTY
@EACH_SLOPE
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_master_problem_is_solved_to_nine_digits(rng, diagonal, falling, scale):
    function, penalty = HighestPlane(rng, 5, falling, n_planes=7), random_penalty(rng, 5, diagonal)
    least, where = rival(function.h, function.G, penalty.M)
    # units of β: planes of steeper slopes and a heavier penalty have the same minimum, at a smaller β
    planes = [Plane(0.0, h, scale * g) for h, g in zip(function.h, function.G, strict=True)]
    beta, bound = solve_master(planes, Penalty(scale**2 * penalty.M))
    assert bound == pytest.approx(least, rel=1e-6)
    assert_allclose(scale * beta, where, atol=1e-3)
    value = np.max(function.h + scale * function.G @ beta) + scale**2 * penalty.value(beta)
    assert value == pytest.approx(bound, rel=1e-5)


def test_one_plane_is_known_in_closed_form():
    # max over ν of h − ½ ‖ν − g‖²: β = −g / M where that is positive
    beta, bound = solve_master([Plane(0.0, 2.0, np.array([-3.0, 1.0]))], Penalty(np.array([2.0, 1.0])))
    assert_allclose(beta, [1.5, 0.0], atol=1e-7)
    assert bound == pytest.approx(2.0 - 9 / 4)


def test_weights_on_the_simplex_meet_the_optimality_conditions(rng):
    R, h = rng.normal(size=(4, 9)), rng.normal(size=6)
    x = minimize_on_simplex(R, h)
    assert np.all(x >= 0)
    assert x[:6].sum() == pytest.approx(1)
    slope = np.concatenate([h, np.zeros(3)]) - R.T @ (R @ x)
    highest = slope[:6].max()  # the multiplier of Σμ = 1
    assert x[:6] @ (highest - slope[:6]) < 1e-7  # complementary
    assert np.all(slope[6:] < 1e-7)
    assert np.abs(x[6:] * slope[6:]).max() < 1e-7


@EACH_PENALTY
def test_the_penalty_and_its_parts(rng, diagonal):
    penalty = random_penalty(rng, 4, diagonal)
    M = np.diag(penalty.M) if diagonal else penalty.M
    beta, W = rng.normal(size=4), rng.normal(size=(4, 3))
    assert penalty.value(beta) == pytest.approx(beta @ M @ beta / 2)
    assert_allclose(penalty.slope(beta), M @ beta)
    assert_allclose(penalty.diagonal, np.diag(M))
    white = penalty.whiten(W)
    assert_allclose(white.T @ white, W.T @ np.linalg.solve(M, W))
    assert_allclose(penalty.unwhiten(penalty.whiten(W)[:, 0]), np.linalg.solve(M, W[:, 0]))


def test_a_gap_is_a_share_of_the_objective():
    assert relative_gap(2.0, 1.0) == 0.5
    assert relative_gap(-2.0, -3.0) == 0.5
    assert relative_gap(2.0, -np.inf) == np.inf
