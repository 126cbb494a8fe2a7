"""A linear SVM with a free intercept, by a primal-dual interior-point method [LL05, (P1)]."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr
from scipy.linalg.lapack import dpotrf, dpotrs

from mercer._typing import Array
from mercer.array_api import is_of_numpy, namespace


class InteriorSettings(NamedTuple):
    """What steers the method, and what goes wrong without it."""

    patience: int = 10
    """Iterations without a smaller gap after which it stops: by then, rounding errors rule."""
    to_boundary: float = 0.995
    """Share of the way to the boundary that a step may go. On it, a slack is zero and is divided by."""
    refinements: int = 2
    """Times that a system is solved, the last ones for what rounding has left. Near the end slacks and
    multipliers differ by many orders of size, and one solution leaves too much."""
    flat: float = 1e-9
    """Slopes of the loss in b below this share of ΣC are zero. By rounding alone, the middle of the best
    intercepts would be one of their ends."""


SETTINGS = InteriorSettings()


class LinearSVM(NamedTuple):
    """The solution of a linear SVM."""

    w: Array
    b: float
    n_iter: int
    gap: float  # (primal − dual objective) / primal objective
    dual: Array  # λ, the multipliers of the rows


def solve_linear_svm(X: Array, y: Array, C: Array, *, tol: float = 1e-9, max_iter: int = 200) -> LinearSVM:
    r"""Solve a linear SVM with an intercept that is not penalised, by a primal-dual interior-point method.

    .. math:: \min_{w, b, \xi \ge 0} \tfrac12 \|w\|^2 + \sum_i C_i \xi_i
              \quad\text{s.t.}\quad t_i = y_i (\langle w, x_i \rangle + b) - 1 + \xi_i \ge 0.

    With multipliers λ of t and C − λ of ξ, Newton's method on the perturbed optimality conditions
    λ t = (C − λ) ξ = μ comes down to one system of p + 1 equations for (w, b) in each iteration; μ follows
    Mehrotra's predictor and corrector. An iteration costs O(n p²), and there are 10 to 30 of them whatever C
    is. ``gap`` is the caller's to judge.
    """
    xp = np if is_of_numpy(X) else namespace(X)
    center = X.mean(axis=0)  # moves b alone, and conditions the equations; so does the size
    size = float(xp.mean(xp.sum((X - center) ** 2, axis=1))) ** 0.5 or 1.0
    Z, one = (X - center) / size, xp.ones_like(y)
    A = y[:, None] * xp.concat([Z, one[:, None]], axis=1)
    half = C * size**2 / 2
    point = Point(xp.zeros_like(A[0]), half, half, one, one)
    best, gap, n_iter, in_vain = point, np.inf, 0, 0
    while gap > tol and n_iter < max_iter and in_vain < SETTINGS.patience:
        point = _newton_step(xp, A, point)
        new_gap = _relative_gap(A, point)
        n_iter, in_vain = n_iter + 1, in_vain + 1
        if new_gap < gap:
            best, gap, in_vain = point, new_gap, 0
    w = best.v[:-1]
    b = _middle_intercept(xp, Z @ w, y, C)
    return LinearSVM(w / size, float(b - center @ w / size), n_iter, gap, best.lam / size**2)


class Point(NamedTuple):
    """Where the interior-point method is: (w, b), and λ, C − λ, t, ξ, which stay positive."""

    v: Array
    lam: Array
    eta: Array
    t: Array
    xi: Array


def _newton_step(xp: Any, A: Array, point: Point) -> Point:
    v, lam, eta, t, xi = point
    ridge = xp.ones_like(v)
    ridge[-1] = 0.0
    d = t / lam + xi / eta
    solve = _factor(xp, A / xp.sqrt(d)[:, None], ridge)
    slack = A @ v - 1 + xi - t

    def direction(lam_t: Array, eta_xi: Array) -> Point:
        """Return the step on which λ t and η ξ change by these amounts, and all else becomes feasible.

        It solves ridge dv − Aᵀ dλ = g and A dv + d dλ = r.
        """
        g, r = A.T @ lam - ridge * v, lam_t / lam - eta_xi / eta - slack
        dv, dlam = xp.zeros_like(v), xp.zeros_like(lam)
        for _ in range(SETTINGS.refinements):
            rest = r - A @ dv - d * dlam
            more = solve(g - ridge * dv + A.T @ (dlam + rest / d))
            dv, dlam = dv + more, dlam + (rest - A @ more) / d
        return Point(dv, dlam, -dlam, (lam_t - t * dlam) / lam, (eta_xi + xi * dlam) / eta)

    def moved(by: Point, length: float) -> Point:
        return Point(*(u + length * du for u, du in zip(point, by, strict=True)))

    ahead = direction(-lam * t, -eta * xi)
    reach = _longest(xp, point, ahead)
    mu = _complementarity(point)
    target = mu * (_complementarity(moved(ahead, reach)) / mu) ** 3
    # Mehrotra corrects for all of the step ahead: too much where little of it can be taken, up to cycling
    bend = reach**2
    lam_t, eta_xi = lam * t + bend * ahead.lam * ahead.t, eta * xi + bend * ahead.eta * ahead.xi
    step = direction(target - lam_t, target - eta_xi)
    return moved(step, SETTINGS.to_boundary * _longest(xp, point, step))


def _factor(xp: Any, B: Array, ridge: Array) -> Callable[[Array], Array]:
    """Return the solver of BᵀB + ridge, by Cholesky, or QR (slower, but half the digits do) if it must be.

    By LAPACK itself: what SciPy does around it takes longer than a system of a few equations.
    """
    if xp is np:
        factor, failure = dpotrf(B.T @ B + np.diag(ridge))
        if failure:
            factor = qr(np.vstack([B, np.diag(ridge)]), mode="r")[0][: len(ridge)]
        upper = factor.astype(np.float64, copy=False)
        return lambda right: dpotrs(upper, right)[0]
    torch = import_module("torch")
    L, failure = torch.linalg.cholesky_ex(B.T @ B + torch.diag(ridge))
    if failure:
        L = torch.linalg.qr(torch.cat([B, torch.diag(ridge)]), mode="r")[1].mT
    return lambda right: torch.cholesky_solve(right[:, None], L)[:, 0]


def _complementarity(point: Point) -> float:
    return float(point.lam @ point.t + point.eta @ point.xi) / (2 * len(point.lam))


def _longest(xp: Any, point: Point, step: Point) -> float:
    """Return the longest part of the step, at most all of it, that keeps everything non-negative."""
    ratios = (float(xp.max(-du / u)) for u, du in zip(point[1:], step[1:], strict=True))
    return 1.0 / max(1.0, *ratios)


def _relative_gap(A: Array, point: Point) -> float:
    C = point.lam + point.eta
    primal = point.v[:-1] @ point.v[:-1] / 2 + C @ (1 - A @ point.v).clip(0.0, None)
    w_and_imbalance = A.T @ point.lam
    dual = point.lam.sum() - w_and_imbalance[:-1] @ w_and_imbalance[:-1] / 2
    return float((primal - dual + abs(w_and_imbalance[-1] * point.v[-1])) / primal)


def _middle_intercept(xp: Any, f: Array, y: Array, C: Array) -> float:
    """Return the middle of the intercepts b that minimise Σ C max(0, 1 − y (f + b)), as LIBSVM does.

    The slope of this convex function rises by C_i where b passes y_i − f_i, from −Σ C over y_i = 1.
    """
    kinks = y - f
    order = xp.argsort(kinks)
    slope = C[order].cumsum(0) - C[y > 0].sum()
    flat = SETTINGS.flat * C.sum()
    first, last = int((slope < -flat).sum()), int((slope < flat).sum())
    return float(kinks[order[first]] + kinks[order[min(last, len(f) - 1)]]) / 2
