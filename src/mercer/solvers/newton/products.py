r"""The Gram matrix of the stump kernel as an operator: K v without K.

With x measured from the smallest value of its feature, K is :math:`2 \sum_d \min(x_{id}, x_{jd})`. Among
vectors of sum zero this is the stump kernel's :math:`-\|x_i - x_j\|_1` up to one constant for all rows, which
the intercept takes up [LL05, Theorem 2]. For one feature :math:`g(t) = 2 \sum_j v_j \min(t, x_j)` is
piecewise linear, of slope :math:`2 \sum_{x_j > t} v_j`. One pass over the ascending values integrates it, at
O(n D) for K v. Rows in ascending order are faster than codes where the values outnumber the rows.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array, Index
from mercer.compiled import njit

Codes = NDArray[Any]  # (D, n), of one byte if 256 values are enough, else of four
CACHED = 16_384  # values of a feature up to which the tables of four features fit into the cache
BLOCK = 2**15  # rows, of which one number each fits there too


class CodedColumns(NamedTuple):
    """Every row's place among the ascending values of each feature, and these values."""

    code: Codes
    value: Array  # (D, most values of a feature), the last one repeated

    def samples(self) -> Array:
        """Return the values (n, D) of the rows."""
        return np.take_along_axis(self.value, self.code.astype(np.intp), axis=1).T

    def product(self, v: Array) -> Array:
        """Return K v."""
        return self._multiply(v, self.code)

    def product_at(self, v: Array, rows: Index) -> Array:
        """Return K v at some rows."""
        return self._multiply(v, np.take(self.code, rows, axis=1))

    def _multiply(self, v: Array, code_out: Codes) -> Array:
        n_values, out = self.value.shape[1], np.zeros(code_out.shape[1])
        room = np.empty((4 if n_values <= CACHED else 1, n_values))
        multiply_coded(*_of_nonzero(self.code, v), self.value, code_out, room, out)
        return out


class SortedColumns(NamedTuple):
    """The rows in ascending order of each feature, and their values, after the smallest of all rows."""

    order: NDArray[np.int32]  # (D, m)
    value: Array  # (D, 1 + m)

    def product(self, v: Array) -> Array:
        """Return K v."""
        pair, out = np.empty((len(v), 2)), np.empty(len(v))
        multiply_sorted(self.order, self.value, v, pair, out)
        return out


def make_operator(code: Codes, value: Array) -> CodedColumns | SortedColumns:
    """Return K of some rows: codes where the rows outnumber the values, for they need no sorting."""
    few = code.itemsize == 1 and 2 * value.shape[1] <= code.shape[1]
    return CodedColumns(code, value) if few else sort_rows(code, value)


def sort_rows(code: Codes, value: Array) -> SortedColumns:
    """Sort some rows, given by their codes of these values."""
    D, m = code.shape
    columns = SortedColumns(np.empty((D, m), np.int32), np.empty((D, 1 + m)))
    sort_by_counting(code, value, *columns)
    return columns


def integrate(value: Any, histogram: Any) -> Any:
    """Return the table of the function whose slope at t is 2 Σ of the coefficients at values above t."""
    above = histogram[:1].sum() - histogram[:, :-1].cumsum(1)
    table = 0.0 * value
    table[:, 1:] = (2.0 * above * (value[:, 1:] - value[:, :-1])).cumsum(1)
    return table


def add_up_by_code(code: Codes, v: Array, n_values: int) -> Array:
    """Return Σv of the rows at each value of each feature."""
    out = np.zeros((len(code), n_values))
    sum_by_code(*_of_nonzero(code, v), out)
    return out


def _of_nonzero(code: Codes, v: Array) -> tuple[Codes, Array]:
    """Leave out the rows where v is zero, if these are most."""
    rows = np.flatnonzero(v)
    return (code, v) if 2 * len(rows) >= len(v) else (np.take(code, rows, axis=1), v[rows])


@njit(cache=True, nogil=True, fastmath=True)
def sum_by_code(code: Codes, v: Array, tables: Array) -> None:
    """Add Σ v_i over the rows of each code to each feature's table.

    Four features at once read v once, and none of the processor's additions waits for another one's end.
    """
    D, n = code.shape
    last = D - D % 4
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        for k in range(0, last, 4):
            a, b, c, d = code[k], code[k + 1], code[k + 2], code[k + 3]
            to_a, to_b, to_c, to_d = tables[k], tables[k + 1], tables[k + 2], tables[k + 3]
            for i in range(start, stop):
                x = v[i]
                to_a[a[i]] += x
                to_b[b[i]] += x
                to_c[c[i]] += x
                to_d[d[i]] += x
        for k in range(last, D):
            a, to_a = code[k], tables[k]
            for i in range(start, stop):
                to_a[a[i]] += v[i]


