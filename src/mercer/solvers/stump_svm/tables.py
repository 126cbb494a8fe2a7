r"""Rows whose features have few values: a function is a table, and rows keep nothing between passes.

The decision value of a row is looked up: :math:`f_i = \sum_d g_d[\mathrm{code}_{id}] + b`. A pass over the
rows is a pure function of one part of them (`look_at`, `slopes_at`), and its results add up. Where the parts
are, and who adds up, is all that engines differ in: memory here, a GPU in `stump_svm.torch_rows`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any, NamedTuple, Self

import numpy as np

from mercer._typing import Array
from mercer.solvers.stump_svm.losses import Response, Rounding
from mercer.solvers.stump_svm.newton import add_up_by_code, solve_system
from mercer.solvers.stump_svm.preconditioner import Coarsening
from mercer.solvers.stump_svm.products import CodedColumns, look_up, sum_by_code
from mercer.solvers.stump_svm.rows import Look, Point, thin

SAMPLE = 8  # rows for each number of the table whose curvature a Newton step uses, if there are more
PART_ROWS = 2**16  # rows of a part in memory: what is computed of them on the way stays in the cache


class Table(NamedTuple):
    """g_d at the ascending values of each feature, zero at the first."""

    g: Any  # (D, B), of NumPy or torch


def integrate(value: Any, histogram: Any) -> Any:
    """Return the table of the function whose slope at t is 2 Σ of the coefficients at values above t."""
    above = histogram[:1].sum() - histogram[:, :-1].cumsum(1)
    table = 0.0 * value
    table[:, 1:] = (2.0 * above * (value[:, 1:] - value[:, :-1])).cumsum(1)
    return table


class Part(NamedTuple):
    """Some rows in memory."""

    code: Any  # (D, n)
    y: Any
    weight: Any
    target: Any = None
    center: Any = None  # of the proximal term of each row, or none, which is zero
    xp: Any = np

    def gather(self, table: Array) -> Array:
        """Return Σ_d table_d at each row's codes."""
        out = np.zeros(self.code.shape[1])
        look_up(self.code, table, out)
        return out

    def scatter(self, v: Array, n_values: int) -> Array:
        """Return Σv of the rows at each value of each feature."""
        code, out = self.code, np.zeros((len(self.code), n_values))
        if 2 * np.count_nonzero(v) < len(v):
            rows = np.flatnonzero(v)
            code, v = np.take(code, rows, axis=1), v[rows]
        sum_by_code(code, v, out)
        return out

    def sample(self, every: int) -> "Part":
        """Return one row in `every`, each of as many times its weight."""
        rows = thin(self.xp.arange(len(self.y)), every)
        return Part(np.take(self.code, rows, axis=1), self.y[rows], every * self.weight[rows])

    def take_curved(self, curvature: Array, every: int) -> tuple[int, Array, Array]:
        """Return the number of rows of positive curvature, and codes and curvature of one in `every`."""
        rows = np.flatnonzero(curvature)
        taken = thin(rows, every)
        return len(rows), np.take(self.code, taken, axis=1), every * curvature[taken]


class PartLook(NamedTuple):
    """What a part of the rows adds to a `Look`."""

    histogram: Array  # (D, B), Σc of the rows at each value
    mass: float
    loss: float
    dual: float
    proximal: float
    n_curved: int
    code: Any  # (D, m)
    curvature: Any  # (m,)

    def __add__(self, other: Any) -> "PartLook":
        """Add what another part of the rows has."""
        sums = [a + b for a, b in zip(self[:6], other[:6], strict=True)]
        code = np.concatenate([self.code, other.code], axis=1)
        return PartLook._make([*sums, code, np.concatenate([self.curvature, other.curvature])])


def respond(part: Any, point: Point, loss: Any, term: Rounding) -> Response:
    """Return how the rows of a part respond to their decision values."""
    f = part.gather(point.function.g) + point.bias
    response: Response = loss.respond(part.xp, f, part.target, part.center, term)
    return response


def look_at(part: Any, point: Point, loss: Any, term: Rounding, every: int) -> PartLook:
    """Return what a part of the rows adds to the sums at a point."""
    r = respond(part, point, loss, term)
    histogram = part.scatter(r.coef, point.function.g.shape[1])
    return PartLook(histogram, *r[2:], *part.take_curved(r.curvature, every))


def slopes_at(part: Any, point: Point, step: Point, loss: Any, term: Rounding, shares: Array) -> Array:
    """Return what a part of the rows adds to Σ_i c_i Δf_i, at some shares of a step."""
    f, df = (part.gather(p.function.g) + p.bias for p in (point, step))
    slopes: Array = loss.slopes(part.xp, f, df, part.target, part.center, term, shares)
    return slopes


def set_penalty(part: Any, loss: Any, C: float) -> Any:
    """Return the part with penalties C × weight, and no centres."""
    return part._replace(target=loss.target(part.xp, part.y, C * part.weight), center=None)


def count(part: Any, n_values: int) -> Array:
    """Return the number of rows at each value of each feature."""
    ones: Array = part.scatter(part.xp.ones_like(part.y), n_values)
    return ones


