"""The pairs of an idealized kernel: each row's nearest similar and dissimilar ones [KT03, 3.2.5]."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from mercer._typing import Array, Index
from mercer.pairs import Pairs, connected_sets

PAIRS_FOR_MEDIAN = 10**6  # the median distance of more pairs than that is taken from a sample
NUMBERS_PER_BLOCK = 2**22  # of differences of rows: 32 MiB of memory
GUESSES = 5  # dissimilar pairs per row, drawn where only similar ones are known


class ChosenPairs(NamedTuple):
    """Pairs of row numbers, and which of them are dissimilar."""

    rows: Index  # (n_pairs, 2)
    dissimilar: NDArray[np.bool_]


def choose_from_labels(
    Z: Array, label: Index, n_neighbors: int | None, radius: Any, rng: RandomState
) -> ChosenPairs:
    """Choose among all pairs of labelled rows with coordinates Z. O(n²) time at worst, O(n) memory."""
    if n_neighbors is None:
        return choose_from_pairs(Z, Pairs.from_labels(label), None, radius, rng)
    limit = _radius_of(radius, lambda: _some_distances(Z, rng))
    groups = [(np.flatnonzero(label == k), np.flatnonzero(label != k)) for k in range(int(label.max()) + 1)]
    similar = np.concatenate([_nearest(Z, own, own, n_neighbors) for own, _ in groups])
    dissimilar = np.concatenate([_nearest(Z, own, others, n_neighbors) for own, others in groups])
    return _collect(_within(Z, similar, limit, radius), _within(Z, dissimilar, limit, radius))


def choose_from_pairs(
    Z: Array, pairs: Pairs, n_neighbors: int | None, radius: Any, rng: RandomState
) -> ChosenPairs:
    """Choose among listed pairs; if none is dissimilar, some are guessed.

    The neighbour rule is there to keep pairs from being too many: where they are few, all are used, unless a
    radius is given as a number. And "auto" has no radius here: it would drop half of what was listed.
    """
    similar, dissimilar = pairs.similar, pairs.dissimilar
    similar = similar[similar[:, 0] != similar[:, 1]]
    if len(similar) + len(dissimilar) == 0:
        raise ValueError(
            "each pair is of a row with itself, which says nothing: list pairs of different rows"
        )
    if n_neighbors is None or len(similar) + len(dissimilar) <= 2 * n_neighbors * len(Z):
        n_neighbors, radius = None, None if isinstance(radius, str) else radius
    radius = None if radius == "auto" else radius
    limit = _radius_of(radius, lambda: distances(Z, np.concatenate([similar, dissimilar])))
    alike = _within(Z, _thin(Z, similar, n_neighbors), limit, radius)
    if len(dissimilar) == 0:  # of guesses, the nearest would be the wrong ones: they are taken as they come
        return _collect(alike, guess_dissimilar(len(Z), similar, rng))
    return _collect(alike, _within(Z, _thin(Z, dissimilar, n_neighbors), limit, radius))


def guess_dissimilar(n_rows: int, similar: Index, rng: RandomState) -> Index:
    """Draw pairs of rows of which nothing is known, at most five times as many as there are rows.

    They are drawn uniformly, without those that follow from the similar ones (the similar of the similar).
    With k classes of one size, about one in k of them is wrong.
    """
    group = connected_sets(similar, n_rows)
    if group.max() == 0:
        raise ValueError("the similar pairs connect all rows, so none can be dissimilar: list fewer of them")
    drawn = rng.randint(n_rows, size=(2 * GUESSES * n_rows, 2))
    drawn = np.unique(np.sort(drawn[group[drawn[:, 0]] != group[drawn[:, 1]]], axis=1), axis=0)
    return drawn[rng.permutation(len(drawn))[: GUESSES * n_rows]]


def _nearest(Z: Array, own: Index, others: Index, m: int) -> Index:
    same = own is others
    wanted = min(m, len(others) - same)
    if wanted < 1:
        return np.empty((0, 2), dtype=np.intp)
    search = NearestNeighbors(n_neighbors=wanted).fit(Z[others])
    found = search.kneighbors(None if same else Z[own], return_distance=False)
    return np.column_stack([np.repeat(own, wanted), others[found.ravel()]])


def _thin(Z: Array, listed: Index, m: int | None) -> Index:
    """Keep a pair if it is among the m nearest of its kind for one of its rows."""
    return listed if m is None else listed[_rank_for_rows(listed, distances(Z, listed)) < m]


def _within(Z: Array, pairs: Index, limit: float, radius: Any) -> Index:
    """Keep the pairs within the limit; if that is the median and there are none, keep all.

    Between well separated classes of unequal size, all dissimilar pairs are farther apart than the median.
    """
    near = distances(Z, pairs) <= limit
    return pairs[near] if np.any(near) or not isinstance(radius, str) else pairs


def _rank_for_rows(listed: Index, distance: Array) -> Index:
    """Return each pair's place, from zero, among the pairs of that one of its rows where it is nearer."""
    row, pair = listed.T.ravel(), np.tile(np.arange(len(listed)), 2)
    order = np.lexsort((distance[pair], row))
    row, pair = row[order], pair[order]
    place = np.arange(len(row)) - np.searchsorted(row, row)
    best = np.full(len(listed), len(row))
    np.minimum.at(best, pair, place)
    return best


def _radius_of(radius: Any, all_distances: Callable[[], Array]) -> float:
    if radius is None:
        return np.inf
    return float(np.median(all_distances())) if isinstance(radius, str) else float(radius)


def _some_distances(Z: Array, rng: RandomState) -> Array:
    n = len(Z)
    if n * (n - 1) // 2 <= PAIRS_FOR_MEDIAN:
        return distances(Z, np.column_stack(np.triu_indices(n, k=1)))
    first = rng.randint(n, size=PAIRS_FOR_MEDIAN)
    return distances(Z, np.column_stack([first, (first + rng.randint(1, n, size=PAIRS_FOR_MEDIAN)) % n]))


def distances(Z: Array, rows: Index) -> Array:
    """Return the distance of each pair of rows."""
    distance = np.empty(len(rows))
    step = max(1, NUMBERS_PER_BLOCK // Z.shape[1])
    for begin in range(0, len(rows), step):
        part = slice(begin, begin + step)
        distance[part] = np.linalg.norm(Z[rows[part, 0]] - Z[rows[part, 1]], axis=1)
    return distance


def _collect(similar: Index, dissimilar: Index) -> ChosenPairs:
    """Put the pairs together, each once: two rows may be each other's neighbours."""
    rows = np.sort(np.concatenate([similar, dissimilar]), axis=1)
    rows, first = np.unique(rows, axis=0, return_index=True)
    return ChosenPairs(rows, first >= len(similar))
