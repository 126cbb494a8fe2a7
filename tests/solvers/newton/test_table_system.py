"""Newton steps of rows in bins: squared errors against the normal equations written out, and the system."""

import numpy as np
import pytest

from mercer.solvers.newton import SquaredError, TableRows, bin_columns, solve_path
from mercer.solvers.newton.table_system import Preconditioner, TableSystem


def draw(n=4000, n_bins=(12, 5, 1, 12), seed=0):
    """Return columns of features that depend on each other, with numbers of values of their own."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=n)
    X = np.column_stack([common + rng.normal(size=n) for _ in n_bins])
    X[:, 3] = X[:, 0]  # the same feature twice
    knots = [np.sort(rng.normal(scale=1.5, size=k)) for k in n_bins]
    y = np.sin(X[:, 0]) + X[:, 1] ** 2 + rng.normal(size=n)
    return bin_columns(X, knots), y, rng.uniform(0.5, 2.0, size=n)


def one_hot(columns):
    """Return the indicators (n, D B) of each feature's values."""
    return np.hstack([np.eye(columns.value.shape[1])[code] for code in columns.code])


def penalty_matrix(value):
    """Return P of ½ gᵀPg = ¼ Σ_d Σ_k (g_{d,k+1} − g_{d,k})² / (u_{d,k+1} − u_{d,k}), one by one."""
    D, B = value.shape
    P = np.zeros((D * B, D * B))
    for d in range(D):
        for k in range(B - 1):
            if value[d, k + 1] > value[d, k]:
                e = np.zeros(D * B)
                e[d * B + k + 1], e[d * B + k] = 1.0, -1.0
                P += 0.5 * np.outer(e, e) / (value[d, k + 1] - value[d, k])
    return P


def solve(columns, y, weight, Cs, **options):
    """Minimise squared errors for each C."""
    return solve_path(TableRows.of(columns, y, weight), Cs, SquaredError(), **options)


@pytest.mark.parametrize("C", [1e-3, 0.1, 50.0])
def test_the_minimum_is_that_of_the_normal_equations(C):
    columns, y, weight = draw()
    (solution,) = solve(columns, y, weight, [C], tol=1e-9)
    Phi = np.column_stack([one_hot(columns), np.ones(len(y))])
    P = np.pad(penalty_matrix(columns.value), (0, 1))
    g = np.linalg.lstsq(P + C * Phi.T @ (weight[:, None] * Phi), C * Phi.T @ (weight * y), rcond=None)[0]
    least = 0.5 * g @ P @ g + 0.5 * C * weight @ (y - Phi @ g) ** 2
    assert -solution.objective == pytest.approx(least, rel=1e-8)
    np.testing.assert_allclose(solution.function.value + solution.bias, Phi @ g, atol=1e-5)
    table = solution.function.coef
    np.testing.assert_allclose(one_hot(columns) @ table.ravel(), solution.function.value, atol=1e-10)
    assert np.all(table[:, 0] == 0.0)
    assert np.all(np.diff(table)[np.diff(columns.value) == 0.0] == 0.0)  # where there is no other value
    np.testing.assert_allclose(
        solution.coef, C * weight * (y - solution.function.value - solution.bias), atol=1e-10 * C
    )


@pytest.mark.parametrize("C", [1e-4, 1e4])
def test_the_residual_is_ten_times_the_relative_duality_gap(C):
    columns, y, weight = draw()
    (rough,) = solve(columns, y, weight, [C], tol=1e-1)
    (fine,) = solve(columns, y, weight, [C], tol=1e-9)
    f = rough.function
    penalty = 2.0 * (0.5 * f.coef.ravel() @ penalty_matrix(columns.value) @ f.coef.ravel())
    primal = 0.5 * penalty + 0.5 * C * weight @ (y - f.value - rough.bias) ** 2
    assert rough.residual <= 1e-1
    assert primal + fine.objective <= 0.1 * 0.1 * penalty  # what the primal lacks is less than the gap
    assert primal + rough.objective == pytest.approx(
        0.1 * rough.residual * max(min(primal, penalty), 1e-4 * primal), rel=1e-6
    )


