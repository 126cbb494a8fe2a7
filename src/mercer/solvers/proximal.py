r"""One proximal problem of the SVM's dual, and the Newton step that solves it.

Given a centre ĉ and scales σ_i, the problem is

.. math:: \min_c \tfrac12 c^\top K c - y^\top c + \tfrac12 \sum_i (c_i - \hat c_i)^2 / \sigma_i
          \quad\text{s.t.}\quad l \le c \le u,\; \textstyle\sum_i c_i = 0.

Its dual is smooth in the decision values f = K a + b: it asks that a equals the *response*

.. math:: c_i(f) = \operatorname{clip}(\hat c_i + \sigma_i (y_i - f_i),\, l_i,\, u_i),

and the derivative of the dual along a step (Δa, Δb) is :math:`\sum_i \Delta f_i (a_i - c_i(f))`. A semismooth
Newton step is one linear system in the rows J whose response is not clipped.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mercer.solvers.operators import multiply, multiply_at, restrict

Array = NDArray[np.float64]

CG_TOL = 0.3  # weighted residual of the Newton system over the step's change of f; below 1 it is a descent
DIRECT_ROWS = 1000  # a Newton system that conjugate gradients fail on is eliminated, up to so many rows
HUGE = 1e300  # stands for infinity in loops that the compiler may reorder
SUM_TOL = 1e-12  # Σa is zero if it is at most this share of Σ|a|
TINY = 1e-300
SNAP = 1e-12  # a coefficient this near a bound is on it, as a share of the box or of what moves f by one


class Problem(NamedTuple):
    """The SVM's dual: minimise ½ cᵀKc − yᵀc in the box, with Σc = 0."""

    operator: Any  # stands for K
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


@njit(cache=True, nogil=True)
def respond(problem: Problem, term: Proximal, value: Array, bias: float) -> tuple[float, Array]:
    """Return the intercept at which the responses sum to zero, and the responses."""
    t = term.center + term.sigma * (problem.y - value)
    bias = balance(t, problem.lower, problem.upper, term.sigma, bias)
    return bias, np.minimum(np.maximum(t - term.sigma * bias, problem.lower), problem.upper)


@njit(cache=True, nogil=True)
def balance(t: Array, lower: Array, upper: Array, sigma: Array, b: float) -> float:
    """Return b with Σ clip(t − σ b, lower, upper) = 0: Newton steps from b, kept inside a bracket.

    Where all rows are clipped, an interval of b will do: its middle.
    """
    left, right = -np.inf, np.inf
    for _ in range(200):
        total, size, slope = _clipped_sum(t, lower, upper, sigma, b)
        balanced = abs(total) <= 1e-15 * size
        if balanced and slope > 0:
            return b
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
            lowest, highest = _bracket(t, lower, upper, sigma)
            left, right = max(left, lowest), min(right, highest)
            new = 0.5 * (left + right)
        if new in (left, right):
            return b
        b = new
    return b


@njit(cache=True, nogil=True, fastmath=True)
def _clipped_sum(t: Array, lower: Array, upper: Array, sigma: Array, b: float) -> tuple[float, float, float]:
    """Return Σ clip(t − σ b), the sum of its absolute values, and minus its derivative by b."""
    total, size, slope = 0.0, 0.0, 0.0
    for i in range(len(t)):
        x = t[i] - sigma[i] * b
        slope += sigma[i] if (x > lower[i]) & (x < upper[i]) else 0.0
        x = min(max(x, lower[i]), upper[i])
        total += x
        size += abs(x)
    return total, size, slope


@njit(cache=True, nogil=True)
def _bracket(t: Array, lower: Array, upper: Array, sigma: Array) -> tuple[float, float]:
    """Return the interval outside of which all rows are clipped to the same side."""
    lowest, highest = np.inf, -np.inf
    for i in range(len(t)):
        lowest = min(lowest, (t[i] - upper[i]) / sigma[i])
        highest = max(highest, (t[i] - lower[i]) / sigma[i])
    return lowest, highest


@njit(cache=True, nogil=True)
def _flat_interval(t: Array, lower: Array, upper: Array, sigma: Array, b: float) -> tuple[float, float]:
    """Return the interval around b in which every row stays clipped as it is.

    A row that rounding has put between its bounds belongs to the nearer one.
    """
    below, above = -np.inf, np.inf
    for i in range(len(t)):
        x = t[i] - sigma[i] * b
        if x - lower[i] >= upper[i] - x:
            above = min(above, (t[i] - upper[i]) / sigma[i])
        else:
            below = max(below, (t[i] - lower[i]) / sigma[i])
    return min(below, b), max(above, b)


