"""Cholesky factors of Gram matrices that may be singular: pivoted, or incomplete from a few columns."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from mercer._typing import Array, Index


class FactorSettings(NamedTuple):
    """What steers the factor, and what goes wrong without it."""

    rank_tol: float = 1e-10
    """Of the largest diagonal entry. A row of which less is left has no direction of its own: one would be
    made of rounding errors."""
    psd_tol: float = 1e-8
    """Of the largest diagonal entry. If more is left besides the landmarks, K is not positive semi-definite;
    less may be rounding errors of one that is."""


SETTINGS = FactorSettings()


class NotPositiveSemiDefiniteError(ValueError):
    """A matrix is not positive semi-definite; `left` says by how much, as a share of its largest entry."""

    def __init__(self, left: float) -> None:
        super().__init__(left)
        self.left = left

    def __str__(self) -> str:
        return f"not positive semi-definite (what is left over is {self.left:.1g} of its largest value)"


class Factor(NamedTuple):
    """K = L Lᵀ for a Gram matrix of numerical rank r; its r landmarks span what all rows span."""

    landmarks: Index  # (r,)
    triangle: Array  # (r, r), L of the landmarks

    def coordinates(self, K: Array) -> Array:
        """Return the coordinates of any rows, given their kernel values with the landmarks, (n, r)."""
        rows: Array = solve_triangular(self.triangle, K.T, lower=True, check_finite=False).T
        return np.ascontiguousarray(rows)

    def expand(self, U: Array) -> Array:
        """Return the coefficients of directions on the landmarks, given their coordinates, (r, T)."""
        coef: Array = solve_triangular(self.triangle, U, lower=True, trans="T", check_finite=False)
        return coef


def factor_gram(K: Array) -> Factor:
    """Return the pivoted Cholesky factor of a positive semi-definite matrix. O(m r²).

    Rows that others span up to rounding are left out, so that a numerically singular matrix, such as that of
    an RBF kernel on digits, does no harm. Raises `NotPositiveSemiDefiniteError` if the matrix is
    not what it should be.
    """
    scale = float(np.max(np.diag(K), initial=0.0))
    if scale <= 0.0:
        _check_rest(np.abs(K) / (np.max(np.abs(K), initial=0.0) or 1.0))
        return Factor(np.zeros(0, dtype=np.intp), np.zeros((0, 0)))
    c, pivots, rank, _ = dpstrf(K, tol=SETTINGS.rank_tol * scale, lower=1)
    order = (pivots - 1).astype(np.intp)
    L, rest = np.tril(c)[:, :rank], order[rank:]
    # what the landmarks do not explain is as small as its diagonal if, and only if, K is PSD
    _check_rest(np.abs(K[np.ix_(rest, rest)] - L[rank:] @ L[rank:].T) / scale)
    return Factor(order[:rank], np.ascontiguousarray(L[:rank]))


def _check_rest(rest: Array) -> None:
    left = float(np.max(rest, initial=0.0))
    if left > SETTINGS.psd_tol:
        raise NotPositiveSemiDefiniteError(left)


class LowRank(NamedTuple):
    """K ≈ Lᵀ L, exact on its pivots."""

    pivots: Index  # (r,)
    L: Array  # (r, n)
    left: float  # the largest diagonal entry of K − LᵀL, as a share of that of K


def factor_low_rank(diagonal: Array, column: Callable[[int], Array], tol: float, max_rank: int) -> LowRank:
    """Return the incomplete Cholesky factor of a PSD matrix, the largest entry left being the next pivot.

    It stops when no entry of what is left is more than `tol` times the largest one of K: they are all at most
    as large as those on the diagonal. Only the diagonal and r columns are looked at, O(n r²) in all.

    Parameters
    ----------
    diagonal : array of shape (n,)
        The diagonal of K.
    column : callable
        Gives a column of K.
    tol : float
        What may be left.
    max_rank : int
        The maximum number of pivots.
    """
    left = diagonal.astype(np.float64)
    scale = float(left.max(initial=0.0))
    pivots: list[int] = []
    L = np.empty((min(16, max_rank), len(left)))
    while len(pivots) < max_rank:
        pivot = int(np.argmax(left))
        if left[pivot] <= tol * scale:
            break
        r = len(pivots)
        if r == len(L):
            L = np.concatenate([L, np.empty_like(L)])
        L[r] = (column(pivot) - L[:r, pivot] @ L[:r]) / np.sqrt(left[pivot])
        left -= L[r] ** 2
        left[pivot] = 0.0  # without rounding errors, by which it would be chosen again
        pivots.append(pivot)
    rest = max(float(left.max(initial=0.0)), 0.0)
    return LowRank(np.array(pivots, dtype=np.intp), L[: len(pivots)], rest / scale if scale else 0.0)
