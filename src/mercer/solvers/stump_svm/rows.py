r"""What the solver asks of the rows: how they respond to a function, and what these responses add up to.

An *engine* holds the rows of a problem. It knows how to represent a function in the span of the stump kernel,
and how to pass over the rows; the solver knows neither. `Rows` is what engines have in common. Next comes
that of an exact problem, where f = K a with one coefficient for each row; `stump_svm.tables` has the
other kind.
"""

import sys
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from mercer._typing import Array
from mercer.compiled import njit
from mercer.solvers.stump_svm.columns import select_rows
from mercer.solvers.stump_svm.losses import Response, Rounding
from mercer.solvers.stump_svm.newton import solve_system
from mercer.solvers.stump_svm.preconditioner import Coarsening
from mercer.solvers.stump_svm.products import CodedColumns

GOLDEN = 2654435769  # the golden ratio of 2³²: its multiples, modulo that, are as good as random here
TINY = 1e-300
HUGE = 1e300  # stands for infinity in loops that the compiler may reorder
SNAP = 1e-12  # a coefficient this near a bound is on it, as a share of the box or of what moves f by one
BALANCE_STEPS = 50
SUM_TOL = 1e-12  # Σc is zero if it is at most this share of Σ|c|


def thin(rows: Any, every: int) -> Any:
    """Return about one in `every` of some row numbers, whatever order the rows are in; always the same."""
    return rows if every == 1 else rows[rows * GOLDEN % 2**32 < 2**32 // every]


class RowFunction(NamedTuple):
    """A function in the span of the kernel: what represents it, and its value at each row, add up alike."""

    coef: Any  # a of f = K a, or the table g, or the weights of features
    value: Any


class Point(NamedTuple):
    """A function and the intercept b."""

    function: RowFunction
    bias: float

    def moved(self, step: "Point", share: float = 1.0) -> "Point":
        """Return the point after a share of a step."""
        (coef, value), (to_coef, to_value) = self.function, step.function
        function = RowFunction(coef + share * to_coef, value + share * to_value)
        return Point(function, self.bias + share * step.bias)


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
    target: Any = None  # with the penalties
    center: Any = None  # of the proximal term of each row, or none, which is zero
    xp = np
    is_exact = False
    keeps_centers = True
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
        return self.center is not None

    def with_penalty(self, loss: Any, C: float, center: Any = None) -> Self:
        """Return the rows with penalties C × weight."""
        return replace(self, target=loss.target(self.xp, self.y, C * self.weight), center=center)

    def zero(self) -> RowFunction:
        """Return the function that is zero."""
        return RowFunction(0.0 * self.y, 0.0 * self.y)

    def respond(self, point: Point, loss: Any, term: Rounding) -> Response:
        """Return how the rows respond to their decision values."""
        f = point.function.value + point.bias
        response: Response = loss.respond(self.xp, f, self.target, self.center, term)
        return response

    def slopes(self, point: Point, step: Point, loss: Any, term: Rounding, shares: Array) -> Array:
        """Return Σ_i c_i Δf_i at some shares of a step."""
        f, df = point.function.value + point.bias, step.function.value + step.bias
        slopes: Array = loss.slopes(self.xp, f, df, self.target, self.center, term, shares)
        return slopes

    def coef(self, point: Point, loss: Any, term: Rounding) -> Any:
        """Return the coefficients of the rows."""
        return self.respond(point, loss, term).coef

    def recenter(self, point: Point, loss: Any, term: Rounding) -> Self:
        """Return the rows with their centres at their coefficients."""
        return replace(self, center=self.coef(point, loss, term))

    def balance(self, point: Point, loss: Any, term: Rounding) -> Point:
        """Move the intercept to where the coefficients sum to zero, by Newton steps in an interval."""
        if loss.smooth:
            return point
        low, high, far = -np.inf, np.inf, 0.01  # the sum never increases with the intercept
        for _ in range(BALANCE_STEPS):
            r = self.respond(point, loss, term)
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
        coarsening = Coarsening(columns.value, lambda d: np.bincount(columns.code[d], minlength=n_values))
        return cls(columns, y, weight, diagonal, coarsening)

    def sample(self, every: int) -> Self:
        """Return one row in `every`, each of as many times its weight."""
        rows = thin(np.arange(self.n_rows), every)
        return type(self).of(select_rows(self.columns, rows), self.y[rows], every * self.weight[rows])

    def extend(self, solution: Any, every: int) -> Point:
        """Return at all rows what such a sample has found."""
        coef = np.zeros(self.n_rows)
        coef[thin(np.arange(self.n_rows), every)] = solution.function.coef
        return Point(RowFunction(coef, self.columns.product(coef)), solution.bias)

    def inner(self, a: RowFunction, b: RowFunction) -> float:
        """Return the inner product of two functions."""
        return float(a.coef @ b.value)

    def look(self, point: Point, loss: Any, term: Rounding, every: int, last: Look | None = None) -> Look:
        """Return the sums at a point. `away` has its value where its coefficients are, and at curved rows."""
        r = self.respond(point, loss, term)
        free = r.curvature > 0.0
        J, step = np.flatnonzero(free), r.coef - point.function.coef
        free |= step != 0.0
        value = np.zeros(self.n_rows)
        value[free] = self.columns.product_at(step, np.flatnonzero(free))
        return Look(RowFunction(step, value), *r[2:], len(J), J, r.curvature[J])

    def newton_step(self, point: Point, seen: Look, floor: float) -> Point:
        """Return the step to the minimum if the curvature stays; below `floor`, f need not change."""
        J, step, away = seen.near, seen.away.coef.copy(), seen.away.value[seen.near]
        first = seen.curvature * (seen.mass / max(seen.curvature.sum(), TINY))
        if seen.mass != 0.0 and len(J) > 0:
            spread = np.zeros(self.n_rows)
            spread[J] = first
            step -= spread
            away = away - self.columns.product_at(spread, J)
        code = np.take(self.columns.code, J, axis=1)
        x, bias = solve_system(code, self.coarsening, seen.curvature, first, away, self.diagonal, floor)
        step[J] -= x
        return Point(RowFunction(step, self.columns.product(step)), bias)

    def recenter(self, point: Point, loss: Any, term: Rounding) -> Self:
        """Return the rows with their centres at the coefficients of a point."""
        return replace(self, center=self._inside(point.function.coef))

    def settle(self, point: Point, loss: Any, term: Rounding, tol: float) -> tuple[RowFunction, float, float]:
        """Return a function whose coefficients are in their bounds and of sum zero, its b, and the residual.

        The residual is LIBSVM's: the largest violation of the optimality conditions. The better of two: the
        point's coefficients, which have more digits, and the rows' response, which has more on their bounds;
        the first of them if its residual is at most `tol`.
        """
        ends: list[tuple[RowFunction, float, float]] = []
        for given in (point.function.coef, self.respond(point, loss, term).coef):
            coef = self._balanced(self._inside(given))
            value = point.function.value + self.columns.product(coef - point.function.coef)
            residual, bias = measure_violation(coef, value, self.y, self.target.lower, self.target.upper)
            ends.append((RowFunction(coef, value), bias, residual))
            if residual <= tol:
                break
        return min(ends, key=lambda end: end[2])

    def _inside(self, coef: Array) -> Array:
        """Clip to the bounds, and put what is nearly on a bound on it."""
        _, _, lower, upper = self.target
        near = SNAP * np.minimum(upper - lower, 1.0 / self.diagonal if self.diagonal > 0.0 else HUGE)
        coef = np.where(coef <= lower + near, lower, coef)
        return np.where(coef >= upper - near, upper, coef)

    def _balanced(self, coef: Array) -> Array:
        """Shift the rows between their bounds so that all coefficients sum to zero."""
        mass, (_, _, lower, upper) = coef.sum(), self.target
        if abs(mass) <= SUM_TOL * np.abs(coef).sum():
            return coef
        room = np.where((coef > lower) & (coef < upper), upper - lower, 0.0)
        shifted = coef - room * (mass / max(room.sum(), TINY))
        if np.any(room) and np.all((shifted >= lower) & (shifted <= upper)):
            return shifted
        larger = coef > 0.0 if mass > 0.0 else coef < 0.0  # too few rows are free: others must move
        return np.where(larger, coef * (1.0 - mass / coef[larger].sum()), coef)


@njit(cache=True, nogil=True)
def measure_violation(coef: Array, value: Array, y: Array, lower: Array, upper: Array) -> tuple[float, float]:
    """Return LIBSVM's residual, and the intercept: the mean of y − K c over free rows or the middle.

    The residual is the largest y_i − (K c)_i over rows that may rise, less the smallest over those that may
    fall. It is infinite where one of these is no number.
    """
    rise, fall, finite = -HUGE, HUGE, True
    total, free = 0.0, 0
    for i in range(len(y)):
        g = y[i] - value[i]
        finite &= np.isfinite(g)
        may_rise, may_fall = coef[i] < upper[i], coef[i] > lower[i]
        rise = max(rise, g if may_rise else -HUGE)
        fall = min(fall, g if may_fall else HUGE)
        total += g if may_rise & may_fall else 0.0
        free += 1 if may_rise & may_fall else 0
    residual = rise - fall if finite else np.inf
    return residual, total / free if free > 0 else 0.5 * (rise + fall)
