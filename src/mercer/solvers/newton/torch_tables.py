"""The engine for torch: rows, tables and Newton systems stay on the tensors' device, a GPU for example."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Self

import torch
from sklearn.externals.array_api_compat import torch as xp

from mercer.solvers.newton import columns
from mercer.solvers.newton.products import CodedColumns
from mercer.solvers.newton.rows import Look, Point
from mercer.solvers.newton.tables import TableRows

MOST_CURVED = 2**17  # rows of a Newton step on a GPU
COARSE = 320  # cells of values, of all features together; …
COARSE_ON_GPU = 8192  # … with one for each value, a Newton step is exact, and a GPU likes large matrices
ROWS_OF_A_CELL = 16  # that its matrix is made of; …
ROWS_ON_GPU = 4  # … of large matrices fewer are enough, and these products take most of the time
ROWS_OF_A_PRODUCT = 2**15  # at a time
CG_TOL = 0.1  # of a Newton step, whose curvature is known no better
MOST_STEPS = 500  # of conjugate gradients
TINY = 1e-300
NUMBERS_AT_ONCE = 2**26  # that are put into bins: 0.5 GB, some times over
BLOCK = 1024  # rows of a program on a GPU
COPIES = 64  # of the sums by value: additions to one place wait for each other


@dataclass(frozen=True)
class TorchTableRows(TableRows):
    """Rows on a device."""

    sample_from, sample_of = 200_000, 10  # on a GPU, a Newton step for few rows takes as long as for many

    @classmethod
    def of(cls, columns: Any, y: Any, weight: Any) -> Self:
        """Prepare the rows, in double precision: stiff rows have no digits to lose."""
        return super().of(CodedColumns(columns.code, columns.value.double()), y.double(), weight.double())

    @property
    def most_curved(self) -> int:
        """Return about how many rows a Newton step uses: on a GPU more, as they cost little there."""
        return max(super().most_curved, MOST_CURVED if self.value.is_cuda else 0)

    def gather(self, columns: CodedColumns, coef: Any) -> Any:
        """Return Σ_d table_d at each row's codes."""
        code, table = columns.code, coef
        out = table.new_zeros(code.shape[1])
        if loops := _triton_loops(code):
            loops.gather[_grid(out)](code, table.contiguous(), out, len(out), *table.shape, BLOCK)
            return out
        for c, g in zip(code, table, strict=True):
            out += g[c.int()]
        return out

    def scatter(self, columns: CodedColumns, v: Any) -> Any:
        """Return Σv of the rows at each value of each feature."""
        code = columns.code
        loops, shape = _triton_loops(code), self.value.shape
        sums = v.new_zeros((COPIES if loops else 1, *shape))
        if loops:
            loops.scatter[_grid(v)](code, v, sums, len(v), *shape, BLOCK, COPIES)
        else:
            for c, row in zip(code, sums[0], strict=True):
                row.index_add_(0, c.int(), v)
        return sums.sum(0)

    def newton_step(self, seen: Look, floor: float) -> Point:
        """Return about the step to the minimum if the curvature stays."""
        if len(seen.curvature) == 0:
            return self.at(seen.away.coef, 0.0)
        near = CodedColumns(seen.near.code.contiguous(), self.value)
        system = NewtonSystem(self, near, seen.curvature)
        step = system.solve(seen.away.coef, seen.mass)
        return self.at(system.table(step[:-1]), float(step[-1]))


def _triton_loops(code: Any) -> Any:
    """Return the loops for a GPU, if that is where the codes are, and Triton is installed."""
    if not code.is_cuda or find_spec("triton") is None:
        return None
    return import_module("mercer.solvers.newton.triton_loops")


