r"""Differences between pairs of rows, sums of their squares, and how those react to weights.

For weights c the matrix :math:`M(c) = \sum_p c_p u_p u_p^\top`, made PSD or not, has the half squared norm
:math:`\tfrac12 \|\Pi(M(c))\|^2`. It is convex in c, with the gradient :math:`u_p^\top \Pi(M) u_p` and a
Hessian of low rank. Nothing here writes out all differences, nor the Hessian of more than a few thousand
pairs.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array

Array = NDArray[np.float64]
Index = NDArray[np.intp]

CELLS_AT_A_TIME = 2**22  # of the products of coordinates, while their second moments are added up
DOUBTS = (0.0, 1e-14, 1e-12, 1e-10)  # added to a unit diagonal until rounding errors are no obstacle


class Differences(NamedTuple):
    """The differences u of pairs of rows, never all written out: M(c) and uᵀGu in O(N r + n r²)."""

    X: Array  # (n, r)
    first: Index
    second: Index

    def combine(self, c: Array) -> Array:
        """Return Σ_p c_p u_p u_pᵀ = Xᵀ L X, L being the Laplacian of the graph with weights c."""
        n = len(self.X)
        degree = np.bincount(self.first, c, n) + np.bincount(self.second, c, n)
        crossed = self.X.T @ (csr_array((c, (self.first, self.second)), shape=(n, n)) @ self.X)
        return (self.X.T * degree) @ self.X - crossed - crossed.T

    def measure(self, G: Array) -> Array:
        """Return u_pᵀ G u_p for each pair."""
        Y = self.X @ G
        own = np.einsum("ij,ij->i", Y, self.X)
        crossed: Array = np.einsum("ij,ij->i", Y[self.first], self.X[self.second])
        return own[self.first] + own[self.second] - 2 * crossed

    def rows(self, part: slice) -> Array:
        """Return the differences of some pairs."""
        return self.X[self.first[part]] - self.X[self.second[part]]


class Projection(NamedTuple):
    """A symmetric matrix, made PSD or left as it is, and the derivative of that."""

    G: Array
    basis: Array  # eigenvectors of the matrix
    share: Array  # in that basis, how much of a small change of each entry is passed on to G

    @classmethod
    def of(cls, M: Array, psd: bool) -> "Projection":
        """Project M onto the PSD matrices, or not."""
        if not psd:
            return cls(M, np.eye(len(M)), np.ones(M.shape))
        values, basis = np.linalg.eigh(M)
        positive = np.maximum(values, 0.0)
        size = np.abs(values)[:, None] + np.abs(values)
        share = np.divide(positive[:, None] + positive, size, out=np.zeros_like(size), where=size > 0)
        return cls((basis * positive) @ basis.T, basis, share)

    def derive(self, H: Array) -> Array:
        """Return the change of G for a change H of the matrix."""
        V = self.basis
        return V @ (self.share * (V.T @ H @ V)) @ V.T


def factor_hessian(pairs: Differences, projection: Projection, weight: Array) -> Callable[[Array], Array]:
    """Return the function that solves (diag(weight) + H) x = b, H being the Hessian of ½‖Π(M(c))‖².

    H = Z Zᵀ, a row of Z holding the products of the entries of u in the projection's basis. With fewer
    columns than rows, the inverse comes from the columns (Woodbury), and Z itself is never kept.
    """
    a, b = np.triu_indices(len(projection.G))
    scale = np.sqrt(projection.share[a, b] * np.where(a == b, 1.0, 2.0))
    a, b, scale = a[scale > 0], b[scale > 0], scale[scale > 0]
    if len(a) >= len(weight):
        return _factor_by_pairs(pairs, projection, weight, (a, b, scale))
    inner = np.eye(len(a))
    step = max(1, CELLS_AT_A_TIME // max(len(a), 1))
    for begin in range(0, len(weight), step):
        part = slice(begin, begin + step)
        u = pairs.rows(part) @ projection.basis
        Z = u[:, a] * u[:, b] * (scale / np.sqrt(weight[part])[:, None])
        inner += Z.T @ Z
    invert = _invert(inner)
    V, r = projection.basis, len(projection.G)

    def solve(rhs: Array) -> Array:
        x = rhs / weight
        moments = V.T @ pairs.combine(x) @ V
        v = invert(moments[a, b] * scale)
        H = np.zeros((r, r))
        H[a, b] += 0.5 * v * scale
        H[b, a] += 0.5 * v * scale
        return x - pairs.measure(V @ H @ V.T) / weight

    return solve


def _factor_by_pairs(
    pairs: Differences, projection: Projection, weight: Array, columns: tuple[Index, Index, Array]
) -> Callable[[Array], Array]:
    a, b, scale = columns
    u = pairs.rows(slice(None)) @ projection.basis
    outer = np.diag(weight)
    step = max(1, CELLS_AT_A_TIME // len(weight))
    for begin in range(0, len(a), step):
        part = slice(begin, begin + step)
        Z = u[:, a[part]] * u[:, b[part]] * scale[part]
        outer += Z @ Z.T
    return _invert(outer)


def _invert(A: Array) -> Callable[[Array], Array]:
    """Return the function that solves A x = b for a positive definite A, up to rounding."""
    size = 1 / np.sqrt(np.diag(A))  # features of very different scales make a diagonal of many magnitudes
    A *= size[:, None] * size
    for doubt in DOUBTS:
        A[np.diag_indices(len(A))] += doubt
        try:
            factor = cho_factor(A, check_finite=False)
            break
        except np.linalg.LinAlgError:
            continue
    return lambda b: size * cho_solve(factor, size * b, check_finite=False)
