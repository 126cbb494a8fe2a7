"""Pairs that were judged: which records, the answers, and how similar the records are."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Flags, Index
from mercer.matching.comparison import Records, Similarities
from mercer.pairs import Pairs

Keys = NDArray[np.uint64]


class Judged(NamedTuple):
    """Judged pairs, known by the contents of their records: in another table, they are found again."""

    keys: Keys  # (n_pairs, 2), the smaller first
    answer: Flags
    found: Similarities
    unsure: Keys  # (n_unsure, 2), likewise

    @classmethod
    def none(cls, n_kernels: int, n_columns: int) -> Self:
        """Return no pairs."""
        empty = np.zeros((0, n_columns))
        found = Similarities(np.zeros((0, n_kernels)), empty, empty.astype(bool))
        return cls(
            np.zeros((0, 2), dtype=np.uint64), np.zeros(0, dtype=bool), found, np.zeros((0, 2), np.uint64)
        )

    def and_more(self, keys: Keys, answer: Flags, found: Similarities, unsure: Keys) -> "Judged":
        """Return these pairs and others, each once; raise ValueError if one is judged both ways."""
        keys, answer = (
            np.concatenate([self.keys, np.sort(keys, axis=1)]),
            np.concatenate([self.answer, answer]),
        )
        every = self.found.and_those(found)
        _, first, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        wrong = np.flatnonzero(answer[first][number.ravel()] != answer)
        if len(wrong):
            raise ValueError(
                f"{len(wrong)} of the pairs are judged both ways, perhaps of other rows with the "
                "same cells: drop one of the two judgements"
            )
        kept = np.sort(first)
        unsure = np.unique(np.concatenate([self.unsure, np.sort(unsure, axis=1)]), axis=0)
        return Judged(keys[kept], answer[kept], every.of(kept), unsure)


def check_pairs(pairs: Any, n_left: int, n_right: int | None) -> Pairs:
    """Return pairs as arrays of rows of one table, or of a row of the left and one of the right table."""
    pairs = Pairs(*pairs)
    if n_right is None:
        checked = pairs.check(n_left)
        return Pairs(*(kind[kind[:, 0] != kind[:, 1]] for kind in checked))
    kinds = []
    for name, kind in zip(Pairs._fields, pairs, strict=True):
        rows = np.asarray(kind)
        if rows.size:
            Pairs(rows).check(max(n_left, n_right))
        rows = rows.reshape(-1, 2).astype(np.intp)
        for side, (n, table) in enumerate([(n_left, "left"), (n_right, "right")]):
            if len(rows) and rows[:, side].max() >= n:
                raise ValueError(
                    f"{name} names row {rows[:, side].max()} of the {table} table, with rows 0 to {n - 1}"
                )
        kinds.append(rows + np.array([0, n_left]))
    checked = Pairs(*kinds).check(n_left + n_right)
    return Pairs(*(kind - np.array([0, n_left]) for kind in checked))


def keys_of(left: Records, right: Records, i: Index, j: Index) -> Keys:
    """Return the keys of pairs of records, the smaller first."""
    return np.sort(np.column_stack([left.keys[i], right.keys[j]]), axis=1)


def rows_of(keys: Keys, left: Records) -> Index:
    """Return all pairs of rows i < j of a table that have the keys of judged pairs."""
    rows: dict[int, list[int]] = {}
    for row, key in enumerate(left.keys.tolist()):
        rows.setdefault(key, []).append(row)
    found = [
        (min(i, j), max(i, j))
        for a, b in keys.tolist()
        for i in rows.get(a, [])
        for j in rows.get(b, [])
        if i != j
    ]
    return np.array(sorted(set(found)), dtype=np.intp).reshape(-1, 2)
