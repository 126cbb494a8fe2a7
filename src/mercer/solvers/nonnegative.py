"""The logistic loss with a quadratic penalty, and weights of which some must not be negative."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve
from scipy.special import expit

from mercer._typing import Array, Flags

TOLERANCE = 1e-8  # of the projected gradient
MOST_STEPS = 200
NEAR = 1e-8  # weights below it that would fall are held at zero
ARMIJO = 1e-4  # of the decrease that the gradient promises, a step has to keep
HALVINGS = 40


class Weights(NamedTuple):
    """The solution of `fit_nonnegative`."""

    weights: Array
    intercept: float
    residual: float  # the largest entry of the projected gradient: 0 where the solution is exact


def fit_nonnegative(
    F: Array, y: Flags, penalty: Array, bounded: Flags, sample_weight: Array | None = None
) -> Weights:
    """Minimise Σ_p v_p log(1 + exp(−y_p f_p)) / Σ_p v_p + ½ Σ_j λ_j w_j² over w and b.

    f = F w + b, and w_j ≥ 0 where bounded. The problem is convex, and strictly so in w if all λ_j > 0: it has
    one solution. The intercept b bears no penalty. By projected Newton steps: weights that are zero and would
    fall are held, the others take the Newton step, and what becomes negative is set to zero. Each costs
    O(n d² + d³).

    Parameters
    ----------
    F : array of shape (n, d)
        The features.
    y : array of bool of shape (n,)
        The answers; both must occur.
    penalty : array of shape (d,)
        λ, positive.
    bounded : array of bool of shape (d,)
        Which weights must not be negative.
    sample_weight : array of shape (n,), optional
        v, how much each row counts.
    """
    A = np.column_stack([F, np.ones(len(F))])
    ridge, least = np.append(penalty, 0.0), np.where(np.append(bounded, False), 0.0, -np.inf)
    sign = np.where(y, 1.0, -1.0)
    share = np.ones(len(y)) if sample_weight is None else sample_weight
    share = share / share.sum()

    def value(x: Array) -> float:
        return float(share @ np.logaddexp(0.0, -sign * (A @ x)) + 0.5 * ridge @ x**2)

    x = np.zeros(A.shape[1])
    for _ in range(MOST_STEPS):
        wrong = expit(-sign * (A @ x))
        gradient = ridge * x - A.T @ (sign * share * wrong)
        held = (x <= least + NEAR) & (gradient > 0.0)
        residual = float(np.abs(x - np.maximum(x - gradient, least)).max())
        if residual <= TOLERANCE:
            break
        free = np.flatnonzero(~held)
        B = A[:, free]
        curvature = (B.T * (share * wrong * (1.0 - wrong))) @ B
        curvature[np.diag_indices(len(free))] += np.maximum(ridge[free], 1e-12)
        step = -gradient
        step[free] = solve(curvature, -gradient[free], assume_a="pos")
        x, moved = _search(value, x, step, gradient, held, least)
        if not moved:  # rounding is all that is left
            break
    return Weights(x[:-1], float(x[-1]), residual)


def _search(
    value: Callable[[Array], float], x: Array, step: Array, gradient: Array, held: Flags, least: Array
) -> tuple[Array, bool]:
    """Halve the step until it keeps what the gradient promises; return the point, and if there is one."""
    before, size = value(x), 1.0
    for _ in range(HALVINGS):
        new = np.maximum(x + size * step, least)
        promised = gradient[held] @ (x - new)[held] - size * (gradient[~held] @ step[~held])
        if value(new) <= before - ARMIJO * promised:
            return new, True
        size /= 2.0
    return x, False
