"""Tables of functions: against the exact representation, in parts, from samples of the curved rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.datasets import threenorm
from mercer.solvers.newton import HINGE, LogLoss, SortedRows, TableRows, bin_columns, choose_knots, solve
from mercer.solvers.newton import tables as module
from mercer.solvers.newton.losses import CorneredLoss, SquaredError

LOSSES = {"hinge": HINGE, "log-loss": LogLoss(), "squared error": SquaredError(), "error": CorneredLoss()}


@pytest.fixture
def problem():
    X, y = threenorm(1500, n_features=5, random_state=0)
    columns = bin_columns(X / 8.0, [choose_knots(x / 8.0, 16) for x in X.T])
    return columns, y.astype(float), np.linspace(0.5, 1.5, 1500)


@pytest.mark.parametrize("name", LOSSES)
def test_a_table_is_the_function_of_the_exact_rows(problem, name):
    loss, found = LOSSES[name], []
    for engine in (SortedRows, TableRows):
        rows = engine.of(*problem).with_penalty(loss, 0.1)
        solution = solve(rows, tol=1e-6)
        found.append((solution.objective, solution.function.value + solution.bias))
    assert_allclose(found[0][0], found[1][0], rtol=1e-6)
    assert_allclose(found[0][1], found[1][1], atol=2e-2 * np.ptp(found[0][1]))


def test_values_are_those_of_the_table(problem):
    """Steps add them up; were it not for rounding, they would be looked up."""
    columns, *_ = problem
    solution = solve(TableRows.of(*problem).with_penalty(HINGE, 0.1), tol=1e-6)
    looked_up = np.take_along_axis(solution.function.coef, columns.code.astype(int), axis=1).sum(axis=0)
    assert_allclose(solution.function.value, looked_up, atol=1e-11)


@pytest.mark.parametrize("share", [0.0, 1e-3, 1.0])
def test_a_look_adds_what_changes_since_the_last_one(problem, rng, share):
    rows = TableRows.of(*problem).with_penalty(HINGE, 0.1)
    point, step = (rows.at(g, 0.1) for g in rng.normal(scale=0.1, size=(2, *rows.value.shape)))
    moved = point.moved(step, share)
    expected = rows.look(moved, 3.0, 1)
    found = rows.look(moved, 3.0, 1, rows.look(point, 3.0, 1))
    assert_allclose(found.away.coef, expected.away.coef, atol=1e-11)
    assert_allclose(found.coef, expected.coef)
    np.testing.assert_array_equal(found.near.code, expected.near.code)


def test_a_sample_of_the_curved_rows_leads_to_the_same_minimum(problem, monkeypatch):
    rows = TableRows.of(*problem).with_penalty(HINGE, 0.1)
    expected = solve(rows, tol=1e-4)
    monkeypatch.setattr(module, "SAMPLE", 1)  # 80 of some hundred rows
    monkeypatch.setattr(module, "LEAST", 1)
    found = solve(rows, tol=1e-4)
    assert_allclose(found.objective, expected.objective, rtol=1e-5)


def test_the_mean_diagonal_is_the_mean_distance_of_two_rows(problem):
    columns, *_ = problem
    X = np.take_along_axis(columns.value, columns.code.astype(int), axis=1).T
    expected = np.abs(X[:, None] - X[None]).sum(axis=2).mean()
    assert_allclose(TableRows.of(*problem).diagonal, expected)


def test_a_small_sample_of_rows_gives_a_good_start(problem):
    rows = TableRows.of(*problem)
    part = rows.sample(5)
    assert 200 <= part.n_rows <= 400
    start = rows.extend(solve(part.with_penalty(HINGE, 0.1)), 5)
    near, far = (solve(rows.with_penalty(HINGE, 0.1), start=point) for point in (start, None))
    assert_allclose(near.objective, far.objective, rtol=1e-3)
