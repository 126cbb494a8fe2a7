r"""Differences between pairs of rows, sums of their squares, and how those react to weights.

For weights c the matrix :math:`M(c) = \sum_p c_p u_p u_p^\top`, made PSD or not, has the half squared norm
:math:`\tfrac12 \|\Pi(M(c))\|^2`. It is convex in c, with the gradient :math:`u_p^\top \Pi(M) u_p` and a
Hessian of low rank. Nothing here writes out all differences, nor the Hessian of more than a few thousand
pairs.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsyrk
from scipy.sparse import csr_array
from sklearn.utils import gen_batches

from mercer._typing import Array, Index

Solve = Callable[[Array, Array], tuple[Array, Array]]

CELLS_AT_A_TIME = 2**22  # of the products of coordinates, while their second moments are added up
ROWS_AT_A_TIME = 2**11  # of differences, while they are measured
WIDE = 1e8  # weights that differ by more than this factor cost digits
DOUBTS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)  # added to a unit diagonal until rounding errors are no obstacle


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

    def measure_closely(self, G: Array) -> Array:
        """Return the same in O(N r²), without the rounding errors of distances far smaller than the rows."""
        length = np.empty(len(self.first))
        for part in gen_batches(len(length), ROWS_AT_A_TIME):
            u = self.rows(part)
            length[part] = np.einsum("ij,ij->i", u @ G, u)
        return length

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


def factor_hessian(pairs: Differences, projection: Projection, weight: Array) -> Solve:
    """Return the function that solves a Newton system for x and dM, given b and R.

    The equations are weight · x + uᵀ derive(dM) u = b for each pair, and dM = M(x) + R. Without dM this is
    (diag(weight) + H) x = …, H being the Hessian of ½‖Π(M(c))‖². But M(x) cancels if weights are small and
    x is large, and dM does not: what it does to the pairs is right to the last digits.

    H = Z Zᵀ, a row of Z holding the products of the entries of u in the projection's basis. With fewer
    columns than rows, the solution comes from the columns (Woodbury), and Z itself is never kept.
    """
    products = _Products.of(projection)
    if not len(products.scale):  # nothing of the matrix is positive, nor will be after a small change
        return lambda b, R: (b / weight, pairs.combine(b / weight) + R)
    if len(products.scale) >= len(weight):
        return _factor_by_pairs(pairs, projection, products, weight)
    solve = _factor_by_columns(pairs, projection, products, weight)
    if np.max(weight) <= WIDE * np.min(weight):
        return solve

    def refine(b: Array, R: Array) -> tuple[Array, Array]:
        """Solve, and once more for what is left: with weights of many magnitudes x loses digits."""
        x, dM = solve(b, R)
        more_x, more_dM = solve(np.zeros(len(b)), pairs.combine(x) + R - dM)
        return x + more_x, dM + more_dM

    return refine


class _Products(NamedTuple):
    """Which products u_a u_b, a ≤ b, of coordinates in the projection's basis count, and how much."""

    a: Index
    b: Index
    scale: Array

    @classmethod
    def of(cls, projection: Projection) -> "_Products":
        # eigenvalues ascend: a product counts if the larger one of its two, that of b, is positive
        first = len(projection.G) - int(np.count_nonzero(np.diag(projection.share)))
        b, a = np.tril_indices(len(projection.G))
        b, a = b[b >= first], a[b >= first]
        return cls(a, b, np.sqrt(projection.share[a, b] * np.where(a == b, 1.0, 2.0)))

    def of_rows(self, u: Array) -> Array:
        """Return the products, not scaled, one row for each row of u."""
        out, end = np.empty((len(u), len(self.scale))), 0
        for b in np.unique(self.b):  # slices of u are much faster than u[:, a] * u[:, b]
            begin, end = end, end + b + 1
            np.multiply(u[:, : b + 1], u[:, b : b + 1], out=out[:, begin:end])
        return out


def _factor_by_columns(
    pairs: Differences, projection: Projection, products: _Products, weight: Array
) -> Solve:
    (a, b, scale), V = products, projection.basis
    inner = np.zeros((len(a), len(a)), order="F")
    root = weight**-0.25  # of which a product has two
    for part in gen_batches(len(weight), max(1, CELLS_AT_A_TIME // max(len(a), 1))):
        Z = products.of_rows((pairs.rows(part) @ V) * root[part, None])
        inner = dsyrk(1.0, Z.T, beta=1.0, c=inner, lower=1, overwrite_c=1)
    inner *= scale[:, None] * scale
    inner[np.diag_indices(len(a))] += 1.0
    invert = _invert(inner)

    def solve(rhs: Array, R: Array) -> tuple[Array, Array]:
        x = rhs / weight
        v = invert((V.T @ (pairs.combine(x) + R) @ V)[a, b] * scale)
        dG = np.zeros((len(V), len(V)))
        dG[a, b] = v * scale
        x = x - pairs.measure(V @ ((dG + dG.T) / 2) @ V.T) / weight
        # what does not count for the pairs (if there is such a part) follows from x
        complete = 2 * len(a) == len(V) * (len(V) + 1)
        dM = np.empty(V.shape) if complete else V.T @ (pairs.combine(x) + R) @ V
        dM[a, b] = dM[b, a] = v / scale
        return x, V @ dM @ V.T

    return solve


def _factor_by_pairs(pairs: Differences, projection: Projection, products: _Products, weight: Array) -> Solve:
    a, b, scale = products
    u = np.asfortranarray(pairs.rows(slice(None)) @ projection.basis)
    outer = np.asfortranarray(np.diag(weight))
    for part in gen_batches(len(a), max(1, CELLS_AT_A_TIME // len(weight))):
        Z = u[:, a[part]] * u[:, b[part]] * scale[part]
        outer = dsyrk(1.0, Z, beta=1.0, c=outer, lower=1, overwrite_c=1)
    invert = _invert(outer)

    def solve(rhs: Array, R: Array) -> tuple[Array, Array]:
        x = invert(rhs - pairs.measure(projection.derive(R)))
        return x, pairs.combine(x) + R

    return solve


def _invert(A: Array) -> Callable[[Array], Array]:
    """Return the function that solves A x = b for a positive definite A, of which the lower half is given."""
    size = 1 / np.sqrt(np.diag(A))  # features of very different scales make a diagonal of many magnitudes
    A *= size[:, None] * size
    for doubt in DOUBTS:
        try:
            factor = cho_factor(A + doubt * np.eye(len(A)) if doubt else A, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
        return lambda b: size * cho_solve(factor, size * b, check_finite=False)
    raise np.linalg.LinAlgError("the Newton system is not positive definite, by more than rounding errors")