@njit(cache=True, nogil=True)
def newton_step(problem: Problem, term: Proximal, point: Point, response: Array, floor: float) -> Point:
    """Return the point after one Newton step and a line search; below `floor`, changes of f do not count."""
    step = _newton_direction(problem, term, point, response, floor)
    share = _line_search(problem, term, point, step, 10 * floor)
    coef = snap(problem, point.coef + share * step.coef)
    return Point(coef, point.value + share * step.value, point.bias + share * step.bias)


@njit(cache=True, nogil=True)
def _newton_direction(problem: Problem, term: Proximal, point: Point, response: Array, floor: float) -> Point:
    """Return the changes of a, of K a and of b that solve a = c(f) with the rows J kept unclipped.

    Outside J the new a is the response. Inside, (K_JJ + 1/σ) Δa_J + Δb = (c − a)_J / σ − K_JB Δa_B, with
    ΣΔa = −Σa. The conjugate gradients run among the vectors of sum zero, where K is positive semi-definite.
    """
    J = np.flatnonzero((response > problem.lower) & (response < problem.upper))
    step = response - point.coef
    if len(J) == 0:
        change = multiply(problem.operator, step)
        bias, _ = respond(problem, term, point.value + change, point.bias)
        return Point(step, change, bias - point.bias)
    ridge = 1.0 / term.sigma[J]
    gap = step[J] * ridge
    step[J] = step[J].mean()
    df = gap - step[J] * ridge
    r = df - multiply_at(problem.operator, step, J)
    K_JJ = restrict(problem.operator, J)
    x, bias, solved = _conjugate_gradients(K_JJ, ridge, problem.diagonal, r, df, floor, 2 * len(J) + 20)
    if not solved and len(J) <= DIRECT_ROWS:
        x, bias = _solve_directly(K_JJ, ridge, r)
    step[J] += x
    return Point(step, multiply(problem.operator, step), bias)


@njit(cache=True, nogil=True, fastmath=True)
def _conjugate_gradients(
    operator: Any, ridge: Array, diagonal: float, r: Array, df: Array | None, floor: float, max_steps: int
) -> tuple[Array, float, bool]:
    """Solve (K + ridge) x + b = r with Σx = 0; return x, b, and whether that was enough steps.

    `df` is what the change of f would be at x = 0 if r were zero. The step is a descent as soon as the
    residual's norm, weighted by σ = 1/ridge, is below that of the change of f: it stops there, or where r is
    at most `floor`; without `df`, there alone. Rows of very unequal σ call for the preconditioner.
    """
    m = len(r)
    inverse = 1.0 / (ridge + diagonal)
    total = inverse.sum()
    x, z, p = np.zeros(m), np.empty(m), np.zeros(m)
    b, rz, r = 0.0, 1.0, r.copy()
    for step in range(max_steps):
        shift = (inverse * r).sum() / total
        b += shift
        largest, new, weighted, scale = 0.0, 0.0, 0.0, 0.0
        for i in range(m):
            r[i] -= shift
            z[i] = inverse[i] * r[i]
            new += r[i] * z[i]
            largest = max(largest, abs(r[i]))
            if df is not None:
                change = df[i] - ridge[i] * x[i] - r[i]
                weighted += r[i] * r[i] / ridge[i]
                scale += change * change / ridge[i]
        if largest <= floor or (df is not None and weighted <= CG_TOL * CG_TOL * scale):
            return x, b, True
        ratio = new / rz if step > 0 else 0.0
        rz = new
        for i in range(m):
            p[i] = z[i] + ratio * p[i]
        q = multiply(operator, p)
        curvature = 0.0
        for i in range(m):
            q[i] += ridge[i] * p[i]
            curvature += p[i] * q[i]
        if curvature <= 0.0:  # K is singular along p: there is nothing to solve for
            break
        length = rz / curvature
        for i in range(m):
            x[i] += length * p[i]
            r[i] -= length * q[i]
    return x, b, False


@njit(cache=True, nogil=True)
def _solve_directly(operator: Any, ridge: Array, r: Array) -> tuple[Array, float]:
    """Solve the same system by elimination, for the few that are too ill-conditioned."""
    m = len(r)
    A = np.ones((m + 1, m + 1))
    A[m, m] = 0.0
    unit = np.zeros(m)
    for j in range(m):
        unit[j] = 1.0
        A[:m, j] = multiply(operator, unit)
        unit[j] = 0.0
        A[j, j] += ridge[j]
    solution = np.linalg.solve(A, np.append(r, 0.0))
    return solution[:m], solution[m]


