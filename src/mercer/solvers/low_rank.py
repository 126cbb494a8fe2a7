"""Incomplete Cholesky factors of matrices that nobody forms."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class LowRank(NamedTuple):
    """K ≈ Lᵀ L, exact on its pivots."""

    pivots: NDArray[np.intp]  # (r,)
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
        The most pivots.
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
        left[pivot] = 0.0  # not a rounding error more
        pivots.append(pivot)
    rest = max(float(left.max(initial=0.0)), 0.0)
    return LowRank(np.array(pivots, dtype=np.intp), L[: len(pivots)], rest / scale if scale else 0.0)