@dataclass(frozen=True)
class TableRows:
    """The rows of one problem, in one or more parts."""

    value: Any  # (D, B), ascending, the last one repeated
    parts: Sequence[Any]
    n_rows: int
    diagonal: float = 0.0
    coarsening: Any = None
    is_exact = False
    keeps_centers = True

    @property
    def most_curved(self) -> int:
        """Return about how many rows a Newton step uses."""
        return SAMPLE * int(np.prod(self.value.shape))

    @classmethod
    def of(cls, columns: CodedColumns, y: Array, weight: Array, part_rows: int = PART_ROWS) -> Self:
        """Return rows in memory, in parts of about equal size."""
        ends = np.linspace(0, len(y), -(-len(y) // part_rows) + 1).astype(int)
        parts = [
            Part(np.ascontiguousarray(columns.code[:, i:j]), y[i:j], weight[i:j]) for i, j in pairwise(ends)
        ]
        return cls(columns.value, parts, len(y)).measured()

    def with_penalty(self, loss: Any, C: float, centers: Sequence[Any] | None = None) -> Self:
        """Return the rows with penalties C × weight."""
        parts = self.map(set_penalty, loss, C)
        if centers is not None:
            parts = [part._replace(center=center) for part, center in zip(parts, centers, strict=True)]
        return replace(self, parts=parts)

    def sample(self, every: int) -> Self:
        """Return one row in `every`, each of as many times its weight."""
        parts = self.map(type(self.parts[0]).sample, every)
        return replace(self, parts=parts, n_rows=sum(len(part.y) for part in parts))

    def extend(self, solution: Any, every: int) -> Point:
        """Return at all rows what such a sample has found."""
        return Point(solution.function, solution.bias)

    @property
    def has_centers(self) -> bool:
        """Return whether the rows have centres."""
        return self.keeps_centers and self.parts[0].center is not None

    def measured(self) -> Self:
        """Fill in the mean diagonal of the centred kernel, which is the mean distance of two rows."""
        n_rows = self.add_up(count, self.value.shape[1])
        share, gap = n_rows.cumsum(1)[:, :-1] / self.n_rows, self.value[:, 1:] - self.value[:, :-1]
        diagonal = float((2.0 * share * (1.0 - share) * gap).sum())
        return replace(self, diagonal=diagonal, coarsening=Coarsening(self.value, n_rows.__getitem__))

    def zero(self) -> Table:
        """Return the function that is zero."""
        return Table(0.0 * self.value)

    def inner(self, a: Table, b: Table) -> float:
        """Return the inner product of two functions, ½ Σ_d ∫ a_d' b_d', whose half square is the penalty."""
        gap = self.value[:, 1:] - self.value[:, :-1]
        product = (a.g[:, 1:] - a.g[:, :-1]) * (b.g[:, 1:] - b.g[:, :-1])
        return 0.5 * float((product / (gap + (gap <= 0.0))).sum())  # at equal values g is equal

    def balance(self, point: Point, loss: Any, term: Rounding) -> Point:
        """Return the point: to move its intercept would take passes, and the next Newton step does it."""
        return point

    def look(self, point: Point, loss: Any, term: Rounding, every: int) -> Look:
        """Return the sums at a point, and one in `every` of the rows of positive curvature."""
        return self.sum_up(point, self.add_up(look_at, point, loss, term, every))

    def sum_up(self, point: Point, seen: PartLook) -> Look:
        """Return what all parts together have seen at a point."""
        away = Table(integrate(self.value, seen.histogram) - point.function.g)
        return Look(away, *seen[1:6], seen.code, seen.curvature)

    def slopes(self, point: Point, step: Point, loss: Any, term: Rounding, shares: Array) -> Array:
        """Return Σ_i c_i Δf_i at some shares of a step."""
        sums: Array = self.add_up(slopes_at, point, step, loss, term, shares)
        return sums

    def newton_step(self, point: Point, seen: Look, floor: float) -> Point:
        """Return the step to the minimum if the curvature stays; below `floor`, f need not change."""
        weight, n_values = seen.curvature, self.value.shape[1]
        first = weight * (seen.mass / weight.sum()) if len(weight) > 0 else weight
        away = seen.away.g - integrate(self.value, add_up_by_code(seen.near, first, n_values))
        r = np.zeros(len(weight))
        look_up(seen.near, away, r)
        x, bias = solve_system(seen.near, self.coarsening, weight, first, r, self.diagonal, floor)
        away -= integrate(self.value, add_up_by_code(seen.near, x, n_values))
        return Point(Table(away), bias)

    def coefs(self, point: Point, loss: Any, term: Rounding) -> list[Any]:
        """Return the coefficients of the rows, part by part."""
        return [r.coef for r in self.map(respond, point, loss, term)]

    def recenter(self, point: Point, loss: Any, term: Rounding) -> Self:
        """Return the rows with their centres at the coefficients of a point."""
        coefs = self.coefs(point, loss, term)
        return replace(
            self, parts=[part._replace(center=c) for part, c in zip(self.parts, coefs, strict=True)]
        )

    def map(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return the function's results for each part."""
        return [function(part, *arguments) for part in self.parts]

    def add_up(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the sum of the function's results over the parts."""
        return reduce(add, self.map(function, *arguments))