@njit(cache=True, nogil=True)
def _line_search(problem: Problem, term: Proximal, point: Point, step: Point, negligible: float) -> float:
    """Return about the share of the step at which the convex dual is least."""
    f, df = point.value + point.bias, step.value + step.bias
    if np.abs(df).max() <= negligible:  # the slope is all rounding
        return 1.0
    first = _slope(problem, term, f, df, point.coef, step.coef, 0.0)
    left, left_slope = 0.0, first
    right, right_slope = 1.0, _slope(problem, term, f, df, point.coef, step.coef, 1.0)
    if right_slope <= 0.1 * abs(first) or first >= 0.0:
        return 1.0
    share = 1.0
    for _ in range(60):
        share = left + (right - left) * min(max(-left_slope / (right_slope - left_slope), 0.01), 0.99)
        slope = _slope(problem, term, f, df, point.coef, step.coef, share)
        if abs(slope) <= 0.1 * abs(first):
            break
        if slope > 0:
            right, right_slope = share, slope
            left_slope *= 0.5  # regula falsi, Illinois variant: an end that stays counts for less and less
        else:
            left, left_slope = share, slope
            right_slope *= 0.5
    return share


@njit(cache=True, nogil=True, fastmath=True)
def _slope(
    problem: Problem, term: Proximal, f: Array, df: Array, coef: Array, step: Array, share: float
) -> float:
    """Return the derivative Σ Δf_i (a_i − c_i(f)) at a share of the step."""
    slope = 0.0
    for i in range(len(f)):
        response = term.center[i] + term.sigma[i] * (problem.y[i] - f[i] - share * df[i])
        response = min(max(response, problem.lower[i]), problem.upper[i])
        slope += df[i] * (coef[i] + share * step[i] - response)
    return slope


@njit(cache=True, nogil=True)
def make_feasible(problem: Problem, point: Point) -> Point:
    """Clip a to the box, and shift its free rows so that they sum to zero.

    Rows on a bound stay there, if they can: a projection would move them all off it by a hair.
    """
    lower, upper = problem.lower, problem.upper
    coef = snap(problem, np.minimum(np.maximum(point.coef, lower), upper))
    width = upper - lower
    if abs(coef.sum()) > SUM_TOL * np.abs(coef).sum():
        free = (lower < coef) & (coef < upper)
        shifted = coef - np.where(free, coef.sum() / max((free * width).sum(), TINY) * width, 0.0)
        if not np.all((lower <= shifted) & (shifted <= upper)):  # few or no free rows: others must move
            shifted = np.minimum(
                np.maximum(coef - width * balance(coef, lower, upper, width, 0.0), lower), upper
            )
        coef = snap(problem, shifted)
    if np.all(coef == point.coef):
        return point
    return Point(coef, point.value + multiply(problem.operator, coef - point.coef), point.bias)


@njit(cache=True, nogil=True)
def snap(problem: Problem, coef: Array) -> Array:
    """Put what is nearly on a bound on it. Newton steps may leave the box: those stay outside."""
    lower, upper = problem.lower, problem.upper
    typical = 1.0 / problem.diagonal if problem.diagonal > 0 else HUGE
    out = coef.copy()
    for i in range(len(coef)):
        near = SNAP * min(upper[i] - lower[i], typical)
        if abs(coef[i] - lower[i]) <= near:
            out[i] = lower[i]
        elif abs(coef[i] - upper[i]) <= near:
            out[i] = upper[i]
    return out


@njit(cache=True, nogil=True)
def polish(problem: Problem, point: Point, floor: float, max_rows: int) -> Point:
    """Solve K_FF x + b = (y − K a)_F for the free rows F: one Newton step with no proximal term.

    Where the rows at a bound are the right ones, as they are at a small residual, this is the minimum to as
    many digits as `floor` asks for. Otherwise, or with more than `max_rows` free rows, the point stays.
    """
    F = np.flatnonzero((problem.lower < point.coef) & (point.coef < problem.upper))
    if not 2 <= len(F) <= max_rows or problem.diagonal == 0.0:
        return point
    r = (problem.y - point.value)[F]
    K_FF = restrict(problem.operator, F)
    x, bias, _ = _conjugate_gradients(
        K_FF, np.zeros(len(F)), problem.diagonal, r, None, floor, 2 * len(F) + 20
    )
    step = np.zeros(len(point.coef))
    step[F] = x
    new = Point(point.coef + step, point.value + multiply(problem.operator, step), bias)
    if np.all((problem.lower <= new.coef) & (new.coef <= problem.upper)):
        before, _ = measure_violation(point.coef, point.value, problem.y, problem.lower, problem.upper)
        after, _ = measure_violation(new.coef, new.value, problem.y, problem.lower, problem.upper)
        if after < before:
            return new
    return point


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


@njit(cache=True, nogil=True, fastmath=True)
def measure_gap(problem: Problem, coef: Array, f: Array) -> tuple[float, float]:
    """Return how far the primal objective is above the dual one, and the dual one (the negative of P2's)."""
    quadratic, linear, loss = 0.0, 0.0, 0.0
    for i in range(len(f)):
        quadratic += coef[i] * f[i]
        linear += coef[i] * problem.y[i]
        loss += (problem.upper[i] - problem.lower[i]) * max(0.0, 1.0 - problem.y[i] * f[i])
    return quadratic - linear + loss, linear - 0.5 * quadratic
