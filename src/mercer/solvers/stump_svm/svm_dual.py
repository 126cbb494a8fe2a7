r"""The dual of the soft-margin SVM by proximal points and Newton steps [LL05, (P2)].

With :math:`c_i = y_i \lambda_i` the problem (P2) is

.. math:: \min_c \tfrac12 c^\top K c - y^\top c
          \quad\text{s.t.}\quad l \le c \le u,\; \textstyle\sum_i c_i = 0,

where the box is [0, C_i] for a row of class +1 and [−C_i, 0] for one of class −1. Coordinate steps (SMO) need
more and more of them as C grows: they go first where the rows are few (`stump_svm.smo`). Otherwise each
*proximal step* moves a centre to the minimiser of the objective plus a quadratic term around the centre
(`stump_svm.proximal`): a smooth problem that a few Newton steps solve, each by conjugate gradients on
the rows near the margin. All that they ask of K is K v and the restriction to some rows
(`stump_svm.operators`), so a step costs two products with K and, for each conjugate gradient, one with
K_JJ.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from mercer._typing import Array
from mercer.solvers.stump_svm.operators import multiply, product
from mercer.solvers.stump_svm.proximal import Problem, measure_violation
from mercer.solvers.stump_svm.smo import Distances, guess_start, prepare_distances
from mercer.solvers.stump_svm.svm_steps import advance, center_on, finish, sweep

WIDTH = 0.3  # the first centre's rows respond within this distance of the margin: σ_i = C_i / WIDTH
ROUNDING = 1e-9  # more than it can be, of a sum of bounds
TYPICAL = 10.0  # but σ_i is at most this many times what moves f by one on a row alone
NEAR = 30.0  # σ is so many times larger for a start that is near the solution
SMO_STEPS = 4000  # where the rows are few, about so many steps of SMO go first
FEW_ROWS = 2000  # up to so many, all steps are made in one go, which Ctrl-C cannot interrupt


class SVMSolution(NamedTuple):
    """The minimiser of (P2) and its decision values f = K c + intercept on the rows."""

    coef: Array
    value: Array  # K c, up to one constant
    intercept: float
    n_iter: int
    residual: float  # the largest violation of the optimality conditions, as LIBSVM measures it


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
        descend = partial(sweep, distances, problem, coef, value, tol)
        n_iter, over = repeat(descend, 0, min(_most_sweeps(n), max_iter))
    if not over:
        center, numbers = coef.copy(), np.array([NEAR if outside else 1.0, 0.0, 0.0])
        if outside:
            center_on(problem, NEAR * sigma, value, center)
        go_on = partial(advance, problem, sigma, center, coef, value, numbers, tol)
        n_iter, _ = repeat(go_on, n_iter, max_iter)
        finish(problem, coef, value, tol)
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


@njit(cache=True, nogil=True)
def _set_up(operator: Any, y: Array, C: Array, lower: Array, upper: Array, sigma: Array) -> float:
    """Fill in the bounds and the first σ; return the mean diagonal of the centred K."""
    positive, negative = (C * (y > 0)).sum(), (C * (y < 0)).sum()
    diagonal = _mean_diagonal(operator, len(y))
    largest = TYPICAL / diagonal if diagonal > 0 else np.inf
    for i in range(len(y)):
        # no coefficient can exceed what the other class can balance: a bound above that only spoils the
        # scale. But a little above it must be, or rounding stops a row there before others are at theirs
        reach = min(C[i], (1.0 + ROUNDING) * (negative if y[i] > 0 else positive))
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
