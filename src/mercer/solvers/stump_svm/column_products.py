r"""The Gram matrix of the stump kernel as an operator: K v without K.

For one feature with values :math:`x_1, \dots, x_n` the function :math:`g(t) = -\sum_j v_j |t - x_j|` is
piecewise linear, and its slope between two neighbouring values is two prefix sums:
:math:`g'(t) = \sum_{x_j > t} v_j - \sum_{x_j < t} v_j`. One pass over the ascending values integrates it, so
that K v costs O(n D), with no logarithm and no n × n matrix. Each g starts at zero at its smallest value: K v
comes out up to one constant for all rows, which the intercept of the SVM takes up [LL05, Theorem 2].

- `CodedColumns` hold every row's place among the distinct values (or the bins) of each feature.
- `SortedColumns` hold the rows in ascending order, which is faster where the values outnumber the rows.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

from mercer._typing import Array, Index
from mercer.solvers.stump_svm.code_tables import (
    at_a_time,
    look_up,
    look_up_rows,
    sum_by_code,
    sum_rows_by_code,
)
from mercer.solvers.stump_svm.operators import coarsen, multiply, multiply_at, n_features, restrict
from mercer.solvers.stump_svm.preconditioner import CoarseColumns, choose_bins


class CodedColumns(NamedTuple):
    """Every row's place among the ascending values of each feature, and these values."""

    code: NDArray[Any]  # (D, n), of one byte if 256 values are enough
    value: Array  # (D, most values of a feature), the last one repeated


class SortedColumns(NamedTuple):
    """The rows in ascending order of each feature, and the gap from each value to the next."""

    order: NDArray[np.int32]  # (D, m)
    gap: Array  # (D, m), the last of each feature is 0


class SomeColumns(NamedTuple):
    """Some of the rows: either coded or sorted, and the other one without rows."""

    coded: CodedColumns
    sorted: SortedColumns


@njit(cache=True, nogil=True, fastmath=True)
def _integrate(value: Array, total: float, table: Array) -> None:
    """Turn Σv at each value into g there."""
    slope, height = total, 0.0
    for k in range(len(value) - 1):
        slope -= 2.0 * table[k]
        table[k] = height
        height += slope * (value[k + 1] - value[k])
    table[len(value) - 1] = height


@njit(cache=True, nogil=True)
def _fill_tables(
    columns: CodedColumns, first: int, last: int, v: Array, rows: Index, total: float, tables: Array
) -> None:
    """Put g at each value of some features into their tables, for v that is zero outside the rows."""
    code = columns.code[first:last]
    if len(rows) == len(v):
        sum_by_code(code, v, tables)
    else:
        sum_rows_by_code(code, v, rows, tables)
    for k in range(len(code)):
        _integrate(columns.value[first + k], total, tables[k])


@njit(cache=True, nogil=True)
def _multiply_coded(columns: CodedColumns, v: Array) -> Array:
    D, n = columns.code.shape
    step, rows, total = at_a_time(columns.code), np.flatnonzero(v), v.sum()
    out, tables = np.zeros(n), np.empty((step, columns.value.shape[1]))
    for d in range(0, D, step):
        _fill_tables(columns, d, d + step, v, rows, total, tables)
        look_up(columns.code[d : d + step], tables, out)
    return out


@njit(cache=True, nogil=True)
def _multiply_coded_at(columns: CodedColumns, v: Array, at: Index) -> Array:
    step, rows, total = at_a_time(columns.code), np.flatnonzero(v), v.sum()
    out, tables = np.zeros(len(at)), np.empty((step, columns.value.shape[1]))
    for d in range(0, len(columns.code), step):
        _fill_tables(columns, d, d + step, v, rows, total, tables)
        look_up_rows(columns.code[d : d + step], tables, at, out)
    return out


@njit(cache=True, nogil=True, fastmath=True)
def _multiply_sorted(columns: SortedColumns, v: Array) -> Array:
    D, m = columns.order.shape
    total = v.sum()
    pair = np.empty((m, 2))  # input and output side by side: one cache line a cell, not two
    pair[:, 0] = v
    pair[:, 1] = 0.0
    for d in range(0, D - 1, 2):
        _add_two_features(columns, d, total, pair)
    if D % 2 == 1:
        _add_feature(columns, D - 1, total, pair)
    return pair[:, 1].copy()


@njit(cache=True, nogil=True, fastmath=True)
def _add_feature(columns: SortedColumns, d: int, total: float, pair: Array) -> None:
    slope, height = total, 0.0
    for k in range(columns.order.shape[1]):
        i = columns.order[d, k]
        pair[i, 1] += height
        slope -= 2.0 * pair[i, 0]
        height += slope * columns.gap[d, k]


