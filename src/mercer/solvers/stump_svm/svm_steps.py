"""The steps of the SVM's dual, compiled: sweeps of SMO for few rows, and Newton steps between centres.

What Python calls writes into given arrays and returns numbers: a Ctrl-C while numba builds a tuple of arrays
for Python would end the process.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from mercer._typing import Array
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
from mercer.solvers.stump_svm.smo import Distances, descend

GROWTH = 3.0  # of σ after a centre that took at most FEW_STEPS Newton steps
FEW_STEPS = 4
CENTER_TOL = 0.3  # a centre may move when its problem is solved to this share of the move
GAP_TOL = 0.01  # also asked for: a relative duality gap, or else a residual, of this share of tol
LEAST_SPREAD = 1e-6  # of f, for which the residual may be so much smaller than tol
FLOOR = 1e-3  # changes of f below this share of tol do not count
TIGHTER = 0.3  # where a residual of SMO did not make the duality gap small, this share of it is the next aim
POLISH_TOL = 1e-6  # the last step goes for a residual of this share of tol …
POLISH_ROWS = 200  # … if at most so many rows are free


class _State(NamedTuple):
    center: Array
    point: Point
    stiffness: float  # how many times σ has grown
    n_steps: int  # Newton steps since the centre moved
    solved: bool


@njit(cache=True, nogil=True)
def sweep(
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
        wanted = _scale_to_spread(tol, point.value)
        residual, _ = measure_violation(point.coef, point.value, problem.y, lower, upper)
        if residual <= wanted:
            point = polish(problem, point, POLISH_TOL * tol, POLISH_ROWS)
            solved, residual = is_solved(problem, point, wanted)
        target = min(wanted, TIGHTER * residual)
    coef[:], value[:] = point.coef, point.value
    return max(1, -(-n_steps // n)), solved


@njit(cache=True, nogil=True)
def is_solved(problem: Problem, point: Point, tol: float) -> tuple[bool, float]:
    """Return whether the optimality conditions and the duality gap are as small as wanted, and the former."""
    residual, intercept = measure_violation(point.coef, point.value, problem.y, problem.lower, problem.upper)
    gap, dual = measure_gap(problem, point.coef, point.value + intercept)
    return residual <= tol and (gap <= GAP_TOL * tol * dual or residual <= GAP_TOL * tol), residual


@njit(cache=True, nogil=True)
def advance(
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
def center_on(problem: Problem, sigma: Array, value: Array, center: Array) -> None:
    """Put the centre where the decision values call for."""
    _, response = respond(problem, Proximal(np.zeros(len(center)), sigma), value, 0.0)
    center[:] = response


@njit(cache=True, nogil=True)
def finish(problem: Problem, coef: Array, value: Array, tol: float) -> None:
    """Make the point feasible, and give it its last digits."""
    point = make_feasible(problem, Point(coef, value, 0.0))
    point = polish(problem, point, POLISH_TOL * tol, POLISH_ROWS)
    coef[:], value[:] = point.coef, point.value


@njit(cache=True, nogil=True)
def _step(problem: Problem, sigma: Array, state: _State, tol: float) -> _State:
    """Move the centre if its problem is solved, then make one Newton step."""
    center, point, stiffness, n_steps = state.center, state.point, state.stiffness, state.n_steps
    tol = _scale_to_spread(tol, point.value)
    term = Proximal(center, stiffness * sigma)
    bias, response = respond(problem, term, point.value, point.bias)
    error, move = _largest(response - point.coef, term.sigma), _largest(point.coef - center, term.sigma)
    if error <= CENTER_TOL * move or np.all((problem.lower <= point.coef) & (point.coef <= problem.upper)):
        inside = make_feasible(problem, point)
        solved, _ = is_solved(problem, inside, tol)
        if solved:
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


@njit(cache=True, nogil=True)
def _scale_to_spread(tol: float, value: Array) -> float:
    """Shrink tol where all of f is within less than one, as for small C: errors count as a share of that."""
    return tol * min(1.0, max(value.max() - value.min(), LEAST_SPREAD))
