"""A column of a table as one kernel sees it: positive semi-definite, and 0 where a cell is missing.

`paired` gives the kernel's values of listed pairs of rows, `block` those of some rows with all of another
table.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mercer._typing import Array, Flags, Index
from mercer.compiled import njit


class Vectors(NamedTuple):
    """⟨x, x'⟩ of sparse unit vectors: the cosine of two texts."""

    rows: csr_array  # the places of a row ascend

    def paired(self, other: "Vectors", i: Index, j: Index) -> Array:
        """Return the kernel of the rows i[p] and the other table's j[p]."""
        found = np.empty(len(i))
        a, b = self.rows, other.rows
        _inner_products(a.indptr, a.indices, a.data, b.indptr, b.indices, b.data, i, j, found)
        return found

    def block(self, other: "Vectors", rows: slice) -> Array:
        """Return the kernel of some rows with all of the other table."""
        product: Array = (self.rows[rows] @ other.rows.T).toarray()
        return product

    def after(self, first: int) -> "Vectors":
        """Return the rows from the first on."""
        return Vectors(self.rows[first:])


class Codes(NamedTuple):
    """1 if x = x', else 0."""

    code: NDArray[np.uint64]
    known: Flags

    def paired(self, other: "Codes", i: Index, j: Index) -> Array:
        """Return the kernel of the rows i[p] and the other table's j[p]."""
        equal = (self.code[i] == other.code[j]) & self.known[i] & other.known[j]
        return equal.astype(np.float64)

    def block(self, other: "Codes", rows: slice) -> Array:
        """Return the kernel of some rows with all of the other table."""
        equal = self.code[rows, None] == other.code[None, :]
        return (equal & self.known[rows, None] & other.known).astype(np.float64)

    def after(self, first: int) -> "Codes":
        """Return the rows from the first on."""
        return Codes(self.code[first:], self.known[first:])


class Values(NamedTuple):
    """exp(−|x − x'| / scale) of numbers."""

    value: Array  # NaN where a cell is missing
    scale: float

    def paired(self, other: "Values", i: Index, j: Index) -> Array:
        """Return the kernel of the rows i[p] and the other table's j[p]."""
        return self._of(self.value[i] - other.value[j])

    def block(self, other: "Values", rows: slice) -> Array:
        """Return the kernel of some rows with all of the other table."""
        return self._of(self.value[rows, None] - other.value[None, :])

    def after(self, first: int) -> "Values":
        """Return the rows from the first on."""
        return Values(self.value[first:], self.scale)

    def _of(self, difference: Array) -> Array:
        return np.nan_to_num(np.exp(-np.abs(difference) / self.scale), nan=0.0)


View = Vectors | Codes | Values


@njit(cache=True, nogil=True)
def _inner_products(
    begins_a: Index, places_a: Index, a: Array, begins_b: Index, places_b: Index, b: Array,
    i: Index, j: Index, found: Array,
) -> None:  # fmt: skip
    """Fill in the inner products of pairs of sparse rows whose places ascend."""
    for p in range(len(i)):
        s, t = begins_a[i[p]], begins_b[j[p]]
        end_s, end_t = begins_a[i[p] + 1], begins_b[j[p] + 1]
        total = 0.0
        while s < end_s and t < end_t:
            if places_a[s] == places_b[t]:
                total += a[s] * b[t]
                s += 1
                t += 1
            elif places_a[s] < places_b[t]:
                s += 1
            else:
                t += 1
        found[p] = total
