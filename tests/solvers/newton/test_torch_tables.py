"""The engine of torch is that of NumPy, on whatever device there is, and moves no rows off it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.datasets import threenorm
from mercer.solvers.newton import (
    HINGE,
    CodedColumns,
    LogLoss,
    TableRows,
    bin_columns,
    choose_knots,
    integrate,
    solve,
)

torch = pytest.importorskip("torch")

from mercer.solvers.newton import torch_tables  # noqa: E402

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def make_problem(device, n_bins=12):
    X, y = threenorm(1200, n_features=4, random_state=0)
    knots = [choose_knots(x, n_bins) for x in X.T]
    columns = bin_columns(X, knots)
    code, value, t, weight = (torch.tensor(a, device=device) for a in (*columns, y, np.ones(1200)))
    return (
        X,
        knots,
        columns,
        y.astype(float),
        torch_tables.TorchTableRows.of(CodedColumns(code, value), t, weight),
    )


@pytest.mark.parametrize("coarse", [1, 16, 8192])  # cells of the preconditioner: one, some, or all
@pytest.mark.parametrize("loss", [HINGE, LogLoss()], ids=["hinge", "log-loss"])
@pytest.mark.parametrize("device", DEVICES)
def test_the_minimum_is_that_of_numpy(device, loss, coarse, monkeypatch):
    for name in ("COARSE", "COARSE_ON_GPU"):
        monkeypatch.setattr(torch_tables, name, coarse)
    _, _, columns, y, rows = make_problem(device)
    expected = solve(TableRows.of(columns, y, np.ones(1200)).with_penalty(loss, 0.02), tol=1e-5)
    found = solve(rows.with_penalty(loss, 0.02), tol=1e-5)
    assert_allclose(found.objective, expected.objective, rtol=1e-5)
    assert isinstance(found.function.coef, torch.Tensor)
    assert found.function.coef.device.type == device
    assert_allclose(
        found.function.coef.cpu(), expected.function.coef, atol=1e-2 * np.ptp(expected.function.coef)
    )


@pytest.mark.parametrize("coarse", [1, 16, 8192])
@pytest.mark.parametrize("device", DEVICES)
def test_a_newton_step_solves_its_system(device, coarse, monkeypatch):
    """Δg + the table of Σ W Δf = away, and Σ W Δf = mass: the system, in tables of NumPy."""
    for name in ("COARSE", "COARSE_ON_GPU"):
        monkeypatch.setattr(torch_tables, name, coarse)
    monkeypatch.setattr(torch_tables, "CG_TOL", 1e-9)
    _, _, columns, _, rows = make_problem(device)
    rng = np.random.default_rng(0)
    weight, away = rng.uniform(0.0, 0.1, 1200), rng.normal(size=columns.value.shape)
    away -= away[:, :1]
    code, w, a = (torch.tensor(x, device=device) for x in (columns.code, weight, away))
    system = torch_tables.NewtonSystem(rows, CodedColumns(code, rows.value), w)
    step = system.solve(a, 0.7)
    table, b = system.table(step[:-1]).cpu().numpy(), float(step[-1])
    x = weight * (np.take_along_axis(table, columns.code.astype(int), 1).sum(0) + b)
    sums = np.array([np.bincount(c, x, columns.value.shape[1]) for c in columns.code])
    assert_allclose(table + integrate(columns.value, sums), away, atol=1e-6)
    assert_allclose(x.sum(), 0.7, atol=1e-6)


@pytest.mark.parametrize("values", ["many", "few", "one often"])
@pytest.mark.parametrize("device", DEVICES)
def test_knots_are_those_of_numpy(device, values, rng):
    X = rng.normal(size=(3000, 3))
    X = {"many": X, "few": np.round(X), "one often": np.where(X > 0, X, 0.5)}[values]
    expected = [choose_knots(x, 20) for x in X.T]
    found = torch_tables.choose_knots(torch.tensor(X, device=device), 20).cpu().numpy()
    assert found.shape[1] == max(map(len, expected))
    for k, row in zip(expected, found, strict=True):
        assert_allclose(row[: len(k)], k, rtol=1e-9, atol=1e-12)
        assert_allclose(row[len(k) :], k[-1])


@pytest.mark.parametrize("device", DEVICES)
def test_bins_are_those_of_numpy(device, monkeypatch):
    monkeypatch.setattr(torch_tables, "NUMBERS_AT_ONCE", 1000)
    X, knots, columns, _, _ = make_problem(device, n_bins=300)
    table = np.stack([np.pad(k, (0, columns.value.shape[1] - len(k)), mode="edge") for k in knots])
    code = torch_tables.bin_tensor(
        torch.tensor(X - 1.0, device=device), torch.tensor(table, device=device), lambda rows: rows + 1.0
    )
    assert code.dtype == torch.int32
    np.testing.assert_array_equal(code.cpu(), columns.code)


def test_no_rows_leave_the_device(monkeypatch):
    rows = make_problem("cpu")[-1].with_penalty(HINGE, 0.02)
    moved = []
    for name in ("cpu", "numpy", "tolist", "__array__"):
        original = getattr(torch.Tensor, name)
        monkeypatch.setattr(
            torch.Tensor,
            name,
            lambda self, *a, _f=original, **k: moved.append(self.numel()) or _f(self, *a, **k),
        )
    solve(rows)
    assert moved == []
