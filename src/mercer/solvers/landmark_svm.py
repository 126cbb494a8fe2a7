r"""SVMs on a few landmarks, for rows too many for a Gram matrix (Nyström's approximation).

The function is :math:`f(x) = \sum_j c_j k(x, z_j) + b` with m landmarks z. Its penalty is that of the kernel,
:math:`\tfrac12 c^\top K_{zz} c`; with :math:`K_{zz} = U \Lambda U^\top` and :math:`c = U \Lambda^{-1/2} w` it
is :math:`\tfrac12 \|w\|^2`. The hinge is rounded at its corner, so that L-BFGS may minimise.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize

from mercer._typing import Array

Blocks = Callable[[], Iterator[tuple[slice, Any]]]


class LandmarkSettings(NamedTuple):
    """What steers the method, and what goes wrong without it."""

    rank_tol: float = 1e-7
    """Share of the largest eigenvalue of K_zz below which a direction is left out: kernel values have single
    precision, and it would be made of their rounding errors."""
    rounding: float = 0.5
    """Length of the margin over which the hinge bends. Less is nearer to the hinge, and takes more passes."""
    memory: int = 20
    """Steps that L-BFGS remembers."""
    scaling_rows: int = 20_000
    """Rows on which the curvature is estimated that scales the variables."""


SETTINGS = LandmarkSettings()


class LandmarkSVMs(NamedTuple):
    """The solution of several SVMs on one set of landmarks: one column or entry for each problem."""

    coef: Array  # (n_landmarks, n_problems)
    intercept: Array
    objective: Array
    n_iter: int
    gradient: float  # the largest slope that is left, as a share of that at zero


def rounded_hinge(margin: Array) -> tuple[Array, Array]:
    """Return the loss of margins m = y f and its derivative: max(0, 1 − m), with a rounded corner.

    It is u²/2h for u = 1 − m + h/2 in [0, h], zero below and u − h/2 above; the hinge itself for h = 0.
    """
    h = SETTINGS.rounding
    short = np.maximum(1.0 + h / 2 - margin, 0.0)
    slope = np.minimum(short / h, 1.0)
    return slope * (short - slope * (h / 2)), -slope


def solve_on_landmarks(
    blocks: Blocks, K_zz: Array, Y: Array, C: Array, *, tol: float = 1e-3, max_iter: int = 500
) -> LandmarkSVMs:
    r"""Minimise :math:`\tfrac12 \|w_p\|^2 + \sum_i C_i \ell(Y_{ip} f_p(x_i))` for each problem p.

    An iteration is a pass over the rows, O(n m) for each problem; only a block of them is held at a time.

    Parameters
    ----------
    blocks : callable
        Returns an iterator over (slice of rows, their kernel values with the landmarks), in single
        precision if memory is short.
    K_zz : array of shape (m, m)
        The Gram matrix of the landmarks.
    Y : array of shape (n, P)
        −1 or 1; 0 for a row that a problem leaves out.
    C : array of shape (n,)
        The penalty of each row.
    tol : float
        The gradient that is asked for, as a share of that at zero.
    max_iter : int
        The maximum number of iterations.
    """
    whiten = whiten_landmarks(K_zz)
    mean, power = _moments(blocks, whiten)
    n_problems, rank = Y.shape[1], whiten.shape[1]
    curvature = (C @ np.abs(Y)) / SETTINGS.rounding / 4  # a quarter of the rows lies in the corner, or so
    scale = 1.0 / np.sqrt(1.0 + curvature * power[:, None])  # of w
    scale_b = 1.0 / np.sqrt(curvature)

    def unpack(v: Array) -> tuple[Array, Array]:
        table = v.reshape(rank + 1, n_problems)
        return scale * table[:-1], scale_b * table[-1]

    def evaluate(v: Array) -> tuple[Array, Array]:
        """Return the objective of each problem, and the slopes in all variables."""
        w, b = unpack(v)
        c = whiten @ w
        shift = b - mean @ w
        value, slope_c, slope_b = 0.5 * np.sum(w**2, axis=0), np.zeros(c.shape), np.zeros(n_problems)
        for rows, K in blocks():
            y, weight = Y[rows], C[rows, None]
            loss, slope = rounded_hinge(y * (K @ c.astype(K.dtype) + shift))
            used = weight * np.abs(y)
            slope *= weight * y
            value += np.sum(used * loss, axis=0)
            slope_c += K.T @ slope.astype(K.dtype)
            slope_b += slope.sum(axis=0)
        slope_w = w + whiten.T @ slope_c - mean[:, None] * slope_b
        return value, np.vstack([scale * slope_w, scale_b * slope_b]).ravel()

    def objective(v: Array) -> tuple[float, Array]:
        value, slope = evaluate(v)
        return float(value.sum()), slope

    start = np.zeros((rank + 1) * n_problems)
    steepest = float(np.abs(objective(start)[1]).max())
    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "maxcor": SETTINGS.memory, "gtol": tol * steepest, "ftol": 0.0},
    )
    w, b = unpack(found.x)
    value, slope = evaluate(found.x)
    left = float(np.abs(slope).max() / (steepest or 1.0))
    return LandmarkSVMs(whiten @ w, b - mean @ w, value, int(found.nit), left)


def whiten_landmarks(K_zz: Array) -> Array:
    """Return U Λ^{−1/2} of the eigenvalues that are more than rounding errors."""
    size, U = eigh(K_zz)
    kept = size > SETTINGS.rank_tol * size[-1]
    return U[:, kept] / np.sqrt(size[kept])


def _moments(blocks: Blocks, whiten: Array) -> tuple[Array, Array]:
    """Return the means of the features of some rows, and the variances."""
    total, squares, n = np.zeros(whiten.shape[1]), np.zeros(whiten.shape[1]), 0
    for _, K in blocks():
        F = K @ whiten.astype(K.dtype)
        total += F.sum(axis=0, dtype=np.float64)
        squares += np.sum(F**2, axis=0, dtype=np.float64)
        n += len(F)
        if n >= SETTINGS.scaling_rows:
            break
    mean = total / n
    return mean, np.maximum(squares / n - mean**2, 0.0)
