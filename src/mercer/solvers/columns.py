r"""The Gram matrix of the stump kernel as an operator: K v without K.

For one feature with sorted values :math:`x_{(1)} \le \dots \le x_{(n)}` the function
:math:`g(t) = -\sum_j v_j |t - x_j|` is piecewise linear, and its slope between two neighbours is two
prefix sums: :math:`g'(t) = \sum_{x_j > t} v_j - \sum_{x_j < t} v_j`. One pass over the sorted values
integrates it, so that K v costs O(n D), with no logarithm and no n × n matrix. Each g starts at zero at its
smallest value: K v comes out up to one constant for all rows, which the intercept of the SVM takes up
[LL05, Theorem 2].

A feature is stored in one of two ways:

- `SortedColumns`: exact, any number of distinct values;
- `BinnedColumns`: at most 256 (65 536) values, one (two) bytes a cell, read in the order of the rows.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

from mercer.solvers.operators import multiply, restrict

Array = NDArray[np.float64]


class SortedColumns(NamedTuple):
    """Every feature's rows in ascending order, and the gap from each value to the next."""

    order: NDArray[np.int32]  # (D, n)
    gap: Array  # (D, n), the last of each feature is 0


class BinnedColumns(NamedTuple):
    """Every row's bin in each feature, and the gap from each bin's value to the next."""

    code: NDArray[np.uint8] | NDArray[np.uint16]  # (D, n)
    gap: Array  # (D, n_bins), zero from the last used bin on


def sort_columns(X: Array) -> SortedColumns:
    """Sort each feature of X (n, D): O(n D log n) time, 12 bytes a cell."""
    n, D = X.shape
    order = np.empty((D, n), dtype=np.int32)
    gap = np.zeros((D, n))
    for d in range(D):
        column = np.ascontiguousarray(X[:, d])
        order[d] = np.argsort(column)
        np.subtract(column[order[d, 1:]], column[order[d, :-1]], out=gap[d, :-1])
    return SortedColumns(order, gap)


def bin_columns(X: Array, knots: list[Array]) -> BinnedColumns:
    """Move each value of X (n, D) to the nearest of its feature's ascending knots."""
    n, D = X.shape
    n_bins = max(len(k) for k in knots)
    code = np.empty((D, n), dtype=np.uint8 if n_bins <= 256 else np.uint16)
    gap = np.zeros((D, n_bins))
    for d, k in enumerate(knots):
        code[d] = np.searchsorted((k[1:] + k[:-1]) / 2, X[:, d])
        gap[d, : len(k) - 1] = np.diff(k)
    return BinnedColumns(code, gap)


def choose_knots(column: Array, max_bins: int) -> Array:
    """Return at most max_bins values that stand for a column: its distinct values, or bin means.

    The bins hold about equally many rows each. The mean of a bin, and not its middle, keeps the
    first moment of the data: the error of the binned kernel is then of second order.
    """
    distinct = np.unique(column)
    if len(distinct) <= max_bins:
        return distinct
    ordered = np.sort(column)
    edges = np.linspace(0, len(ordered), max_bins + 1).astype(np.intp)
    means = np.add.reduceat(ordered, edges[:-1]) / np.diff(edges)
    return np.unique(means)


@njit(cache=True, nogil=True, fastmath=True)
def _multiply_sorted(columns: SortedColumns, v: Array) -> Array:
    D, n = columns.order.shape
    total = v.sum()
    pair = np.empty((n, 2))  # input and output side by side: one cache line a cell, not two
    pair[:, 0] = v
    pair[:, 1] = 0.0
    for d in range(D):
        left, g = 0.0, 0.0
        for k in range(n):
            i = columns.order[d, k]
            pair[i, 1] += g
            left += pair[i, 0]
            g += (total - 2.0 * left) * columns.gap[d, k]
    return pair[:, 1].copy()


@njit(cache=True, nogil=True, fastmath=True)
def _multiply_binned(columns: BinnedColumns, v: Array) -> Array:
    D, n = columns.code.shape
    n_bins = columns.gap.shape[1]
    total = v.sum()
    out = np.zeros(n)
    table = np.empty(n_bins)
    for d in range(D):
        code = columns.code[d]
        table[:] = 0.0
        for i in range(n):
            table[code[i]] += v[i]
        left, g = 0.0, 0.0
        for k in range(n_bins):
            left += table[k]
            table[k] = g
            g += (total - 2.0 * left) * columns.gap[d, k]
        for i in range(n):
            out[i] += table[code[i]]
    return out


@njit(cache=True, nogil=True)
def _restrict_sorted(columns: SortedColumns, rows: NDArray[np.intp]) -> SortedColumns:
    D, n = columns.order.shape
    m = len(rows)
    position = np.full(n, -1, np.int32)
    for j in range(m):
        position[rows[j]] = j
    order, gap = np.empty((D, m), np.int32), np.empty((D, m))
    for d in range(D):
        last, distance = -1, 0.0
        for k in range(n):
            j = position[columns.order[d, k]]
            if j >= 0:
                if last >= 0:
                    gap[d, last] = distance
                last += 1
                order[d, last] = j
                distance = 0.0
            distance += columns.gap[d, k]
        gap[d, last] = 0.0
    return SortedColumns(order, gap)


@njit(cache=True, nogil=True)
def _restrict_binned(columns: BinnedColumns, rows: NDArray[np.intp]) -> BinnedColumns:
    D, m = columns.code.shape[0], len(rows)
    code = np.empty((D, m), columns.code.dtype)
    for d in range(D):
        for j in range(m):
            code[d, j] = columns.code[d, rows[j]]
    return BinnedColumns(code, columns.gap)


@overload(multiply)
def _multiply(operator, v):  # type: ignore[no-untyped-def]  # numba compares the signatures
    if operator.instance_class is SortedColumns:
        return lambda operator, v: _multiply_sorted(operator, v)
    if operator.instance_class is BinnedColumns:
        return lambda operator, v: _multiply_binned(operator, v)
    return None


@overload(restrict)
def _restrict(operator, rows):  # type: ignore[no-untyped-def]
    if operator.instance_class is SortedColumns:
        return lambda operator, rows: _restrict_sorted(operator, rows)
    if operator.instance_class is BinnedColumns:
        return lambda operator, rows: _restrict_binned(operator, rows)
    return None
