"""Which pairs are worth judging: those near the boundary, unlike one another, and no record twice."""

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array, Flags, Index

POOL = 8  # times the pairs to ask: among the least certain of so many, the most diverse are taken
LIKELY = 0.5  # of the first pairs are likely matches


def least_certain(score: Array, described: Array, records: Index, n: int) -> Index:
    """Return which pairs to ask, the most uncertain first.

    Parameters
    ----------
    score : array of shape (n_pairs,)
        Scores, 0 at the boundary.
    described : array of shape (n_pairs, d)
        What the pairs look like: their similarity in each column.
    records : array of shape (n_pairs, 2)
        The two records of each, numbered so that none of one table is one of the other's.
    n : int
        How many.
    """
    pool = _each_record_once(np.argsort(np.abs(score), kind="stable"), records, POOL * n)
    return pool[_diverse(described[pool], n)]


def first_pairs(score: Array, records: Index, n: int, rng: np.random.RandomState) -> Index:
    """Return which pairs to ask before any is judged: half of them likely matches."""
    once = _each_record_once(np.argsort(-score, kind="stable"), records, len(score))
    n_likely = min(len(once), int(np.ceil(LIKELY * n)))
    # ranks that grow by a factor: the most alike pairs, and some that are less so
    ranks = np.unique(np.geomspace(1, len(once), 2 * n_likely).astype(np.intp)) - 1
    likely = once[ranks[-n_likely:] if len(ranks) < 2 * n_likely else ranks[::2][:n_likely]]
    rest = np.setdiff1d(np.arange(len(score)), likely)
    rest = rest[~np.isin(records[rest], records[likely]).any(axis=1)]
    return np.concatenate([likely, _each_record_once(rng.permutation(rest), records, n - len(likely))])


def _each_record_once(order: Index, records: Index, most: int) -> Index:
    """Return the first pairs in an order that have no record in common."""
    seen: set[int] = set()
    kept: list[int] = []
    for pair in order:
        if len(kept) == most:
            break
        a, b = records[pair]
        if a not in seen and b not in seen:
            seen |= {int(a), int(b)}
            kept.append(int(pair))
    return np.array(kept, dtype=np.intp)


def _diverse(described: Array, n: int) -> Index:
    """Return n rows, beginning with the first, each the farthest from those before."""
    if len(described) <= n:
        return np.arange(len(described))
    chosen = [0]
    gap = np.linalg.norm(described - described[0], axis=1)
    for _ in range(n - 1):
        chosen.append(int(gap.argmax()))
        gap = np.minimum(gap, np.linalg.norm(described - described[chosen[-1]], axis=1))
    return np.array(chosen, dtype=np.intp)


def not_judged(keys: NDArray[np.uint64], judged: NDArray[np.uint64]) -> Flags:
    """Return which pairs of records, by their keys in either order, are not among those judged."""
    known = {(int(a), int(b)) for a, b in np.sort(judged, axis=1)}
    return np.array([(int(a), int(b)) not in known for a, b in np.sort(keys, axis=1)], dtype=bool)
