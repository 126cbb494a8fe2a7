"""The engine for torch: rows, tables and Newton systems stay on the tensors' device, a GPU for example."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, Self

import torch

from mercer.solvers.stump_svm.rows import GOLDEN, Look, Point
from mercer.solvers.stump_svm.tables import Table, TableRows, integrate

MOST_NUMBERS = 8192  # of a table whose Newton system is solved in these numbers: its matrix takes 0.5 GB
MOST_CURVED = 2**17  # rows that add to that matrix …
ROWS_OF_A_PRODUCT = 2**15  # … so many at a time
MOST_FOR_A_KERNEL = 8192  # rows whose kernel matrix takes 0.5 GB
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

    @classmethod
    def on_device(cls, code: Any, value: Any, y: Any, weight: Any) -> Self:
        """Return the rows of tensors, in double precision: stiff rows have no digits to lose."""
        return cls(value.double(), [TorchPart(code, y.double(), weight.double())], len(y)).measured()

    @property
    def most_curved(self) -> int:
        """Return about how many rows a Newton step uses."""
        return MOST_CURVED if self._is_small else MOST_FOR_A_KERNEL

    @property
    def _is_small(self) -> bool:
        return self.value.numel() <= MOST_NUMBERS

    def newton_step(self, point: Point, seen: Look, floor: float) -> Point:
        """Return the step to the minimum if the curvature stays, its system eliminated."""
        if len(seen.curvature) == 0:
            return Point(seen.away, 0.0)
        near, most = seen.near[:, : self.most_curved].contiguous(), self.most_curved
        weight = seen.curvature[:most] * (len(seen.curvature) / near.shape[1])
        if self._is_small and len(weight) > self.value.numel() // 4:
            return self._step_of_the_table(near, weight, seen)
        return self._step_of_the_rows(near, weight, seen)

    def _step_of_the_table(self, near: Any, weight: Any, seen: Look) -> Point:
        """Solve (1 + RᵀWR) Δt = Rᵀc − t in the coordinates t in which the penalty is ‖t‖²/2, and b."""
        root = torch.sqrt(2.0 * (self.value[:, 1:] - self.value[:, :-1]))
        n = root.numel() + 1
        options = {"dtype": root.dtype, "device": root.device}
        place, H = torch.arange(root.shape[1], device=root.device), torch.eye(n, **options)
        H[-1, -1] = 0.0  # the intercept has no penalty
        for rows in torch.arange(near.shape[1], device=root.device).split(ROWS_OF_A_PRODUCT):
            R = torch.ones((len(rows), n), **options)
            R[:, :-1] = ((near[:, rows, None] > place) * root[:, None]).permute(1, 0, 2).flatten(1)
            R *= weight[rows, None].sqrt()
            H += R.T @ R
        g = seen.away.g
        t = torch.where(root > 0.0, (g[:, 1:] - g[:, :-1]) / torch.where(root > 0.0, root, 1.0), 0.0)
        r = torch.cat([t.flatten(), torch.tensor([seen.mass], **options)])
        step = torch.cholesky_solve(r[:, None], torch.linalg.cholesky(H))[:, 0]
        table = torch.zeros_like(g)
        table[:, 1:] = (root * step[:-1].reshape(root.shape)).cumsum(1)
        return Point(Table(table), float(step[-1]))

    def _step_of_the_rows(self, near: Any, weight: Any, seen: Look) -> Point:
        """Solve the system of `stump_svm.newton` in x, one number for each row."""
        code, away = near.long(), seen.away.g
        A = torch.diag(1.0 / weight)
        for x in torch.take_along_dim(self.value - self.value[:, :1], code, 1):
            A += 2.0 * torch.minimum(x[:, None], x)
        r = torch.take_along_dim(away, code, 1).sum(0)
        both = torch.stack([r, torch.ones_like(r)], 1)
        p, q = torch.cholesky_solve(both, torch.linalg.cholesky(A)).unbind(1)
        bias = (seen.mass - float(p.sum())) / float(q.sum())
        x = p + bias * q
        table = away - integrate(self.value, TorchPart(near, x, weight).scatter(x, away.shape[1]))
        return Point(Table(table), bias)


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
