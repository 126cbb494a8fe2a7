r"""Differences between pairs of rows, sums of their squares, and how those react to weights.

For weights c the matrix :math:`M(c) = \sum_p c_p u_p u_p^\top`, made PSD or not, has the half squared norm
:math:`\tfrac12 \|\Pi(M(c))\|^2`. It is convex in c, with the gradient :math:`u_p^\top \Pi(M) u_p` and a
Hessian of low rank. Nothing here writes out all differences, nor the Hessian of more than a few thousand
pairs.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, qr
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf
from scipy.sparse import csr_array
from sklearn.utils import gen_batches

from mercer._typing import Array, Index

Solve = Callable[[Array, Array], tuple[Array, Array]]

CELLS_AT_A_TIME = 2**22  # of the products of coordinates, while their second moments are added up
ROWS_AT_A_TIME = 2**11  # of differences, while they are measured


class NewtonSettings(NamedTuple):
    """What steers the solution of a Newton system, and what goes wrong without it."""

    sound: float = 1e-6
    wide: float = 1e8
    """Solutions are refined if the matrix of second moments, with a unit diagonal, has a smaller pivot than
    the first, or if weights differ by more than the second. Without, M(x) is far from dM: M(c) departs from
    G − S, and the dual value is lost while the primal one converges. If all were, small problems would take a
    third longer."""
    refinements: int = 4
    rounding: float = 1e-13
    """A system is solved again for what is left, at most this often, until that is this share of Σ|x|: a sum
    of that size has no more digits to give."""
    singular: float = 1e-11
    """If a pivot is smaller, the factor comes from an orthogonal decomposition: second moments have the
    square of the condition number of what they are made of, and past 1/ε no refinement converges."""
    few_columns: int = 100
    dependent: float = 1e-5
    """A system of fewer pairs than columns is solved by columns also if those are few, or if the least pivot
    of the pairs' matrix is smaller than this: the rounding errors of x would spoil dM, which follows from it.
    Always by columns, a hundred pairs of rank 100 would take seconds per step."""


SETTINGS = NewtonSettings()


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
        return (self.X.T * degree) @ self.X - crossed - crossed.T  # [KT03] (11), for c = ±α

    def measure(self, G: Array) -> Array:
        """Return u_pᵀ G u_p for each pair."""
        Y = self.X @ G
        own = np.einsum("ij,ij->i", Y, self.X)
        crossed: Array = np.einsum("ij,ij->i", Y[self.first], self.X[self.second])
        return own[self.first] + own[self.second] - 2 * crossed  # [KT03] (5), G being AAᵀ

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
    columns than rows, the solution comes from the columns (Woodbury), and Z itself is never kept; also with
    more columns, if H is nearly singular: scaled, columns keep the digits of features of small scale.
    """
    products = _Products.of(projection)
    if not len(products.scale):  # nothing of the matrix is positive, nor will be after a small change
        return lambda b, R: (b / weight, pairs.combine(b / weight) + R)
    if len(products.scale) >= max(len(weight), SETTINGS.few_columns):
        by_pairs = _factor_by_pairs(pairs, projection, products, weight)
        if by_pairs is not None:
            return by_pairs
    return _factor_by_columns(pairs, projection, products, weight)


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
        """Return the products, scaled, one row for each row of u."""
        out, end = np.empty((len(u), len(self.scale))), 0
        for b in np.unique(self.b):  # slices of u are much faster than u[:, a] * u[:, b]
            begin, end = end, end + b + 1
            np.multiply(u[:, : b + 1], u[:, b : b + 1], out=out[:, begin:end])
        out *= self.scale
        return out


