r"""Where an interior-point method stands in the cone of PSD matrices, and how far and whereto it may step.

The projection of M onto the PSD matrices is G in the split M = G − S into two of them with G S = 0. A method
that approaches it from inside, with G S = μ I and μ → 0, meets no kink: the projection itself has one where
an eigenvalue of M changes its sign. With the scaling of Nesterov and Todd, the T for which
:math:`T^\top S T = T^{-1} G T^{-\top}` is the same diagonal matrix Λ, a Newton step has

.. math:: dG + W^{-1}\, dG\, W^{-1} = dM + E, \qquad W = T T^\top,

E being what moves Λ² towards μ I. In the eigenbasis of W each entry of dM + E is multiplied by a number in
(0, 1), as the derivative of the projection does it with numbers in [0, 1].
"""

from typing import NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.solvers.idealized.differences import Projection

Steps = tuple[Array, Array]  # of G and of S

NEAR_ZERO = 1e-12
"""Products of eigenvalues start with at least this share of the largest one's square. With less, a matrix
with eigenvalues of zero would start on the boundary, where it has no Cholesky factor."""


class AnySymmetric(NamedTuple):
    """A symmetric matrix G without any condition; S is zero."""

    G: Array
    S: Array
    projection: Projection

    @classmethod
    def of(cls, G: Array, S: Array) -> "AnySymmetric":
        """Take G as it is."""
        return cls(G, S, Projection.of(G, psd=False))

    @classmethod
    def start(cls, M: Array, product: float) -> "AnySymmetric":
        """Take M as it is, whatever the product."""
        return cls.of(M, np.zeros_like(M))

    @property
    def n_products(self) -> int:
        """Return how many products of eigenvalues of G and S should vanish."""
        return 0

    def aim(self, product: float, steps: Steps | None = None) -> Array:
        """Return what moves the products to the one that is given: nothing."""
        return np.zeros_like(self.G)

    def split(self, dM: Array, aim: Array) -> Steps:
        """Return the steps of G and S for a step of G − S, with the aim added."""
        return dM, aim

    def longest(self, steps: Steps) -> float:
        """Return the longest step, at most one, inside the cone."""
        return 1.0


class Definite(NamedTuple):
    """Two positive definite matrices G and S, and their scaling."""

    G: Array
    S: Array
    projection: Projection
    T: Array
    inverse: Array  # of T
    values: Array  # the diagonal of Λ

    @classmethod
    def of(cls, G: Array, S: Array) -> "Definite":
        """Scale G and S; a LinAlgError says that one of them is not positive definite."""
        G, S = (G + G.T) / 2, (S + S.T) / 2
        of_G, of_S = np.linalg.cholesky(G), np.linalg.cholesky(S)
        left, values, right = np.linalg.svd(of_S.T @ of_G)
        root = np.sqrt(values)
        T, inverse = (of_G @ right.T) / root, (left / root).T @ of_S.T
        basis, size, _ = np.linalg.svd(T)
        ratio = (size[:, None] * size)[::-1, ::-1] ** 2  # ascending, as eigenvalues are
        return cls(G, S, Projection(G, basis[:, ::-1], ratio / (1 + ratio)), T, inverse, values)

    @classmethod
    def start(cls, M: Array, product: float) -> "Definite":
        """Split M such that G S is this multiple of the identity."""
        values, V = np.linalg.eigh(M)
        product = max(product, NEAR_ZERO * float(np.max(np.abs(values))) ** 2)
        large = (np.abs(values) + np.sqrt(values**2 + 4 * product)) / 2
        small = product / large
        g, s = np.where(values > 0, large, small), np.where(values > 0, small, large)
        return cls.of((V * g) @ V.T, (V * s) @ V.T)

    @property
    def n_products(self) -> int:
        """Return how many products of eigenvalues of G and S should vanish."""
        return len(self.G)

    def aim(self, product: float, steps: Steps | None = None) -> Array:
        """Return the E that moves Λ² to this multiple of the identity; steps change it to second order."""
        E = np.diag(product - self.values**2)
        if steps is not None:
            dG, dS = self._scale(steps)
            E -= (dG @ dS + dS @ dG) / 2
        return self.inverse.T @ (2 * E / (self.values[:, None] + self.values)) @ self.inverse

    def split(self, dM: Array, aim: Array) -> Steps:
        """Return the steps of G and S for a step of G − S, with the aim added."""
        dG = self.projection.derive(dM)
        return dG, dG - dM + aim

    def longest(self, steps: Steps) -> float:
        """Return the longest step, at most one, inside the cone."""
        root = np.sqrt(self.values)
        lowest = min(float(np.linalg.eigvalsh(one / (root[:, None] * root))[0]) for one in self._scale(steps))
        return 1.0 / max(1.0, -lowest)

    def _scale(self, steps: Steps) -> Steps:
        dG, dS = steps
        return self.inverse @ dG @ self.inverse.T, self.T.T @ dS @ self.T