@njit(cache=True, nogil=True, fastmath=True)
def _add_two_features(columns: SortedColumns, d: int, total: float, pair: Array) -> None:
    """Do the same for d and d + 1 at once: the processor works on one while the other's sums are pending."""
    slope, height = total, 0.0
    slope_2, height_2 = total, 0.0
    for k in range(columns.order.shape[1]):
        i, j = columns.order[d, k], columns.order[d + 1, k]
        pair[i, 1] += height
        slope -= 2.0 * pair[i, 0]
        height += slope * columns.gap[d, k]
        pair[j, 1] += height_2
        slope_2 -= 2.0 * pair[j, 0]
        height_2 += slope_2 * columns.gap[d + 1, k]


@njit(cache=True, nogil=True)
def _restrict_coded(columns: CodedColumns, rows: Index) -> SomeColumns:
    """Pick codes where the rows outnumber the values, for they need no sorting; else sort."""
    D, n_values = columns.value.shape
    m = len(rows)
    few_values = columns.code.itemsize == 1 and 2 * n_values <= m
    code = np.empty((D, m if few_values else 0), columns.code.dtype)
    order, gap = np.empty((D, 0 if few_values else m), np.int32), np.empty((D, 0 if few_values else m))
    for d in range(D):
        if few_values:
            for j in range(m):
                code[d, j] = columns.code[d, rows[j]]
        else:
            _sort_feature(columns.code[d], columns.value[d], rows, order[d], gap[d])
    return SomeColumns(CodedColumns(code, columns.value), SortedColumns(order, gap))


@njit(cache=True, nogil=True)
def _sort_feature(code: Any, value: Array, rows: Index, order: NDArray[np.int32], gap: Array) -> None:
    if len(value) <= 8 * len(rows):
        _sort_by_counting(code, rows, len(value), order)
    else:
        order[:] = np.argsort(code[rows])
    for k in range(len(rows) - 1):
        gap[k] = value[code[rows[order[k + 1]]]] - value[code[rows[order[k]]]]
    gap[len(rows) - 1] = 0.0


@njit(cache=True, nogil=True)
def _sort_by_counting(code: Any, rows: Index, n_values: int, order: NDArray[np.int32]) -> None:
    place = np.zeros(n_values + 1, np.int32)
    for i in rows:
        place[code[i] + 1] += 1
    for k in range(n_values):
        place[k + 1] += place[k]
    for j in range(len(rows)):
        k = code[rows[j]]
        order[place[k]] = j
        place[k] += 1


@njit(cache=True, nogil=True)
def _multiply_some(columns: SomeColumns, v: Array) -> Array:
    if columns.coded.code.shape[1] > 0:
        return _multiply_coded(columns.coded, v)
    return _multiply_sorted(columns.sorted, v)


@njit(cache=True, nogil=True)
def _coarsen_some(columns: SomeColumns, n_bins: int) -> CoarseColumns:
    D = len(columns.coded.value)
    m = max(columns.coded.code.shape[1], columns.sorted.order.shape[1])
    code, value, distance = np.empty((D, m), np.uint8), np.empty((D, n_bins)), 0.0
    for d in range(D):
        if columns.coded.code.shape[1] > 0:
            distance += _coarsen_codes(columns.coded.code[d], columns.coded.value[d], code[d], value[d])
        else:
            distance += _coarsen_order(columns.sorted.order[d], columns.sorted.gap[d], code[d], value[d])
    return CoarseColumns(code, value, distance / m)


@njit(cache=True, nogil=True)
def _coarsen_codes(fine: NDArray[Any], value: Array, code: NDArray[np.uint8], bin_value: Array) -> float:
    count, bin_of = np.zeros(len(value)), np.empty(len(value), np.uint8)
    for i in range(len(fine)):
        count[fine[i]] += 1.0
    distance = choose_bins(value, count, bin_of, bin_value)
    for i in range(len(fine)):
        code[i] = bin_of[fine[i]]
    return distance


@njit(cache=True, nogil=True)
def _coarsen_order(order: NDArray[np.int32], gap: Array, code: NDArray[np.uint8], bin_value: Array) -> float:
    place, bin_of = np.zeros(len(order)), np.empty(len(order), np.uint8)
    for k in range(1, len(order)):
        place[k] = place[k - 1] + gap[k - 1]
    distance = choose_bins(place, np.ones(len(order)), bin_of, bin_value)
    for k in range(len(order)):
        code[order[k]] = bin_of[k]
    return distance


@overload(multiply)
def _multiply(operator, v):  # type: ignore[no-untyped-def]  # numba compares the signatures
    if operator.instance_class is CodedColumns:
        return lambda operator, v: _multiply_coded(operator, v)
    if operator.instance_class is SomeColumns:
        return lambda operator, v: _multiply_some(operator, v)
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


@overload(coarsen)
def _coarsen(operator, n_bins):  # type: ignore[no-untyped-def]
    if operator.instance_class is SomeColumns:
        return lambda operator, n_bins: _coarsen_some(operator, n_bins)
    return None


@overload(n_features)
def _n_features(operator):  # type: ignore[no-untyped-def]
    if operator.instance_class is SomeColumns:
        return lambda operator: operator.coded.value.shape[0]
    return None
