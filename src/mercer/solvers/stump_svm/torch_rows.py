"""The engine for torch: rows, tables and Newton systems stay on the tensors' device, a GPU for example."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, Self

import torch

from mercer.solvers.stump_svm.rows import GOLDEN, Look, Point
from mercer.solvers.stump_svm.tables import Table, TableRows, integrate

MOST_CURVED = 8192  # rows that a Newton step uses: their kernel matrix takes 0.5 GB
ROWS_AT_ONCE = 2**22  # that are put into bins
BLOCK = 1024  # rows of a program on a GPU
COPIES = 64  # of the sums by value: additions to one place wait for each other


class TorchPart(NamedTuple):
    """Some rows on a device."""

    code: Any  # (D, n)
    y: Any
    weight: Any
    target: Any = None
    center: Any = None
    xp: Any = torch

    def gather(self, table: Any) -> Any:
        """Return Σ_d table_d at each row's codes."""
        table = table.to(self.y.dtype)
        out = torch.zeros_like(self.y)
        if self.code.is_cuda:
            loops = import_module("mercer.solvers.stump_svm.triton_loops")
            loops.gather[_grid(out)](self.code, table.contiguous(), out, len(out), *table.shape, BLOCK)
            return out
        for code, g in zip(self.code, table, strict=True):
            out += g[code.int()]
        return out

    def scatter(self, v: Any, n_values: int) -> Any:
        """Return Σv of the rows at each value of each feature."""
        D = len(self.code)
        if self.code.is_cuda:
            sums = torch.zeros((COPIES, D, n_values), dtype=v.dtype, device=v.device)
            loops = import_module("mercer.solvers.stump_svm.triton_loops")
            loops.scatter[_grid(v)](self.code, v, sums, len(v), D, n_values, BLOCK, COPIES)
            return sums.sum(0, dtype=torch.float64)
        sums = torch.zeros((D, n_values), dtype=torch.float64, device=v.device)
        for code, row in zip(self.code, sums, strict=True):
            row.index_add_(0, code.int(), v.double())
        return sums

    def sample(self, every: int) -> "TorchPart":
        """Return one row in `every`, each of as many times its weight."""
        rows = _thin(torch.arange(len(self.y), device=self.y.device), every)
        return TorchPart(self.code[:, rows].contiguous(), self.y[rows], every * self.weight[rows])

    def take_curved(self, curvature: Any, every: int) -> tuple[int, Any, Any]:
        """Return the number of rows of positive curvature, and codes and curvature of one in `every`."""
        rows = curvature.nonzero()[:, 0]
        taken = _thin(rows, every)
        return len(rows), self.code[:, taken], every * curvature[taken].double()


def _thin(rows: Any, every: int) -> Any:
    return rows if every == 1 else rows[rows.double() * GOLDEN % 1.0 < 1.0 / every]


@dataclass(frozen=True)
class TorchRows(TableRows):
    """The rows of one problem, in one part."""

    most_curved = MOST_CURVED

    @classmethod
    def on_device(cls, code: Any, value: Any, y: Any, weight: Any) -> Self:
        """Return the rows of tensors on one device, in double precision: a stiff row has no digits to lose."""
        return cls(value.double(), [TorchPart(code, y.double(), weight.double())], len(y)).measured()

    def newton_step(self, point: Point, seen: Look, floor: float) -> Point:
        """Return the step to the minimum if the curvature stays: the system of `newton`, eliminated."""
        away = seen.away.g
        if len(seen.curvature) == 0:
            return Point(Table(away), 0.0)
        near = seen.near[:, :MOST_CURVED].contiguous()
        code, weight = near.long(), seen.curvature[:MOST_CURVED] * (len(seen.curvature) / near.shape[1])
        A = torch.diag(1.0 / weight)
        for x in torch.take_along_dim(self.value - self.value[:, :1], code, 1):
            A += 2.0 * torch.minimum(x[:, None], x)
        r = torch.take_along_dim(away, code, 1).sum(0)
        p, q = torch.cholesky_solve(torch.stack([r, torch.ones_like(r)], 1), torch.linalg.cholesky(A)).unbind(
            1
        )
        bias = (seen.mass - float(p.sum())) / float(q.sum())
        x = p + bias * q
        part = TorchPart(near, x, weight)
        return Point(Table(away - integrate(self.value, part.scatter(x, away.shape[1]))), bias)


def bin_tensor(X: Any, knots: Any) -> Any:
    """Return the number (D, n) of each value's nearest knot; `knots` (D, B) ascend, the last one repeated.

    Blocks of rows are turned round first: their columns would be read from all over the memory.
    """
    middle = (knots[:, 1:] + knots[:, :-1]) / 2
    middle[knots[:, 1:] == knots[:, :-1]] = torch.inf
    middle = middle.to(X.dtype).contiguous()
    kind = torch.uint8 if knots.shape[1] <= 256 else torch.int32
    code = torch.empty(X.shape[::-1], dtype=kind, device=X.device)
    for i in range(0, len(X), ROWS_AT_ONCE):
        block = X[i : i + ROWS_AT_ONCE].T.contiguous()
        code[:, i : i + ROWS_AT_ONCE] = torch.searchsorted(middle, block, out_int32=True)
    return code


def _grid(rows: Any) -> tuple[int]:
    return (-(-len(rows) // BLOCK),)
