"""What the solver asks of the rows: how they respond to a function, and what these responses add up to.

Rows have one of three shapes. `TableRows` and `FeatureRows` are `VectorRows`: a function is a table or a
vector, whatever their number, so that they may be anywhere (in memory, on a GPU, on a cluster). `SortedRows`
and `GramRows` are `DualRows`, of an exact problem: f = K a, with a coefficient for each row.
"""

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from mercer._typing import Array
from mercer.array_api import is_of_numpy, namespace
from mercer.solvers.newton.losses import NO_CENTERS, Loss, Response, Target

GOLDEN = 2654435769  # the golden ratio of 2³²: its multiples, modulo that, are as good as random here
TINY, HUGE = 1e-300, 1e300
TYPICAL = 10.0  # σ is at most this multiple of what moves f by one on a row alone: huge C would be stiff
NEARLY = 1e-6  # of the box: so near a bound, a row does not tell where the intercept is
SNAP = 1e-12  # a coefficient this near a bound is on it, as a share of the box or of what moves f by one
BALANCE_STEPS = 50
FEW_FOR_THREADS = 300  # rows whose products are over before a second thread would begin
SUM_TOL = 1e-12  # Σc is zero if it is at most this share of Σ|c|


def thin(rows: Any, every: int) -> Any:
    """Return about one in `every` of some row numbers, whatever order the rows are in; always the same."""
    return rows if every == 1 else rows[rows * GOLDEN % 2**32 < 2**32 // every]


class Point(NamedTuple):
    """A function in the span of the kernel and the intercept b, or a step from one to another."""

    coef: Any  # a of f = K a, or the table g, or the weights of features
    value: Any  # of the function at each row
    bias: Any = 0.0  # of several classes at once one each

    def moved(self, step: "Point", share: float = 1.0) -> "Point":
        """Return the point after a share of a step."""
        return Point(*(here + share * change for here, change in zip(self, step, strict=True)))


class Look(NamedTuple):
    """What a pass over the rows adds up, at a point."""

    away: Any  # from the point's function to that of the rows' coefficients: zero at the minimum
    mass: Any  # Σc, of several classes at once one each
    loss: float
    dual: float
    proximal: float
    n_curved: int  # rows of positive curvature
    near: Any  # these rows, or a sample of them, as the engine needs them for a Newton step
    curvature: Any
    coef: Any = None  # c, and …
    sums: Any = None  # … its sums at each value: the next look at a table adds what changes


@dataclass(frozen=True)
class Rows(ABC):
    """Rows with penalties and centres: what does not depend on how functions are represented."""

    columns: Any
    y: Any
    weight: Any
    diagonal: float = 0.0  # the mean of that of the centred kernel
    coarsening: Any = None
    loss: Any = None
    target: Any = None  # with the penalties, and the centres of the proximal terms
    is_exact = False
    balances = True  # the intercept before each look, which takes passes
    sample_from = 20_000  # rows from which on a fit starts from that of a sample, …
    sample_of = 4  # … of one row in so many

    @property
    def xp(self) -> Any:
        """Return the functions for the rows' arrays."""
        return np if is_of_numpy(self.y) else namespace(self.y)

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return len(self.y)

    @property
    def one_thread(self) -> bool:
        """Return whether more threads would wait more than work, and burn their time."""
        return self.n_rows > FEW_FOR_THREADS

    @property
    def most_curved(self) -> int:
        """Return about how many rows a Newton step uses."""
        return sys.maxsize

    def wants_start(self, loss: Loss) -> bool:
        """Return whether the rows are many enough for a start from a sample of them to be worth it."""
        return self.n_rows >= self.sample_from

    @property
    def has_centers(self) -> bool:
        """Return whether the rows have centres."""
        return len(self.target.center) > 0

    @classmethod
    @abstractmethod
    def of(cls, columns: Any, y: Any, weight: Any) -> Self:
        """Prepare rows, given by their columns: whatever the shape computes with."""

    @abstractmethod
    def select(self, rows: Any) -> Any:
        """Return the columns of some rows."""

    @abstractmethod
    def at(self, coef: Any, bias: float) -> Point:
        """Return the point of some coefficients."""

    @abstractmethod
    def zero(self) -> Point:
        """Return the function that is zero."""

    @abstractmethod
    def inner(self, a: Point, b: Point) -> float:
        """Return the inner product of two functions, whose half square is the penalty."""

    @abstractmethod
    def extend(self, solution: Any, every: int) -> Point:
        """Return at all rows what a sample of one in `every` has found."""

    @abstractmethod
    def look(self, point: Point, stiffness: float, every: int, last: Look | None = None) -> Look:
        """Return the sums at a point, and one in `every` of the rows of positive curvature."""

    @abstractmethod
    def newton_step(self, seen: Look, floor: float) -> Point:
        """Return the step to the minimum if the curvature stays; below `floor`, f need not change."""

    def with_penalty(self, loss: Loss, C: float, center: Any = NO_CENTERS) -> Self:
        """Return the rows with a loss, penalties C × weight, and centres."""
        typical = TYPICAL / self.diagonal if self.diagonal > 0.0 else HUGE
        target: Target = loss.target(self.xp, self.y, C * self.weight, typical)
        return replace(self, loss=loss, target=target._replace(center=center))

    def sample(self: Any, every: int) -> Any:
        """Return one row in `every`, each of as many times its weight."""
        rows = thin(self.xp.arange(self.n_rows, device=self.y.device), every)
        return type(self).of(self.select(rows), self.y[rows], every * self.weight[rows])

    def respond(self, point: Point, stiffness: float) -> Response:
        """Return how the rows respond to their decision values."""
        response: Response = self.loss.respond(self.xp, point.value + point.bias, self.target, stiffness)
        return response

    def slopes(self, point: Point, step: Point, stiffness: float, shares: Array) -> Array:
        """Return Σ_i c_i Δf_i at some shares of a step."""
        f, df = point.value + point.bias, step.value + step.bias
        slopes: Array = self.loss.slopes(self.xp, f, df, self.target, stiffness, shares)
        return slopes

    def violation(self, point: Point, coef: Any) -> tuple[float, float]:
        """Return LIBSVM's residual and the intercept, coefficients near a bound being on it."""
        xp, lower, upper = self.xp, self.target.lower, self.target.upper
        near = NEARLY * (upper - lower)
        coef = xp.where(coef <= lower + near, lower, xp.where(coef >= upper - near, upper, coef))
        return measure_violation(xp, coef, point.value, self.y, lower, upper)

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
            if abs(r.mass) <= SUM_TOL * float(abs(r.coef).sum()):
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
class VectorRows(Rows):
    """Rows whose functions are tables or vectors, of any number of them, wherever they are.

    What a row adds to the sums at a point depends on it and on the function alone.
    """

    balances = False  # the next Newton step does it
    axis = 0  # of the columns along which rows are

    @abstractmethod
    def gather(self, columns: Any, coef: Any) -> Any:
        """Return the values at some rows of the function of some coefficients."""

    @abstractmethod
    def scatter(self, columns: Any, v: Any) -> Any:
        """Return what v of some rows adds up to, of the form of the coefficients: gather, transposed."""

    @abstractmethod
    def represent(self, sums: Any) -> Any:
        """Return the coefficients of Σ_i c_i k(·, x_i), given such sums of c."""

    @abstractmethod
    def moments(self) -> Any:
        """Return sums over the rows that `measured` needs."""

    @abstractmethod
    def measured(self, moments: Any, n_rows: int) -> Self:
        """Fill in what the sums over all rows say of the kernel."""

    @classmethod
    def of(cls, columns: Any, y: Any, weight: Any) -> Self:
        """Prepare the rows."""
        rows = cls(columns, y, weight)
        return rows.measured(rows.moments(), rows.n_rows)

    def wrap(self, array: Any) -> Any:
        """Return the columns of rows that are stored as one array."""
        return array

    def unwrap(self, columns: Any) -> Any:
        """Return the array of columns: `wrap`, turned round."""
        return columns

    def at(self, coef: Any, bias: float) -> Point:
        """Return the point of a function: its values are computed."""
        return Point(coef, self.gather(self.columns, coef), bias)

    def extend(self, solution: Any, every: int) -> Point:
        """Return at all rows what a sample of them has found."""
        return self.at(solution.function.coef, solution.bias)

    def look(self, point: Point, stiffness: float, every: int, last: Look | None = None) -> Look:
        """Return the sums at a point, and one in `every` of the rows of positive curvature."""
        r = self.respond(point, stiffness)
        old = (0.0, 0.0) if last is None else (last.coef, last.sums)
        sums = self.scatter(self.columns, r.coef - old[0]) + old[1]
        (curved,) = self.xp.nonzero(r.curvature > 0.0)
        taken = thin(curved, every)
        near, curvature = self.select(taken), every * r.curvature[taken]
        return Look(self.away(point, sums), *r[2:], len(curved), near, curvature, r.coef, sums)

    def away(self, point: Point, sums: Any) -> Point:
        """Return what leads from a point to the function of coefficients with these sums; no values."""
        return Point(self.represent(sums) - point.coef, 0.0)


@dataclass(frozen=True)
class DualRows(Rows):
    """Rows of an exact problem, f = K a. The columns have `product` and `product_at`."""

    is_exact = True

    def zero(self) -> Point:
        """Return the function that is zero."""
        return Point(0.0 * self.y, 0.0 * self.y)

    def at(self, coef: Any, bias: float) -> Point:
        """Return the point of some coefficients."""
        return Point(coef, self.columns.product(coef), bias)

    def extend(self, solution: Any, every: int) -> Point:
        """Return at all rows what such a sample has found."""
        coef = 0.0 * self.y
        coef[thin(self.xp.arange(self.n_rows, device=self.y.device), every)] = solution.function.coef
        return self.at(coef, solution.bias)

    def inner(self, a: Point, b: Point) -> float:
        """Return the inner product of two functions."""
        return float(a.coef @ b.value)

    def look(self, point: Point, stiffness: float, every: int, last: Look | None = None) -> Look:
        """Return the sums at a point. `away` has its value where its coefficients are, and at curved rows."""
        xp, r = self.xp, self.respond(point, stiffness)
        free = r.curvature > 0.0
        (J,), step = xp.nonzero(free), r.coef - point.coef
        free |= step != 0.0
        value = 0.0 * self.y
        value[free] = self.columns.product_at(step, xp.nonzero(free)[0])
        return Look(Point(step, value), *r[2:], len(J), J, r.curvature[J])

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
            bounds = self.target.lower, self.target.upper
            residual, bias = measure_violation(self.xp, coef, value, self.y, *bounds)
            ends.append((Point(coef, value, bias), residual))
            if residual <= tol:
                break
        return min(ends, key=lambda end: end[1])

    def _inside(self, coef: Any) -> Any:
        """Clip to the bounds, and put what is nearly on a bound on it."""
        xp, lower, upper = self.xp, self.target.lower, self.target.upper
        near = SNAP * xp.clip(upper - lower, None, 1.0 / self.diagonal if self.diagonal > 0.0 else HUGE)
        coef = xp.where(coef <= lower + near, lower, coef)
        return xp.where(coef >= upper - near, upper, coef)

    def _balanced(self, coef: Any) -> Any:
        """Shift the rows between their bounds so that all coefficients sum to zero."""
        xp, mass, lower, upper = self.xp, float(coef.sum()), self.target.lower, self.target.upper
        if abs(mass) <= SUM_TOL * float(abs(coef).sum()):
            return coef
        room = xp.where((coef > lower) & (coef < upper), upper - lower, 0.0)
        total = float(room.sum())
        shifted = coef - room * (mass / max(total, TINY))
        if total > 0.0 and bool(xp.all((shifted >= lower) & (shifted <= upper))):
            return shifted
        larger = coef > 0.0 if mass > 0.0 else coef < 0.0  # too few rows are free: others must move
        return xp.where(larger, coef * (1.0 - mass / (float(coef[larger].sum()) or 1.0)), coef)


def measure_violation(xp: Any, coef: Any, value: Any, y: Any, lower: Any, upper: Any) -> tuple[float, float]:
    """Return LIBSVM's residual, and the intercept: the mean of y − K c over free rows or the middle.

    The residual is the largest y_i − (K c)_i over rows that may rise, less the smallest over those that may
    fall. It is infinite where one of these is no number.
    """
    g, may_rise, may_fall = y - value, coef < upper, coef > lower
    rise, fall = float(xp.where(may_rise, g, -HUGE).max()), float(xp.where(may_fall, g, HUGE).min())
    free = g[may_rise & may_fall]
    residual = rise - fall if bool(xp.all(xp.isfinite(g))) else np.inf
    return residual, float(free.mean()) if len(free) > 0 else 0.5 * (rise + fall)
