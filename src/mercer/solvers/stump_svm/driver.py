r"""The dual of the soft-margin SVM by proximal points and Newton steps [LL05, (P2)].

With :math:`c_i = y_i \lambda_i` the problem (P2) is

.. math:: \min_c \tfrac12 c^\top K c - y^\top c
          \quad\text{s.t.}\quad l \le c \le u,\; \textstyle\sum_i c_i = 0,

where the box is [0, C_i] for a row of class +1 and [−C_i, 0] for one of class −1. Coordinate steps (SMO) need
more and more of them as C grows: they go first where the rows are few (`stump_svm.smo`). Otherwise each
*proximal step* moves a centre to the minimiser of the objective plus a quadratic term around the centre
(`stump_svm.proximal`): a smooth problem that a few Newton steps solve, each by conjugate gradients on
the rows near the margin (`stump_svm.newton`). All that they ask of K is K v and the restriction to some rows
(`stump_svm.products`), so a step costs two products with K and, for each conjugate gradient, one with K_JJ.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.limits import one_thread
from mercer.solvers.stump_svm.newton import newton_step, polish
from mercer.solvers.stump_svm.proximal import (
    Point,
    Problem,
    Proximal,
    make_feasible,
    measure_gap,
    measure_violation,
    respond,
)
from mercer.solvers.stump_svm.smo import Distances, descend, guess_start, prepare_distances

Progress = Callable[[int], Any]


class Settings(NamedTuple):
    """What steers the solver, and what goes wrong without it."""

    width: float = 0.3
    """The rows of the first centre respond within this distance of the margin: σ_i = C_i / width. Wider, and
    more centres are needed; narrower, and a centre needs more Newton steps."""
    typical: float = 10.0
    """σ_i is at most this multiple of what moves f by one on a row alone: a row of huge C would be stiff."""
    near: float = 30.0
    """σ is this many times larger for a start that is near the solution, which a soft centre would leave."""
    growth: float = 3.0
    few_steps: int = 4
    """σ grows by this factor after a centre that took at most this number of Newton steps: later centres are
    nearer to the solution, and can be stiffer."""
    center_tol: float = 0.3
    """A centre may move when its problem is solved to this share of the move; exact solutions are wasted."""
    gap_tol: float = 0.01
    """A relative duality gap, or else a residual, of this share of tol is asked for as well: for small C a
    small residual alone says little."""
    least_spread: float = 1e-6
    """Where all of f is within less than one, tol is a share of that, but of at least this much."""
    floor: float = 1e-3
    """Changes of f below this share of tol do not count: they would be rounding errors."""
    tighter: float = 0.3
    """Where a residual of SMO did not make the duality gap small, this share of it is the next aim."""
    polish_rows: int = 200
    """The last step is an exact one, if at most this number of rows are free: more would cost too much."""
    smo_steps: int = 8000
    """About this many steps of SMO go first where the rows are few."""
    one_thread_from: int = 300
    """Rows from which on sums and coarse systems keep to one thread: more would wait, and burn their time."""
    rounding: float = 1e-9
    """A bound that the other class could not balance is lowered to what it can, and by this share more: right
    at it, rounding stops a row there before the others are at theirs."""


SETTINGS = Settings()


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
    progress: Progress | None = None,
) -> SVMSolution:
    """Solve (P2) for labels y in {−1, +1} and one bound C_i > 0 per row.

    `residual` is at most `tol` if it converged, at most zero at a minimiser and nowhere else. `start` is a
    point of the box, or any vector whose decision function K start is near the solution's. `progress` is
    called after each step with its number; if it returns true, that was the last step. A step is a Newton
    step or, for few rows, as many steps of SMO as there are rows.
    """
    with one_thread(len(y) > SETTINGS.one_thread_from):
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
    progress: Progress | None = None,
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
        with one_thread(len(y) > SETTINGS.one_thread_from):
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
    progress: Progress | None,
) -> SVMSolution:
    problem, sigma = _state(operator, y, C)
    coef = np.zeros(len(y)) if start is None else np.array(start)
    value = np.zeros(len(y)) if start is None else operator.product(coef)
    outside = start is not None and bool(np.any((coef < problem.lower) | (coef > problem.upper)))
    n_iter, over = 0, False
    if distances is not None and not outside:
        if start is None:
            guess_start(problem, coef, value)
        descent: Descent | ProximalPoints = Descent(problem, distances, coef, value, tol)
        n_iter, over = _repeat(descent, 0, min(_most_sweeps(len(y)), max_iter), progress)
        coef, value = descent.point.coef, descent.point.value
    point = Point(coef, value, 0.0)
    if not over:
        steps = ProximalPoints(problem, sigma, coef.copy(), point, tol)
        if outside:
            steps.start_near()
        n_iter, _ = _repeat(steps, n_iter, max_iter, progress)
        point = make_feasible(problem, steps.point)
        point = polish(problem, point, SETTINGS.polish_rows)
    # K c afresh, for sums of many steps collect rounding errors
    coef, value = point.coef, operator.product(point.coef)
    residual, intercept = measure_violation(coef, value, y, np.minimum(y, 0.0) * C, np.maximum(y, 0.0) * C)
    return SVMSolution(coef, value, intercept, n_iter, residual)


def _repeat(
    steps: "Descent | ProximalPoints", n_iter: int, max_iter: int, progress: Progress | None
) -> tuple[int, bool]:
    """Advance until it is solved or `progress` says stop (then it is over), or to the last step."""
    while n_iter < max_iter:
        made = steps.advance(max_iter - n_iter if progress is None else 1)
        n_iter += made
        stop = made > 0 and progress is not None and progress(n_iter)
        if steps.solved or stop:
            return n_iter, True
    return n_iter, False


def _state(operator: Any, y: Array, C: Array) -> tuple[Problem, Array]:
    """Return the problem, and the first σ."""
    positive, negative = float(C[y > 0].sum()), float(C[y < 0].sum())
    diagonal = _mean_diagonal(operator, len(y))
    # no coefficient can exceed what the other class can balance: a bound above that only spoils the scale
    reach = np.minimum(C, (1.0 + SETTINGS.rounding) * np.where(y > 0, negative, positive))
    sigma = np.minimum(reach / SETTINGS.width, SETTINGS.typical / diagonal if diagonal > 0 else np.inf)
    return Problem(operator, y, np.minimum(y, 0.0) * reach, np.maximum(y, 0.0) * reach, diagonal), sigma


def _mean_diagonal(operator: Any, n: int) -> float:
    """Estimate the mean diagonal of the centred K: E vᵀKv = trace for random signs v.

    The multiples of the golden ratio are as good as random here, and always the same.
    """
    v = np.where(np.arange(n) * 0.6180339887498949 % 1.0 < 0.5, 1.0, -1.0)
    v -= v.mean()
    return max(float(v @ operator.product(v)) / n, 0.0)


def _most_sweeps(n_rows: int) -> int:
    return 1 + SETTINGS.smo_steps // n_rows


def _best_stretch(solution: SVMSolution, y: Array) -> float:
    """Return the multiple of c at which the objective is least, were there no box."""
    curvature = solution.coef @ solution.value
    return float(y @ solution.coef / curvature) if curvature > 0 else np.inf


def is_solved(problem: Problem, point: Point, tol: float) -> tuple[bool, float]:
    """Return whether the optimality conditions and the duality gap are as small as wanted, and the former."""
    residual, intercept = measure_violation(point.coef, point.value, problem.y, problem.lower, problem.upper)
    if residual > tol:
        return False, residual
    gap, dual = measure_gap(problem, point.coef, point.value + intercept)
    return gap <= SETTINGS.gap_tol * tol * dual or residual <= SETTINGS.gap_tol * tol, residual


def _scale_to_spread(tol: float, value: Array) -> float:
    """Shrink tol where all of f is within less than one, as for small C: errors count as a share of that."""
    return tol * min(1.0, max(float(np.ptp(value)), SETTINGS.least_spread))


class Descent:
    """Sweeps of SMO, for few rows. A sweep is n steps."""

    def __init__(self, problem: Problem, distances: Distances, coef: Array, value: Array, tol: float) -> None:
        self.problem, self.distances, self.tol, self.target = problem, distances, tol, tol
        self.point = make_feasible(problem, Point(coef, value, 0.0))
        self.solved = False

    def advance(self, max_sweeps: int) -> int:
        """Make sweeps until it is solved; return their number."""
        problem, n, n_steps = self.problem, len(self.point.coef), 0
        while n_steps < n * max_sweeps and not self.solved:
            coef, g = self.point.coef.copy(), problem.y - self.point.value
            most = n * max_sweeps - n_steps
            made = descend(self.distances, problem.lower, problem.upper, coef, g, self.target, most)
            n_steps += max(made, 1)  # so that it ends even with numbers that are none
            self.point = Point(coef, problem.y - g, 0.0)
            wanted = _scale_to_spread(self.tol, self.point.value)
            residual, _ = measure_violation(coef, self.point.value, problem.y, problem.lower, problem.upper)
            if residual <= wanted:
                self.point = polish(problem, self.point, SETTINGS.polish_rows)
                self.solved, residual = is_solved(problem, self.point, wanted)
            self.target = min(wanted, SETTINGS.tighter * residual)
        return max(1, -(-n_steps // n))


@dataclass
class ProximalPoints:
    """Newton steps between centres."""

    problem: Problem
    sigma: Array
    center: Array
    point: Point
    tol: float
    stiffness: float = 1.0  # how many times σ has grown
    n_steps: int = 0  # Newton steps since the centre moved
    solved: bool = False

    def start_near(self) -> None:
        """Put the centre where the decision values call for."""
        self.stiffness = SETTINGS.near
        term = Proximal(np.zeros(len(self.center)), self.stiffness * self.sigma)
        _, self.center = respond(self.problem, term, self.point.value, 0.0)

    def advance(self, _: int) -> int:
        """Move the centre if its problem is solved, then make one Newton step; return 0 if it is solved."""
        problem, point = self.problem, self.point
        tol = _scale_to_spread(self.tol, point.value)
        term = Proximal(self.center, self.stiffness * self.sigma)
        bias, response = respond(problem, term, point.value, point.bias)
        error = np.max(np.abs(response - point.coef) / term.sigma)
        move = np.max(np.abs(point.coef - self.center) / term.sigma)
        in_box = np.all((problem.lower <= point.coef) & (point.coef <= problem.upper))
        if error <= SETTINGS.center_tol * move or in_box:
            inside = make_feasible(problem, point)
            self.solved = is_solved(problem, inside, tol)[0]
            if self.solved:
                self.point = inside
                return 0
            if self.n_steps > 0 and self._is_centered(inside, term):
                self.center, point = inside.coef, inside
                if self.n_steps <= SETTINGS.few_steps:
                    self.stiffness *= SETTINGS.growth
                self.n_steps = 0
                term = Proximal(self.center, self.stiffness * self.sigma)
                bias, response = respond(problem, term, point.value, bias)
        floor = SETTINGS.floor * tol * 0.5**self.n_steps  # a centre slow to settle may need more digits
        self.point = newton_step(problem, term, Point(point.coef, point.value, bias), response, floor)
        self.n_steps += 1
        return 1

    def _is_centered(self, inside: Point, term: Proximal) -> bool:
        """Return whether the proximal problem is solved to a share of the centre's move."""
        problem, pull = self.problem, (inside.coef - term.center) / term.sigma
        residual, _ = measure_violation(
            inside.coef, inside.value + pull, problem.y, problem.lower, problem.upper
        )
        return bool(residual <= SETTINGS.center_tol * np.abs(pull).max())
