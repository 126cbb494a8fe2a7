r"""Kernel ridge regression, for one penalty or for every one, with its leave-one-out errors.

.. math:: \min_{a, b} \tfrac12 a^\top K a + \tfrac C2 \sum_i w_i (y_i - (K a)_i - b)^2

With P the projection that takes the weighted mean away, and :math:`W^{1/2} P K P^\top W^{1/2} = U S U^\top`,
the fitted values are :math:`\bar y + W^{-1/2} H W^{1/2} (y - \bar y)` for the symmetric matrix
:math:`H = U \, \mathrm{diag}(s / (s + 1/C)) \, U^\top`, for all C alike. A fit without row i misses it by
:math:`(y_i - f_i) / (1 - H_{ii} - w_i / \sum w)`, the other penalties and C being the same. For one C, H is
:math:`1 - A^{-1} / C` with A the matrix above plus 1/C: a Cholesky factor will do, in a sixth of the time.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from mercer._typing import Array

TINY = 1e-12  # 1 − H_ii below this: a row that no other says anything about


class RidgeSolution(NamedTuple):
    """A minimiser, for each column of targets."""

    coef: Array  # a, (n, n_targets)
    intercept: Array
    left_out: Array  # y_i less what a fit without row i predicts, (n, n_targets)


class RidgePath(NamedTuple):
    """The eigendecomposition, and the targets in its terms."""

    K: Array
    Y: Array
    weight: Array
    mean: Array  # of each target
    size: Array  # S
    U: Array

    @classmethod
    def of(cls, K: Array, Y: Array, weight: Array) -> "RidgePath":
        """Decompose a Gram matrix; K need be positive semi-definite among coefficients of sum zero alone."""
        size, U = eigh(_centred(K, weight), overwrite_a=True)
        return cls(K, Y, weight, weight @ Y / weight.sum(), np.maximum(size, 0.0), U)

    def solve(self, C: float) -> RidgeSolution:
        """Return the minimiser for one C."""
        root, share = np.sqrt(self.weight), self.weight / self.weight.sum()
        inner = self.U.T @ (root[:, None] * (self.Y - self.mean))
        coef = root[:, None] * (self.U @ (inner / (self.size[:, None] + 1.0 / C)))
        error = coef / (C * self.weight[:, None])  # y − f
        free = 1.0 - (self.U**2) @ (self.size / (self.size + 1.0 / C)) - share
        value = self.K @ coef
        return RidgeSolution(coef, share @ (self.Y - value), error / np.maximum(free, TINY)[:, None])


def solve_ridge(K: Array, Y: Array, weight: Array, C: float) -> RidgeSolution:
    """Return the minimiser for one C; where rounding leaves no Cholesky factor, by eigenvalues."""
    root, share = np.sqrt(weight)[:, None], weight / weight.sum()
    A = _centred(K, weight)
    A.flat[:: len(A) + 1] += 1.0 / C
    factor, failed = dpotrf(A.T, overwrite_a=1)
    if failed:
        return RidgePath.of(K, Y, weight).solve(C)
    coef = root * dpotrs(factor, root * (Y - share @ Y))[0]
    free = np.diag(dpotri(factor, overwrite_c=1)[0]) / C - share
    left_out = coef / (C * weight[:, None]) / np.maximum(free, TINY)[:, None]
    return RidgeSolution(coef, share @ (Y - K @ coef), left_out)


def spread(K: Array, weight: Array) -> float:
    """Return the weighted mean squared distance of the rows from their mean in the feature space."""
    share = weight / weight.sum()
    return float(share @ np.diag(K) - share @ K @ share)


def _centred(K: Array, weight: Array) -> Array:
    """Return W^½ P K Pᵀ W^½."""
    share, root = weight / weight.sum(), np.sqrt(weight)
    means = K @ share
    centred = K - means[:, None]
    centred += float(share @ means) - means
    centred *= root[:, None]
    centred *= root
    return centred
