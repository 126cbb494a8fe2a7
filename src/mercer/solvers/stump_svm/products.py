r"""The Gram matrix of the stump kernel as an operator: K v without K.

For one feature with values :math:`x_1, \dots, x_n` the function :math:`g(t) = -\sum_j v_j |t - x_j|` is
piecewise linear, and its slope between two neighbouring values is two prefix sums:
:math:`g'(t) = \sum_{x_j > t} v_j - \sum_{x_j < t} v_j`. One pass over the ascending values integrates it, so
that K v costs O(n D), with no logarithm and no n × n matrix. Each g starts at zero at its smallest value: K v
comes out up to one constant for all rows, which the intercept of the SVM takes up [LL05, Theorem 2].

- `CodedColumns` hold every row's place among the distinct values (or the bins) of each feature.
- `SortedColumns` hold the rows in ascending order, which is faster where the values outnumber the rows.

The loops below are all that is compiled: each is a leaf that calls nothing compiled.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from mercer._typing import Array, Index


class CodedColumns(NamedTuple):
    """Every row's place among the ascending values of each feature, and these values."""

    code: NDArray[Any]  # (D, n), of one byte if 256 values are enough
    value: Array  # (D, most values of a feature), the last one repeated

    def product(self, v: Array) -> Array:
        """Return K v, up to one constant."""
        return self._multiply(v, self.code)

    def product_at(self, v: Array, rows: Index) -> Array:
        """Return K v at some rows."""
        return self._multiply(v, np.take(self.code, rows, axis=1))

    def restrict(self, rows: Index) -> "CodedColumns | SortedColumns":
        """Return K of some rows: codes where the rows outnumber the values, for they need no sorting."""
        code, n_values = np.take(self.code, rows, axis=1), self.value.shape[1]
        if code.itemsize == 1 and 2 * n_values <= len(rows):
            return CodedColumns(code, self.value)
        order, gap = np.empty(code.shape, np.int32), np.empty(code.shape)
        if n_values <= 8 * len(rows):
            sort_by_counting(code, n_values, order)
        else:
            order[:] = np.argsort(code, axis=1, kind="stable")
        find_gaps(code, self.value, order, gap)
        return SortedColumns(order, gap)

    def gram(self, rows: Index) -> Array:
        """Return K among a few rows."""
        X = np.take_along_axis(self.value, np.take(self.code, rows, axis=1).astype(np.intp), axis=1).T
        return -cdist(X, X, "cityblock")

    def _multiply(self, v: Array, code_out: NDArray[Any]) -> Array:
        code_in = self.code
        if 2 * np.count_nonzero(v) < len(v):
            rows = np.flatnonzero(v)
            code_in, v = np.take(code_in, rows, axis=1), v[rows]
        # the tables of wide codes would not fit the cache four at a time
        tables = np.empty((4 if code_in.itemsize == 1 else 1, self.value.shape[1]))
        out = np.zeros(code_out.shape[1])
        multiply_coded(code_in, v, self.value, float(v.sum()), code_out, tables, out)
        return out


class SortedColumns(NamedTuple):
    """The rows in ascending order of each feature, and the gap from each value to the next."""

    order: NDArray[np.int32]  # (D, m)
    gap: Array  # (D, m), the last of each feature is 0

    def product(self, v: Array) -> Array:
        """Return K v, up to one constant."""
        pair = np.zeros((len(v), 2))  # input and output side by side: one cache line a cell, not two
        pair[:, 0] = v
        multiply_sorted(self.order, self.gap, float(v.sum()), pair)
        return np.ascontiguousarray(pair[:, 1])


@njit(cache=True, nogil=True, fastmath=True)
def sum_by_code(code: NDArray[Any], v: Array, tables: Array) -> None:
    """Add Σ v_i over the rows of each code to each feature's table.

    Four features at once read v once, and none of the processor's additions waits for another one's end.
    """
    D, n = code.shape
    last = D - D % 4
    for first in range(0, last, 4):
        a, b, c, d = code[first], code[first + 1], code[first + 2], code[first + 3]
        to_a, to_b, to_c, to_d = tables[first], tables[first + 1], tables[first + 2], tables[first + 3]
        for i in range(n):
            x = v[i]
            to_a[a[i]] += x
            to_b[b[i]] += x
            to_c[c[i]] += x
            to_d[d[i]] += x
    for k in range(last, D):
        a, to_a = code[k], tables[k]
        for i in range(n):
            to_a[a[i]] += v[i]


