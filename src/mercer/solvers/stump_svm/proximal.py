r"""One proximal problem of the SVM's dual: the response of its rows, and how far a point is from the end.

Given a centre ĉ and scales σ_i, the problem is

.. math:: \min_c \tfrac12 c^\top K c - y^\top c + \tfrac12 \sum_i (c_i - \hat c_i)^2 / \sigma_i
          \quad\text{s.t.}\quad l \le c \le u,\; \textstyle\sum_i c_i = 0.

Its dual is smooth in the decision values f = K a + b: it asks that a equals the *response*

.. math:: c_i(f) = \operatorname{clip}(\hat c_i + \sigma_i (y_i - f_i),\, l_i,\, u_i),

and the derivative of the dual along a step (Δa, Δb) is :math:`\sum_i \Delta f_i (a_i - c_i(f))`. Newton steps
(`stump_svm.newton`) find its minimum.
"""

from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.compiled import njit

HUGE = 1e300  # stands for infinity in loops that the compiler may reorder
SUM_TOL = 1e-12  # Σa is zero if it is at most this share of Σ|a|
TINY = 1e-300
SNAP = 1e-12  # a coefficient this near a bound is on it, as a share of the box or of what moves f by one


class Problem(NamedTuple):
    """The SVM's dual: minimise ½ cᵀKc − yᵀc in the box, with Σc = 0."""

    operator: Any  # stands for K: `product`, `product_at` and `restrict`
    y: Array
    lower: Array
    upper: Array
    diagonal: float  # the mean diagonal of the centred K


class Proximal(NamedTuple):
    """A proximal term."""

    center: Array
    sigma: Array


class Point(NamedTuple):
    """Coefficients a, their product K a, and an intercept."""

    coef: Array
    value: Array
    bias: float


def respond(problem: Problem, term: Proximal, value: Array, bias: float) -> tuple[float, Array]:
    """Return the intercept at which the responses sum to zero, and the responses."""
    t = problem.y - value
    t *= term.sigma
    t += term.center
    bias = balance(t, problem.lower, problem.upper, term.sigma, bias)
    t -= term.sigma * bias
    return bias, np.clip(t, problem.lower, problem.upper, out=t)


def balance(t: Array, lower: Array, upper: Array, sigma: Array, b: float) -> float:
    """Return b with Σ clip(t − σ b, lower, upper) = 0: Newton steps from b, kept inside a bracket.

    The sum is piecewise linear in b. A Newton step that stays on one piece ends at the root, whatever is left
    of the sum being rounding. Where all rows are clipped, an interval of b will do: its middle.
    """
    left, right, last_slope = -np.inf, np.inf, 0.0
    for _ in range(200):
        total, size, slope = clipped_sum(t, lower, upper, sigma, b)
        balanced = abs(total) <= (SUM_TOL if slope == last_slope else 1e-15) * size
        if balanced and slope > 0:
            return b
        last_slope = slope
        if total > 0:
            left = b
        else:
            right = b
        if slope > 0:
            new = b + total / slope
        else:
            below, above = _flat_interval(t, lower, upper, sigma, b)
            if balanced:
                return 0.5 * (below + above) if np.isfinite(below) and np.isfinite(above) else b
            new = above if total > 0 else below
        if not left < new < right:
            lowest, highest = np.min((t - upper) / sigma), np.max((t - lower) / sigma)
            left, right = max(left, float(lowest)), min(right, float(highest))
            new = 0.5 * (left + right)
        if new in (left, right):
            return b
        b = new
    return b


@njit(cache=True, nogil=True, fastmath=True)
def clipped_sum(t: Array, lower: Array, upper: Array, sigma: Array, b: float) -> tuple[float, float, float]:
    """Return Σ clip(t − σ b), the sum of its absolute values, and minus its derivative by b."""
    total, size, slope = 0.0, 0.0, 0.0
    for i in range(len(t)):
        x = t[i] - sigma[i] * b
        slope += sigma[i] if (x > lower[i]) & (x < upper[i]) else 0.0
        x = min(max(x, lower[i]), upper[i])
        total += x
        size += abs(x)
    return total, size, slope


def _flat_interval(t: Array, lower: Array, upper: Array, sigma: Array, b: float) -> tuple[float, float]:
    """Return the interval around b in which every row stays clipped as it is.

    A row that rounding has put between its bounds belongs to the nearer one.
    """
    x = t - sigma * b
    at_upper = x - lower >= upper - x
    above = np.min(((t - upper) / sigma)[at_upper], initial=np.inf)
    below = np.max(((t - lower) / sigma)[~at_upper], initial=-np.inf)
    return min(float(below), b), max(float(above), b)


def make_feasible(problem: Problem, point: Point) -> Point:
    """Clip a to the box, and shift its free rows so that they sum to zero.

    Rows on a bound stay there, if they can: a projection would move them all off it by a hair.
    """
    lower, upper = problem.lower, problem.upper
    coef = snap(problem, np.clip(point.coef, lower, upper))
    width = upper - lower
    if abs(coef.sum()) > SUM_TOL * np.abs(coef).sum():
        free = (lower < coef) & (coef < upper)
        shifted = coef - np.where(free, coef.sum() / max((free * width).sum(), TINY) * width, 0.0)
        if not np.all((lower <= shifted) & (shifted <= upper)):  # few or no free rows: others must move
            shifted = np.clip(coef - width * balance(coef, lower, upper, width, 0.0), lower, upper)
        coef = snap(problem, shifted)
    if np.array_equal(coef, point.coef):
        return point
    return Point(coef, point.value + problem.operator.product(coef - point.coef), point.bias)


def snap(problem: Problem, coef: Array) -> Array:
    """Put what is nearly on a bound on it. Newton steps may leave the box: those stay outside."""
    snap_to_bounds(
        coef, problem.lower, problem.upper, 1.0 / problem.diagonal if problem.diagonal > 0 else HUGE
    )
    return coef


@njit(cache=True, nogil=True)
def snap_to_bounds(coef: Array, lower: Array, upper: Array, typical: float) -> None:
    """Do so in place."""
    for i in range(len(coef)):
        near = SNAP * min(upper[i] - lower[i], typical)
        if abs(coef[i] - lower[i]) <= near:
            coef[i] = lower[i]
        elif abs(coef[i] - upper[i]) <= near:
            coef[i] = upper[i]


@njit(cache=True, nogil=True, fastmath=True)
def measure_violation(coef: Array, value: Array, y: Array, lower: Array, upper: Array) -> tuple[float, float]:
    """Return LIBSVM's residual, and the intercept: the mean of y − K c over free rows or the middle.

    The residual is the largest y_i − (K c)_i over rows that may rise, less the smallest over those that may
    fall.
    """
    rise, fall = -HUGE, HUGE
    total, free = 0.0, 0
    for i in range(len(y)):
        g = y[i] - value[i]
        may_rise, may_fall = coef[i] < upper[i], coef[i] > lower[i]
        rise = max(rise, g if may_rise else -HUGE)
        fall = min(fall, g if may_fall else HUGE)
        total += g if may_rise & may_fall else 0.0
        free += 1 if may_rise & may_fall else 0
    return rise - fall, total / free if free > 0 else 0.5 * (rise + fall)


def measure_gap(problem: Problem, coef: Array, f: Array) -> tuple[float, float]:
    """Return how far the primal objective is above the dual one, and the dual one (the negative of P2's)."""
    quadratic, linear = float(coef @ f), float(coef @ problem.y)
    loss = float((problem.upper - problem.lower) @ np.maximum(0.0, 1.0 - problem.y * f))
    return quadratic - linear + loss, linear - 0.5 * quadratic