def _factor_by_columns(
    pairs: Differences, projection: Projection, products: _Products, weight: Array
) -> Solve:
    (a, b, scale), V = products, projection.basis
    root = weight**-0.25  # of which a product has two

    def blocks(n_cells: int) -> Iterator[Array]:
        for part in gen_batches(len(weight), max(1, n_cells // len(a))):
            yield products.of_rows((pairs.rows(part) @ V) * root[part, None])

    one = np.ones(len(a))
    invert, pivot = _invert_moments(blocks, one)
    if pivot < SETTINGS.singular:
        invert = _invert_rows(blocks, one)

    def solve(rhs: Array, R: Array) -> tuple[Array, Array]:
        x = rhs / weight
        M = pairs.combine(x) + R if np.any(x) else R
        v = invert((V.T @ M @ V)[a, b] * scale)
        dG = np.zeros((len(V), len(V)))
        dG[a, b] = v * scale
        x = x - pairs.measure(V @ ((dG + dG.T) / 2) @ V.T) / weight
        # what does not count for the pairs (if there is such a part) follows from x
        complete = 2 * len(a) == len(V) * (len(V) + 1)
        dM = np.empty(V.shape) if complete else V.T @ (pairs.combine(x) + R) @ V
        dM[a, b] = dM[b, a] = v / scale
        return x, V @ dM @ V.T

    sound = pivot >= SETTINGS.sound and np.max(weight) <= SETTINGS.wide * np.min(weight)
    return solve if sound else _refine(solve, pairs)


def _refine(solve: Solve, pairs: Differences) -> Solve:
    """Solve, and solve again for what is left of dM = M(x) + R; return the best."""

    def refined(b: Array, R: Array) -> tuple[Array, Array]:
        x, dM = best = solve(b, R)
        left = pairs.combine(x) + R - dM
        least = np.linalg.norm(left)
        for _ in range(SETTINGS.refinements):
            if least <= SETTINGS.rounding * np.sum(np.abs(x)):
                break
            more_x, more_dM = solve(np.zeros(len(b)), left)
            x, dM = x + more_x, dM + more_dM
            left = pairs.combine(x) + R - dM
            if np.linalg.norm(left) < least:  # the first time may make it worse, and the second one better
                best, least = (x, dM), np.linalg.norm(left)
        return best

    return refined


def _factor_by_pairs(
    pairs: Differences, projection: Projection, products: _Products, weight: Array
) -> Solve | None:
    a, b, scale = products
    u = np.asfortranarray(pairs.rows(slice(None)) @ projection.basis)

    def blocks(n_cells: int) -> Iterator[Array]:
        for part in gen_batches(len(a), max(1, n_cells // len(weight))):
            yield (u[:, a[part]] * u[:, b[part]] * scale[part]).T

    invert, pivot = _invert_moments(blocks, weight)
    if pivot < SETTINGS.dependent:
        return None

    def solve(rhs: Array, R: Array) -> tuple[Array, Array]:
        x = invert(rhs - pairs.measure(projection.derive(R)))
        return x, pairs.combine(x) + R

    return solve


Blocks = Callable[[int], Iterator[Array]]  # B of so many cells at a time
Invert = Callable[[Array], Array]  # solves (diag(diagonal) + Σ BᵀB) x = b


def _invert_moments(blocks: Blocks, diagonal: Array) -> tuple[Invert, float]:
    """Factor the sum itself, with a unit diagonal, and return its least pivot, or zero if that fails."""
    A = np.asfortranarray(np.diag(diagonal))
    for B in blocks(CELLS_AT_A_TIME):
        A = dsyrk(1.0, B.T, beta=1.0, c=A, lower=1, overwrite_c=1)
    size = 1 / np.sqrt(np.diag(A))  # features of very different scales make a diagonal of many magnitudes
    A *= size[:, None] * size
    L, failed = dpotrf(A, lower=1, clean=0, overwrite_a=1)
    pivot = 0.0 if failed else float(np.min(np.diag(L)) ** 2)
    return lambda b: size * cho_solve((L, True), size * b, check_finite=False), pivot


def _invert_rows(blocks: Blocks, diagonal: Array) -> Invert:
    """Factor all B and the root of the diagonal, stacked, by an orthogonal decomposition."""
    square = diagonal + sum(np.sum(B**2, axis=0) for B in blocks(CELLS_AT_A_TIME))
    size = 1 / np.sqrt(square)
    T = np.diag(np.sqrt(diagonal) * size)
    for B in blocks(max(CELLS_AT_A_TIME, 2 * T.size)):  # a block of a few rows would cost as much as T
        T = qr(np.vstack([T, B * size]), overwrite_a=True, mode="r", check_finite=False)[0][: len(T)]
    return lambda b: size * cho_solve((T, False), size * b, check_finite=False)
