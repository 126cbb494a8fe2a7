"""Steps of two coefficients, against LIBSVM and the formulas written slowly."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.svm import SVC

from mercer.solvers.superkernel.smo import descend

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
    """Return the coefficients after some steps, g, and how many steps they were."""
    distance = cdist(X, X, "cityblock")
    coef = np.zeros(len(y)) if start is None else start.copy()
    g = y + distance @ coef
    n_steps = descend(distance, *box(y, C), coef, g, tol, max_steps)
    return coef, g, n_steps


@given(problems())
@settings(max_examples=150)
def test_the_minimum_is_libsvms_to_the_tolerance(problem):
    X, y, C = problem
    K = -cdist(X, X, "cityblock")
    coef, g, n_steps = run(X, y, C, 1e-3, ENOUGH)
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
@settings(max_examples=100)
def test_a_step_is_that_of_the_formula(problem, n_before):
    X, y, C = problem
    start, _, _ = run(X, y, C, 1e-6, n_before)
    coef, _, n_steps = run(X, y, C, 1e-6, 1, start)
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
@settings(max_examples=50)
def test_the_objective_falls_with_every_step(problem):
    X, y, C = problem
    K = -cdist(X, X, "cityblock")
    coef = np.zeros(len(y))
    for _ in range(10):
        new, _, _ = run(X, y, C, 1e-3, 1, coef)
        assert objective(K, y, new) <= objective(K, y, coef) + 1e-12 * (1 + np.abs(objective(K, y, coef)))
        coef = new
