r"""Squared errors on a Gram matrix in closed form, for one or every penalty, with leave-one-out errors.

.. math:: \min_{a, b} \tfrac12 a^\top K a + \tfrac C2 \sum_i w_i (y_i - (K a)_i - b)^2

With P the projection that takes the weighted mean away, and :math:`W^{1/2} P K P^\top W^{1/2} = U S U^\top`,
the fitted values are :math:`\bar y + W^{-1/2} H W^{1/2} (y - \bar y)` for the symmetric matrix
:math:`H = U \, \mathrm{diag}(s / (s + 1/C)) \, U^\top`, for all C alike. A fit without row i misses it by
:math:`(y_i - f_i) / (1 - H_{ii} - r_i^2)`, the other penalties and C being the same, where
:math:`r_i^2 = w_i / \sum w`. The matrix above does not see r, an eigenvector of eigenvalue zero: 1 − H has
:math:`r r^\top` in it, and for large C next to nothing else. Hence r gets the mean eigenvalue μ: then
:math:`1 - H_{ii} - r_i^2 = (A^{-1})_{ii} / C - r_i^2 / (\mu C + 1)` with A the matrix plus
:math:`\mu r r^\top` and 1/C, and both parts are small. For one C, a Cholesky factor of A will do, in a sixth
of the time.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, eigh, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from mercer._typing import Array

LEAST_REST = 1e-12  # the least weight of the other rows, as a share of all


class RidgePath(NamedTuple):
    """The eigendecomposition, and the targets in its terms."""

    K: Array
    Y: Array
    weight: Array
    mean: Array  # of each target
    size: Array  # S, of r the mean
    U: Array
    diagonal: Array  # of the centred matrix
    mu: float

    @classmethod
    def of(cls, K: Array, Y: Array, weight: Array) -> "RidgePath":
        """Decompose a Gram matrix; K need be positive semi-definite among coefficients of sum zero alone."""
        A, diagonal, mu = _lifted(K, weight)
        size, U = eigh(A, overwrite_a=True)
        return cls(K, Y, weight, weight @ Y / weight.sum(), np.maximum(size, 0.0), U, diagonal, mu)

    def solve(self, C: float) -> tuple[Array, Array]:
        """Return a (n, n_targets), and y_i less what a fit without row i predicts, for one C."""
        root, share = np.sqrt(self.weight), self.weight / self.weight.sum()
        inner = self.U.T @ (root[:, None] * (self.Y - self.mean))
        coef = root[:, None] * (self.U @ (inner / (self.size[:, None] + 1.0 / C)))
        error = coef / (C * self.weight[:, None])  # y − f
        free = _freedom((self.U**2) @ (1.0 / (C * self.size + 1.0)), share, self.diagonal, self.mu, C)
        return coef, error / free[:, None]


def solve_ridge(K: Array, Y: Array, weight: Array, C: float) -> Array:
    """Return a (n, n_targets) of the minimiser for one C; the intercept is the weighted mean of Y − K a."""
    root, share = np.sqrt(weight)[:, None], weight / weight.sum()
    A, _, _ = _lifted(K, weight)
    A.flat[:: len(A) + 1] += 1.0 / C
    factor, failed = dpotrf(A.T, overwrite_a=1, clean=0)
    if failed:  # by rounding
        return RidgePath.of(K, Y, weight).solve(C)[0]
    return root * dpotrs(factor, root * (Y - share @ Y))[0]


def leave_one_out(K: Array, Y: Array, weight: Array, C: float) -> Array:
    """Return y_i less what a fit without row i predicts (n, n_targets), for one C."""
    root, share = np.sqrt(weight)[:, None], weight / weight.sum()
    A, diagonal, mu = _lifted(K, weight)
    A.flat[:: len(A) + 1] += 1.0 / C
    factor, failed = dpotrf(A.T, overwrite_a=1)
    if failed:
        return RidgePath.of(K, Y, weight).solve(C)[1]
    coef = root * dpotrs(factor, root * (Y - share @ Y))[0]
    free = _freedom(np.diag(dpotri(factor, overwrite_c=1)[0]) / C, share, diagonal, mu, C)
    return coef / (C * weight * free)[:, None]


def leave_one_out_of_features(F: Array, Y: Array, weight: Array, C: float) -> Array:
    """Return the same of p features in place of a kernel: O(n p²)."""
    share = weight / weight.sum()
    F = F - share @ F
    A = (F * weight[:, None]).T @ F
    A.flat[:: len(A) + 1] += 1.0 / C
    factor = cholesky(A, lower=True)
    error = Y - share @ Y
    error = error - F @ cho_solve((factor, True), F.T @ (weight[:, None] * error))
    leverage = weight * (solve_triangular(factor, F.T, lower=True) ** 2).sum(axis=0)
    return error / np.maximum(1.0 - leverage - share, LEAST_REST)[:, None]


def spread(K: Any, weight: Any) -> float:
    """Return the weighted mean squared distance of the rows from their mean in the feature space."""
    share = weight / weight.sum()
    return float(share @ K.diagonal() - share @ K @ share)


def _freedom(inverse: Array, share: Array, diagonal: Array, mu: float, C: float) -> Array:
    """Return 1 − H_ii − r_i² from the diagonal of A⁻¹ / C; not below what it is at least, by Jensen."""
    rest = np.maximum(1.0 - share, LEAST_REST)
    free: Array = np.maximum(inverse - share / (mu * C + 1.0), rest**2 / (C * diagonal + rest))
    return free


def _lifted(K: Array, weight: Array) -> tuple[Array, Array, float]:
    """Return W^½ P K Pᵀ W^½ + μ r rᵀ, the diagonal without μ r rᵀ, and μ."""
    A = _centred(K, weight)
    diagonal, root = np.maximum(np.diag(A), 0.0), np.sqrt(weight / weight.sum())
    mu = float(diagonal.mean())
    A += np.outer(mu * root, root)
    return A, diagonal, mu


def _centred(K: Array, weight: Array) -> Array:
    """Return W^½ P K Pᵀ W^½."""
    share, root = weight / weight.sum(), np.sqrt(weight)
    means = K @ share
    centred = K - means[:, None]
    centred += float(share @ means) - means
    centred *= root[:, None]
    centred *= root
    return centred
