r"""The minimum of a convex function plus a quadratic penalty, from planes below the function.

.. math:: \min_{\beta \ge 0} \phi(\beta) + \tfrac12 \beta^\top M \beta

for a convex φ that is known by its values and, at each β that was asked for, by a plane
:math:`h + g^\top \beta` that is nowhere above it. The *master problem* puts the highest of all planes so far
in place of φ; its minimum is a lower bound of the whole, and the next β to ask for lies on the way from the
best one so far to its minimiser. With the least value that was met the bound gives a true duality gap.

The master problem is solved by its dual, over weights μ of the planes (μ ≥ 0, Σμ = 1) and multipliers ν ≥ 0
of β ≥ 0:

.. math:: \max_{\mu, \nu} h^\top \mu - \tfrac12 w^\top M^{-1} w, \qquad w = \nu - G^\top \mu, \quad
          \beta = M^{-1} w .

Where M is diagonal and no plane rises, ν is zero, and the master problem is as small as the number of planes.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotrs

from mercer._typing import Array

ZERO = 1e-7  # weights smaller than this share of the largest are zero
CAUTION = 0.5  # the part of the way to the master problem's minimiser that is taken
GROWTH = 5.0  # … if that is at most so many times as long as the best β
FADING = 0.05  # of the largest weight: smaller ones that are to become zero, are
TINY = 1e-300
ACCURACY = 1e-9  # of the master problem


class Plane(NamedTuple):
    """What is known of φ from one β."""

    value: float  # φ(β), or an upper bound of it
    offset: float
    slope: Array


class Planes(NamedTuple):
    """Where the search ended."""

    beta: Array
    objective: float  # the least value met
    bound: float  # the largest lower bound
    history: Array  # the least value met so far, after each plane
    n_iter: int

    @property
    def gap(self) -> float:
        """How far the objective is above its minimum, at most, as a share of it."""
        return relative_gap(self.objective, self.bound)


def relative_gap(objective: float, bound: float) -> float:
    """Return how far the bound is below the objective, as a share of that."""
    return (objective - bound) / max(abs(objective), np.finfo(np.float64).tiny)


class Penalty:
    """½ βᵀMβ for a matrix M, or for the diagonal of one."""

    def __init__(self, M: Array) -> None:
        self.M = M
        self.diagonal = M if M.ndim == 1 else np.diag(M)
        self.root = np.sqrt(M) if M.ndim == 1 else cholesky(M, lower=True)

    def value(self, beta: Array) -> float:
        """Return ½ βᵀMβ."""
        return 0.5 * float(beta @ self.slope(beta))

    def slope(self, beta: Array) -> Array:
        """Return Mβ."""
        return self.M * beta if self.M.ndim == 1 else self.M @ beta

    def sizes(self, beta: Array) -> Array:
        """Return the length of each term, which its unit does not change."""
        return beta * np.sqrt(self.diagonal)

    def whiten(self, W: Array) -> Array:
        """Return L⁻¹ W, for M = L Lᵀ."""
        if self.M.ndim == 1:
            return W / self.root[:, None]
        whitened: Array = solve_triangular(self.root, W, lower=True)
        return whitened

    def unwhiten(self, w: Array) -> Array:
        """Return L⁻ᵀ w."""
        if self.M.ndim == 1:
            return w / self.root
        unwhitened: Array = solve_triangular(self.root, w, lower=True, trans="T")
        return unwhitened


def minimize_by_planes(
    ask: Callable[[Array, float], Plane],
    penalty: Penalty,
    start: Array,
    *,
    tol: float,
    max_iter: int,
    progress: Callable[[int], bool] | None = None,
) -> Planes:
    """Return the minimum up to a relative gap of `tol`, or what was reached after `max_iter` planes.

    Parameters
    ----------
    ask : callable
        Gives the plane at β; told which relative accuracy the value of φ needs.
    penalty : Penalty
        The quadratic part.
    start : array of shape (r,)
        The first β.
    tol : float
        The relative gap that is asked for.
    max_iter : int
        The most planes.
    progress : callable, optional
        Told of each plane; it says whether to stop.
    """
    beta, best, least, bound, gap = start, start, np.inf, -np.inf, 1.0
    planes: list[Plane] = []
    history: list[float] = []
    while len(planes) < max_iter and gap > tol:
        planes.append(ask(beta, min(max(0.1 * gap, 0.3 * tol), 0.1)))
        value = planes[-1].value + penalty.value(beta)
        gained = value < least
        if gained:
            best, least = beta, value
        ahead, below = solve_master(planes, penalty)
        bound = max(bound, below)
        gap = relative_gap(least, bound)
        history.append(least)
        beta = _next(best, ahead, penalty, fade=gained)
        if progress is not None and progress(len(planes)):
            break
    return Planes(best, least, bound, np.array(history), len(planes))


def _next(best: Array, ahead: Array, penalty: Penalty, fade: bool) -> Array:
    """Return where to ask next, on the way to the master problem's minimiser.

    All the way is too far, since planes are below φ; and far out φ may be costly to compute. Small weights
    that are on their way to zero may fade at once. Not after a step in vain, though: the next β must be on
    the line, where no lower value means a plane that cuts off the minimiser; else the same step would recur.
    """
    reach = GROWTH * np.sqrt(penalty.value(best) / max(penalty.value(ahead), TINY))
    beta = best + CAUTION * min(1.0, reach) * (ahead - best)
    if not fade:
        return beta
    size = penalty.sizes(beta)
    kept = np.where((ahead == 0.0) & (size < FADING * size.max(initial=0.0)), 0.0, beta)
    return kept * np.sqrt(penalty.value(beta) / max(penalty.value(kept), TINY))


def solve_master(planes: list[Plane], penalty: Penalty) -> tuple[Array, float]:
    """Return the minimiser of the highest plane plus the penalty, and a lower bound of that minimum."""
    h = np.array([plane.offset for plane in planes])
    G = np.stack([plane.slope for plane in planes])
    free = penalty.M.ndim == 1 and not np.any(G > 0)  # ν is zero
    R = -penalty.whiten(G.T)
    if not free:
        R = np.hstack([R, penalty.whiten(np.eye(G.shape[1]))])
    x = minimize_on_simplex(R, h)
    w = R @ x
    beta = np.maximum(penalty.unwhiten(w), 0.0)
    size = penalty.sizes(beta)
    beta = np.where(size > ZERO * size.max(initial=0.0), beta, 0.0)
    return beta, float(h @ x[: len(h)] - 0.5 * w @ w)


def minimize_on_simplex(R: Array, h: Array, max_iter: int = 100) -> Array:
    """Maximise hᵀμ − ½ ‖R x‖² for x = (μ, ν) ≥ 0 with Σμ = 1, by Mehrotra's method. O(len(x)³) a step."""
    n = R.shape[1]
    size = np.maximum(np.linalg.norm(R, axis=0), np.sqrt(np.max(np.abs(h))))  # of each unknown, turned round
    R = R / size
    a, q = np.zeros(n), np.zeros(n)
    a[: len(h)], q[: len(h)] = 1.0 / size[: len(h)], -h / size[: len(h)]
    P = R.T @ R
    x, y = np.full(n, 1.0 / a.sum()), 0.0
    z = np.full(n, float(np.max(np.abs(P @ x + q))))
    for _ in range(max_iter):
        rest, missing, mu = y * a + z - P @ x - q, 1.0 - a @ x, x @ z / n
        value = abs(q @ x) + x @ P @ x
        if x @ z <= ACCURACY * value and abs(rest) @ x <= ACCURACY * value and abs(missing) <= ACCURACY:
            break
        factor, failed = dpotrf(P + np.diag(z / x))
        if failed:  # as near as rounding errors let it come
            break
        along = dpotrs(factor, a)[0]
        step = partial(_newton_step, factor, along, a, rest, missing, x, z)
        dx, dz, _ = step(np.zeros(n))
        ahead = (x + _longest(x, dx) * dx) @ (z + _longest(z, dz) * dz) / n
        dx, dz, dy = step(mu * (ahead / mu) ** 3 - dx * dz)
        t = 0.995 * min(_longest(x, dx), _longest(z, dz))
        x, z, y = x + t * dx, z + t * dz, y + t * dy
    x = x / size
    x[: len(h)] /= x[: len(h)].sum()
    return x


def _newton_step(
    factor: Array, along: Array, a: Array, rest: Array, missing: float, x: Array, z: Array, target: Array
) -> tuple[Array, Array, float]:
    """Return the step after which, but for its square, x z is the target and all constraints hold."""
    u = dpotrs(factor, rest + target / x - z)[0]
    dy = (missing - a @ u) / (a @ along)
    dx = u + dy * along
    return dx, (target - z * dx) / x - z, dy


def _longest(x: Array, dx: Array) -> float:
    """Return the longest step, at most one, that keeps x positive."""
    falling = dx < 0
    return float(np.min(-x[falling] / dx[falling], initial=1.0))
