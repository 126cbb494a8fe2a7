"""Folds of pairs for cross-validation: no record of a held-out pair occurs in a pair that is learned from."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

from mercer._typing import Flags, Index
from mercer.pairs import connected_sets

LARGEST = 2.0  # times the pairs of a fold: a larger set of connected records is cut


class PairFolds(NamedTuple):
    """In which fold each pair is held out, and its two records as numbers."""

    fold: Index
    records: Index  # (n_pairs, 2)
    sets: Index  # the connected set of each pair: such sets are independent of one another
    n_folds: int

    def split(self, fold: int) -> tuple[Flags, Flags]:
        """Return the pairs to learn from, which share no record with those held out, and these."""
        held_out = np.asarray(self.fold == fold, dtype=bool)
        taken = np.zeros(self.records.max() + 1, dtype=bool)
        taken[self.records[held_out]] = True
        touched = np.asarray(taken[self.records].any(axis=1), dtype=bool)
        return ~touched, held_out


def make_folds(
    keys: NDArray[np.uint64], answers: Flags, n_folds: int, rng: np.random.RandomState
) -> PairFolds:
    """Divide pairs into folds: records that pairs connect stay together, unless they are too many.

    A connected set with more pairs than two folds should have is cut along a breadth-first order of its
    records; each of its pairs goes with the record that comes first. Sets are dealt out one by one, the
    largest first, those of matches and those without in turn.

    Parameters
    ----------
    keys : array of shape (n_pairs, 2)
        The records of each pair, by numbers of any size.
    answers : array of bool of shape (n_pairs,)
        Which pairs match.
    n_folds : int
        How many folds.
    rng : RandomState
        Random numbers, for the order of equally large sets.
    """
    _, numbers = np.unique(keys, return_inverse=True)
    records = numbers.reshape(-1, 2).astype(np.intp)
    connected = connected_sets(records, int(records.max()) + 1)[records[:, 0]]
    pieces = _cut(records, connected, max(1, int(LARGEST * len(records) / n_folds)))
    return PairFolds(_deal(pieces, answers, n_folds, rng), records, connected, n_folds)


def _cut(records: Index, connected: Index, most: int) -> Index:
    """Return the piece that each pair is in: its connected set, or a part of it."""
    pieces = connected.astype(np.intp).copy()
    sizes = np.bincount(connected)
    n = int(records.max()) + 1
    edges = np.ones(len(records))
    graph = coo_array((edges, (records[:, 0], records[:, 1])), shape=(n, n)).tocsr()
    for large in np.flatnonzero(sizes > most):
        mine = np.flatnonzero(connected == large)
        order = breadth_first_order(graph, records[mine[0], 0], directed=False, return_predecessors=False)
        place = np.full(n, n)
        place[order] = np.arange(len(order))
        rank = np.argsort(np.argsort(place[records[mine]].min(axis=1), kind="stable"), kind="stable")
        pieces[mine] = pieces.max() + 1 + rank // max(1, most // 2)
    return pieces


def _deal(pieces: Index, answers: Flags, n_folds: int, rng: np.random.RandomState) -> Index:
    """Return a fold for each pair, so that folds have nearly as many pairs, and as many matches."""
    _, piece = np.unique(pieces, return_inverse=True)
    sizes = np.column_stack([np.bincount(piece), np.bincount(piece, weights=answers)])
    order = np.lexsort((rng.permutation(len(sizes)), -sizes[:, 0], -sizes[:, 1]))
    fold_of, filled = np.zeros(len(sizes), dtype=np.intp), np.zeros((n_folds, 2))
    total = np.maximum(sizes.sum(axis=0), 1.0)
    for one in order:
        fold_of[one] = np.argmin(((filled + sizes[one]) ** 2 - filled**2) @ (1.0 / total**2))
        filled[fold_of[one]] += sizes[one]
    return fold_of[piece]
