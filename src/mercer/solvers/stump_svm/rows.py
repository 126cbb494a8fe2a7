"""What the solver asks of the rows: how they respond to a function, and what these responses add up to.

An *engine* knows how to represent a function in the span of the kernel, and how to pass over the rows. `Rows`
is what engines have in common, and `ExactRows` that of an exact problem: f = K a, a coefficient for each row.
"""

import sys
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from mercer._typing import Array, Index
from mercer.solvers.stump_svm.columns import select_rows
from mercer.solvers.stump_svm.losses import NO_CENTERS, Response
from mercer.solvers.stump_svm.newton import Coarsening, solve_system
from mercer.solvers.stump_svm.products import CodedColumns

GOLDEN = 2654435769  # the golden ratio of 2³²: its multiples, modulo that, are as good as random here
TINY, HUGE = 1e-300, 1e300
TYPICAL = 10.0  # σ is at most this multiple of what moves f by one on a row alone: huge C would be stiff
SNAP = 1e-12  # a coefficient this near a bound is on it, as a share of the box or of what moves f by one
BALANCE_STEPS = 50
SUM_TOL = 1e-12  # Σc is zero if it is at most this share of Σ|c|


def thin(rows: Any, every: int) -> Any:
    """Return about one in `every` of some row numbers, whatever order the rows are in; always the same."""
    return rows if every == 1 else rows[rows * GOLDEN % 2**32 < 2**32 // every]


class Point(NamedTuple):
    """A function in the span of the kernel and the intercept b, or a step from one to another."""

    coef: Any  # a of f = K a, or the table g, or the weights of features
    value: Any  # of the function at each row
    bias: float = 0.0

    def moved(self, step: "Point", share: float = 1.0) -> "Point":
        """Return the point after a share of a step."""
        return Point(*(here + share * change for here, change in zip(self, step, strict=True)))


class Look(NamedTuple):
    """What a pass over the rows adds up, at a point."""

    away: Any  # from the point's function to that of the rows' coefficients: zero at the minimum
    mass: float  # Σc
    loss: float
    dual: float
    proximal: float
    n_curved: int  # rows of positive curvature
    near: Any  # these rows, or a sample of them, as the engine needs them for a Newton step
    curvature: Any
    coef: Any = None  # c, and …
    sums: Any = None  # … its sums at each value: the next look at a table adds what changes


@dataclass(frozen=True)
class Rows:
    """Rows in memory, with penalties and centres: what does not depend on how functions are represented."""

    columns: Any
    y: Any
    weight: Any
    diagonal: float = 0.0  # the mean of that of the centred kernel
    coarsening: Any = None
    loss: Any = None
    target: Any = None  # with the penalties, and the centres of the proximal terms
    xp = np
    is_exact = False
    balances = True  # the intercept before each look, which takes passes
    most_curved = sys.maxsize  # rows that a Newton step uses
    sample_from = 20_000  # rows from which on a fit starts from that of a sample, …
    sample_of = 4  # … of one row in so many

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return len(self.y)

    @property
    def has_centers(self) -> bool:
        """Return whether the rows have centres."""
        return len(self.target.center) > 0

    def with_penalty(self, loss: Any, C: float, center: Any = NO_CENTERS) -> Self:
        """Return the rows with a loss, penalties C × weight, and centres."""
        typical = TYPICAL / self.diagonal if self.diagonal > 0.0 else HUGE
        target = loss.target(self.xp, self.y, C * self.weight, typical)
        return replace(self, loss=loss, target=target._replace(center=center))

    def sample(self: Any, every: int) -> Any:
        """Return one row in `every`, each of as many times its weight."""
        rows = thin(self.xp.arange(self.n_rows, device=self.y.device), every)
        return type(self).of(self.select(rows), self.y[rows], every * self.weight[rows])

    def zero(self) -> Point:
        """Return the function that is zero."""
        return Point(0.0 * self.y, 0.0 * self.y)

    def respond(self, point: Point, stiffness: float) -> Response:
        """Return how the rows respond to their decision values."""
        response: Response = self.loss.respond(self.xp, point.value + point.bias, self.target, stiffness)
        return response

    def slopes(self, point: Point, step: Point, stiffness: float, shares: Array) -> Array:
        """Return Σ_i c_i Δf_i at some shares of a step."""
        f, df = point.value + point.bias, step.value + step.bias
        slopes: Array = self.loss.slopes(self.xp, f, df, self.target, stiffness, shares)
        return slopes

    def coef(self, point: Point, stiffness: float) -> Any:
        """Return the coefficients of the rows."""
        return self.respond(point, stiffness).coef

    def recenter(self, point: Point, stiffness: float) -> Self:
        """Return the rows with their centres at their coefficients."""
        return replace(self, target=self.target._replace(center=self.coef(point, stiffness)))

    def balance(self, point: Point, stiffness: float) -> Point:
        """Move the intercept to where the coefficients sum to zero, by Newton steps in an interval."""
        if self.loss.smooth or not self.balances:
            return point
        low, high, far = -np.inf, np.inf, 0.01  # the sum never increases with the intercept
        for _ in range(BALANCE_STEPS):
            r = self.respond(point, stiffness)
            slope, bias = float(r.curvature.sum()), point.bias
            if abs(r.mass) <= SUM_TOL * float(np.abs(r.coef).sum()):
                break
            low, high = (bias, high) if r.mass > 0.0 else (low, bias)
            bias += r.mass / slope if slope > 0.0 else np.copysign(far, r.mass)
            if not low < bias < high:
                if np.isinf(high - low):
                    break  # the step is lost in rounding
                bias = 0.5 * (low + high)
            point, far = point._replace(bias=bias), 2.0 * far
        return point


@dataclass(frozen=True)
class ExactRows(Rows):
    """Rows with all their values."""

    is_exact = True

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

    def at(self, coef: Array, bias: float) -> Point:
        """Return the point of some coefficients."""
        return Point(coef, self.columns.product(coef), bias)

    def extend(self, solution: Any, every: int) -> Point:
        """Return at all rows what such a sample has found."""
        coef = np.zeros(self.n_rows)
        coef[thin(np.arange(self.n_rows), every)] = solution.function.coef
        return self.at(coef, solution.bias)

    def inner(self, a: Point, b: Point) -> float:
        """Return the inner product of two functions."""
        return float(a.coef @ b.value)

    def look(self, point: Point, stiffness: float, every: int, last: Look | None = None) -> Look:
        """Return the sums at a point. `away` has its value where its coefficients are, and at curved rows."""
        r = self.respond(point, stiffness)
        free = r.curvature > 0.0
        J, step = np.flatnonzero(free), r.coef - point.coef
        free |= step != 0.0
        value = np.zeros(self.n_rows)
        value[free] = self.columns.product_at(step, np.flatnonzero(free))
        return Look(Point(step, value), *r[2:], len(J), J, r.curvature[J])

    def newton_step(self, seen: Look, floor: float) -> Point:
        """Return the step to the minimum if the curvature stays; below `floor`, f need not change."""
        J, step = seen.near, seen.away.coef.copy()
        code, away = np.take(self.columns.code, J, axis=1), seen.away.value[J]
        x, bias = solve_system(code, seen.curvature, away, seen.mass, self.coarsening, floor)
        step[J] -= x
        return self.at(step, bias)

    def recenter(self, point: Point, stiffness: float) -> Self:
        """Return the rows with their centres at the coefficients of a point."""
        return replace(self, target=self.target._replace(center=self._inside(point.coef)))

    def settle(self, point: Point, stiffness: float, tol: float) -> tuple[Point, float]:
        """Return a point whose coefficients are in their bounds and of sum zero, and the residual.

        The residual is LIBSVM's: the largest violation of the optimality conditions. The better of two: the
        point's coefficients, which have more digits, and the rows' response, which has more on their bounds;
        the first of them if its residual is at most `tol`.
        """
        ends: list[tuple[Point, float]] = []
        for given in (point.coef, self.coef(point, stiffness)):
            coef = self._balanced(self._inside(given))
            value = point.value + self.columns.product(coef - point.coef)
            residual, bias = measure_violation(coef, value, self.y, self.target.lower, self.target.upper)
            ends.append((Point(coef, value, bias), residual))
            if residual <= tol:
                break
        return min(ends, key=lambda end: end[1])

    def _inside(self, coef: Array) -> Array:
        """Clip to the bounds, and put what is nearly on a bound on it."""
        lower, upper = self.target.lower, self.target.upper
        near = SNAP * np.minimum(upper - lower, 1.0 / self.diagonal if self.diagonal > 0.0 else HUGE)
        coef = np.where(coef <= lower + near, lower, coef)
        return np.where(coef >= upper - near, upper, coef)

    def _balanced(self, coef: Array) -> Array:
        """Shift the rows between their bounds so that all coefficients sum to zero."""
        mass, lower, upper = coef.sum(), self.target.lower, self.target.upper
        if abs(mass) <= SUM_TOL * np.abs(coef).sum():
            return coef
        room = np.where((coef > lower) & (coef < upper), upper - lower, 0.0)
        shifted = coef - room * (mass / max(room.sum(), TINY))
        if np.any(room) and np.all((shifted >= lower) & (shifted <= upper)):
            return shifted
        larger = coef > 0.0 if mass > 0.0 else coef < 0.0  # too few rows are free: others must move
        return np.where(larger, coef * (1.0 - mass / coef[larger].sum()), coef)


def measure_violation(coef: Array, value: Array, y: Array, lower: Array, upper: Array) -> tuple[float, float]:
    """Return LIBSVM's residual, and the intercept: the mean of y − K c over free rows or the middle.

    The residual is the largest y_i − (K c)_i over rows that may rise, less the smallest over those that may
    fall. It is infinite where one of these is no number.
    """
    g, may_rise, may_fall = y - value, coef < upper, coef > lower
    rise, fall = g.max(where=may_rise, initial=-HUGE), g.min(where=may_fall, initial=HUGE)
    free = g[may_rise & may_fall]
    residual = float(rise - fall) if np.all(np.isfinite(g)) else np.inf
    return residual, float(free.mean() if len(free) > 0 else 0.5 * (rise + fall))
