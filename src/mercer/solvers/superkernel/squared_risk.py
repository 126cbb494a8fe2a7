r"""The regularised risk with the squared error, as a function of the kernel's weights [OSW02, (6)].

With :math:`\beta' = C \beta`, and P the projection that takes the mean away, the least regularised risk of
kernel ridge regression with the kernel :math:`\sum_i \beta_i K_i` and a free intercept is

.. math:: \phi(\beta') = \min_{f, b} \frac1m \Bigl[ \tfrac12 \sum_j (y_j - f_j - b)^2
          + \tfrac12 \|f\|^2 \Bigr]
          = \frac1m \max_{1^\top c = 0} \Bigl[ y^\top c - \tfrac12 \|c\|^2
          - \tfrac12 \sum_i \beta'_i\, c^\top K_i c \Bigr],

a maximum of functions that are linear in β', as with the hinge: convex, and each c of sum zero gives a plane
below it. The best one has a closed form, :math:`c = (P K P + I)^{-1} P y`. Of several targets it is the mean.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer._typing import Array
from mercer.solvers.newton import centre
from mercer.solvers.superkernel.cutting_planes import Plane, minimize_by_planes
from mercer.solvers.superkernel.grams import Grams
from mercer.solvers.superkernel.risk import first_guess
from mercer.solvers.superkernel.weights import KernelWeights, Penalty, Stopping


class SquaredRiskOfKernel:
    """φ of numeric targets, one per column."""

    def __init__(self, grams: Grams, Y: Array) -> None:
        self.grams = grams
        self.Y = Y - Y.mean(axis=0)

    def ask(self, beta: Array, tol: float) -> Plane:
        """Solve the ridge regressions for K(β), exactly whatever `tol` is, and return their plane. O(m³)."""
        K = self.grams.combine(beta)
        centre(K)
        return self.plane(K, self.solve(K))

    def solve(self, K: Array) -> Array:
        """Return c for a centred Gram matrix."""
        A = K.copy()
        A[np.diag_indices_from(A)] += 1.0
        c: Array = cho_solve(cho_factor(A, lower=True, overwrite_a=True), self.Y)
        return c - c.mean(axis=0)

    def plane(self, K: Array, c: Array) -> Plane:
        """Return the plane of any c of sum zero, and the risk of f = K c, which is above φ."""
        f = K @ c
        value = 0.5 * float(np.sum((self.Y - f) ** 2) + np.sum(c * f))  # (6)
        offset = float(np.sum(self.Y * c) - 0.5 * np.sum(c**2))
        forms = np.sum([np.maximum(self.grams.quadratics(column), 0.0) for column in c.T], axis=0)
        return Plane(value / c.size, offset / c.size, -0.5 * forms / c.size)  # Lemma 7


def minimize_squared_risk(grams: Grams, Y: Array, penalty: Penalty, stopping: Stopping) -> KernelWeights:
    """Return the weights β' ≥ 0 that minimise φ(β') plus the penalty (18), for targets Y, one per column."""
    # Corollary 8: convex, so that planes below it lead to the minimum
    return minimize_by_planes(
        SquaredRiskOfKernel(grams, Y).ask, penalty, first_guess(grams, penalty), stopping
    )