@njit(cache=True, nogil=True, fastmath=True)
def look_up(code: Codes, tables: Array, out: Array) -> None:
    """Add to each row what its codes have in the tables, for four features at once."""
    D, n = code.shape
    last = D - D % 4
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        for k in range(0, last, 4):
            a, b, c, d = code[k], code[k + 1], code[k + 2], code[k + 3]
            of_a, of_b, of_c, of_d = tables[k], tables[k + 1], tables[k + 2], tables[k + 3]
            for i in range(start, stop):
                out[i] += (of_a[a[i]] + of_b[b[i]]) + (of_c[c[i]] + of_d[d[i]])
        for k in range(last, D):
            a, of_a = code[k], tables[k]
            for i in range(start, stop):
                out[i] += of_a[a[i]]


@njit(cache=True, nogil=True, fastmath=True)
def multiply_coded(
    code_in: Codes, v: Array, value: Array, code_out: Codes, tables: Array, out: Array
) -> None:
    """Add Σ_d g_d at the codes of the rows `out` is for; `tables` has room for one feature, or for four.

    Each feature's table is filled with Σv by code, integrated to g and looked up while it is in the cache.
    Four features at once: none of the processor's additions waits for another one's end.
    """
    first_slope = 2.0 * v.sum()
    D, q = value.shape
    n_fours = D - D % 4 if len(tables) == 4 else 0
    for d in range(0, n_fours, 4):
        g0, g1, g2, g3 = tables[0], tables[1], tables[2], tables[3]
        tables[:] = 0.0
        c0, c1, c2, c3 = code_in[d], code_in[d + 1], code_in[d + 2], code_in[d + 3]
        for i in range(len(v)):
            x = v[i]
            g0[c0[i]] += x
            g1[c1[i]] += x
            g2[c2[i]] += x
            g3[c3[i]] += x
        x0, x1, x2, x3 = value[d], value[d + 1], value[d + 2], value[d + 3]
        s0 = s1 = s2 = s3 = first_slope
        h0, h1, h2, h3 = 0.0, 0.0, 0.0, 0.0  # the heights
        for k in range(q - 1):
            s0, s1 = s0 - 2.0 * g0[k], s1 - 2.0 * g1[k]
            s2, s3 = s2 - 2.0 * g2[k], s3 - 2.0 * g3[k]
            g0[k], g1[k], g2[k], g3[k] = h0, h1, h2, h3
            h0, h1 = h0 + s0 * (x0[k + 1] - x0[k]), h1 + s1 * (x1[k + 1] - x1[k])
            h2, h3 = h2 + s2 * (x2[k + 1] - x2[k]), h3 + s3 * (x3[k + 1] - x3[k])
        g0[q - 1], g1[q - 1], g2[q - 1], g3[q - 1] = h0, h1, h2, h3
        c0, c1, c2, c3 = code_out[d], code_out[d + 1], code_out[d + 2], code_out[d + 3]
        for i in range(len(out)):
            out[i] += (g0[c0[i]] + g1[c1[i]]) + (g2[c2[i]] + g3[c3[i]])
    for d in range(n_fours, D):
        g, c, y = tables[0], code_in[d], value[d]
        g[:] = 0.0
        for i in range(len(v)):
            g[c[i]] += v[i]
        slope, height = first_slope, 0.0
        for k in range(q - 1):
            slope -= 2.0 * g[k]
            g[k] = height
            height += slope * (y[k + 1] - y[k])
        g[q - 1] = height
        c = code_out[d]
        for i in range(len(out)):
            out[i] += g[c[i]]


@njit(cache=True, nogil=True)
def sort_by_counting(code: Codes, value: Array, order: NDArray[np.int32], ordered: Array) -> None:
    """Put the rows in ascending order of each feature's code, and their values."""
    D, m = code.shape
    n_values = value.shape[1]
    place = np.empty(n_values + 1, np.int32)
    for d in range(D):
        place[:], ordered[d, 0] = 0, value[d, 0]
        for i in range(m):
            place[code[d, i] + 1] += 1
        for k in range(n_values):
            place[k + 1] += place[k]
        for i in range(m):
            k = code[d, i]
            order[d, place[k]], ordered[d, place[k] + 1] = i, value[d, k]
            place[k] += 1


@njit(cache=True, nogil=True, fastmath=True)
def multiply_sorted(order: NDArray[np.int32], value: Array, v: Array, pair: Array, out: Array) -> None:
    """Put K v into `out`. Two features at once: one's sums are pending while the processor adds the other's.

    `pair` is room for v and K v side by side: one cache line a row, not two.
    """
    D, m = order.shape
    first_slope = 0.0
    for i in range(m):
        pair[i, 0], pair[i, 1] = v[i], 0.0
        first_slope += 2.0 * v[i]
    for d in range(0, D, 2):
        a, b, x, y = order[d], order[min(d + 1, D - 1)], value[d], value[min(d + 1, D - 1)]
        slope_x, slope_y, height_x, height_y = first_slope, first_slope, 0.0, 0.0
        other = 1.0 if d + 1 < D else 0.0  # if there is none, it counts for nothing
        for k in range(m):
            height_x += slope_x * (x[k + 1] - x[k])
            height_y += slope_y * (y[k + 1] - y[k])
            i, j = a[k], b[k]
            pair[i, 1] += height_x
            slope_x -= 2.0 * pair[i, 0]
            pair[j, 1] += other * height_y
            slope_y -= 2.0 * pair[j, 0]
    for i in range(m):
        out[i] = pair[i, 1]