def test_the_system_is_that_of_the_normal_equations():
    columns, _, weight = draw(3000, (8, 8, 8, 6))  # no more values than the preconditioner has bins
    system, size = TableSystem(columns, weight), columns.value.size
    H = np.zeros((size, size))
    for k in range(size):
        H[:, k] = system.product(np.eye(size)[k].reshape(columns.value.shape)).ravel()
    np.testing.assert_allclose(H, H.T, atol=1e-9)
    Phi = one_hot(columns)
    centred = Phi - weight @ Phi / weight.sum()
    at = system.count.ravel()
    same = np.kron(np.eye(len(columns.value)), np.ones((columns.value.shape[1],) * 2))
    wanted = penalty_matrix(columns.value) + centred.T @ (weight[:, None] * centred)
    np.testing.assert_allclose(H, wanted + same * np.outer(at, at) / weight.sum(), atol=1e-8)
    r = np.random.default_rng(1).normal(size=columns.value.shape) * (system.count > 0.0)
    z = Preconditioner(system.penalty, system.count, every_value(system)).apply(r)
    np.testing.assert_allclose((H @ z.ravel())[at > 0.0], r.ravel()[at > 0.0], atol=1e-3)


@pytest.mark.parametrize("mass", [0.0, 3.0])
def test_a_step_is_the_minimum_of_the_quadratic(mass):
    columns, y, weight = draw(3000, (8, 5, 8, 6))
    rows, rng = TableRows.of(columns, y, weight), np.random.default_rng(2)
    away = rows.represent(rows.scatter(columns, rng.normal(size=3000)))
    t, b = TableSystem(columns, weight).solve(away, mass, 1e-12)
    Phi = np.column_stack([one_hot(columns), np.ones(3000)])
    P = np.pad(penalty_matrix(columns.value), (0, 1))
    right = P @ np.append(away.ravel(), 0.0)
    right[:: columns.value.shape[1]][:4] += mass  # of Phi'c, at the first value of each feature
    right[-1] = mass
    best = np.linalg.lstsq(P + Phi.T @ (weight[:, None] * Phi), right, rcond=None)[0]
    np.testing.assert_allclose(Phi @ np.append(t.ravel(), b), Phi @ best, atol=1e-6 * abs(Phi @ best).max())
    assert np.all(np.diff(t)[np.diff(columns.value) == 0.0] == 0.0)  # where there is no other value


def every_value(system):
    """Return the coarse bins of a system, with one for each value."""
    D, B = system.count.shape
    Phi = one_hot(system.columns)
    E = Phi.T @ (system.weight[:, None] * Phi) - np.outer(system.count, system.count) / system.total
    E *= np.kron(1.0 - np.eye(D), np.ones((B, B)))
    root = np.sqrt(np.where(system.count > 0.0, system.count, np.inf))
    place = np.arange(D * B).reshape(D, B)
    return system.preconditioner.coarse._replace(
        place=place, V=system.count / root, S=0.999999 * E / np.outer(root, root)
    )


def count_products(monkeypatch, columns, y, weight, C):
    """Return how many products a fit of squared errors takes."""
    seen, product = [], TableSystem.product
    monkeypatch.setattr(TableSystem, "product", lambda self, t: seen.append(1) or product(self, t))
    (solution,) = solve(columns, y, weight, [C])
    assert solution.residual <= 1e-3
    return len(seen)


@pytest.mark.parametrize(("C", "most"), [(1e-1, 60), (10.0, 90)])
def test_few_products_are_enough_for_features_that_depend_on_each_other(C, most, monkeypatch):
    given = draw(40_000, (64, 64, 32, 64))
    assert count_products(monkeypatch, *given, C) <= most  # 34 and 58; without coarse bins 98 and 127


@pytest.mark.parametrize("C", [1e-3, 1e-1, 10.0])
def test_with_a_coarse_bin_for_each_value_it_is_almost_solved_at_once(C, monkeypatch):
    assert count_products(monkeypatch, *draw(), C) <= 12  # at most 4; without them 6, 40 and 42


def test_a_system_that_is_singular_ends():
    columns, _, weight = draw(50)
    t, b = TableSystem(columns, weight).solve(0.0 * columns.value, 0.0, 0.1)
    assert np.all(t == 0.0)
    assert b == 0.0


def test_targets_that_are_all_the_same_are_the_intercept():
    columns, _, weight = draw()
    (solution,) = solve(columns, np.full(len(weight), 2.0), weight, [1.0])
    assert solution.bias == pytest.approx(2.0)
    assert np.abs(solution.function.coef).max() < 1e-12


@pytest.mark.parametrize("n_features", [1, 3, 700])
def test_one_value_each_or_many_features_will_do(n_features):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(6000, n_features)).astype(np.float64)
    y = X @ rng.uniform(1.0, 2.0, size=n_features) + rng.normal(size=6000)
    for knots in ([np.zeros(1)] * n_features, [np.array([0.0, 1.0])] * n_features):
        (solution,) = solve(bin_columns(X, knots), y, np.ones(6000), [1.0])
        assert solution.residual <= 1e-3
    assert np.corrcoef(solution.function.value, y)[0, 1] > 0.3
