r"""An SVM on a Gram matrix that changes a little each time: warm starts, and a way out where steps are many.

.. math:: \max_c y^\top c - \tfrac12 c^\top K c \quad\text{s.t.}\quad 0 \le y_i c_i \le 1,\; \textstyle\sum_i
          c_i = 0,

whose primal is :math:`\min_{f, b} \tfrac12 \|f\|^2 + \sum_i \max(0, 1 - y_i (f(x_i) + b))`. Since Σc = 0, it
is the same with :math:`-D` in place of K for :math:`D_{ij} = \tfrac12 (K_{ii} + K_{jj}) - K_{ij}`, half of
the squared distance: so SMO (`superkernel.smo`) solves it. From a start that is near it makes a few hundred
steps of O(n), where `newton.GramRows` factors a matrix several times. Its steps become too many where the
kernel is large and nearly of low rank; there Newton steps on a factor of K take over (`newton.FeatureRows`).
"""

from typing import NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.compiled import njit
from mercer.solvers.cholesky import factor_gram
from mercer.solvers.newton import HINGE, FeatureRows, centre, solve_path
from mercer.solvers.superkernel.smo import descend


class SVMSettings(NamedTuple):
    """What steers the solver, and what goes wrong without it."""

    residual: float = 1e-3
    least_residual: float = 1e-9
    """Of the optimality conditions: SMO runs to LIBSVM's tolerance, and then to tenths of it until the gap is
    as asked for. From the second number on it would only follow rounding errors."""
    residual_per_tol: float = 30.0
    roughest: float = 0.1
    """Where a rough gap is asked for, the first residual is this multiple of it, up to this number: a finer
    one takes steps that nobody asked for."""
    few_steps: int = 50
    """SMO's steps per row before Newton steps get their turn. Fewer, and easy problems pay for a factor of
    K; more, and hard ones are waited for in vain."""
    most_steps: int = 1000
    """SMO's steps per row where the rank is too high for Newton steps: it ends whatever happens."""
    low_rank: int = 150
    """Largest p² per row, for a kernel of rank p, up to which Newton steps cost less than those steps."""


SETTINGS = SVMSettings()


class DenseSVM(NamedTuple):
    """A solution, or the nearest that was reached."""

    coef: Array  # c, feasible
    primal: float
    dual: float
    is_hard: bool  # steps were too many


def solve_dense_svm(K: Array, y: Array, start: Array, tol: float, is_hard: bool = False) -> DenseSVM:
    """Solve the SVM from a feasible start, up to a relative duality gap of `tol` if that can be reached.

    Parameters
    ----------
    K : array of shape (n, n)
        The Gram matrix. It is overwritten.
    y : array of shape (n,)
        −1 and 1, both.
    start : array of shape (n,)
        Coefficients in the box, of sum zero.
    tol : float
        The gap, as a share of the primal value.
    is_hard : bool
        Whether to begin with Newton steps.
    """
    if not is_hard:
        half = 0.5 * np.diag(K)
        turn_round(K, half)
        found = _descend(K, y, start, tol, SETTINGS.few_steps)
        if not found.is_hard:
            return found
        start = found.coef
        turn_round(K, half)
    centre(K)
    factor = factor_gram(K)
    if len(factor.landmarks) ** 2 > SETTINGS.low_rank * len(y):
        turn_round(K, 0.5 * np.diag(K))
        return _descend(K, y, start, tol, SETTINGS.most_steps)
    F = factor.coordinates(K[:, factor.landmarks])
    (inner,) = solve_path(FeatureRows.of(F, y, np.ones(len(y))), [1.0], HINGE, tol=max(tol, 1e-8))
    coef, w = _make_feasible(inner.coef), inner.function.coef
    found = _judge(y, coef, K @ coef, is_hard=True)
    # a large kernel makes much of rounding errors in c; w, in the span of the landmarks, has none of them
    primal = 0.5 * float(w @ w) + hinge_loss(y, F @ w)
    return found._replace(primal=min(found.primal, primal))


@njit(cache=True, nogil=True, fastmath=True)
def turn_round(K: Array, half: Array) -> None:
    """Turn K into D, or D into K, in its place; `half` is half of K's diagonal."""
    for i in range(len(K)):
        for j in range(len(K)):
            K[i, j] = (half[i] + half[j]) - K[i, j]


def _descend(distance: Array, y: Array, start: Array, tol: float, steps: int) -> DenseSVM:
    lower, upper, coef = np.minimum(y, 0.0), np.maximum(y, 0.0), start.copy()
    g = y + coef @ distance
    rough = min(SETTINGS.residual_per_tol * tol, SETTINGS.roughest)
    residual, left = max(SETTINGS.residual, rough), steps * len(y)
    while True:
        left -= descend(distance, lower, upper, coef, g, residual, left)
        found = _judge(y, coef, y - g, is_hard=left <= 0)
        reached = found.primal - found.dual <= tol * found.primal
        if reached or left <= 0 or residual <= SETTINGS.least_residual:
            return found
        residual /= 10.0


def _judge(y: Array, coef: Array, value: Array, is_hard: bool) -> DenseSVM:
    """Return the objectives, given K c up to a constant."""
    quadratic, linear = float(coef @ value), float(coef @ y)
    return DenseSVM(coef, 0.5 * quadratic + hinge_loss(y, value), linear - 0.5 * quadratic, is_hard)


def hinge_loss(y: Array, f: Array) -> float:
    """Return the least Σ max(0, 1 − y (f + b)) over b."""
    return float(np.maximum(0.0, 1.0 - y * (f + best_bias(y, f))).sum())


def best_bias(y: Array, f: Array) -> float:
    """Return the b at which Σ max(0, 1 − y (f + b)) is least. O(n log n)."""
    # the slope is minus the number of rows of class 1 at first, and rises by one wherever b passes y − f
    return float(np.sort(y - f)[int(np.sum(y > 0)) - 1])


def balance(y: Array) -> Array:
    """Return coefficients of one size in each class, as large as they may be."""
    return _make_feasible(y.astype(np.float64))


def _make_feasible(coef: Array) -> Array:
    """Shrink the coefficients of one sign, so that all sum to zero."""
    plus, minus = coef[coef > 0].sum(), -coef[coef < 0].sum()
    if plus == 0.0 or minus == 0.0:
        return np.zeros_like(coef)
    return np.where(coef > 0, coef * min(1.0, minus / plus), coef * min(1.0, plus / minus))
