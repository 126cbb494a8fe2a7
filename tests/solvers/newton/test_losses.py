"""Each loss, as the solver fits it, against a generic convex solver; derivatives by differences; the gap."""

from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.solvers.newton import (
    HINGE,
    CorneredLoss,
    FeatureRows,
    GramMatrix,
    GramRows,
    LogLoss,
    Poisson,
    SortedRows,
    SquaredError,
    TableRows,
    code_columns,
    solve,
)
from mercer.solvers.newton.losses import WIDTH

PINBALL = CorneredLoss(up=0.3, down=0.7)
INSENSITIVE = CorneredLoss(epsilon=0.2)
LOSSES = {
    "hinge": (HINGE, lambda y, f, C: C @ cp.pos(1 - cp.multiply(y, f))),
    "log-loss": (LogLoss(), lambda y, f, C: C @ cp.logistic(-cp.multiply(y, f))),
    "squared error": (SquaredError(), lambda y, f, C: 0.5 * C @ cp.square(y - f)),
    "quantile": (PINBALL, lambda y, f, C: C @ (0.3 * cp.pos(y - f) + 0.7 * cp.pos(f - y))),
    "absolute error": (CorneredLoss(), lambda y, f, C: C @ cp.abs(y - f)),
    "ε-insensitive": (INSENSITIVE, lambda y, f, C: C @ cp.pos(cp.abs(y - f) - 0.2)),
    "Poisson": (Poisson(), lambda y, f, C: C @ (cp.exp(f) - cp.multiply(y, f))),
}


def make_problem(name, rng, n=70):
    X = np.round(rng.normal(size=(n, 3)), 1)  # ties
    signal = X[:, 0] + np.abs(X[:, 1]) + 0.5 * rng.normal(size=n)
    if name in ("hinge", "log-loss"):
        y = np.where(signal > 1.0, 1.0, -1.0)
    elif name == "Poisson":
        y = rng.poisson(np.exp(0.5 * signal)).astype(float)
    else:
        y = signal
    return X, y, rng.uniform(0.5, 2.0, size=n)


def reference(X, y, C, loss):
    """Minimise ¼ Σ_d Σ_k (Δg)² / Δu + Σ losses in the function's values."""
    columns = code_columns(X)
    f, penalty = cp.Variable(), 0.0
    total = f * np.ones(len(y))
    for d in range(X.shape[1]):
        values = np.unique(X[:, d])
        g = cp.Variable(len(values))
        penalty = penalty + 0.25 * cp.sum(cp.multiply(cp.square(cp.diff(g)), 1.0 / np.diff(values)))
        total = total + g[columns.code[d].astype(int)]
    problem = cp.Problem(cp.Minimize(penalty + loss(y, total, C)))
    return problem.solve(solver=cp.CLARABEL)


def features_of(K):
    """Return features whose inner products are K."""
    size, U = np.linalg.eigh(K)
    return (U * np.sqrt(np.maximum(size, 0.0)))[:, size > 1e-10 * size[-1]]


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("engine", [SortedRows, TableRows, GramRows, FeatureRows])
@pytest.mark.parametrize("name", LOSSES)
def test_the_minimum_is_that_of_a_generic_solver(name, engine, C, rng):
    loss, written = LOSSES[name]
    X, y, weight = make_problem(name, rng)
    columns = code_columns(X)
    K = GramMatrix.of_stumps(columns)
    given = {GramRows: K, FeatureRows: features_of(K.K)}.get(engine, columns)
    rows = engine.of(given, y, weight)
    rows = rows.with_penalty(loss, C)
    solution = solve(rows, tol=1e-6)
    expected = reference(X, y, C * weight, written)
    primal = 0.5 * rows.inner(solution.function, solution.function)
    primal += float(written(y, solution.function.value + solution.bias, C * weight).value)
    assert_allclose(primal, expected, rtol=1e-6)
    assert_allclose(-solution.objective, expected, rtol=1e-6)  # the dual, at its own coefficients


