"""Rows of Dask add up to what rows in memory do, and little of them travels."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("dask")

import dask

from mercer.datasets import threenorm
from mercer.solvers.newton import HINGE, FeatureRows, LogLoss, TableRows, bin_columns, choose_knots, dask_rows
from mercer.solvers.newton.dask_rows import SHARES, ClusterError, DaskRows, Part

STIFFNESS = 3.0
C = 0.02


def both(n=3000, part_rows=200, parts_of_a_chunk=4, kind=TableRows):
    """The same rows in memory and as chunks of Dask, of codes or features, and two points."""
    X, y = threenorm(n, random_state=0)
    X, rng = X[:, :3], np.random.default_rng(1)
    columns = bin_columns(X, [choose_knots(column, 12) for column in X.T])
    y, weight = np.where(y > 0, 1.0, -1.0), rng.uniform(0.5, 2.0, n)
    rows = kind.of(columns if kind is TableRows else X, y, weight)
    bare = [
        Part(np.ascontiguousarray(rows.unwrap(rows.select(some))), y[some].astype(np.int8), weight[some])
        for some in np.split(np.arange(n), range(part_rows, n, part_rows))
    ]
    chunks = [tuple(bare[i : i + parts_of_a_chunk]) for i in range(0, len(bare), parts_of_a_chunk)]
    none = kind(rows.select(np.arange(0)), y[:0], weight[:0])
    lazy = DaskRows.over(none, [dask.delayed(chunk, traverse=False) for chunk in chunks], n)
    tables = rng.normal(scale=0.2, size=(2, *rows.zero().coef.shape))
    return rows, lazy, [rows.at(table, float(rng.normal())) for table in tables]


@pytest.mark.parametrize("kind", [TableRows, FeatureRows])
@pytest.mark.parametrize("loss", [HINGE, LogLoss()])
@pytest.mark.parametrize("fan_in", [2, 16])
def test_sums_over_chunks_are_those_over_all_rows(loss, fan_in, kind, monkeypatch):
    monkeypatch.setattr(dask_rows, "FAN_IN", fan_in)
    monkeypatch.setattr(dask_rows, "MOST_NEAR", 100)
    rows, lazy, (point, step) = both(kind=kind)
    assert_allclose(lazy.diagonal, rows.diagonal)
    for centres in ("without", "with"):
        if centres == "without":
            rows, lazy = (engine.with_penalty(loss, C) for engine in (rows, lazy))
        else:
            rows, lazy = (engine.recenter(step, STIFFNESS) for engine in (rows, lazy))
        assert lazy.has_centers is rows.has_centers is (centres == "with")
        seen, expected = (engine.look(point, STIFFNESS, 1) for engine in (lazy, rows))
        assert_allclose(seen.away.coef, expected.away.coef, atol=1e-9)
        assert_allclose(seen[1:6], expected[1:6])
        assert_array_equal(seen.near, rows.unwrap(expected.near))
        assert_allclose(seen.curvature, expected.curvature)
        shares = np.array([0.0, 0.4, 1.0])
        slopes = [engine.slopes(point, step, STIFFNESS, shares) for engine in (lazy, rows)]
        assert_allclose(*slopes)


@pytest.fixture
def passes(monkeypatch):
    """Return the list of the passes, by the names of their functions."""
    names, add_up = [], DaskRows.add_up

    def noted(self, function, *arguments):
        names.append(function.__name__)
        return add_up(self, function, *arguments)

    monkeypatch.setattr(DaskRows, "add_up", noted)
    return names


def test_one_pass_knows_the_slopes_along_a_step_and_what_is_at_its_end(passes):
    rows, lazy, (point, step) = both()
    rows, lazy = (engine.with_penalty(HINGE, C).recenter(step, STIFFNESS) for engine in (rows, lazy))
    passes.clear()
    for shares in (np.array([0.5, 1.0]), *SHARES[:, None]):
        slopes = [engine.slopes(point, step, STIFFNESS, shares) for engine in (lazy, rows)]
        assert_allclose(*slopes)
    between = np.array([0.22])  # they never increase along a step, here neither
    (low, slope, high) = (
        lazy.slopes(point, step, STIFFNESS, s)[0] for s in (SHARES[4:5], between, SHARES[3:4])
    )
    assert low < slope < high
    seen, expected = (engine.look(point.moved(step), STIFFNESS, 1) for engine in (lazy, rows))
    assert passes == ["stride_along"]
    assert_allclose(seen.away.coef, expected.away.coef, atol=1e-9)
    assert_allclose(seen[1:6], expected[1:6])
    assert_array_equal(seen.near, rows.unwrap(expected.near))
    assert_allclose(seen.curvature, expected.curvature)


@pytest.mark.parametrize("change", ["another point", "other centres", "another rounding"])
def test_what_is_at_the_end_of_a_step_is_looked_at_again_if_anything_changed(change, passes):
    rows, lazy, (point, step) = both()
    rows, lazy = (engine.with_penalty(HINGE, C) for engine in (rows, lazy))
    lazy.slopes(point, step, STIFFNESS, np.array([1.0]))
    at, stiffness = point.moved(step), STIFFNESS
    if change == "another point":
        at = point.moved(step, 0.99)
    elif change == "other centres":
        rows, lazy = (engine.recenter(point, STIFFNESS) for engine in (rows, lazy))
    else:
        stiffness = 2.0
    passes.clear()
    seen, expected = (engine.look(at, stiffness, 1) for engine in (lazy, rows))
    assert passes == ["look_at_few"]
    assert_allclose(seen.away.coef, expected.away.coef, atol=1e-9)
    assert_allclose(seen[1:6], expected[1:6])


def test_the_slopes_of_another_step_are_those_of_another_pass(passes):
    rows, lazy, (point, step) = both()
    rows, lazy = (engine.with_penalty(HINGE, C) for engine in (rows, lazy))
    for one in (step, rows.at(-step.coef, 0.3)):
        slopes = [engine.slopes(point, one, STIFFNESS, np.array([1.0])) for engine in (lazy, rows)]
        assert_allclose(*slopes)


def test_of_many_curved_rows_some_travel_with_the_weight_of_all(monkeypatch):
    monkeypatch.setattr("mercer.solvers.newton.tables.SAMPLE", 1)  # 36 rows for a Newton step
    monkeypatch.setattr("mercer.solvers.newton.tables.LEAST", 1)
    rows, lazy, (point, _) = both()
    rows, lazy = (engine.with_penalty(LogLoss(), C) for engine in (rows, lazy))
    seen, expected = (engine.look(point, STIFFNESS, 1) for engine in (lazy, rows))
    assert len(expected.curvature) == rows.n_rows
    assert len(seen.curvature) < 3 * dask_rows.MOST_NEAR * lazy.most_curved
    assert seen.n_curved == expected.n_curved
    assert_allclose(seen.curvature.sum(), expected.curvature.sum(), rtol=0.3)
    assert_allclose(seen.away.coef, expected.away.coef, atol=1e-9)


def test_a_sample_is_small_and_has_the_weight_of_all(monkeypatch):
    monkeypatch.setattr(dask_rows, "MOST_SAMPLED", 150)
    _, lazy, _ = both()
    total = sum(part.weight.sum() for chunk in dask.compute(*lazy.chunks) for part in chunk)
    some = lazy.sample(10)
    assert isinstance(some, TableRows)
    assert 75 < some.n_rows < 300
    assert_allclose(some.weight.sum(), total, rtol=0.5)


def test_a_pass_that_fails_says_where_the_solver_was():
    _, lazy, (point, _) = both()
    broken = replace(lazy, chunks=[dask.delayed(lambda: 1 / 0)()]).with_penalty(HINGE, C)
    with pytest.raises(ClusterError, match="ZeroDivisionError: division by zero") as caught:
        broken.look(point, STIFFNESS, 1)
    assert caught.value.point is point
