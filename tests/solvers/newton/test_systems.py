"""The coarse preconditioner solves exactly the Newton system of rows that are moved to their bins."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from mercer.datasets import threenorm
from mercer.solvers.newton import HINGE, SortedRows, code_columns, solve, systems
from mercer.solvers.newton.products import CodedColumns, make_operator
from mercer.solvers.newton.systems import Coarsening, choose_bins, factor_coarse_problem


def coarsening_of(columns, diagonal=1.0):
    n_values = columns.value.shape[1]
    return Coarsening(columns.value, lambda d: np.bincount(columns.code[d], minlength=n_values), diagonal)


def columns_of(X, rows):
    columns = code_columns(X)
    return CodedColumns(np.ascontiguousarray(columns.code[:, rows]), columns.value)


def solve_bordered(K, ridge, r):
    """Solve (K + diag(ridge)) x + b = r with Σx = 0 as one dense system."""
    m = len(r)
    A = np.block([[K + np.diag(ridge), np.ones((m, 1))], [np.ones((1, m)), np.zeros((1, 1))]])
    return np.linalg.solve(A, np.append(r, 0.0))[:m]


@pytest.mark.parametrize("n_features", [1, 3, 4, 6])
@pytest.mark.parametrize("n_values", [5, 200])
def test_preconditioning_solves_the_system_of_the_bins(rng, n_features, n_values):
    X = rng.integers(0, n_values, size=(120, n_features)) / n_values  # few values are coded, many are sorted
    X[:, 0] = np.where(X[:, 0] < 0.5, 0.0, X[:, 0])
    columns = columns_of(X, np.arange(120))
    bins = coarsening_of(columns).choose(8)
    code = np.take_along_axis(bins.bin_of, columns.code.astype(int), axis=1)
    moved = np.take_along_axis(bins.value, code.astype(int), axis=1).T
    scale, r = rng.uniform(0.5, 20, size=120), rng.normal(size=120)
    z = factor_coarse_problem(code, bins.value, scale).apply(r)
    expected = solve_bordered(-cdist(moved, moved, "cityblock"), 1 / scale, r)
    assert_allclose(z, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("n_values", [5, 200])
def test_bins_are_near_the_values_and_say_how_near(rng, n_values):
    X = rng.integers(0, n_values, size=(150, 3)) / 7.0
    columns = columns_of(X, np.arange(0, 150, 2))
    bins = coarsening_of(columns).choose(16)
    code = np.take_along_axis(bins.bin_of, columns.code.astype(int), axis=1)
    moved = np.take_along_axis(bins.value, code.astype(int), axis=1).T
    assert_allclose(np.abs(X[::2] - moved).sum(axis=1).mean(), bins.distance, atol=1e-15)
    assert bins.distance <= 3 * np.ptp(X) / 16
    if n_values == 5:
        assert bins.distance == pytest.approx(0.0, abs=1e-15)


def test_bins_ascend_and_each_has_the_mean_of_its_rows(rng):
    value, count = np.sort(rng.normal(size=200)), rng.integers(0, 4, size=200).astype(float)
    bin_of, bin_value = choose_bins(value, count, 10)
    assert np.all(np.diff(bin_of.astype(int)) >= 0)
    means = [np.average(value[bin_of == k], weights=count[bin_of == k]) for k in range(10)]
    assert_allclose(bin_value, means)


def test_bins_leave_out_equally_much():
    """Half of the rows in a hundredth of the range, half in the rest: √(rows × gap) calls for 1 bin in 11."""
    value = np.r_[np.linspace(0.0, 0.01, 1000, endpoint=False), np.linspace(0.01, 1.0, 1000)]
    _, bin_value = choose_bins(value, np.ones(2000), 22)
    assert abs((bin_value < 0.01).sum() - 2) <= 1


def test_a_constant_column_has_one_bin():
    bin_of, bin_value = choose_bins(np.full(3, 2.5), np.ones(3), 4)
    np.testing.assert_array_equal(bin_of, 0)
    np.testing.assert_array_equal(bin_value, 2.5)


def test_conjugate_gradients_solve_the_system_with_the_coarse_problem_and_without(rng, monkeypatch):
    monkeypatch.setattr(systems, "CG_TOL", 0.0)  # until the residual is at most the floor
    X = np.round(rng.normal(size=(1000, 3)), 2)
    K, columns, r = -cdist(X, X, "cityblock"), columns_of(X, np.arange(1000)), rng.normal(size=1000)
    diagonal = float(np.mean(-K))
    operator, coarsening = make_operator(*columns), coarsening_of(columns, diagonal)
    for ridge, coarse in ((np.full(1000, 100.0), False), (rng.uniform(1e-3, 1e-2, size=1000), True)):
        problem = coarsening.prepare(columns.code, ridge)
        assert (problem is not None) == coarse
        x, _, n_steps = systems.conjugate_gradients(operator, ridge, diagonal, problem, r, 0.0, 1e-9)
        assert n_steps < 2020  # what it may take
        expected = solve_bordered(K, ridge, r)
        assert_allclose(x, expected, atol=1e-6 * np.abs(expected).max())


def test_the_coarse_problem_saves_most_of_the_steps(rng, monkeypatch):
    monkeypatch.setattr(systems, "CG_TOL", 0.0)
    X = rng.normal(size=(1500, 4))
    columns, ridge, r = columns_of(X, np.arange(1500)), np.full(1500, 1e-3), rng.normal(size=1500)
    # 4.5 is the mean of Σ_d |x_d − x'_d|, 4 × 2/√π
    coarse = coarsening_of(columns, 4.5).prepare(columns.code, ridge)
    _, _, few = systems.conjugate_gradients(make_operator(*columns), ridge, 4.5, coarse, r, 0.0, 1e-4)
    eigenvalues = np.linalg.eigvalsh(_centred(-cdist(X, X, "cityblock")))
    without = np.sqrt(eigenvalues[-1] / 1e-3)  # the root of the condition number, as without preconditioner
    assert few < without / 4


def _centred(K):
    K = K - K.mean(axis=0)
    return K - K.mean(axis=1)[:, None]


def test_a_large_c_whose_systems_are_coarsened_ends_at_the_minimum():
    X, y = threenorm(2500, random_state=5)
    X, y = X[:, :6] / 8.0, y.astype(float)
    rows = SortedRows.of(code_columns(X), y, np.ones(2500)).with_penalty(HINGE, 50.0)
    coef = solve(rows, tol=3e-4).function.coef
    gradient = y + cdist(X, X, "cityblock") @ coef
    lower, upper = np.minimum(y, 0) * 50, np.maximum(y, 0) * 50
    rise, fall = gradient[coef < upper], gradient[coef > lower]
    assert rise.max() - fall.min() <= 1e-3
    assert abs(coef.sum()) <= 1e-9 * np.abs(coef).sum()