@njit(cache=True, nogil=True, fastmath=True)
def look_up(code: NDArray[Any], tables: Array, out: Array) -> None:
    """Add to each row what its codes have in the tables, for four features at once."""
    D, n = code.shape
    last = D - D % 4
    for first in range(0, last, 4):
        a, b, c, d = code[first], code[first + 1], code[first + 2], code[first + 3]
        of_a, of_b, of_c, of_d = tables[first], tables[first + 1], tables[first + 2], tables[first + 3]
        for i in range(n):
            out[i] += (of_a[a[i]] + of_b[b[i]]) + (of_c[c[i]] + of_d[d[i]])
    for k in range(last, D):
        a, of_a = code[k], tables[k]
        for i in range(n):
            out[i] += of_a[a[i]]


@njit(cache=True, nogil=True, fastmath=True)
def multiply_coded(
    code_in: NDArray[Any],
    v: Array,
    value: Array,
    total: float,
    code_out: NDArray[Any],
    tables: Array,
    out: Array,
) -> None:
    """Add Σ_d g_d at the codes of the rows `out` is for; `tables` has room for one feature, or for four.

    Each feature's table is filled with Σv by code, integrated to g and looked up while it is in the cache.
    Four features at once: none of the processor's additions waits for another one's end.
    """
    D, q = value.shape
    step = len(tables)
    first = 0
    while first < D:
        if step == 4 and first + 4 <= D:
            tables[:] = 0.0
            to_a, to_b, to_c, to_d = tables[0], tables[1], tables[2], tables[3]
            a, b, c, d = code_in[first], code_in[first + 1], code_in[first + 2], code_in[first + 3]
            for i in range(len(v)):
                x = v[i]
                to_a[a[i]] += x
                to_b[b[i]] += x
                to_c[c[i]] += x
                to_d[d[i]] += x
        else:
            to_a, a = tables[0], code_in[first]
            to_a[:] = 0.0
            for i in range(len(v)):
                to_a[a[i]] += v[i]
        last = min(first + step, D) if step == 4 and first + 4 <= D else first + 1
        for k in range(last - first):
            g, x = tables[k], value[first + k]
            slope, height = total, 0.0
            for j in range(q - 1):
                slope -= 2.0 * g[j]
                g[j] = height
                height += slope * (x[j + 1] - x[j])
            g[q - 1] = height
        if last - first == 4:
            a, b, c, d = code_out[first], code_out[first + 1], code_out[first + 2], code_out[first + 3]
            for i in range(len(out)):
                out[i] += (to_a[a[i]] + to_b[b[i]]) + (to_c[c[i]] + to_d[d[i]])
        else:
            a = code_out[first]
            for i in range(len(out)):
                out[i] += to_a[a[i]]
        first = last


@njit(cache=True, nogil=True)
def sort_by_counting(code: NDArray[Any], n_values: int, order: NDArray[np.int32]) -> None:
    """Put the rows in ascending order of each feature's code."""
    D, m = code.shape
    place = np.empty(n_values + 1, np.int32)
    for d in range(D):
        place[:] = 0
        for i in range(m):
            place[code[d, i] + 1] += 1
        for k in range(n_values):
            place[k + 1] += place[k]
        for i in range(m):
            k = code[d, i]
            order[d, place[k]] = i
            place[k] += 1


@njit(cache=True, nogil=True)
def find_gaps(code: NDArray[Any], value: Array, order: NDArray[np.int32], gap: Array) -> None:
    """Fill in the gaps between the values of neighbours in the order."""
    D, m = order.shape
    for d in range(D):
        x = value[d, code[d, order[d, 0]]]
        for k in range(m - 1):
            following = value[d, code[d, order[d, k + 1]]]
            gap[d, k] = following - x
            x = following
        gap[d, m - 1] = 0.0


@njit(cache=True, nogil=True, fastmath=True)
def multiply_sorted(order: NDArray[np.int32], gap: Array, total: float, pair: Array) -> None:
    """Add K v to the second column of `pair`, whose first is v.

    Two features at once: the processor works on one while the other's sums are pending.
    """
    D, m = order.shape
    for d in range(0, D - 1, 2):
        slope, height = total, 0.0
        slope_2, height_2 = total, 0.0
        for k in range(m):
            i, j = order[d, k], order[d + 1, k]
            pair[i, 1] += height
            slope -= 2.0 * pair[i, 0]
            height += slope * gap[d, k]
            pair[j, 1] += height_2
            slope_2 -= 2.0 * pair[j, 0]
            height_2 += slope_2 * gap[d + 1, k]
    if D % 2 == 1:
        slope, height = total, 0.0
        for k in range(m):
            i = order[D - 1, k]
            pair[i, 1] += height
            slope -= 2.0 * pair[i, 0]
            height += slope * gap[D - 1, k]
