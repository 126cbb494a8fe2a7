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
from scipy.linalg.lapack import dpotrf, dpotrs

from mercer._typing import Array
from mercer.solvers.superkernel.weights import TINY, KernelWeights, Penalty, Stopping, relative_gap


class PlaneSettings(NamedTuple):
    """What steers the search, and what goes wrong without it."""

    step: float = 0.5
    """Share of the way to the master problem's minimiser. All the way is too far, since planes are below φ: β
    would jump to and fro."""
    growth: float = 5.0
    """Longest next β, in lengths of the best one. The first planes know no limit: far out, φ (an SVM with a
    huge kernel) is slow to compute."""
    fading: float = 0.05
    """Weights below this share of the largest become zero at once if the master problem has them at zero. By
    halves of the way they would come near zero but never reach it."""
    zero: float = 1e-7
    """Weights below this share of the largest are zero. Interior points leave all of them positive: no kernel
    would be sparse."""
    share_of_gap: float = 0.1
    share_of_tol: float = 0.3
    roughest: float = 0.1
    """Relative accuracy of φ: this share of the gap so far, but no finer than this share of `tol` and no
    rougher than this number. Finer ones are wasted where β is still to move; rougher ones hide the gap."""
    accuracy: float = 1e-9
    """Of the master problem. With rougher bounds `tol` is out of reach; finer ones are rounding errors."""
    to_boundary: float = 0.995
    """Share of the way to the boundary that an interior point may go. On the boundary Newton's matrix is
    singular."""


SETTINGS = PlaneSettings()


class Plane(NamedTuple):
    """What is known of φ from one β."""

    value: float  # φ(β), or an upper bound of it
    offset: float
    slope: Array


def minimize_by_planes(
    ask: Callable[[Array, float], Plane], penalty: Penalty, start: Array, stopping: Stopping
) -> KernelWeights:
    """Return the minimum up to a relative gap, or what was reached after the last plane that is allowed.

    Parameters
    ----------
    ask : callable
        Gives the plane at β; told which relative accuracy the value of φ needs.
    penalty : Penalty
        The quadratic part.
    start : array of shape (r,)
        The first β.
    stopping : Stopping
        The relative gap that is asked for, and the maximum number of planes.
    """
    tol, max_iter, progress = stopping
    beta, best, least, bound, gap = start, start, np.inf, -np.inf, 1.0
    planes: list[Plane] = []
    history: list[float] = []
    while len(planes) < max_iter and gap > tol:
        accuracy = max(SETTINGS.share_of_gap * gap, SETTINGS.share_of_tol * tol)
        planes.append(ask(beta, min(accuracy, SETTINGS.roughest)))
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
    cut_off = len(planes) == max_iter and not gap <= tol
    return KernelWeights(best, least, bound, np.array(history), len(planes), cut_off)


def _next(best: Array, ahead: Array, penalty: Penalty, fade: bool) -> Array:
    """Return where to ask next, on the way to the master problem's minimiser.

    All the way is too far, since planes are below φ; and far out φ may be costly to compute. Small weights
    that are on their way to zero may fade at once. Not after a step in vain, though: the next β must be on
    the line, where no lower value means a plane that cuts off the minimiser; else the same step would recur.
    """
    reach = SETTINGS.growth * np.sqrt(penalty.value(best) / max(penalty.value(ahead), TINY))
    beta = best + SETTINGS.step * min(1.0, reach) * (ahead - best)
    if not fade:
        return beta
    size = penalty.sizes(beta)
    kept = np.where((ahead == 0.0) & (size < SETTINGS.fading * size.max(initial=0.0)), 0.0, beta)
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
    beta = np.where(size > SETTINGS.zero * size.max(initial=0.0), beta, 0.0)
    return beta, float(h @ x[: len(h)] - 0.5 * w @ w)


def minimize_on_simplex(R: Array, h: Array, max_iter: int = 100) -> Array:
    """Maximise hᵀμ − ½ ‖R x‖² for x = (μ, ν) ≥ 0 with Σμ = 1, by Mehrotra's method. O(len(x)³) per step.

    `idealized.qp` has a loop of the same method. They share its dozen lines of predictor and
    corrector, not the linear systems, which are the rest: here one equality, there a box for each row with
    p + 1 unknowns, or a cone of matrices.
    """
    n = R.shape[1]
    size = np.maximum(np.linalg.norm(R, axis=0), np.sqrt(np.max(np.abs(h))))  # one over that of each unknown
    R = R / size
    a, q = np.zeros(n), np.zeros(n)
    a[: len(h)], q[: len(h)] = 1.0 / size[: len(h)], -h / size[: len(h)]
    P = R.T @ R
    x, y = np.full(n, 1.0 / a.sum()), 0.0
    z = np.full(n, float(np.max(np.abs(P @ x + q))))
    for _ in range(max_iter):
        rest, missing, mu = y * a + z - P @ x - q, float(1.0 - a @ x), x @ z / n
        enough = SETTINGS.accuracy * (abs(q @ x) + x @ P @ x)
        if x @ z <= enough and abs(rest) @ x <= enough and abs(missing) <= SETTINGS.accuracy:
            break
        factor, failed = dpotrf(P + np.diag(z / x))
        if failed:  # as near as rounding errors let it come
            break
        along = dpotrs(factor, a)[0]
        step = partial(_newton_step, factor, along, a, rest, missing, x, z)
        dx, dz, _ = step(np.zeros(n))
        ahead = (x + _longest(x, dx) * dx) @ (z + _longest(z, dz) * dz) / n
        dx, dz, dy = step(mu * (ahead / mu) ** 3 - dx * dz)
        t = SETTINGS.to_boundary * min(_longest(x, dx), _longest(z, dz))
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
