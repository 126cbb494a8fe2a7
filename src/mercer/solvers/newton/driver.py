r"""Machines of any kernel and any convex loss, by Newton steps: the primal (P1) of [LL05] with the hinge.

.. math:: \min_{f, b} \tfrac12 \|f\|^2 + \sum_i \ell_i(f(x_i) + b).

How f is represented is the rows' affair (`newton.rows`): a table, a vector of features' weights, or a
coefficient for each row. A pass over the rows computes f, and adds up the rows' coefficients
c_i = −ℓ'_i(f_i): Σ_i c_i k(·, x_i) is the minimiser if it is f. Newton steps find it, for losses whose
corners are rounded around centres that follow (`newton.losses`).
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from mercer.limits import one_thread
from mercer.solvers.newton.losses import HINGE, NO_CENTERS, Loss
from mercer.solvers.newton.rows import TINY, DualRows, Point, Rows


class Settings(NamedTuple):
    """What steers the solver, and what goes wrong without it."""

    near: float = 4.0  # the stiffness for a start near the solution, which a soft centre would leave
    growth: float = 3.0  # of the stiffness after a centre: later ones are nearer to the solution
    few_steps: int = 3  # more steps of a centre say that it was stiff enough, …
    slow_growth: float = 1.3  # … but without growth some fits would creep
    center_tol: float = 2.0  # a centre moves when its problem lacks this multiple of what its rounding costs
    stalled: float = 0.1  # … or, after few steps, if its problem lacks only this share of the gap
    patience: int = 50  # steps without a smaller gap after which it ends: by then rounding errors rule
    gap_tol: float = 0.1  # the relative gap, as a share of tol: at tol, rows near the boundary change sides
    far: float = 2.0  # before the gap is within this factor, LIBSVM's residual is not looked at
    least_residual: float = 0.01  # a residual of this share of tol is enough, whatever the gap
    least_tol: float = 1e-7  # where all of f is within less than one, tol is a share of that, but not less
    least_gap: float = 1e-10  # no smaller share of the objective is asked for
    least_penalty: float = 1e-4  # a smaller share of the objective counts as this: zero has no digits
    floor: float = 1e-3  # changes of f below this share of tol would be rounding errors


SETTINGS = Settings()
SAMPLE_TOL = 1.0  # of a sample that gives the start: what is left is less than what the other rows change
DIGITS = 1e-13  # what is left of an objective below this share is rounding errors
MOST_TRIALS = 60  # of a line search
FAR = 1e3  # the intercept moves at most so far at once


class Solution(NamedTuple):
    """A minimiser."""

    function: Point  # as the rows represent it
    bias: Any  # of several classes at once one each
    coef: Any  # c_i of the rows; none if these are elsewhere
    objective: float  # of the dual problem: its minimum
    residual: float  # at most `tol` if it converged; infinite where it has left the numbers
    n_iter: int


def solve(
    rows: Rows, *, start: Point | None = None, tol: float = 1e-3, max_iter: int = 1000, progress: Any = None
) -> Solution:
    """Minimise the penalty plus the losses, from `with_penalty` of the rows.

    The duality gap at the end is a tenth of `tol` as a share of the objective and of the penalty: twice the
    gap bounds the squared distance to the minimiser. Of an exact problem, LIBSVM's residual is at most `tol`
    as well. `progress` is called after each Newton step with its number; if it returns true, that was the
    last one.
    """
    with one_thread(rows.one_thread):
        search = Search(rows, tol, start)
        n_iter, stop = 0, False
        while n_iter < max_iter and not stop and search.advance():
            n_iter += 1
            stop = progress is not None and bool(progress(n_iter))
        return search.solution(n_iter)


def solve_path(rows: Rows, Cs: Sequence[float], loss: Loss = HINGE, **options: Any) -> Iterator[Solution]:
    """Solve with penalties C × weight_i for each C in ascending order, each from the solution before it.

    While most rows are at their bounds, the solution grows in proportion to C; once few are, it stays. Hence
    the start: the last solution, stretched as far as that lowers the objective and the new bounds allow. A
    smooth loss has no bounds, and of Poisson's a stretched solution is far off.
    """
    start, center, previous = start_from_sample(rows, loss, Cs[0]), NO_CENTERS, 0.0
    solution: Solution | None = None
    for C in Cs:
        if solution is not None:
            stretch = 1.0 if loss.smooth else min(max(_best_stretch(rows, solution), 1.0), C / previous)
            start = rows.zero().moved(solution.function, stretch)._replace(bias=solution.bias)
            center = stretch * solution.coef
        rows = rows.with_penalty(loss, C, center)
        solution, previous = solve(rows, start=start, **options), C
        yield solution


def start_from_sample(rows: Rows, loss: Loss, C: float) -> Point | None:
    """Solve roughly for one row in four, say, each counting for four, and that likewise: a start for many."""
    if not rows.wants_start(loss):
        return None
    part = rows.sample(rows.sample_of)
    start = start_from_sample(part, loss, C)
    solution = solve(part.with_penalty(loss, C), start=start, tol=SAMPLE_TOL)
    point: Point = rows.extend(solution, rows.sample_of)
    return point


def _best_stretch(rows: Rows, solution: Solution) -> float:
    """Return the multiple of c at which the dual objective is least, were there no bounds."""
    square = rows.inner(solution.function, solution.function)
    return (0.5 * square - solution.objective) / square if square > 0.0 else np.inf


def _dot(a: Any, b: Any) -> float:
    """Return the product of two intercepts, or of vectors of several."""
    product = a * b
    return float(product.sum()) if hasattr(product, "sum") else float(product)


class Search:
    """Newton steps between centres."""

    def __init__(self, rows: Rows, tol: float, start: Point | None) -> None:
        self.rows, self.tol = rows, tol
        self.stiffness = 1.0 if start is None or rows.has_centers else SETTINGS.near
        self.point = rows.zero() if start is None else start
        self.every = 1  # the share of the curved rows that a Newton step uses
        self.n_steps = 0  # since the centre moved
        # LIBSVM's conditions of optimality are those of a loss with one corner
        self.settles = rows.is_exact and not rows.loss.smooth and rows.loss.epsilon == 0.0
        self.settled: tuple[Point, float] | None = None  # what the engine made of the point, if it was asked
        self.here: Any = None
        self.least, self.n_idle = np.inf, 0  # the smallest gap, and the steps since it was found
        self._look_around()

    def advance(self) -> bool:
        """Move the centre if its problem is solved, then make one Newton step; return false if all is."""
        primal, gap, lack, scale = self._objectives()
        # beyond numbers there is nothing to solve
        if not np.isfinite(gap) or self._is_solved(primal, gap, scale):
            return False
        self.n_idle = 0 if gap < 0.99 * self.least else self.n_idle + 1
        self.least = min(self.least, gap)
        if self.n_idle > SETTINGS.patience:
            return False
        rounding = max(SETTINGS.center_tol * min(gap - lack, self.here.proximal), DIGITS * abs(primal))
        if self.n_steps > SETTINGS.few_steps:  # and what is left of its problem is rounding errors
            rounding = max(rounding, SETTINGS.stalled * gap)
        if not self.rows.loss.smooth and self.n_steps > 0 and lack <= rounding:
            self._move_center()
        # a centre slow to settle may need more digits
        floor = SETTINGS.floor * self.tol * 0.5**self.n_steps
        step = self.rows.newton_step(self.here, floor)
        self.point, self.settled = self.point.moved(step, self._line_search(step)), None
        self._look_around()
        self.n_steps += 1
        return True

    def solution(self, n_iter: int) -> Solution:
        """Return where the search is."""
        primal, gap, _, scale = self._objectives()
        if self.settles:
            point, residual = self.settled or self._settle(self.tol)
            objective = 0.5 * self.rows.inner(point, point) - float(self.rows.y @ point.coef)
            return Solution(point, point.bias, point.coef, objective, residual, n_iter)
        residual = gap / (SETTINGS.gap_tol * scale) if np.isfinite(gap) else np.inf
        coef, bias, loss = self.rows.coef(self.point, self.stiffness), self.point.bias, self.rows.loss
        if len(coef) and not loss.smooth and loss.epsilon == 0.0:
            violation, middle = self.rows.violation(self.point, coef)
            bias = middle if violation < 0.0 else bias  # of an interval of intercepts that will do
        return Solution(self.point, bias, coef, gap - primal, residual, n_iter)

    def _is_solved(self, primal: float, gap: float, scale: float) -> bool:
        wanted = max(SETTINGS.gap_tol * self.tol * scale, SETTINGS.least_gap * abs(primal))
        if not self.settles or gap > SETTINGS.far * wanted:
            return gap <= wanted
        # where all of f is within less than one, as for small C, errors count as a share of that
        value = self.point.value
        tol = min(self.tol, max(self.tol * float(value.max() - value.min()), SETTINGS.least_tol))
        tol *= 1.0 if gap <= wanted else SETTINGS.least_residual
        self.settled = self._settle(tol)
        return bool(self.settled[1] <= tol)

    def _settle(self, tol: float) -> tuple[Point, float]:
        assert isinstance(self.rows, DualRows)  # as `settles` says
        return self.rows.settle(self.point, self.stiffness, tol)

    def _objectives(self) -> tuple[float, float, float, float]:
        """Return the primal objective, the duality gap, that of the rounded problem, and their scale.

        Where the coefficients do not sum to zero, the dual problem is that of a b at most one larger. Twice
        the gap bounds the error of the penalty: it is a share of that, or of the objective if this is less.
        """
        here, point, inner = self.here, self.point, self.rows.inner
        square, across, away = inner(point, point), inner(here.away, point), inner(here.away, here.away)
        outside = _dot(abs(point.bias) + 1.0, abs(here.mass))
        primal, dual = 0.5 * square + here.loss, here.dual - 0.5 * square - across - 0.5 * away - outside
        scale = max(min(abs(primal), square), SETTINGS.least_penalty * abs(primal), TINY)
        return primal, primal - dual, 0.5 * away + outside - _dot(point.bias, here.mass), scale

    def _look(self) -> None:
        self.here = self.rows.look(self.point, self.stiffness, self.every, self.here)
        self.every = max(1, self.here.n_curved // self.rows.most_curved)

    def _move_center(self) -> None:
        """Put the centre where the rows are, and round less."""
        self.rows, quick = self.rows.recenter(self.point, self.stiffness), self.n_steps <= SETTINGS.few_steps
        self.stiffness *= SETTINGS.growth if quick else SETTINGS.slow_growth
        self.n_steps = 0
        self._look_around()

    def _line_search(self, step: Point) -> float:
        """Return about the share of a step where the objective is least, mostly 1.

        Its derivative never decreases along the step: regula falsi goes on until a tenth of it is left.
        """
        start, growth = (self.rows.inner(step, p) for p in (self.point, step))
        first = -self.rows.inner(self.here.away, step) - _dot(self.here.mass, step.bias)
        if first >= 0.0:  # all rounding
            return 1.0

        def slope_at(share: float) -> float:
            # a centre slow to settle needs slopes that are not interpolated, or it may go in circles
            shares = np.full(1 if self.n_steps <= SETTINGS.few_steps else 3, share)
            of_rows = self.rows.slopes(self.point, step, self.stiffness, shares)[0]
            return start + share * growth - float(of_rows)

        left, right, share = (0.0, first), (1.0, slope_at(1.0)), 1.0
        slope = right[1] if right[1] > 0.0 else 0.0
        for _ in range(MOST_TRIALS):
            if abs(slope) <= 0.1 * abs(first):
                break
            part = min(max(-left[1] / (right[1] - left[1]), 0.01), 0.99)
            share = left[0] + (right[0] - left[0]) * part
            slope = slope_at(share)
            if slope > 0.0:  # an end that stays counts for less and less
                left, right = (left[0], 0.5 * left[1]), (share, slope)
            else:
                left, right = (share, slope), (right[0], 0.5 * right[1])
        return share

    def _look_around(self) -> None:
        """Look at the rows; first move the intercept to where their coefficients sum to zero, if needed.

        Newton steps do so while rows near a corner can; where an interval of intercepts will do, its middle.
        """
        self.point = self.rows.balance(self.point, self.stiffness)
        self._look()
        if self.here.n_curved > 0:
            return
        unit, low, high = self.rows.zero()._replace(bias=1.0), -FAR, FAR
        while high - low > 1e-15 * (abs(self.point.bias + low) + 1.0):
            shift = np.sinh(np.linspace(np.arcsinh(low), np.arcsinh(high), 17))  # finer near zero
            mass = self.rows.slopes(self.point, unit, self.stiffness, shift)
            flat = np.abs(mass) <= 1e-12 * np.abs(mass).max()
            if np.any(flat):
                low = high = float(shift[flat].mean())
                break
            k = max(1, int(np.argmax(mass < 0.0)))
            low, high = float(shift[k - 1]), float(shift[k])
        self.point = self.point._replace(bias=self.point.bias + 0.5 * (low + high))
        self._look()
