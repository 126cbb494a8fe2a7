r"""The dual of the soft-margin SVM by proximal points and Newton steps [LL05, (P2)].

With :math:`c_i = y_i \lambda_i` the problem (P2) is

.. math:: \min_c \tfrac12 c^\top K c - y^\top c
          \quad\text{s.t.}\quad l \le c \le u,\; \textstyle\sum_i c_i = 0,

where the box is [0, C_i] for a row of class +1 and [−C_i, 0] for one of class −1. Coordinate steps (SMO) need
more and more of them as C grows. Here each *proximal step* moves a centre ĉ to the minimiser of the objective
plus :math:`\tfrac12 \sum_i (c_i - \hat c_i)^2 / \sigma_i`. The dual of that problem is smooth in the decision
values f = K a + b: it asks that a equals the *response*

.. math:: c_i(f) = \operatorname{clip}(\hat c_i + \sigma_i (y_i - f_i),\, l_i,\, u_i),

and a semismooth Newton step on that equation is one linear system in the rows J whose response is not
clipped, solved by conjugate gradients. An exact line search on the piecewise quadratic dual makes it converge
from anywhere. All that is asked of K is K v and the restriction to J (`mercer.solvers.operators`), so a step
costs two products with K and, for each conjugate gradient, one with K_JJ.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mercer.solvers.operators import multiply, product, restrict

Array = NDArray[np.float64]

WIDTH = 0.3  # the first centre's rows respond within this distance of the margin: σ_i = C_i / WIDTH
GROWTH = 3.0  # of σ after a centre that took few Newton steps
FEW_STEPS = 4
CENTER_TOL = 0.3  # a centre may move when its equation holds to this share of the move
CG_TOL = 0.3  # weighted residual of the Newton system over the step's change of f; below 1 it is a descent
SNAP = 1e-12  # a coefficient this near a bound (as a share of the box) is on it


class SVMSolution(NamedTuple):
    """The minimiser of (P2) and its decision values f = K c + intercept on the rows."""

    coef: Array
    value: Array  # K c, up to one constant
    intercept: float
    n_iter: int
    residual: float  # the largest violation of the optimality conditions, as LIBSVM measures it


class _State(NamedTuple):
    center: Array
    coef: Array
    value: Array
    bias: float
    stiffness: float  # σ_i / C_i
    n_steps: int  # Newton steps since the centre moved
    residual: float  # of a coef inside the box; infinite elsewhere


def solve_svm(
    operator: Any,
    y: Array,
    C: Array,
    *,
    start: Array | None = None,
    tol: float = 1e-3,
    max_iter: int = 1000,
    progress: Callable[[int, float], Any] | None = None,
) -> SVMSolution:
    """Solve (P2) for labels y in {−1, +1} and one bound C_i > 0 a row.

    `residual` is LIBSVM's: the largest y_i − f_i over rows that may rise less the smallest over rows that may
    fall. At most `tol` if it converged, zero at a minimiser and nowhere else. `start` is a point of the box.
    `progress` is called after each step with its number and the residual so far; if it returns true,
    that was the last step.
    """
    lower, upper = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
    coef = np.zeros(len(y)) if start is None else np.array(start)
    state = _State(coef.copy(), coef, product(operator, coef), 0.0, 1.0 / WIDTH, 0, np.inf)
    n_iter = 0
    while n_iter < max_iter:
        state = _advance(operator, y, lower, upper, state, tol)
        if state.residual <= tol:
            break
        n_iter += 1
        if progress is not None and progress(n_iter, state.residual):
            break
    if not np.isfinite(state.residual):
        coef, value = _make_feasible(operator, state.coef, state.value, lower, upper)
        state = state._replace(coef=coef, value=value)
    residual, intercept = measure_violation(state.coef, state.value, y, lower, upper)
    return SVMSolution(state.coef, state.value, intercept, n_iter, residual)


def solve_path(
    operator: Any, y: Array, weight: Array, Cs: Sequence[float], **options: Any
) -> Iterator[SVMSolution]:
    """Solve (P2) with C_i = C × weight_i for each C in ascending order, each from the solution before it.

    While most rows are at their bounds, the solution grows in proportion to C; once few are, it stays. Hence
    the start: the last solution, stretched as far as that lowers the objective and the new box allows.
    """
    solution, previous = None, 0.0
    for C in Cs:
        start = None
        if solution is not None:
            start = solution.coef * min(max(_best_stretch(solution, y), 1.0), C / previous)
        solution, previous = solve_svm(operator, y, C * weight, start=start, **options), C
        yield solution


def _best_stretch(solution: SVMSolution, y: Array) -> float:
    """Return the multiple of c at which the objective is least, were there no box."""
    curvature = solution.coef @ solution.value
    return float(y @ solution.coef / curvature) if curvature > 0 else np.inf


@njit(cache=True, nogil=True)
def _advance(operator: Any, y: Array, lower: Array, upper: Array, state: _State, tol: float) -> _State:
    """Move the centre if its equation is solved, then make one Newton step."""
    center, coef, value, stiffness, n_steps = (
        state.center,
        state.coef,
        state.value,
        state.stiffness,
        state.n_steps,
    )
    sigma = stiffness * (upper - lower)
    bias, response = _respond(center, value, state.bias, y, lower, upper, sigma)
    error, move = _largest(response - coef, sigma), _largest(coef - center, sigma)
    if error <= CENTER_TOL * move or np.all((lower <= coef) & (coef <= upper)):
        inside, inside_value = _make_feasible(operator, coef, value, lower, upper)
        residual, _ = measure_violation(inside, inside_value, y, lower, upper)
        if residual <= tol:
            return _State(inside, inside, inside_value, bias, stiffness, 0, residual)
        pull = (inside - center) / sigma
        proximal_residual, _ = measure_violation(inside, inside_value + pull, y, lower, upper)
        if n_steps > 0 and proximal_residual <= CENTER_TOL * np.abs(pull).max():
            center, coef, value = inside, inside, inside_value
            if n_steps <= FEW_STEPS:
                stiffness *= GROWTH
            n_steps = 0
            sigma = stiffness * (upper - lower)
            bias, response = _respond(center, value, bias, y, lower, upper, sigma)
    step, change_of_value, change_of_bias = _newton_direction(
        operator, coef, response, lower, upper, sigma, tol
    )
    f, df = value + bias, change_of_value + change_of_bias
    share = _line_search(center, sigma, y, f, df, coef, step, lower, upper)
    coef = _snap(coef + share * step, lower, upper)
    value = value + share * change_of_value
    return _State(center, coef, value, bias + share * change_of_bias, stiffness, n_steps + 1, np.inf)


@njit(cache=True, nogil=True)
def _respond(
    center: Array, value: Array, bias: float, y: Array, lower: Array, upper: Array, sigma: Array
) -> tuple[float, Array]:
    """Return the intercept at which the responses sum to zero, and the responses."""
    t = center + sigma * (y - value)
    bias = _balance(t, lower, upper, sigma, bias)
    return bias, np.minimum(np.maximum(t - sigma * bias, lower), upper)


@njit(cache=True, nogil=True)
def _balance(t: Array, lower: Array, upper: Array, sigma: Array, b: float) -> float:
    """Return b with Σ clip(t − σ b, lower, upper) = 0: Newton steps from b, kept inside a bracket."""
    left, right = np.inf, -np.inf
    for i in range(len(t)):
        left, right = min(left, (t[i] - upper[i]) / sigma[i]), max(right, (t[i] - lower[i]) / sigma[i])
    b = min(max(b, left), right)
    for _ in range(200):
        total, size, slope = 0.0, 0.0, 0.0
        for i in range(len(t)):
            x = t[i] - sigma[i] * b
            if x >= upper[i]:
                x = upper[i]
            elif x <= lower[i]:
                x = lower[i]
            else:
                slope += sigma[i]
            total += x
            size += abs(x)
        if abs(total) <= 1e-15 * size:
            break
        if total > 0:
            left = b
        else:
            right = b
        new = b + total / slope if slope > 0 else right
        if not left < new < right:
            new = 0.5 * (left + right)
        if new in (left, right):
            break
        b = new
    return b


@njit(cache=True, nogil=True)
def _newton_direction(
    operator: Any, coef: Array, response: Array, lower: Array, upper: Array, sigma: Array, tol: float
) -> tuple[Array, Array, float]:
    """Return the steps of a, of K a and of b that solve a = c(f) with the rows J kept unclipped.

    Outside J the new a is the response. Inside, (K_JJ + 1/σ) Δa_J + Δb = (c − a)_J / σ − K_JB Δa_B, with
    ΣΔa = −Σa. The conjugate gradients run among the vectors of sum zero, where K is positive definite.
    """
    J = np.flatnonzero((response > lower) & (response < upper))
    step = response - coef
    if len(J) == 0:
        return step, multiply(operator, step), 0.0
    gap = step[J] / sigma[J]
    step[J] = step[J].mean()
    change = multiply(operator, step)
    residual = gap - step[J] / sigma[J] - change[J]
    x, b = _conjugate_gradients(
        restrict(operator, J), 1.0 / sigma[J], residual, gap - step[J] / sigma[J], tol
    )
    correction = np.zeros(len(coef))
    correction[J] = x
    return step + correction, change + multiply(operator, correction), b


@njit(cache=True, nogil=True, fastmath=True)
def _conjugate_gradients(operator: Any, ridge: Array, r: Array, df: Array, tol: float) -> tuple[Array, float]:
    """Solve (K + ridge) x + b = r with Σx = 0; return x and b.

    `df` is what the change of f would be at x = 0 if r were zero. The step is a descent as soon as the
    residual's norm, weighted by 1/ridge, is below that of the change of f.
    """
    m = len(r)
    x = np.zeros(m)
    b = r.mean()
    r = r - b
    p = r.copy()
    rr = (r * r).sum()
    for _ in range(2 * m + 20):
        weighted, scale, largest = 0.0, 0.0, 0.0
        for i in range(m):
            e = df[i] - ridge[i] * x[i] - r[i]
            scale += e * e / ridge[i]
            weighted += r[i] * r[i] / ridge[i]
            largest = max(largest, abs(r[i]))
        if largest <= 1e-3 * tol or weighted <= CG_TOL * CG_TOL * scale:
            break
        q = multiply(operator, p) + ridge * p
        mean = q.mean()
        length = rr / (p * (q - mean)).sum()
        x += length * p
        r -= length * (q - mean)
        b -= length * mean
        new = (r * r).sum()
        p = r + (new / rr) * p
        rr = new
    return x, b


@njit(cache=True, nogil=True)
def _line_search(
    center: Array,
    sigma: Array,
    y: Array,
    f: Array,
    df: Array,
    coef: Array,
    step: Array,
    lower: Array,
    upper: Array,
) -> float:
    """Return about the share of the step at which the convex dual of the proximal problem is least."""
    first = _slope(0.0, center, sigma, y, f, df, coef, step, lower, upper)
    right_slope = _slope(1.0, center, sigma, y, f, df, coef, step, lower, upper)
    if right_slope <= 0.1 * abs(first):
        return 1.0
    left, right, left_slope = 0.0, 1.0, min(first, 0.0)
    share = 1.0
    for _ in range(30):
        ratio = -left_slope / (right_slope - left_slope)
        share = left + (right - left) * min(max(ratio, 0.05), 0.95)
        slope = _slope(share, center, sigma, y, f, df, coef, step, lower, upper)
        if abs(slope) <= 0.1 * abs(first):
            break
        if slope > 0:
            right, right_slope = share, slope
        else:
            left, left_slope = share, slope
    return share


@njit(cache=True, nogil=True, fastmath=True)
def _slope(
    share: float,
    center: Array,
    sigma: Array,
    y: Array,
    f: Array,
    df: Array,
    coef: Array,
    step: Array,
    lower: Array,
    upper: Array,
) -> float:
    """Return the derivative Σ Δf_i (a_i − c_i(f)) of that dual at a share of the step."""
    slope = 0.0
    for i in range(len(y)):
        response = center[i] + sigma[i] * (y[i] - f[i] - share * df[i])
        slope += df[i] * (coef[i] + share * step[i] - min(max(response, lower[i]), upper[i]))
    return slope


@njit(cache=True, nogil=True)
def _make_feasible(
    operator: Any, coef: Array, value: Array, lower: Array, upper: Array
) -> tuple[Array, Array]:
    """Clip a to the box, and shift its free rows so that they sum to zero; return it and K times it.

    Rows on a bound stay there, if they can: a projection would move them all off it by a hair.
    """
    inside = _snap(np.minimum(np.maximum(coef, lower), upper), lower, upper)
    free = (lower < inside) & (inside < upper)
    inside = _shift_to_balance(
        inside, np.where(free, lower, inside), np.where(free, upper, inside), upper - lower
    )
    inside = _snap(_shift_to_balance(inside, lower, upper, upper - lower), lower, upper)
    if np.all(inside == coef):
        return inside, value
    return inside, value + multiply(operator, inside - coef)


@njit(cache=True, nogil=True)
def _shift_to_balance(coef: Array, lower: Array, upper: Array, width: Array) -> Array:
    if abs(coef.sum()) <= 1e-13 * width.sum():
        return coef
    shift = _balance(coef, lower, upper, width, 0.0)
    return np.minimum(np.maximum(coef - width * shift, lower), upper)


@njit(cache=True, nogil=True)
def _snap(coef: Array, lower: Array, upper: Array) -> Array:
    """Put what is nearly on a bound on it. Newton steps may leave the box: those stay outside."""
    out = coef.copy()
    for i in range(len(coef)):
        near = SNAP * (upper[i] - lower[i])
        if abs(coef[i] - lower[i]) <= near:
            out[i] = lower[i]
        elif abs(coef[i] - upper[i]) <= near:
            out[i] = upper[i]
    return out


@njit(cache=True, nogil=True)
def measure_violation(coef: Array, value: Array, y: Array, lower: Array, upper: Array) -> tuple[float, float]:
    """Return LIBSVM's residual, and the intercept: the mean of y − K c over free rows or the middle."""
    rise, fall = -np.inf, np.inf
    total, free = 0.0, 0
    for i in range(len(y)):
        g = y[i] - value[i]
        if coef[i] < upper[i]:
            rise = max(rise, g)
        if coef[i] > lower[i]:
            fall = min(fall, g)
        if lower[i] < coef[i] < upper[i]:
            total += g
            free += 1
    return rise - fall, total / free if free > 0 else 0.5 * (rise + fall)


@njit(cache=True, nogil=True)
def _largest(difference: Array, sigma: Array) -> float:
    largest = 0.0
    for i in range(len(sigma)):
        largest = max(largest, abs(difference[i]) / sigma[i])
    return largest
