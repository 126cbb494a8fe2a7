r"""The Gram matrix of the stump kernel as an operator: K v without K.

For one feature with values :math:`x_1, \dots, x_n` the function :math:`g(t) = -\sum_j v_j |t - x_j|` is
piecewise linear, and its slope between two neighbouring values is two prefix sums:
:math:`g'(t) = \sum_{x_j > t} v_j - \sum_{x_j < t} v_j`. One pass over the ascending values integrates it, so
that K v costs O(n D), with no logarithm and no n × n matrix. Each g starts at zero at its smallest value: K v
comes out up to one constant for all rows, which the intercept of the SVM takes up [LL05, Theorem 2].

- `CodedColumns` hold all rows: every row's place among the distinct values (or the bins) of each feature.
- `SortedColumns` hold some of them: the rows in ascending order, which is faster while they fit the cache.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

from mercer.solvers.operators import multiply, multiply_at, restrict

Array = NDArray[np.float64]


CELLS_AT_A_TIME = 2**17


class CodedColumns(NamedTuple):
    """Every row's place among the ascending values of each feature, and these values."""

    code: NDArray[Any]  # (D, n), of one byte if 256 values are enough
    value: Array  # (D, most values of a feature), the last one repeated


class SortedColumns(NamedTuple):
    """The rows in ascending order of each feature, and the gap from each value to the next."""

    order: NDArray[np.int32]  # (D, m)
    gap: Array  # (D, m), the last of each feature is 0


