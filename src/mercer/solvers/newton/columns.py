"""Columns for the stump kernel: each row's place among the sorted values, or the bins, of each feature."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._typing import Array, Index
from mercer.compiled import njit
from mercer.solvers.newton.products import CodedColumns, Codes

BLOCK = 2**14  # rows that are put into bins at a time
SAME = 1e-14  # of a knot: the mean of a bin that is so near to a value differs from it by rounding
ROUNDING = 1e-9  # of the distance of two knots: a value so little above their middle is in the middle


def code_columns(X: Array) -> CodedColumns:
    """Sort the distinct values of each feature of X (n, D): O(n D log n) time, at most 12 bytes a cell."""
    code, values = np.empty(X.shape[::-1], np.uint32), []
    for column, places in zip(X.T, code, strict=True):
        value, places[:] = np.unique(column, return_inverse=True)
        values.append(value)
    table = np.empty((len(code), max(map(len, values))))
    for row in table:  # all values may be as large as X: each is given back as soon as it is in the table
        value = values.pop(0)
        row[: len(value)], row[len(value) :] = value, value[-1]
    return CodedColumns(code.astype(_kind_of_code(table), copy=False), table)


def select_rows(columns: CodedColumns, rows: Index) -> CodedColumns:
    """Return the columns of some rows; where there are more values than rows, with the rows' values alone."""
    few = CodedColumns(np.take(columns.code, rows, axis=1), columns.value)
    return few if columns.value.shape[1] <= len(rows) else code_columns(few.samples())


def bin_columns(X: Array, knots: list[Array], convert: Callable[[Array], Array] = np.asarray) -> CodedColumns:
    """Move each value of X (n, D), converted, to the nearest of its feature's ascending knots.

    Of two that are equally near, the lower one.
    """
    table, middles = _as_table(knots), [between(k[:-1], k[1:]) for k in knots]
    code: Codes = np.empty(X.shape[::-1], dtype=_kind_of_code(table))
    for start in range(0, len(X), BLOCK):  # rows that stay in the cache while they are turned round
        rows = slice(start, start + BLOCK)
        block = np.ascontiguousarray(convert(X[rows]).T)
        for d, middle in enumerate(middles):
            count_below(block[d], middle, code[d, rows])
    return CodedColumns(code, table)


def between(lower: Any, upper: Any) -> Any:
    """Return where the lower of two knots ends: hardly above the middle, whose last digit is an accident."""
    return lower + (0.5 + ROUNDING) * (upper - lower)


def choose_knots(column: Any, max_bins: int, xp: Any = np) -> Any:
    """Return at most max_bins values that stand for a column: its distinct values, or bin means.

    A value that would fill a bin alone is a knot of its own. The bins of the others hold about equally many
    rows each. The mean of a bin, and not its middle, keeps the first moment of the data: the error of the
    binned kernel is then of second order.
    """
    distinct, count = xp.unique_counts(column)
    if len(distinct) <= max_bins:
        return distinct
    common = count * max_bins >= len(column)
    others = xp.repeat(distinct[~common], count[~common])
    edges = np.unique(np.linspace(0, len(others), max_bins - int(common.sum()) + 1).astype(np.intp))
    centre = others.mean()  # sums from there on lose no digits
    sums = xp.concat([0.0 * others[:1], (others - centre).cumsum(0)])[edges]
    means = centre + (sums[1:] - sums[:-1]) / xp.asarray(np.diff(edges), device=column.device)
    knots = xp.unique_values(xp.concat([distinct[common], means]))
    apart = knots[1:] - knots[:-1] > SAME * xp.abs(knots[1:])
    return knots[xp.concat([knots[:1] == knots[:1], apart])]


def _as_table(values: list[Array]) -> Array:
    n_values = max(map(len, values))
    return np.array([np.pad(value, (0, n_values - len(value)), mode="edge") for value in values])


def _kind_of_code(table: Array) -> type:
    return np.uint8 if table.shape[1] <= 256 else np.uint32


@njit(cache=True, nogil=True)
def count_below(column: Array, bounds: Array, out: Codes) -> None:
    """Put into `out` how many of the ascending bounds are below each value, as `np.searchsorted` does.

    The range is cut into equal cells, which never decrease with a number, rounding or not: only the bounds of
    a value's own cell are left to search.
    """
    n_cells = len(bounds)
    lowest, width = (bounds[0], bounds[-1] - bounds[0]) if n_cells > 0 else (0.0, 0.0)
    scale = n_cells / width if width > 0.0 else 0.0
    scale = scale if scale < np.inf else 0.0
    start = np.zeros(n_cells + 2, np.int32)  # how many bounds are in cells before this one
    for bound in bounds:
        cell = int(min(max((bound - lowest) * scale, 0.0), n_cells - 1.0)) if scale > 0.0 else 0
        start[cell + 1] += 1
    for cell in range(n_cells):
        start[cell + 1] += start[cell]
    for i in range(len(column)):
        cell = int(min(max((column[i] - lowest) * scale, 0.0), n_cells - 1.0)) if scale > 0.0 else 0
        left, right = start[cell], start[cell + 1]
        while left < right:
            middle = (left + right) >> 1
            if bounds[middle] < column[i]:
                left = middle + 1
            else:
                right = middle
        out[i] = left
