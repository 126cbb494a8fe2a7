"""The engine of torch is that of NumPy, on whatever device there is, and moves no rows off it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.datasets import threenorm
from mercer.solvers.stump_svm import HINGE, LogLoss, TableRows, bin_columns, choose_knots, solve

torch = pytest.importorskip("torch")

from mercer.solvers.stump_svm import torch_rows  # noqa: E402

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def make_problem(device, n_bins=12):
    X, y = threenorm(1200, n_features=4, random_state=0)
    knots = [choose_knots(x, n_bins) for x in X.T]
    columns = bin_columns(X, knots)
    tensors = [torch.tensor(a, device=device) for a in (columns.code, columns.value, y, np.ones(1200))]
    return X, knots, columns, y.astype(float), torch_rows.TorchRows.on_device(*tensors)


@pytest.mark.parametrize("most_numbers", [0, 8192])  # systems of rows, and of tables
@pytest.mark.parametrize("loss", [HINGE, LogLoss()], ids=["hinge", "log-loss"])
@pytest.mark.parametrize("device", DEVICES)
def test_the_minimum_is_that_of_numpy(device, loss, most_numbers, monkeypatch):
    monkeypatch.setattr(torch_rows, "MOST_NUMBERS", most_numbers)
    _, _, columns, y, rows = make_problem(device)
    expected = solve(TableRows.of(columns, y, np.ones(1200)).with_penalty(loss, 0.02), loss, tol=1e-5)
    found = solve(rows.with_penalty(loss, 0.02), loss, tol=1e-5)
    assert_allclose(found.objective, expected.objective, rtol=1e-5)
    assert isinstance(found.function.g, torch.Tensor)
    assert found.function.g.device.type == device
    assert_allclose(found.function.g.cpu(), expected.function.g, atol=1e-2 * np.ptp(expected.function.g))


@pytest.mark.parametrize("device", DEVICES)
def test_bins_are_those_of_numpy(device):
    X, knots, columns, _, _ = make_problem(device, n_bins=300)
    table = np.stack([np.pad(k, (0, columns.value.shape[1] - len(k)), mode="edge") for k in knots])
    code = torch_rows.bin_tensor(torch.tensor(X, device=device), torch.tensor(table, device=device))
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
