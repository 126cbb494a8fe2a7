r"""Rows whose features have few values: a function is a table, and a model of kilobytes.

The decision value of a row is looked up: :math:`f_i = \sum_d g_d[\mathrm{code}_{id}] + b`. What rows add to
the sums at a point depends on them and on the table alone, so that they may be anywhere: in memory here, on a
GPU in `stump_svm.torch_rows`, and on a cluster in `stump_svm.dask_rows`.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer.solvers.stump_svm.losses import Rounding
from mercer.solvers.stump_svm.newton import add_up_by_code, solve_system
from mercer.solvers.stump_svm.preconditioner import Coarsening
from mercer.solvers.stump_svm.products import CodedColumns, integrate, look_up
from mercer.solvers.stump_svm.rows import Look, Point, RowFunction, Rows, thin

SAMPLE = 8  # rows for each number of the table whose curvature a Newton step uses, if there are more


@dataclass(frozen=True)
class TableRows(Rows):
    """Rows with their codes. The coefficients of a function are g_d at each value, zero at the first."""

    @classmethod
    def of(cls, columns: Any, y: Any, weight: Any) -> Self:
        """Prepare the rows."""
        rows = cls(columns, y, weight)
        return rows.measured(rows.count())

    def measured(self, count: Any) -> Self:
        """Fill in the mean diagonal of the centred kernel, which is the mean distance of two rows."""
        share, gap = count.cumsum(1)[:, :-1] / self.n_rows, self.value[:, 1:] - self.value[:, :-1]
        diagonal = float((2.0 * share * (1.0 - share) * gap).sum())
        return replace(self, diagonal=diagonal, coarsening=Coarsening(self.value, count.__getitem__))

    @property
    def value(self) -> Any:
        """Return the values (D, B) of each feature, ascending, the last one repeated."""
        return self.columns.value

    @property
    def most_curved(self) -> int:  # type: ignore[override]
        """Return about how many rows a Newton step uses."""
        return SAMPLE * int(np.prod(self.value.shape))

    def gather(self, table: Any) -> Any:
        """Return Σ_d table_d at each row's codes."""
        out = np.zeros(self.n_rows)
        look_up(self.columns.code, table, out)
        return out

    def scatter(self, v: Any) -> Any:
        """Return Σv of the rows at each value of each feature."""
        code, rows = self.columns.code, np.flatnonzero(v != 0.0)
        if 2 * len(rows) < len(v):
            code, v = np.take(code, rows, axis=1), v[rows]
        return add_up_by_code(code, v, self.value.shape[1])

    def count(self) -> Any:
        """Return the number of rows at each value of each feature."""
        return self.scatter(self.xp.ones_like(self.y))

    def at(self, table: Any, bias: float) -> Point:
        """Return the point of a table: its values are looked up."""
        return Point(RowFunction(table, self.gather(table)), bias)

    def sample(self, every: int) -> "TableRows":
        """Return one row in `every`, each of as many times its weight."""
        rows = thin(self.xp.arange(self.n_rows, device=self.y.device), every)
        columns = CodedColumns(self.xp.take(self.columns.code, rows, axis=1), self.value)
        return type(self).of(columns, self.y[rows], every * self.weight[rows])

    def extend(self, solution: Any, every: int) -> Point:
        """Return at all rows what such a sample has found."""
        return self.at(solution.function.coef, solution.bias)

    def zero(self) -> RowFunction:
        """Return the function that is zero."""
        return RowFunction(0.0 * self.value, 0.0 * self.y)

    def inner(self, a: RowFunction, b: RowFunction) -> float:
        """Return the inner product of two functions, ½ Σ_d ∫ a_d' b_d', whose half square is the penalty."""
        gap = self.value[:, 1:] - self.value[:, :-1]
        product = (a.coef[:, 1:] - a.coef[:, :-1]) * (b.coef[:, 1:] - b.coef[:, :-1])
        return 0.5 * float((product / (gap + (gap <= 0.0))).sum())  # at equal values g is equal

    def balance(self, point: Point, loss: Any, term: Rounding) -> Point:
        """Return the point: to move its intercept would take passes, and the next Newton step does it."""
        return point

    def look(self, point: Point, loss: Any, term: Rounding, every: int, last: Look | None = None) -> Look:
        """Return the sums at a point, and one in `every` of the rows of positive curvature."""
        r = self.respond(point, loss, term)
        sums = self.scatter(r.coef) if last is None else last.sums + self.scatter(r.coef - last.coef)
        (curved,) = self.xp.nonzero(r.curvature > 0.0)
        taken = thin(curved, every)
        near, curvature = self.xp.take(self.columns.code, taken, axis=1), every * r.curvature[taken]
        return Look(self.away(point, sums), *r[2:], len(curved), near, curvature, r.coef, sums)

    def away(self, point: Point, sums: Any) -> RowFunction:
        """Return what leads from a point to the function of coefficients with these sums; no values."""
        return RowFunction(integrate(self.value, sums) - point.function.coef, 0.0)

    def newton_step(self, point: Point, seen: Look, floor: float) -> Point:
        """Return the step to the minimum if the curvature stays; below `floor`, f need not change."""
        weight, n_values = seen.curvature, self.value.shape[1]
        first = weight * (seen.mass / weight.sum()) if len(weight) > 0 else weight
        away = seen.away.coef - integrate(self.value, add_up_by_code(seen.near, first, n_values))
        r = np.zeros(len(weight))
        look_up(seen.near, away, r)
        x, bias = solve_system(seen.near, self.coarsening, weight, first, r, self.diagonal, floor)
        return self.at(away - integrate(self.value, add_up_by_code(seen.near, x, n_values)), bias)
