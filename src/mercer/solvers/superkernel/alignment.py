r"""Weights of Gram matrices whose sum is nearest to a target, centred [OSW02, (3), with a scale].

.. math:: \min_{\beta \ge 0} \frac1{2 n^2} \Bigl\| H \Bigl( \sum_i \beta_i K_i - T \Bigr) H \Bigr\|^2
          + \tfrac12 \beta^\top M \beta

The least of the first term over all multiples of a kernel is a falling function of its alignment with T,
½ ‖HTH‖² (1 − A²) / n²: so without the penalty the minimiser is the best aligned kernel. A quadratic problem
of as many unknowns as there are matrices.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, eigvalsh, solve_triangular
from scipy.optimize import nnls

from mercer._typing import Array
from mercer.solvers.cholesky import NotPositiveSemiDefiniteError
from mercer.solvers.superkernel.grams import Grams
from mercer.solvers.superkernel.weights import KernelWeights, Progress

RIDGES = (1e-14, 1e-12, 1e-10, 1e-8, 1e-6)
"""Shares of the mean of the diagonal, the first that helps is added to it: inner products of nearly equal
matrices are singular up to rounding errors, and have no Cholesky factor as they are."""


class LeastSquares(NamedTuple):
    """½ βᵀAβ − bᵀβ + ½ c, the mean squared distance from the target."""

    A: Array
    b: Array
    c: float


def compare_with_labels(grams: Grams, T: Array) -> LeastSquares:
    """Return how far centred sums of the matrices are from a centred target. O(n² r²).

    For T = yyᵀ its minimum over all multiples of a kernel is (3), centred, as the docstring above has it.
    """
    n = grams.n_rows
    centred = T - T.mean(axis=0) - T.mean(axis=1)[:, None] + T.mean()
    A, b = grams.centred_products(centred)
    return LeastSquares(A / n**2, b / n**2, float(np.mean(centred**2)))


def compare_with_pairs(values: Array, target: Array) -> LeastSquares:
    """Return the same for the values of kernels on listed pairs, (r, n_pairs), and targets, both centred."""
    Z = values - values.mean(axis=1, keepdims=True)
    t = target - target.mean()
    return LeastSquares(Z @ Z.T / len(t), Z @ t / len(t), float(np.mean(t**2)))


def minimize_distance(problem: LeastSquares, M: Array, progress: Progress | None = None) -> KernelWeights:
    """Return the weights, and a lower bound of the minimum; its gap is rounding errors alone."""
    H = problem.A + (np.diag(M) if M.ndim == 1 else M)
    L, H = _factor(H)
    beta, _ = nnls(L.T, solve_triangular(L, problem.b, lower=True))
    slope = H @ beta - problem.b
    objective = float(0.5 * beta @ H @ beta - problem.b @ beta + 0.5 * problem.c)
    # for any β' ≥ 0: f(β') = f(β) + slope·(β' − β) + ½ ‖β' − β‖²_H, where the positive part of slope·β' is
    # zero at least, and the rest is least at β' = β − H⁻¹ wrong
    wrong = np.minimum(slope, 0.0)
    bound = objective - float(beta @ (slope - wrong)) - 0.5 * float(wrong @ cho_solve((L, True), wrong))
    if progress is not None:
        progress(1)
    return KernelWeights(beta, objective, bound, np.array([objective]), 1)


def _factor(H: Array) -> tuple[Array, Array]:
    """Return the Cholesky factor of H, with as little added to its diagonal as rounding makes it need."""
    unit = np.trace(H) / len(H) * np.eye(len(H))
    for share in RIDGES:
        try:
            return cholesky(H + share * unit, lower=True), H + share * unit
        except LinAlgError:
            continue
    raise NotPositiveSemiDefiniteError(-float(eigvalsh(H)[0]) / float(np.max(np.abs(H))))
