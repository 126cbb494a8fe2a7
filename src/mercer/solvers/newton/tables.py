r"""Rows of the stump kernel, which is additive: a function is a table, or K a without a Gram matrix [LL05].

The decision value of a row is looked up: :math:`f_i = \sum_d g_d[\mathrm{code}_{id}] + b`. Where features
have few values (bins), the table is small, and rows may be anywhere: in memory here, on a GPU in
`newton.torch_tables`, on a cluster in `newton.dask_rows`. Where they have many, functions have a coefficient
for each row, and a product with the kernel is a pass over sorted columns.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer._typing import Array, Index
from mercer.solvers.newton.columns import select_rows
from mercer.solvers.newton.losses import Loss
from mercer.solvers.newton.products import CodedColumns, add_up_by_code, integrate, look_up
from mercer.solvers.newton.rows import DualRows, Look, Point, VectorRows, thin
from mercer.solvers.newton.systems import Coarsening, solve_system
from mercer.solvers.newton.table_system import TableSystem

SAMPLE = 24  # rows for each number of the table whose curvature a Newton step uses, if there are more, …
LEAST = 4096  # … and at least so many: few values make cells of equal rows, and a step must not miss one

CG_TOL = 0.1  # share of the gradient, whose square is the gap, that a step leaves: no less than its sample …
LAST_TOL = 0.0005  # … but where the step is the last


@dataclass(frozen=True)
class SortedRows(DualRows):
    """Rows with all their values, in `CodedColumns`."""

    @classmethod
    def of(cls, columns: CodedColumns, y: Array, weight: Array) -> Self:
        """Prepare the rows: the mean diagonal of the centred K is E vᵀKv / n for random signs v."""
        v = np.full(len(y), -1.0)
        v[thin(np.arange(len(y)), 2)] = 1.0
        v -= v.mean()
        diagonal, n_values = max(float(v @ columns.product(v)) / len(v), 0.0), columns.value.shape[1]

        def count(d: int) -> Index:
            return np.bincount(columns.code[d], minlength=n_values)

        coarsening = Coarsening(columns.value, count, diagonal)
        return cls(columns, y, weight, diagonal, coarsening)

    def select(self, rows: Index) -> CodedColumns:
        """Return the columns of some rows."""
        return select_rows(self.columns, rows)

    def newton_step(self, seen: Look, floor: float) -> Point:
        """Return the step to the minimum if the curvature stays; below `floor`, f need not change."""
        J, step = seen.near, seen.away.coef.copy()
        code, away = np.take(self.columns.code, J, axis=1), seen.away.value[J]
        x, bias = solve_system(code, seen.curvature, away, seen.mass, self.coarsening, floor)
        step[J] -= x
        return self.at(step, bias)


@dataclass(frozen=True)
class TableRows(VectorRows):
    """Rows with their codes. The coefficients of a function are g_d at each value, zero at the first."""

    axis = 1

    @property
    def value(self) -> Any:
        """Return the values (D, B) of each feature, ascending, the last one repeated."""
        return self.columns.value

    @property
    def most_curved(self) -> int:
        """Return about how many rows a Newton step uses: of a quadratic loss all, for it is the last."""
        if self.loss is not None and self.loss.quadratic:
            return super().most_curved
        return max(SAMPLE * int(np.prod(self.value.shape)), LEAST)

    def wants_start(self, loss: Loss) -> bool:
        """Return whether a start from a sample is worth it: not where one step is the last."""
        return super().wants_start(loss) and not loss.quadratic

    def moments(self) -> Any:
        """Return the number of rows at each value of each feature."""
        return self.scatter(self.columns, self.xp.ones_like(self.y))

    def measured(self, moments: Any, n_rows: int) -> Self:
        """Fill in the mean diagonal of the centred kernel, which is the mean distance of two rows."""
        share, gap = moments.cumsum(1)[:, :-1] / n_rows, self.value[:, 1:] - self.value[:, :-1]
        return replace(self, diagonal=float((2.0 * share * (1.0 - share) * gap).sum()))

    def wrap(self, array: Any) -> CodedColumns:
        """Return the columns of codes."""
        return CodedColumns(array, self.value)

    def unwrap(self, columns: CodedColumns) -> Any:
        """Return the codes of columns."""
        return columns.code

    def gather(self, columns: CodedColumns, coef: Any) -> Any:
        """Return Σ_d table_d at each row's codes."""
        out = np.zeros(columns.code.shape[1])
        look_up(columns.code, coef, out)
        return out

    def scatter(self, columns: CodedColumns, v: Any) -> Any:
        """Return Σv of the rows at each value of each feature."""
        return add_up_by_code(columns.code, v, self.value.shape[1])

    def represent(self, sums: Any) -> Any:
        """Return the table of the function whose coefficients have these sums."""
        return integrate(self.value, sums)

    def select(self, rows: Any) -> CodedColumns:
        """Return the columns of some rows."""
        return self.wrap(self.xp.take(self.columns.code, rows, axis=1))

    def zero(self) -> Point:
        """Return the function that is zero."""
        return Point(0.0 * self.value, 0.0 * self.y)

    def inner(self, a: Point, b: Point) -> float:
        """Return the inner product of two functions, ½ Σ_d ∫ a_d' b_d'."""
        gap = self.value[:, 1:] - self.value[:, :-1]
        product = (a.coef[:, 1:] - a.coef[:, :-1]) * (b.coef[:, 1:] - b.coef[:, :-1])
        return 0.5 * float((product / (gap + (gap <= 0.0))).sum())  # at equal values g is equal

    def newton_step(self, seen: Look, floor: float) -> Point:
        """Return the step to the minimum if the curvature stays; below `floor`, f need not change."""
        if len(seen.curvature) == 0:
            return self.at(seen.away.coef, 0.0)
        of_all = len(seen.curvature) == self.n_rows and self.loss.quadratic
        tol = LAST_TOL if of_all else CG_TOL
        return self.at(*TableSystem(seen.near, seen.curvature).solve(seen.away.coef, seen.mass, tol))
