"""Which pairs of records may match: of small tables all, else neighbours by the learned kernel."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, hstack

from mercer._typing import Array, Index
from mercer.compiled import njit
from mercer.matching.comparison import Records
from mercer.matching.decision import Decision
from mercer.matching.views import Codes, Values, Vectors, View
from mercer.preprocessing import TableError

MOST_EXACT = 20_000 * 20_000  # pairs that are all looked at
BLOCK = 4_000_000  # pairs at a time
MOST_CANDIDATES = 20_000_000
WORK = 4_000_000_000  # products of terms in a search for neighbours: the most frequent terms are left out
N_NEIGHBORS = 25


class Candidates(NamedTuple):
    """Pairs of records, by row numbers."""

    i: Index
    j: Index


class Weighted(NamedTuple):
    """A table whose views that count are scaled: the vectors of all columns are in one matrix."""

    texts: csr_array
    others: Sequence[tuple[float, Codes | Values]]
    known: Array  # (n, n_columns), 1.0 or 0.0

    @classmethod
    def of(cls, records: Records, decision: Decision) -> "Weighted":
        """Scale vectors by the roots of their weights."""
        counting = [(w, view) for w, view in zip(decision.weights, records.views, strict=True) if w > 0.0]
        vectors = [np.sqrt(w) * view.rows for w, view in counting if isinstance(view, Vectors)]
        texts = hstack(vectors, format="csr") if vectors else csr_array((len(records.keys), 1))
        others = [(w, view) for w, view in counting if not isinstance(view, Vectors)]
        return cls(csr_array(texts), others, records.known.astype(np.float64))

    def after(self, first: int) -> "Weighted":
        """Return the rows from the first on."""
        others = [(w, view.after(first)) for w, view in self.others]
        return Weighted(self.texts[first:], others, self.known[first:])


def find_candidates(left: Records, right: Records | None, decision: Decision, least: float) -> Candidates:
    """Return pairs of which some may have a score of at least so much; of one table each pair once, i < j."""
    mine = Weighted.of(left, decision)
    its = mine if right is None else Weighted.of(right, decision)
    n, m = len(mine.known), len(its.known)
    if n * m <= MOST_EXACT:
        return _all_above(mine, None if right is None else its, decision, least - decision.lift)
    return _neighbors(mine, its, one_table=right is None)


def nearest_candidates(left: Records, right: Records | None, decision: Decision) -> Candidates:
    """Return the neighbours of each record by the kernel, however small the tables are."""
    mine = Weighted.of(left, decision)
    return _neighbors(mine, mine if right is None else Weighted.of(right, decision), one_table=right is None)


def most_alike(left: Records, right: Records, decision: Decision, n: int) -> Candidates:
    """Return for each record of the left table the n of the right one with the highest bounds of scores."""
    mine, its = Weighted.of(left, decision), Weighted.of(right, decision)
    n = min(n, len(its.known))
    nearest = [
        np.argpartition(-_bounds(mine, its, decision, rows), n - 1, axis=1)[:, :n]
        for rows, _ in _blocks(len(mine.known), len(its.known))
    ]
    return Candidates(np.repeat(np.arange(len(mine.known)), n), np.concatenate(nearest).ravel())


def _all_above(mine: Weighted, its: Weighted | None, decision: Decision, least: float) -> Candidates:
    """Return all pairs whose score may reach a number, if the edit distance were zero."""
    found, total = [], 0
    for rows, first in _blocks(len(mine.known), None if its is None else len(its.known)):
        other = mine.after(first) if its is None else its
        i, j = np.nonzero(_bounds(mine, other, decision, rows) >= least - 1e-9)
        i, j = i + rows.start, j + first
        if its is None:
            i, j = i[i < j], j[i < j]
        found.append((i, j))
        total += len(i)
        if total > MOST_CANDIDATES:
            raise TableError(
                f"More than {MOST_CANDIDATES} pairs may match at this threshold: raise it, or judge more."
            )
    return Candidates(*(np.concatenate(side).astype(np.intp) for side in zip(*found, strict=True)))


def _blocks(n: int, n_right: int | None) -> Iterator[tuple[slice, int]]:
    """Go over blocks of rows, and the first row of the other table that each is compared with."""
    step = max(1, BLOCK // (n if n_right is None else n_right))
    for begin in range(0, n, step):
        yield slice(begin, min(begin + step, n)), begin if n_right is None else 0


def _bounds(mine: Weighted, its: Weighted, decision: Decision, rows: slice) -> Array:
    """Return upper bounds of the scores of some rows with all of the other table."""
    missing = decision.when_missing
    total: Array = (mine.known[rows] * (decision.edits - missing)) @ its.known.T
    total += (mine.texts[rows] @ its.texts.T).toarray() + missing.sum() + decision.intercept
    for (w, a), (_, b) in zip(mine.others, its.others, strict=True):
        total += w * a.block(b, rows)  # type: ignore[arg-type]  # they are of one kind
    return total


def _neighbors(mine: Weighted, its: Weighted, *, one_table: bool) -> Candidates:
    """Return for each record those of the other table with the most weight in common.

    What records have in common are terms of texts and equal codes and numbers. The most frequent of them are
    left out, so that the work is bounded; they say least.
    """
    A, B = _common_terms(mine, its)
    frequency = np.bincount(B.indices, minlength=B.shape[1]).astype(np.int64)
    work = frequency * np.bincount(A.indices, minlength=A.shape[1])
    order = np.argsort(frequency, kind="stable")
    kept = np.zeros(len(work), dtype=bool)
    kept[order[np.cumsum(work[order]) <= WORK]] = True
    A, B = A[:, kept], csr_array(B[:, kept].T)
    found = np.full((A.shape[0], N_NEIGHBORS), -1, dtype=np.int64)
    score = np.zeros(B.shape[1], dtype=np.float64)
    _most_in_common(A.indptr, A.indices, A.data, B.indptr, B.indices, B.data, one_table, score, found)
    i, j = np.repeat(np.arange(len(found)), N_NEIGHBORS), found.ravel()
    i, j = i[j >= 0], j[j >= 0]
    if one_table:
        i, j = np.minimum(i, j), np.maximum(i, j)
    pairs = np.unique(i.astype(np.int64) * B.shape[1] + j)
    return Candidates(*(side.astype(np.intp) for side in np.divmod(pairs, B.shape[1])))


def _common_terms(mine: Weighted, its: Weighted) -> tuple[csr_array, csr_array]:
    """Return the terms of both tables, codes and rounded numbers among them, without those that one lacks."""
    parts = [(mine.texts, its.texts)]
    parts += [
        _as_terms(view, other, np.sqrt(w))
        for (w, view), (_, other) in zip(mine.others, its.others, strict=True)
    ]
    A, B = (csr_array(hstack(side, format="csr")) for side in zip(*parts, strict=True))
    there = (np.bincount(A.indices, minlength=A.shape[1]) > 0) & (
        np.bincount(B.indices, minlength=B.shape[1]) > 0
    )
    return csr_array(A[:, there]), csr_array(B[:, there])


def _as_terms(view: View, other: View, weight: float) -> tuple[csr_array, csr_array]:
    """Return a column of ones for each code, or each number rounded to its scale."""
    if isinstance(view, Values) and isinstance(other, Values):
        codes = [np.floor(one.value / (2.0 * one.scale)) for one in (view, other)]
    elif isinstance(view, Codes) and isinstance(other, Codes):
        codes = [pd.Series(one.code).where(one.known).to_numpy() for one in (view, other)]
    number, values = pd.factorize(np.concatenate(codes))
    sides = []
    for part in np.split(number, [len(codes[0])]):
        rows = np.flatnonzero(part >= 0)
        shape = (len(part), max(1, len(values)))
        sides.append(csr_array((np.full(len(rows), weight), (rows, part[rows])), shape=shape))
    return sides[0], sides[1]


@njit(cache=True, nogil=True)
def _most_in_common(
    begins_a: Index, terms: Index, a: Array, begins_b: Index, rows_b: Index, b: Array,
    one_table: bool, score: Array, found: Index,
) -> None:  # fmt: skip
    """Fill in the rows of B (given by terms) whose inner products with each row of A are largest."""
    n_kept = found.shape[1]
    touched = np.empty(len(score), dtype=np.int64)
    best = np.empty(n_kept, dtype=np.float64)
    for i in range(found.shape[0]):
        n_touched = 0
        for s in range(begins_a[i], begins_a[i + 1]):
            for t in range(begins_b[terms[s]], begins_b[terms[s] + 1]):
                j = rows_b[t]
                if score[j] == 0.0:
                    touched[n_touched] = j
                    n_touched += 1
                score[j] += a[s] * b[t]
        n_best = 0
        for u in range(n_touched):
            j = touched[u]
            value = score[j]
            score[j] = 0.0
            if (one_table and j == i) or (n_best == n_kept and value <= best[n_kept - 1]):
                continue
            place = n_best if n_best < n_kept else n_kept - 1
            while place > 0 and best[place - 1] < value:
                best[place] = best[place - 1]
                found[i, place] = found[i, place - 1]
                place -= 1
            best[place] = value
            found[i, place] = j
            n_best = min(n_best + 1, n_kept)