def _grid(rows: Any) -> tuple[int]:
    return (-(-len(rows) // BLOCK),)


class NewtonSystem:
    """(1 + RᵀWR) Δt = Rᵀc − t, in the coordinates t in which the penalty is ‖t‖²/2, and b, which has none.

    By conjugate gradients. Their preconditioner solves the system among functions that are linear within
    coarse cells of values, an orthonormal basis Z of which is known: the others hardly change f.
    """

    def __init__(self, rows: TorchTableRows, near: Any, weight: Any) -> None:
        self.rows, self.near, self.weight, value = rows, near, weight, rows.value
        self.root = torch.sqrt(2.0 * (value[:, 1:] - value[:, :-1]))
        D, n_gaps = self.root.shape
        n_cells = max(1, min((COARSE_ON_GPU if value.is_cuda else COARSE) // D, n_gaps))
        place = torch.arange(n_gaps, device=value.device) * n_cells // max(n_gaps, 1)
        Z = self.root[:, :, None] * (place[:, None] == torch.arange(n_cells, device=value.device))
        self.Z = Z / Z.norm(dim=1, keepdim=True).clamp(min=TINY)
        self.factor = torch.linalg.cholesky(self._coarse_matrix(D * n_cells + 1))

    def _coarse_matrix(self, size: int) -> Any:
        """Return 1 + ZᵀRᵀWRZ, from some of the rows."""
        n_rows = size * (ROWS_ON_GPU if self.weight.is_cuda else ROWS_OF_A_CELL)
        every = max(1, len(self.weight) // n_rows)
        code, weight = self.near.code[:, ::every].int(), every * self.weight[::every]
        RZ = torch.nn.functional.pad((self.root[:, :, None] * self.Z).cumsum(1), (0, 0, 1, 0))
        H = torch.eye(size, dtype=weight.dtype, device=weight.device)
        H[-1, -1] = 0.0  # the intercept has no penalty
        for c, w in zip(code.split(ROWS_OF_A_PRODUCT, 1), weight.split(ROWS_OF_A_PRODUCT), strict=True):
            F = torch.cat([*map(torch.Tensor.__getitem__, RZ, c), torch.ones_like(w)[:, None]], 1)
            F *= w.sqrt()[:, None]
            H += F.T @ F
        return H

    def solve(self, away: Any, mass: float) -> Any:
        """Return Δt and Δb, in one vector."""
        t = (away[:, 1:] - away[:, :-1]) / self.root.clamp(min=TINY)  # where values are equal, g is equal
        r = torch.cat([t.flatten(), t.new_tensor([mass])])
        x, z = torch.zeros_like(r), self._precondition(r)
        p, first = z, r @ z
        rz = first
        for _ in range(MOST_STEPS):
            if rz <= CG_TOL**2 * first:
                break
            q = self._product(p)
            length = rz / (p @ q)
            x += length * p
            r -= length * q
            z = self._precondition(r)
            last, rz = rz, r @ z
            p = z + (rz / last) * p
        return x

    def table(self, t: Any) -> Any:
        """Return the table of a function."""
        return torch.nn.functional.pad((self.root * t.reshape(self.root.shape)).cumsum(1), (1, 0))

    def _product(self, v: Any) -> Any:
        x = self.weight * (self.rows.gather(self.near, self.table(v[:-1])) + v[-1])
        total, sums = x.sum(), self.rows.scatter(self.near, x)
        above = self.root * (total - sums.cumsum(1)[:, :-1])
        return torch.cat([v[:-1] + above.flatten(), total[None]])

    def _precondition(self, r: Any) -> Any:
        """Return Z H⁻¹ Zᵀ r + (1 − ZZᵀ) r."""
        inside = torch.einsum("dk,dkc->dc", r[:-1].reshape(self.root.shape), self.Z)
        coarse = torch.cat([inside.flatten(), r[-1:]])
        solved = torch.cholesky_solve(coarse[:, None], self.factor)[:, 0]
        change = torch.einsum("dc,dkc->dk", (solved - coarse)[:-1].reshape(inside.shape), self.Z)
        return torch.cat([r[:-1] + change.flatten(), solved[-1:]])


def choose_knots(X: Any, max_bins: int) -> Any:
    """Return the knots of each column, as `columns.choose_knots` does, in a table; the last are repeated."""
    knots = [columns.choose_knots(x, max_bins, xp) for x in X.T]
    most = max(map(len, knots))
    return torch.stack([torch.cat([k, k[-1:].expand(most - len(k))]) for k in knots])


def bin_tensor(X: Any, knots: Any, convert: Callable[[Any], Any]) -> Any:
    """Return the number (D, n) of each converted value's nearest knot; `knots` (D, B) ascend.

    Blocks of rows are turned round first: their columns would be read from all over the memory.
    """
    middle = columns.between(knots[:, :-1], knots[:, 1:])
    middle[knots[:, 1:] == knots[:, :-1]] = torch.inf
    kind = torch.uint8 if knots.shape[1] <= 256 else torch.int32
    code = torch.empty((len(knots), len(X)), dtype=kind, device=X.device)
    size = max(1, NUMBERS_AT_ONCE // len(knots))
    for rows, out in zip(X.split(size), code.split(size, 1), strict=True):
        out.copy_(torch.searchsorted(middle, convert(rows).T.contiguous(), out_int32=True))
    return code
