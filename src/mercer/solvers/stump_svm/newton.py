"""The Newton step of a proximal problem of the SVM: its linear system, conjugate gradients, a line search."""

from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.compiled import njit
from mercer.solvers.stump_svm.preconditioner import prepare_coarse_problem
from mercer.solvers.stump_svm.proximal import Point, Problem, Proximal, measure_violation, respond, snap

CG_TOL = 0.3  # weighted residual of the Newton system over the step's change of f; below 1 it is a descent
SINGULAR = 1e-12  # of the mean diagonal, added to it: equal rows make K singular
DIRECT_ROWS = 1000  # largest Newton system that is eliminated if conjugate gradients fail on it


def newton_step(problem: Problem, term: Proximal, point: Point, response: Array, floor: float) -> Point:
    """Return the point after one Newton step and a line search; below `floor`, changes of f do not count."""
    step = _newton_direction(problem, term, point, response, floor)
    share = _line_search(problem, term, point, step, 10 * floor)
    coef = snap(problem, point.coef + share * step.coef)
    return Point(coef, point.value + share * step.value, point.bias + share * step.bias)


def _newton_direction(problem: Problem, term: Proximal, point: Point, response: Array, floor: float) -> Point:
    """Return the changes of a, of K a and of b that solve a = c(f) with the rows J kept unclipped.

    Outside J the new a is the response. Inside, (K_JJ + 1/σ) Δa_J + Δb = (c − a)_J / σ − K_JB Δa_B, with
    ΣΔa = −Σa. The conjugate gradients run among the vectors of sum zero, where K is positive semi-definite.
    """
    J = np.flatnonzero((response > problem.lower) & (response < problem.upper))
    step = response - point.coef
    if len(J) == 0:
        change = problem.operator.product(step)
        bias, _ = respond(problem, term, point.value + change, point.bias)
        return Point(step, change, bias - point.bias)
    ridge = 1.0 / term.sigma[J]
    gap = step[J] * ridge
    step[J] = step[J].mean()
    df = gap - step[J] * ridge
    r = df - problem.operator.product_at(step, J)
    K_JJ = problem.operator.restrict(J)
    x, bias, solved = conjugate_gradients(K_JJ, ridge, problem.diagonal, r, df, floor, 2 * len(J) + 20)
    if not solved and len(J) <= DIRECT_ROWS:
        x, _ = _solve_directly(problem.operator.gram(J), ridge, r)
        bias = float(np.mean(r - ridge * x - K_JJ.product(x)))  # products are K v up to a constant
    step[J] += x
    return Point(step, problem.operator.product(step), bias)


def conjugate_gradients(
    operator: Any, ridge: Array, diagonal: float, r: Array, df: Array, floor: float, max_steps: int
) -> tuple[Array, float, bool]:
    """Solve (K + ridge) x + b = r with Σx = 0; return x, b, and whether that was enough steps.

    `df` is what the change of f would be at x = 0 if r were zero. The step is a descent as soon as the
    residual's norm, weighted by σ = 1/ridge, is below that of the change of f: it stops there, or where r is
    at most `floor`; with an empty `df`, there alone. The preconditioner is 1/(ridge + diagonal), for rows of
    very unequal σ, or where many steps are to be expected the coarse problem (`stump_svm.preconditioner`).
    """
    inverse = 1.0 / (ridge + diagonal)
    total, x, z, r = float(inverse.sum()), np.zeros(len(r)), np.empty(len(r)), r.copy()
    b, rz, p = 0.0, 1.0, np.zeros(len(r))
    coarse = prepare_coarse_problem(operator, ridge, diagonal)
    for step in range(max_steps):
        shift, new, largest, weighted, scale = look_at_residual(inverse, total, ridge, df, x, r, z)
        b += shift
        if largest <= floor or (len(df) > 0 and weighted <= CG_TOL * CG_TOL * scale):
            return x, b, True
        if coarse is not None:
            z = coarse.apply(r)
            new = float(r @ z)
        p *= new / rz if step > 0 else 0.0
        p += z
        rz = new
        if not move_along(p, operator.product(p), ridge, rz, x, r):
            break  # K is singular along p: there is nothing to solve for
    return x, b, False


