r"""Rows whose features have few values: a function is a table, and a model of kilobytes.

The decision value of a row is looked up: :math:`f_i = \sum_d g_d[\mathrm{code}_{id}] + b`. What rows add to
the sums at a point depends on them and on the table alone, so that they may be anywhere: in memory here, on a
GPU in `stump_svm.torch_rows`, and on a cluster in `stump_svm.dask_rows`.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer.solvers.stump_svm.newton import Coarsening, solve_system
from mercer.solvers.stump_svm.products import CodedColumns, add_up_by_code, integrate, look_up
from mercer.solvers.stump_svm.rows import Look, Point, Rows, thin

SAMPLE = 8  # rows for each number of the table whose curvature a Newton step uses, if there are more, …
LEAST = 4096  # … and at least so many: few values make cells of equal rows, and a step must not miss one


@dataclass(frozen=True)
class TableRows(Rows):
    """Rows with their codes. The coefficients of a function are g_d at each value, zero at the first."""

    balances = False  # the next Newton step does it

    @classmethod
    def of(cls, columns: Any, y: Any, weight: Any) -> Self:
        """Prepare the rows."""
        rows = cls(columns, y, weight)
        return rows.measured(rows.count())

    def measured(self, count: Any) -> Self:
        """Fill in the mean diagonal of the centred kernel, which is the mean distance of two rows."""
        share, gap = count.cumsum(1)[:, :-1] / self.n_rows, self.value[:, 1:] - self.value[:, :-1]
        diagonal = float((2.0 * share * (1.0 - share) * gap).sum())
        coarsening = Coarsening(self.value, count.__getitem__, diagonal)
        return replace(self, diagonal=diagonal, coarsening=coarsening)

    @property
    def value(self) -> Any:
        """Return the values (D, B) of each feature, ascending, the last one repeated."""
        return self.columns.value

    @property
    def most_curved(self) -> int:  # type: ignore[override]
        """Return about how many rows a Newton step uses."""
        return max(SAMPLE * int(np.prod(self.value.shape)), LEAST)

    def gather(self, code: Any, table: Any) -> Any:
        """Return Σ_d table_d at each row's codes."""
        out = np.zeros(code.shape[1])
        look_up(code, table, out)
        return out

    def scatter(self, code: Any, v: Any) -> Any:
        """Return Σv of the rows at each value of each feature."""
        return add_up_by_code(code, v, self.value.shape[1])

    def count(self) -> Any:
        """Return the number of rows at each value of each feature."""
        return self.scatter(self.columns.code, self.xp.ones_like(self.y))

    def select(self, rows: Any) -> CodedColumns:
        """Return the columns of some rows."""
        return CodedColumns(self.xp.take(self.columns.code, rows, axis=1), self.value)

    def at(self, table: Any, bias: float) -> Point:
        """Return the point of a table: its values are looked up."""
        return Point(table, self.gather(self.columns.code, table), bias)

    def extend(self, solution: Any, every: int) -> Point:
        """Return at all rows what a sample of them has found."""
        return self.at(solution.function.coef, solution.bias)

    def zero(self) -> Point:
        """Return the function that is zero."""
        return Point(0.0 * self.value, 0.0 * self.y)

    def inner(self, a: Point, b: Point) -> float:
        """Return the inner product of two functions, ½ Σ_d ∫ a_d' b_d', whose half square is the penalty."""
        gap = self.value[:, 1:] - self.value[:, :-1]
        product = (a.coef[:, 1:] - a.coef[:, :-1]) * (b.coef[:, 1:] - b.coef[:, :-1])
        return 0.5 * float((product / (gap + (gap <= 0.0))).sum())  # at equal values g is equal

    def look(self, point: Point, stiffness: float, every: int, last: Look | None = None) -> Look:
        """Return the sums at a point, and one in `every` of the rows of positive curvature."""
        r, code = self.respond(point, stiffness), self.columns.code
        old = (0.0, 0.0) if last is None else (last.coef, last.sums)
        sums = self.scatter(code, r.coef - old[0]) + old[1]
        (curved,) = self.xp.nonzero(r.curvature > 0.0)
        taken = thin(curved, every)
        near, curvature = self.select(taken).code, every * r.curvature[taken]
        return Look(self.away(point, sums), *r[2:], len(curved), near, curvature, r.coef, sums)

    def away(self, point: Point, sums: Any) -> Point:
        """Return what leads from a point to the function of coefficients with these sums; no values."""
        return Point(integrate(self.value, sums) - point.coef, 0.0)

    def newton_step(self, seen: Look, floor: float) -> Point:
        """Return the step to the minimum if the curvature stays; below `floor`, f need not change."""
        near, away = seen.near, self.gather(seen.near, seen.away.coef)
        x, bias = solve_system(near, seen.curvature, away, seen.mass, self.coarsening, floor)
        return self.at(seen.away.coef - integrate(self.value, self.scatter(near, x)), bias)
