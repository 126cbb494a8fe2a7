r"""The dual of the soft-margin SVM by proximal points and Newton steps [LL05, (P2)].

With :math:`c_i = y_i \lambda_i` the problem (P2) is

.. math:: \min_c \tfrac12 c^\top K c - y^\top c
          \quad\text{s.t.}\quad l \le c \le u,\; \textstyle\sum_i c_i = 0,

where the box is [0, C_i] for a row of class +1 and [−C_i, 0] for one of class −1. Coordinate steps (SMO) need
more and more of them as C grows: they go first where the rows are few (`mercer.solvers.smo`). Otherwise each
*proximal step* moves a centre to the minimiser of the objective plus a quadratic term around the centre
(`mercer.solvers.proximal`): a smooth problem that a few Newton steps solve, each by conjugate gradients on
the rows near the margin. All that they ask of K is K v and the restriction to some rows
(`mercer.solvers.operators`), so a step costs two products with K and, for each conjugate gradient, one with
K_JJ.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mercer.solvers.newton import newton_step, polish
from mercer.solvers.operators import multiply, product
from mercer.solvers.proximal import (
    Point,
    Problem,
    Proximal,
    make_feasible,
    measure_gap,
    measure_violation,
    respond,
)
from mercer.solvers.smo import Distances, descend, guess_start, prepare_distances

Array = NDArray[np.float64]

WIDTH = 0.3  # the first centre's rows respond within this distance of the margin: σ_i = C_i / WIDTH
TYPICAL = 10.0  # but σ_i is at most this many times what moves f by one on a row alone
NEAR = 30.0  # σ is so many times larger for a start that is near the solution
GROWTH = 3.0  # of σ after a centre that took at most FEW_STEPS Newton steps
FEW_STEPS = 4
CENTER_TOL = 0.3  # a centre may move when its problem is solved to this share of the move
GAP_TOL = 0.01  # also asked for: a relative duality gap, or else a residual, of this share of tol
LEAST_SPREAD = 1e-6  # of f, for which the residual may be so much smaller than tol
FLOOR = 1e-3  # changes of f below this share of tol do not count
SMO_STEPS = 4000  # where the rows are few, about so many steps of SMO go first
TIGHTER = 0.3  # where a residual of SMO did not make the duality gap small, this share of it is the next aim
FEW_ROWS = 2000  # up to so many, all steps are made in one go, which Ctrl-C cannot interrupt
POLISH_TOL = 1e-6  # the last step goes for a residual of this share of tol …
POLISH_ROWS = 200  # … if at most so many rows are free


class SVMSolution(NamedTuple):
    """The minimiser of (P2) and its decision values f = K c + intercept on the rows."""

    coef: Array
    value: Array  # K c, up to one constant
    intercept: float
    n_iter: int
    residual: float  # the largest violation of the optimality conditions, as LIBSVM measures it


class _State(NamedTuple):
    center: Array
    point: Point
    stiffness: float  # how many times σ has grown
    n_steps: int  # Newton steps since the centre moved
    solved: bool


def solve_svm(
    operator: Any,
    y: Array,
    C: Array,
    *,
    start: Array | None = None,
    tol: float = 1e-3,
    max_iter: int = 1000,
    progress: Callable[[int], Any] | None = None,
) -> SVMSolution:
    """Solve (P2) for labels y in {−1, +1} and one bound C_i > 0 a row.

    `residual` is at most `tol` if it converged, at most zero at a minimiser and nowhere else. `start` is a
    point of the box, or any vector whose decision function K start is near the solution's. `progress` is
    called after each step with its number; if it returns true, that was the last step. A step is a Newton
    step or, for few rows, as many steps of SMO as there are rows.
    """
    return _solve(operator, y, C, prepare_distances(operator, len(y)), start, tol, max_iter, progress)


def solve_path(
    operator: Any,
    y: Array,
    weight: Array,
    Cs: Sequence[float],
    *,
    start: Array | None = None,
    tol: float = 1e-3,
    max_iter: int = 1000,
    progress: Callable[[int], Any] | None = None,
) -> Iterator[SVMSolution]:
    """Solve (P2) with C_i = C × weight_i for each C in ascending order, each from the solution before it.

    While most rows are at their bounds, the solution grows in proportion to C; once few are, it stays. Hence
    the start: the last solution, stretched as far as that lowers the objective and the new box allows.
    """
    distances = prepare_distances(operator, len(y))
    solution, previous = None, 0.0
    for C in Cs:
        if solution is not None:
            start = solution.coef * min(max(_best_stretch(solution, y), 1.0), C / previous)
            if solution.n_iter > _most_sweeps(len(y)):  # SMO was too slow, and is slower the larger C
                distances = None
        solution = _solve(operator, y, C * weight, distances, start, tol, max_iter, progress)
        previous = C
        yield solution


def _solve(
    operator: Any,
    y: Array,
    C: Array,
    distances: Distances | None,
    start: Array | None,
    tol: float,
    max_iter: int,
    progress: Callable[[int], Any] | None,
) -> SVMSolution:
    n = len(y)
    lower, upper, sigma = np.empty(n), np.empty(n), np.empty(n)
    problem = Problem(operator, y, lower, upper, _set_up(operator, y, C, lower, upper, sigma))
    coef = np.zeros(n) if start is None else np.array(start)
    value = np.zeros(n) if start is None else product(operator, coef)
    outside = start is not None and bool(np.any((coef < lower) | (coef > upper)))
    repeat = partial(_repeat, progress, max_iter if progress is None and n <= FEW_ROWS else 1)
    n_iter, over = 0, False
    if distances is not None and not outside:
        if start is None:
            guess_start(problem, coef, value)
        sweep = partial(_sweep, distances, problem, coef, value, tol)
        n_iter, over = repeat(sweep, 0, min(_most_sweeps(n), max_iter))
    if not over:
        center, numbers = coef.copy(), np.array([NEAR if outside else 1.0, 0.0, 0.0])
        if outside:
            _center_on(problem, NEAR * sigma, value, center)
        advance = partial(_advance, problem, sigma, center, coef, value, numbers, tol)
        n_iter, _ = repeat(advance, n_iter, max_iter)
        _finish(problem, coef, value, POLISH_TOL * tol)
    residual, intercept = _conclude(operator, y, C, coef, value)
    return SVMSolution(coef, value, intercept, n_iter, residual)


def _repeat(
    progress: Callable[[int], Any] | None,
    at_a_time: int,
    advance: Callable[[int], tuple[int, bool]],
    n_iter: int,
    max_iter: int,
) -> tuple[int, bool]:
    """Advance until it is solved, `progress` says stop (in both cases it is over), or at the most steps."""
    while n_iter < max_iter:
        n_steps, solved = advance(min(at_a_time, max_iter - n_iter))
        n_iter += n_steps
        stop = n_steps > 0 and progress is not None and progress(n_iter)
        if solved or stop:
            return n_iter, True
    return n_iter, False


def _most_sweeps(n_rows: int) -> int:
    return 1 + SMO_STEPS // n_rows


def _best_stretch(solution: SVMSolution, y: Array) -> float:
    """Return the multiple of c at which the objective is least, were there no box."""
    curvature = solution.coef @ solution.value
    return float(y @ solution.coef / curvature) if curvature > 0 else np.inf


# What Python calls writes into given arrays and returns numbers: a Ctrl-C while numba builds a tuple of
# arrays for Python would end the process.


@njit(cache=True, nogil=True)
def _set_up(operator: Any, y: Array, C: Array, lower: Array, upper: Array, sigma: Array) -> float:
    """Fill in the bounds and the first σ; return the mean diagonal of the centred K."""
    positive, negative = (C * (y > 0)).sum(), (C * (y < 0)).sum()
    diagonal = _mean_diagonal(operator, len(y))
    largest = TYPICAL / diagonal if diagonal > 0 else np.inf
    for i in range(len(y)):
        # no coefficient can exceed what the other class can balance: a bound above that only spoils the scale
        reach = min(C[i], negative if y[i] > 0 else positive)
        lower[i], upper[i] = min(y[i], 0.0) * reach, max(y[i], 0.0) * reach
        sigma[i] = min(reach / WIDTH, largest)
    return diagonal


@njit(cache=True, nogil=True)
def _mean_diagonal(operator: Any, n: int) -> float:
    """Estimate the mean diagonal of the centred K: E vᵀKv = trace for random signs v.

    The multiples of the golden ratio are as good as random here, and always the same.
    """
    v = np.where(np.arange(n) * 0.6180339887498949 % 1.0 < 0.5, 1.0, -1.0)
    v -= v.mean()
    return max((v * multiply(operator, v)).sum() / n, 0.0)


@njit(cache=True, nogil=True)
def _conclude(operator: Any, y: Array, C: Array, coef: Array, value: Array) -> tuple[float, float]:
    """Compute K c afresh, for sums of many steps collect rounding errors; return residual and intercept."""
    value[:] = multiply(operator, coef)
    return measure_violation(coef, value, y, np.minimum(y, 0.0) * C, np.maximum(y, 0.0) * C)


@njit(cache=True, nogil=True)
def _sweep(
    distances: Distances, problem: Problem, coef: Array, value: Array, tol: float, max_sweeps: int
) -> tuple[int, bool]:
    """Make sweeps of n steps of SMO until the solution is found; return how many, and whether it was."""
    n = len(coef)
    lower, upper = problem.lower, problem.upper
    point = make_feasible(problem, Point(coef, value, 0.0))
    target, n_steps, solved = tol, 0, False
    while n_steps < n * max_sweeps and not solved:
        coef[:], g = point.coef, problem.y - point.value
        made = descend(distances, lower, upper, coef, g, target, n * max_sweeps - n_steps)
        n_steps += max(made, 1)  # so that it ends even with numbers that are none
        point = Point(coef, problem.y - g, 0.0)
        wanted = tol * min(1.0, max(point.value.max() - point.value.min(), LEAST_SPREAD))
        residual, _ = measure_violation(point.coef, point.value, problem.y, lower, upper)
        if residual <= wanted:
            point = polish(problem, point, POLISH_TOL * tol, POLISH_ROWS)
            solved, residual = _is_solved(problem, point, wanted)
        target = min(wanted, TIGHTER * residual)
    coef[:], value[:] = point.coef, point.value
    return max(1, -(-n_steps // n)), solved


@njit(cache=True, nogil=True)
def _is_solved(problem: Problem, point: Point, tol: float) -> tuple[bool, float]:
    """Return whether the optimality conditions and the duality gap are as small as wanted, and the former."""
    residual, intercept = measure_violation(point.coef, point.value, problem.y, problem.lower, problem.upper)
    gap, dual = measure_gap(problem, point.coef, point.value + intercept)
    return residual <= tol and (gap <= GAP_TOL * tol * dual or residual <= GAP_TOL * tol), residual


@njit(cache=True, nogil=True)
def _advance(
    problem: Problem,
    sigma: Array,
    center: Array,
    coef: Array,
    value: Array,
    numbers: Array,  # stiffness, Newton steps since the centre moved, intercept
    tol: float,
    max_steps: int,
) -> tuple[int, bool]:
    """Make Newton steps until the solution is found, at most so many; return how many, and whether it was."""
    state = _State(center, Point(coef, value, numbers[2]), numbers[0], int(numbers[1]), False)
    n_steps = 0
    while n_steps < max_steps:
        state = _step(problem, sigma, state, tol)
        if state.solved:
            break
        n_steps += 1
    center[:], coef[:], value[:] = state.center, state.point.coef, state.point.value
    numbers[0], numbers[1], numbers[2] = state.stiffness, state.n_steps, state.point.bias
    return n_steps, state.solved


@njit(cache=True, nogil=True)
def _center_on(problem: Problem, sigma: Array, value: Array, center: Array) -> None:
    """Put the centre where the decision values call for."""
    _, response = respond(problem, Proximal(np.zeros(len(center)), sigma), value, 0.0)
    center[:] = response


@njit(cache=True, nogil=True)
def _finish(problem: Problem, coef: Array, value: Array, floor: float) -> None:
    """Make the point feasible, and give it its last digits."""
    point = polish(problem, make_feasible(problem, Point(coef, value, 0.0)), floor, POLISH_ROWS)
    coef[:], value[:] = point.coef, point.value


@njit(cache=True, nogil=True)
def _step(problem: Problem, sigma: Array, state: _State, tol: float) -> _State:
    """Move the centre if its problem is solved, then make one Newton step."""
    center, point, stiffness, n_steps = state.center, state.point, state.stiffness, state.n_steps
    # for small C all of f is within less than tol: what matters then is the error as a share of its spread
    tol *= min(1.0, max(point.value.max() - point.value.min(), LEAST_SPREAD))
    term = Proximal(center, stiffness * sigma)
    bias, response = respond(problem, term, point.value, point.bias)
    error, move = _largest(response - point.coef, term.sigma), _largest(point.coef - center, term.sigma)
    if error <= CENTER_TOL * move or np.all((problem.lower <= point.coef) & (point.coef <= problem.upper)):
        inside = make_feasible(problem, point)
        residual, intercept = measure_violation(
            inside.coef, inside.value, problem.y, problem.lower, problem.upper
        )
        gap, dual = measure_gap(problem, inside.coef, inside.value + intercept)
        if residual <= tol and (gap <= GAP_TOL * tol * dual or residual <= GAP_TOL * tol):
            return _State(center, inside, stiffness, 0, True)
        pull = (inside.coef - center) / term.sigma
        proximal_residual, _ = measure_violation(
            inside.coef, inside.value + pull, problem.y, problem.lower, problem.upper
        )
        if n_steps > 0 and proximal_residual <= CENTER_TOL * np.abs(pull).max():
            center, point = inside.coef, inside
            stiffness = stiffness * GROWTH if n_steps <= FEW_STEPS else stiffness
            n_steps = 0
            term = Proximal(center, stiffness * sigma)
            bias, response = respond(problem, term, point.value, bias)
    floor = FLOOR * tol * 0.5**n_steps  # a centre that is slow to settle may need more digits
    point = newton_step(problem, term, Point(point.coef, point.value, bias), response, floor)
    return _State(center, point, stiffness, n_steps + 1, False)


@njit(cache=True, nogil=True)
def _largest(difference: Array, sigma: Array) -> float:
    largest = 0.0
    for i in range(len(sigma)):
        largest = max(largest, abs(difference[i]) / sigma[i])
    return largest
