"""Sums of a vector by code, and looking numbers up by code: both for up to four features at once.

A feature's *code* is a small number for each row, its *table* has one number for each code. Four features at
once read the vector once, and none of the processor's additions has to wait for another one's end.
"""

from typing import Any

from numba import njit
from numpy.typing import NDArray

from mercer._typing import Array, Index


@njit(cache=True, nogil=True)
def at_a_time(code: NDArray[Any]) -> int:
    """Return how many features to take at a time: the tables of wide codes would not fit the cache."""
    return 4 if code.itemsize == 1 else 1


@njit(cache=True, nogil=True, fastmath=True)
def sum_by_code(code: NDArray[Any], v: Array, tables: Array) -> None:
    """Put Σ v_i over the rows of each code into each feature's table; code is (1 to 4, n)."""
    tables[:] = 0.0
    if len(code) == 4:
        a, b, c, d = code[0], code[1], code[2], code[3]
        to_a, to_b, to_c, to_d = tables[0], tables[1], tables[2], tables[3]
        for i in range(len(v)):
            x = v[i]
            to_a[a[i]] += x
            to_b[b[i]] += x
            to_c[c[i]] += x
            to_d[d[i]] += x
        return
    for k in range(len(code)):
        a, to_a = code[k], tables[k]
        for i in range(len(v)):
            to_a[a[i]] += v[i]


@njit(cache=True, nogil=True, fastmath=True)
def sum_rows_by_code(code: NDArray[Any], v: Array, rows: Index, tables: Array) -> None:
    """Do the same for v that is zero outside some rows."""
    tables[:] = 0.0
    if len(code) == 4:
        a, b, c, d = code[0], code[1], code[2], code[3]
        to_a, to_b, to_c, to_d = tables[0], tables[1], tables[2], tables[3]
        for i in rows:
            x = v[i]
            to_a[a[i]] += x
            to_b[b[i]] += x
            to_c[c[i]] += x
            to_d[d[i]] += x
        return
    for k in range(len(code)):
        a, to_a = code[k], tables[k]
        for i in rows:
            to_a[a[i]] += v[i]


@njit(cache=True, nogil=True, fastmath=True)
def look_up(code: NDArray[Any], tables: Array, out: Array) -> None:
    """Add to each row what its codes have in the tables."""
    if len(code) == 4:
        a, b, c, d = code[0], code[1], code[2], code[3]
        of_a, of_b, of_c, of_d = tables[0], tables[1], tables[2], tables[3]
        for i in range(len(out)):
            out[i] += (of_a[a[i]] + of_b[b[i]]) + (of_c[c[i]] + of_d[d[i]])
        return
    for k in range(len(code)):
        a, of_a = code[k], tables[k]
        for i in range(len(out)):
            out[i] += of_a[a[i]]


@njit(cache=True, nogil=True, fastmath=True)
def look_up_rows(code: NDArray[Any], tables: Array, rows: Index, out: Array) -> None:
    """Do the same for some rows: out[j] belongs to rows[j]."""
    if len(code) == 4:
        a, b, c, d = code[0], code[1], code[2], code[3]
        of_a, of_b, of_c, of_d = tables[0], tables[1], tables[2], tables[3]
        for j in range(len(rows)):
            i = rows[j]
            out[j] += (of_a[a[i]] + of_b[b[i]]) + (of_c[c[i]] + of_d[d[i]])
        return
    for k in range(len(code)):
        a, of_a = code[k], tables[k]
        for j in range(len(rows)):
            out[j] += of_a[a[rows[j]]]