def code_columns(X: Array) -> CodedColumns:
    """Sort the distinct values of each feature of X (n, D): O(n D log n) time, at most 12 bytes a cell."""
    n, D = X.shape
    step = max(1, CELLS_AT_A_TIME // n)  # many small columns at once, large ones one by one
    parts = [_sort_block(np.ascontiguousarray(X[:, d : d + step].T)) for d in range(0, D, step)]
    n_values = max(value.shape[1] for _, value in parts)
    code = np.concatenate([code for code, _ in parts]).astype(_code_type(n_values), copy=False)
    value = [np.pad(value, ((0, 0), (0, n_values - value.shape[1])), mode="edge") for _, value in parts]
    return CodedColumns(code, np.concatenate(value))


def _sort_block(columns: Array) -> tuple[NDArray[np.uint32], Array]:
    order = np.argsort(columns, axis=1)
    ordered = np.take_along_axis(columns, order, axis=1)
    place = np.zeros(ordered.shape, dtype=np.uint32)
    np.cumsum(ordered[:, 1:] > ordered[:, :-1], axis=1, out=place[:, 1:], dtype=np.uint32)
    value = np.repeat(ordered[:, -1:], int(place[:, -1].max()) + 1, axis=1)
    np.put_along_axis(value, place, ordered, axis=1)
    code = np.empty_like(place)
    np.put_along_axis(code, order, place, axis=1)
    return code, value


def select_rows(columns: CodedColumns, rows: NDArray[np.intp]) -> CodedColumns:
    """Return the columns of some rows; where there are more values than rows, with the rows' values alone."""
    code = np.ascontiguousarray(columns.code[:, rows])
    if columns.value.shape[1] <= len(rows):
        return CodedColumns(code, columns.value)
    return code_columns(np.take_along_axis(columns.value, code.astype(np.intp), axis=1).T)


def bin_columns(X: Array, knots: list[Array]) -> CodedColumns:
    """Move each value of X (n, D) to the nearest of its feature's ascending knots."""
    n_values = max(len(k) for k in knots)
    code = np.empty(X.shape[::-1], dtype=_code_type(n_values))
    for d, k in enumerate(knots):
        code[d] = np.searchsorted((k[1:] + k[:-1]) / 2, X[:, d])
    return CodedColumns(code, np.stack([np.pad(k, (0, n_values - len(k)), mode="edge") for k in knots]))


def _code_type(n_values: int) -> type[np.unsignedinteger[Any]]:
    return np.uint8 if n_values <= 256 else np.uint32


def choose_knots(column: Array, max_bins: int) -> Array:
    """Return at most max_bins values that stand for a column: its distinct values, or bin means.

    A value that would fill a bin alone is a knot of its own. The bins of the others hold about equally many
    rows each. The mean of a bin, and not its middle, keeps the first moment of the data: the error of the
    binned kernel is then of second order.
    """
    distinct, count = np.unique(column, return_counts=True)
    if len(distinct) <= max_bins:
        return distinct
    common = count * max_bins >= len(column)
    others = np.repeat(distinct[~common], count[~common])
    edges = np.unique(np.linspace(0, len(others), max_bins - int(common.sum()) + 1).astype(np.intp))
    means = np.add.reduceat(others, edges[:-1]) / np.diff(edges)
    return np.unique(np.append(distinct[common], means))


@njit(cache=True, nogil=True, fastmath=True)
def _fill_table(
    columns: CodedColumns, d: int, v: Array, rows: NDArray[np.intp], total: float, g: Array
) -> None:
    """Put g at each value of feature d into the table, for v that is zero outside the rows."""
    code, value = columns.code[d], columns.value[d]
    n_values = len(value)
    g[:] = 0.0
    if len(rows) == len(v):
        for i in range(len(v)):
            g[code[i]] += v[i]
    else:
        for i in rows:
            g[code[i]] += v[i]
    slope, height = total, 0.0
    for k in range(n_values - 1):
        slope -= 2.0 * g[k]
        g[k] = height
        height += slope * (value[k + 1] - value[k])
    g[n_values - 1] = height


@njit(cache=True, nogil=True, fastmath=True)
def _multiply_coded(columns: CodedColumns, v: Array) -> Array:
    D, n = columns.code.shape
    rows, total = np.flatnonzero(v), v.sum()
    out, table = np.zeros(n), np.empty(columns.value.shape[1])
    for d in range(D):
        _fill_table(columns, d, v, rows, total, table)
        code = columns.code[d]
        for i in range(n):
            out[i] += table[code[i]]
    return out


@njit(cache=True, nogil=True, fastmath=True)
def _multiply_coded_at(columns: CodedColumns, v: Array, at: NDArray[np.intp]) -> Array:
    rows, total = np.flatnonzero(v), v.sum()
    out, table = np.zeros(len(at)), np.empty(columns.value.shape[1])
    for d in range(columns.code.shape[0]):
        _fill_table(columns, d, v, rows, total, table)
        code = columns.code[d]
        for j in range(len(at)):
            out[j] += table[code[at[j]]]
    return out


@njit(cache=True, nogil=True, fastmath=True)
def _multiply_sorted(columns: SortedColumns, v: Array) -> Array:
    D, m = columns.order.shape
    total = v.sum()
    pair = np.empty((m, 2))  # input and output side by side: one cache line a cell, not two
    pair[:, 0] = v
    pair[:, 1] = 0.0
    for d in range(D):
        slope, height = total, 0.0
        for k in range(m):
            i = columns.order[d, k]
            pair[i, 1] += height
            slope -= 2.0 * pair[i, 0]
            height += slope * columns.gap[d, k]
    return pair[:, 1].copy()


@njit(cache=True, nogil=True)
def _restrict_coded(columns: CodedColumns, rows: NDArray[np.intp]) -> SortedColumns:
    D, n_values = columns.value.shape
    m = len(rows)
    order, gap = np.empty((D, m), np.int32), np.empty((D, m))
    for d in range(D):
        code, value = columns.code[d], columns.value[d]
        if n_values <= 8 * m:
            _sort_by_counting(code, rows, n_values, order[d])
        else:
            order[d] = np.argsort(code[rows])
        for k in range(m - 1):
            gap[d, k] = value[code[rows[order[d, k + 1]]]] - value[code[rows[order[d, k]]]]
        gap[d, m - 1] = 0.0
    return SortedColumns(order, gap)


@njit(cache=True, nogil=True)
def _sort_by_counting(code: Any, rows: NDArray[np.intp], n_values: int, order: NDArray[np.int32]) -> None:
    place = np.zeros(n_values + 1, np.int32)
    for i in rows:
        place[code[i] + 1] += 1
    for k in range(n_values):
        place[k + 1] += place[k]
    for j in range(len(rows)):
        k = code[rows[j]]
        order[place[k]] = j
        place[k] += 1


@overload(multiply)
def _multiply(operator, v):  # type: ignore[no-untyped-def]  # numba compares the signatures
    if operator.instance_class is CodedColumns:
        return lambda operator, v: _multiply_coded(operator, v)
    if operator.instance_class is SortedColumns:
        return lambda operator, v: _multiply_sorted(operator, v)
    return None


@overload(multiply_at)
def _multiply_at(operator, v, rows):  # type: ignore[no-untyped-def]
    if operator.instance_class is CodedColumns:
        return lambda operator, v, rows: _multiply_coded_at(operator, v, rows)
    return None


@overload(restrict)
def _restrict(operator, rows):  # type: ignore[no-untyped-def]
    if operator.instance_class is CodedColumns:
        return lambda operator, rows: _restrict_coded(operator, rows)
    return None