@pytest.mark.parametrize("name", ["log-loss", "squared error", "Poisson"])
def test_a_smooth_loss_has_its_two_derivatives(name, rng):
    loss, h = LOSSES[name][0], 1e-4
    _, y, C = make_problem(name, rng)
    f = rng.normal(size=len(y))
    above, here, below = (loss.terms(np, f + s, y, C)[0] for s in (h, 0.0, -h))
    _, coef, curvature = loss.terms(np, f, y, C)
    assert_allclose(coef, -(above - below) / (2 * h), rtol=1e-5, atol=1e-6)
    assert_allclose(curvature * np.ones(len(y)), (above - 2 * here + below) / h**2, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["hinge", "quantile", "absolute error", "ε-insensitive"])
@pytest.mark.parametrize("centred", [False, True])
def test_a_rounded_loss_responds_with_the_best_coefficient_between_its_bounds(name, centred, rng):
    loss = LOSSES[name][0]
    _, y, C = make_problem(name, rng)
    f, target = rng.normal(size=len(y)), loss.target(np, y, C, 1.5)
    sigma, center = 2.0 * np.minimum(C / WIDTH, 1.5), 0.0
    if centred:
        center = np.clip(rng.normal(size=len(y)), target.lower, target.upper)
        target = target._replace(center=center)
    response = loss.respond(np, f, target, 2.0)
    share = np.linspace(0.0, 1.0, 20_001)[:, None]
    c = target.lower + share * (target.upper - target.lower)
    kept = c * (y - f) - loss.epsilon * np.abs(c)
    rounded = kept - 0.5 * (c - center) ** 2 / sigma
    assert_allclose(response.coef, np.take_along_axis(c, rounded.argmax(axis=0)[None], axis=0)[0], atol=1e-3)
    assert_allclose(response.loss, np.maximum(kept.max(axis=0), 0.0).sum(), rtol=1e-3)
    assert_allclose(response.dual, response.coef @ y - loss.epsilon * np.abs(response.coef).sum())
    assert_allclose(response.mass, response.coef.sum(), atol=1e-12)
    assert_allclose(response.curvature, sigma * _differs(response.coef, target, loss.epsilon))


def _differs(coef, target, epsilon):
    return (coef > target.lower) & (coef < target.upper) & ((coef != 0.0) | (epsilon == 0.0))


@pytest.mark.parametrize("name", ["hinge", "quantile", "ε-insensitive"])
@pytest.mark.parametrize("centred", [False, True])
def test_compiled_and_written_for_any_namespace_a_loss_is_the_same(name, centred, rng):
    loss = LOSSES[name][0]
    _, y, C = make_problem(name, rng)
    f, target = rng.normal(size=len(y)), loss.target(np, y, C, 1.5)
    if centred:
        target = target._replace(center=np.clip(rng.normal(size=len(y)), target.lower, target.upper))
    other = SimpleNamespace(**vars(np))  # any namespace but NumPy itself
    for ours, theirs in zip(*(loss.respond(xp, f, target, 2.0) for xp in (np, other)), strict=True):
        assert_allclose(ours, theirs, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", ["hinge", "log-loss"])
def test_slopes_are_the_rows_derivatives_along_a_step(name, rng):
    loss, h = LOSSES[name][0], 1e-6
    X, y, weight = make_problem(name, rng)
    rows = TableRows.of(code_columns(X), y, weight).with_penalty(loss, 1.0)
    rows = rows.recenter(rows.at(rng.normal(size=rows.value.shape), 0.0), 1.0)
    point, step = (rows.at(rng.normal(size=rows.value.shape), 0.1) for _ in range(2))
    for share, slope in zip([0.0, 0.4], rows.slopes(point, step, 1.0, np.array([0.0, 0.4])), strict=True):
        above, below = (rows.respond(point.moved(step, share + s), 1.0) for s in (h, -h))
        if loss.smooth:  # of a rounded loss, −Σ c y + the proximal term, is the rest
            assert_allclose(slope, -(above.loss - below.loss) / (2 * h), rtol=1e-5)
        df = step.value + step.bias
        assert_allclose(slope, rows.respond(point.moved(step, share), 1.0).coef @ df)
