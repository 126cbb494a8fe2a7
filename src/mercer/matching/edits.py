"""The edit distance of short texts: how many letters to insert, delete or replace, or neighbours to swap."""

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array, Index
from mercer.compiled import njit
from mercer.matching.cells import Texts

LONGEST = 32  # letters of a text that are compared


def as_letters(texts: Texts) -> NDArray[np.int32]:
    """Return the letters of texts as numbers, zeros behind them. Shape (n, 32)."""
    fixed = np.array([text[:LONGEST] for text in texts], dtype=f"U{LONGEST}")
    return fixed.view(np.int32).reshape(len(texts), LONGEST)


def edit_similarity(A: NDArray[np.int32], B: NDArray[np.int32], i: Index, j: Index) -> Array:
    """Return 1 − d / max(length) of the pairs (i, j), d their edit distance; one for two empty texts."""
    lengths = [np.count_nonzero(letters, axis=1) for letters in (A, B)]
    longest = np.maximum(lengths[0][i], lengths[1][j])
    found = np.empty(len(i))
    _distances(A, B, lengths[0], lengths[1], i.astype(np.int64), j.astype(np.int64), found)
    return 1.0 - found / np.maximum(longest, 1)


@njit(cache=True, nogil=True)
def _distances(
    A: NDArray[np.int32],
    B: NDArray[np.int32],
    length_a: Index,
    length_b: Index,
    i: Index,
    j: Index,
    found: Array,
) -> None:
    """Fill in the distances of pairs, by the table of distances of beginnings: its last three rows."""
    width = B.shape[1] + 1
    before = np.zeros(width, dtype=np.int64)
    row = np.zeros(width, dtype=np.int64)
    new = np.zeros(width, dtype=np.int64)
    for p in range(len(i)):
        a, b, m = A[i[p]], B[j[p]], length_b[j[p]]
        for t in range(m + 1):
            row[t] = t
        for s in range(1, length_a[i[p]] + 1):
            new[0] = s
            for t in range(1, m + 1):
                least = min(row[t] + 1, new[t - 1] + 1, row[t - 1] + (a[s - 1] != b[t - 1]))
                if s > 1 and t > 1 and a[s - 1] == b[t - 2] and a[s - 2] == b[t - 1]:
                    least = min(least, before[t - 2] + 1)
                new[t] = least
            before, row, new = row, new, before
        found[p] = row[m]