@njit(cache=True, nogil=True, fastmath=True)
def look_at_residual(
    inverse: Array, total: float, ridge: Array, df: Array, x: Array, r: Array, z: Array
) -> tuple[float, float, float, float, float]:
    """Make Σ r / (ridge + diagonal) zero, and put r / (ridge + diagonal) into z.

    Returns the shift of r, Σ r z, the largest |r|, and the weighted squares of r and of the change of f.
    """
    shift = 0.0
    for i in range(len(r)):
        shift += inverse[i] * r[i]
    shift /= total
    new, largest, weighted, scale = 0.0, 0.0, 0.0, 0.0
    for i in range(len(r)):
        r[i] -= shift
        z[i] = inverse[i] * r[i]
        new += r[i] * z[i]
        largest = max(largest, abs(r[i]))
        if len(df) > 0:
            change = df[i] - ridge[i] * x[i] - r[i]
            weighted += r[i] * r[i] / ridge[i]
            scale += change * change / ridge[i]
    return shift, new, largest, weighted, scale


@njit(cache=True, nogil=True, fastmath=True)
def move_along(p: Array, q: Array, ridge: Array, rz: float, x: Array, r: Array) -> bool:
    """Move x and r along p, where q = K p; return whether there is a curvature to do so."""
    curvature = 0.0
    for i in range(len(p)):
        q[i] += ridge[i] * p[i]
        curvature += p[i] * q[i]
    if curvature <= 0.0:
        return False
    length = rz / curvature
    for i in range(len(p)):
        x[i] += length * p[i]
        r[i] -= length * q[i]
    return True


def _solve_directly(K: Array, ridge: Array | float, r: Array) -> tuple[Array, float]:
    """Solve the same system by elimination, for the few that are too ill-conditioned."""
    m = len(r)
    A = np.ones((m + 1, m + 1))
    A[:m, :m], A[m, m] = K, 0.0
    A[np.arange(m), np.arange(m)] += ridge
    solution = np.linalg.solve(A, np.append(r, 0.0))
    return solution[:m], float(solution[m])


def _line_search(problem: Problem, term: Proximal, point: Point, step: Point, negligible: float) -> float:
    """Return about the share of the step at which the convex dual is least."""
    f, df = point.value + point.bias, step.value + step.bias
    if np.abs(df).max() <= negligible:  # the slope is all rounding
        return 1.0

    def slope_at(share: float) -> float:
        rows = (problem.y, problem.lower, problem.upper, term.center, term.sigma)
        return float(_slope(*rows, f, df, point.coef, step.coef, share))

    first = slope_at(0.0)
    left, left_slope = 0.0, first
    right, right_slope = 1.0, slope_at(1.0)
    if right_slope <= 0.1 * abs(first) or first >= 0.0:
        return 1.0
    share = 1.0
    for _ in range(60):
        share = left + (right - left) * min(max(-left_slope / (right_slope - left_slope), 0.01), 0.99)
        slope = slope_at(share)
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
    y: Array,
    lower: Array,
    upper: Array,
    center: Array,
    sigma: Array,
    f: Array,
    df: Array,
    coef: Array,
    step: Array,
    share: float,
) -> float:
    """Return the derivative Σ Δf_i (a_i − c_i(f)) at a share of the step."""
    slope = 0.0
    for i in range(len(f)):
        response = center[i] + sigma[i] * (y[i] - f[i] - share * df[i])
        response = min(max(response, lower[i]), upper[i])
        slope += df[i] * (coef[i] + share * step[i] - response)
    return slope


def polish(problem: Problem, point: Point, max_rows: int) -> Point:
    """Solve K_FF x + b = (y − K a)_F for the free rows F: one Newton step with no proximal term.

    Where the rows at a bound are the right ones, as they are at a small residual, this is the minimum with
    all its digits. Otherwise, or with more than `max_rows` free rows, the point stays.
    """
    F = np.flatnonzero((problem.lower < point.coef) & (point.coef < problem.upper))
    if not 2 <= len(F) <= max_rows or problem.diagonal == 0.0:
        return point
    step = np.zeros(len(point.coef))
    try:
        ridge = SINGULAR * problem.diagonal
        step[F], bias = _solve_directly(problem.operator.gram(F), ridge, (problem.y - point.value)[F])
    except np.linalg.LinAlgError:
        return point
    new = Point(point.coef + step, point.value + problem.operator.product(step), bias)
    if np.all((problem.lower <= new.coef) & (new.coef <= problem.upper)):
        before, _ = measure_violation(point.coef, point.value, problem.y, problem.lower, problem.upper)
        after, _ = measure_violation(new.coef, new.value, problem.y, problem.lower, problem.upper)
        if after < before:
            return new
    return point
