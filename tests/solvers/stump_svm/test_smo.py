"""Few rows: steps of two coefficients against LIBSVM, the formulas written slowly, and the Newton solver."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.svm import SVC

from mercer.datasets import threenorm, twonorm
from mercer.solvers.stump_svm import driver
from mercer.solvers.stump_svm.columns import code_columns
from mercer.solvers.stump_svm.driver import solve_path, solve_svm
from mercer.solvers.stump_svm.products import SortedColumns
from mercer.solvers.stump_svm.proximal import Point, Problem
from mercer.solvers.stump_svm.smo import MOST_ROWS, descend, guess_start, prepare_distances

ENOUGH = 50_000


@st.composite
def problems(draw):
    """Draw few rows: ties, equal rows of both classes, unequal bounds from tiny to huge."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, D = draw(st.integers(2, 40)), draw(st.integers(1, 4))
    X = rng.normal(size=(n, D))
    if draw(st.booleans()):
        X = np.round(X)
    if draw(st.booleans()):
        X = X[rng.integers(0, max(1, n // 3), size=n)]
    y = np.where(rng.random(n) < draw(st.sampled_from([0.1, 0.5])), 1.0, -1.0)
    y[:2] = [1.0, -1.0]
    C = 2.0 ** draw(st.integers(-20, 6)) * (rng.exponential(size=n) + 1e-3 if draw(st.booleans()) else 1.0)
    return X, y, np.broadcast_to(C, n).copy()


def box(y, C):
    return np.minimum(y, 0.0) * C, np.maximum(y, 0.0) * C


def objective(K, y, coef):
    return 0.5 * coef @ K @ coef - y @ coef


def violation(K, y, C, coef):
    lower, upper = box(y, C)
    g = y - K @ coef
    return g[coef < upper].max(initial=-np.inf) - g[coef > lower].min(initial=np.inf)


def run(X, y, C, tol, max_steps, start=None):
    """Return the coefficients after some steps, g, how many steps they were, and the distances."""
    distances = prepare_distances(code_columns(X), len(y))
    coef = np.zeros(len(y)) if start is None else start.copy()
    g = y + cdist(X, X, "cityblock") @ coef
    n_steps = descend(distances, *box(y, C), coef, g, tol, max_steps)
    return coef, g, n_steps, distances


@given(problems())
@settings(max_examples=150, deadline=None)
def test_the_minimum_is_libsvms_to_the_tolerance(problem):
    X, y, C = problem
    K = -cdist(X, X, "cityblock")
    coef, g, n_steps, _ = run(X, y, C, 1e-3, ENOUGH)
    lower, upper = box(y, C)
    assert np.all((lower <= coef) & (coef <= upper))
    assert abs(coef.sum()) <= 1e-9 * C.sum()
    assert_allclose(g, y - K @ coef, atol=1e-9 * (1 + np.abs(K).max() * np.abs(coef).sum()))
    if n_steps < ENOUGH:
        assert violation(K, y, C, coef) <= 1e-3 + 1e-9 * (1 + np.abs(g).max())
        libsvm = np.zeros(len(y))
        svm = SVC(C=1.0, kernel="precomputed", tol=1e-3).fit(K, y, sample_weight=C)
        libsvm[svm.support_] = svm.dual_coef_[0]
        # a point of violation tol is at most tol Σ|Δc| above the minimum, and Σ|Δc| ≤ 2 ΣC
        assert objective(K, y, coef) <= objective(K, y, libsvm) + 1e-3 * 2 * C.sum() + 1e-12


@given(problems(), st.integers(0, 30))
@settings(max_examples=100, deadline=None)
def test_a_step_is_that_of_the_formula(problem, n_before):
    X, y, C = problem
    start, _, _, _ = run(X, y, C, 1e-6, n_before)
    coef, _, n_steps, _ = run(X, y, C, 1e-6, 1, start)
    lower, upper = box(y, C)
    distance = cdist(X, X, "cityblock")
    g = y + distance @ start
    rise, fall = np.flatnonzero(start < upper), np.flatnonzero(start > lower)
    if len(rise) == 0 or len(fall) == 0 or g[rise].max() - g[fall].min() <= 1e-6:
        assert n_steps == 0
        return
    i, j = np.argmax(coef - start), np.argmin(coef - start)
    moved = coef[i] - start[i]
    assert_allclose(np.delete(coef, [i, j]), np.delete(start, [i, j]), rtol=0)
    assert start[i] < upper[i]
    assert_allclose(g[i], g[rise].max(), rtol=1e-9)
    apart = np.maximum(distance[i], 1e-12)
    gain = np.maximum(g[i] - g, 0.0) ** 2 / apart
    assert start[j] > lower[j]
    assert_allclose(gain[j], gain[fall].max(), rtol=1e-6)
    best = (g[i] - g[j]) / (2 * apart[j])
    assert_allclose(moved, min(best, upper[i] - start[i], start[j] - lower[j]), rtol=1e-6)
    assert_allclose(coef[j], start[j] - moved, atol=1e-12 * C.max())


@given(problems())
@settings(max_examples=50, deadline=None)
def test_the_objective_falls_with_every_step(problem):
    X, y, C = problem
    K = -cdist(X, X, "cityblock")
    coef = np.zeros(len(y))
    for _ in range(10):
        new, _, _, _ = run(X, y, C, 1e-3, 1, coef)
        assert objective(K, y, new) <= objective(K, y, coef) + 1e-12 * (1 + np.abs(objective(K, y, coef)))
        coef = new


def test_distances_are_computed_for_the_rows_that_moved_and_no_others(rng):
    X, y = rng.normal(size=(50, 3)), np.where(np.arange(50) % 2, 1.0, -1.0)
    coef, _, _, distances = run(X, y, np.full(50, 0.01), 1e-3, 7)
    assert set(np.flatnonzero(coef)) <= set(np.flatnonzero(distances.known))
    assert 2 <= distances.known.sum() <= 14
    assert_allclose(distances.distance[distances.known], cdist(X, X, "cityblock")[distances.known])


def test_only_few_rows_whose_values_are_known_have_distances(rng):
    X = rng.normal(size=(MOST_ROWS + 1, 2))
    assert prepare_distances(code_columns(X), len(X)) is None
    assert prepare_distances(code_columns(X[1:]), len(X) - 1) is not None
    assert prepare_distances(SortedColumns(np.zeros((2, 3), dtype=np.int32), np.zeros((2, 3))), 3) is None


@given(problems())
@settings(max_examples=100, deadline=None)
def test_the_first_guess_is_feasible_and_better_than_none(problem):
    X, y, C = problem
    K = -cdist(X, X, "cityblock")
    C = np.minimum(C, np.where(y > 0, C[y < 0].sum(), C[y > 0].sum()))
    lower, upper = box(y, C)
    coef, value = np.empty(len(y)), np.empty(len(y))
    guess_start(Problem(code_columns(X), y, lower, upper, 1.0), coef, value)
    assert np.all((lower <= coef) & (coef <= upper))
    assert abs(coef.sum()) <= 1e-9 * C.sum()
    assert objective(K, y, coef) <= 0.0
    expected = K @ coef
    assert_allclose(
        value - value.mean(), expected - expected.mean(), atol=1e-9 * (1 + np.abs(expected).max())
    )


def test_for_small_c_the_guess_is_nearly_the_solution():
    X, y = threenorm(200, random_state=0)
    y, C = y.astype(float), np.full(200, 2.0**-15)
    coef, value = np.empty(200), np.empty(200)
    guess_start(Problem(code_columns(X), y, *box(y, C), 1.0), coef, value)
    solution = solve_svm(code_columns(X), y, C)
    assert np.mean(np.abs(coef - solution.coef) > 1e-6 * C) < 0.1


@pytest.mark.parametrize("log_C", range(-17, 6, 2))
def test_newton_steps_alone_find_the_same_minimum(log_C, monkeypatch, rng):
    X, y = threenorm(150, random_state=2)
    X[::3] = np.round(X[rng.permutation(150)[::3]])
    y, C = y.astype(float), 2.0**log_C * rng.uniform(0.5, 2.0, 150)
    K = -cdist(X, X, "cityblock")
    both = solve_svm(code_columns(X), y, C, tol=1e-5)
    monkeypatch.setattr(driver, "prepare_distances", lambda operator, n_rows: None)
    newton = solve_svm(code_columns(X), y, C, tol=1e-5)
    assert max(both.residual, newton.residual) <= 1e-5
    assert_allclose(objective(K, y, both.coef), objective(K, y, newton.coef), rtol=1e-6)


def test_where_few_steps_solve_it_there_is_no_newton_step(monkeypatch):
    def refuse(*arguments):
        raise AssertionError

    monkeypatch.setattr(driver, "newton_step", refuse)
    X, y = twonorm(200, random_state=0)
    for C in 2.0 ** np.arange(-17, 6, 2):
        solution = solve_svm(code_columns(X), y.astype(float), np.full(200, C))
        assert solution.residual <= 1e-3


@pytest.mark.parametrize("steps", [0, 300])
def test_newton_steps_go_on_where_smo_gives_up(steps, monkeypatch):
    monkeypatch.setattr(driver, "SETTINGS", driver.SETTINGS._replace(smo_steps=steps))
    X, y = threenorm(200, random_state=1)
    y, Cs = y.astype(float), 2.0 ** np.arange(-5, 6, 2)
    K = -cdist(X, X, "cityblock")
    solutions = list(solve_path(code_columns(X), y, np.ones(200), Cs, tol=1e-4))
    assert max(solution.n_iter for solution in solutions) > 1 + steps // 200
    for C, solution in zip(Cs, solutions, strict=True):
        svm = SVC(C=C, kernel="precomputed", tol=1e-5).fit(K, y)
        expected = 0.5 * svm.dual_coef_[0] @ K[np.ix_(svm.support_, svm.support_)] @ svm.dual_coef_[0]
        expected -= y[svm.support_] @ svm.dual_coef_[0]
        assert solution.residual <= 1e-4
        assert_allclose(objective(K, y, solution.coef), expected, rtol=1e-5)


@pytest.mark.parametrize("tol", [1e-1, 1e-3])
def test_the_end_is_a_small_residual_and_a_small_duality_gap(tol):
    X, y = threenorm(200, random_state=0)
    y, C = y.astype(float), np.full(200, 0.1)
    K = -cdist(X, X, "cityblock")
    verdicts = set()
    for share in 2.0 ** -np.arange(-3.0, 10.0):  # residuals above tol, and far below it
        coef, g, _, _ = run(X, y, C, share * tol, ENOUGH)
        residual = violation(K, y, C, coef)
        f = K @ coef + np.mean(g[(coef * y > 0) & (coef * y < C)])
        dual = -objective(K, y, coef)
        gap = 0.5 * coef @ K @ coef + C @ np.maximum(0.0, 1.0 - y * f) - dual
        expected = residual <= tol and (gap <= 0.01 * tol * dual or residual <= 0.01 * tol)
        problem = Problem(code_columns(X), y, *box(y, C), 1.0)
        solved, measured = driver.is_solved(problem, Point(coef, y - g, 0.0), tol)
        assert solved == expected
        assert_allclose(measured, residual, rtol=1e-6)
        verdicts.add((residual <= tol, expected))
    assert verdicts == {(False, False), (True, False), (True, True)}


def test_a_start_that_is_not_feasible_is_made_so(rng):
    X, y = threenorm(100, random_state=0)
    y, C = y.astype(float), np.full(100, 0.1)
    K = -cdist(X, X, "cityblock")
    start = y * C * rng.random(100)  # in the box, but its sum is not zero
    solution = solve_svm(code_columns(X), y, C, start=start)
    assert abs(solution.coef.sum()) <= 1e-12
    assert violation(K, y, C, solution.coef) <= 1e-3
