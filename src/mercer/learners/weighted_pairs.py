"""From labels or listed pairs to the table of weighted pairs that a kernel is boosted on.

The weights before the first round are those of [CKS02]: all *ordered* pairs (i, j) weigh the same, i = j
included. What is ours: the balance of similar and dissimilar pairs, lists of pairs, and samples of them.
"""

from typing import NamedTuple

import numpy as np
from numpy.random import RandomState

from mercer._typing import Array, Index
from mercer.learners.base import TrainingData
from mercer.losses import Loss
from mercer.pairs import Pairs, share_out
from mercer.solvers.boosted import AllPairs, Balance, ListedPairs, PairTable


class Kind(NamedTuple):
    """Pairs of one kind, i ≤ j, and for how many ordered pairs each stands."""

    rows: Index  # (n_pairs, 2)
    share: Array


def tabulate(
    known: TrainingData, loss: Loss, balance: str | bool, max_pairs: int | None, rng: RandomState
) -> tuple[Index, PairTable]:
    """Return the rows of X that the pairs are made of, and the table of the pairs."""
    if known.label is None:
        assert known.pairs is not None
        return _tabulate_listed(known.pairs, loss, balance, max_pairs, rng)
    label, m, weight = known.label, len(known.label), balance_kinds(known.label, balance)
    if max_pairs is None or takes_all(m, max_pairs):
        return np.arange(m), AllPairs(label, weight, loss)
    similar, dissimilar = sample_pairs(label, max_pairs, rng)
    return np.arange(m), _list(similar, dissimilar, weight, m, loss)


def balance_kinds(label: Index, balance: str | bool) -> Balance:
    """Return what a pair of labelled rows weighs, of either kind."""
    n_similar = float(np.sum(np.bincount(label).astype(float) ** 2))
    return _weigh_kinds(n_similar, float(len(label)) ** 2 - n_similar, balance, label.max() > 1)


def takes_all(n_rows: int, max_pairs: int | None) -> bool:
    """Return whether all pairs of labelled rows are used, not a random sample."""
    return max_pairs is None or max_pairs >= n_rows * (n_rows + 1) // 2


def rows_in_pairs(known: TrainingData) -> Index:
    """Return the rows that pairs are made of: all labelled ones, or those that are listed with another."""
    if known.pairs is None:
        return np.arange(len(known.X))
    return _without_self(known.pairs).rows()


def _without_self(pairs: Pairs) -> Pairs:
    """Drop pairs of a row and itself: it is similar to itself whether that is listed or not."""
    return Pairs(pairs.similar[pairs.similar[:, 0] != pairs.similar[:, 1]], pairs.dissimilar)


def sample_pairs(label: Index, n_pairs: int, rng: RandomState) -> tuple[Kind, Kind]:
    """Draw `n_pairs` of the ordered pairs of labelled rows, with replacement, half of them similar.

    Each stands for as many as its kind has for one that was drawn, so every sum over the sample is an
    unbiased estimate of the sum over all pairs of that kind.
    """
    order = np.argsort(label, kind="stable")
    size = np.bincount(label)
    end = np.cumsum(size)
    m, n_similar = len(label), n_pairs - n_pairs // 2
    # a row is in as many similar pairs as its class has rows, and in m less that dissimilar ones
    first = _draw_rows(size[label[order]], n_similar, rng)
    own = label[order[first]]
    second = end[own] - 1 - (rng.random_sample(n_similar) * size[own]).astype(np.intp)
    similar = _count(order[first], order[second], float(np.sum(size.astype(float) ** 2)))
    first = _draw_rows(m - size[label[order]], n_pairs // 2, rng)
    own = label[order[first]]
    second = (rng.random_sample(n_pairs // 2) * (m - size[own])).astype(np.intp)
    second += np.where(second >= end[own] - size[own], size[own], 0)  # step over its own class
    return similar, _count(order[first], order[second], float(np.sum(size * (m - size).astype(float))))


def _draw_rows(share: Index, n: int, rng: RandomState) -> Index:
    ends = np.cumsum(share.astype(float))
    return np.minimum(np.searchsorted(ends, rng.random_sample(n) * ends[-1], side="right"), len(ends) - 1)


def _count(first: Index, second: Index, n_ordered: float) -> Kind:
    rows = np.sort(np.column_stack([first, second]), axis=1)
    return Kind(rows, np.full(len(rows), n_ordered / len(rows)))


def _tabulate_listed(
    pairs: Pairs, loss: Loss, balance: str | bool, max_pairs: int | None, rng: RandomState
) -> tuple[Index, PairTable]:
    pairs = _without_self(pairs)
    rows = pairs.rows()
    similar, dissimilar = np.searchsorted(rows, pairs.similar), np.searchsorted(rows, pairs.dissimilar)
    if len(dissimilar) == 0:
        raise ValueError("all pairs are similar, which a constant explains: give dissimilar pairs as well")
    # a row and itself: weighs like the average other pair of that row, if that were one of all m − 1
    m = len(rows)
    degree = np.bincount(np.concatenate([similar, dissimilar]).ravel(), minlength=m)
    own = Kind(np.column_stack([np.arange(m), np.arange(m)]), degree / (m - 1))
    n_similar, n_dissimilar = 2.0 * len(similar) + own.share.sum(), 2.0 * len(dissimilar)
    weight = _weigh_kinds(n_similar, n_dissimilar, balance, not pairs.are_of_two_groups())
    most = share_out(len(similar), len(dissimilar), max_pairs)
    kept, unlike = _thin(similar, most[0], rng), _thin(dissimilar, most[1], rng)
    alike = Kind(np.concatenate([kept.rows, own.rows]), np.concatenate([kept.share, own.share]))
    return rows, _list(alike, unlike, weight, m, loss)


def _thin(rows: Index, most: int, rng: RandomState) -> Kind:
    """Keep at most `most` pairs, drawn without replacement; each also stands for those that are left out."""
    if len(rows) <= most:
        return Kind(rows, np.full(len(rows), 2.0))
    kept = rows[np.sort(rng.choice(len(rows), most, replace=False))]
    return Kind(kept, np.full(most, 2.0 * len(rows) / most))


def _list(similar: Kind, dissimilar: Kind, weight: Balance, n_rows: int, loss: Loss) -> ListedPairs:
    rows = np.concatenate([similar.rows, dissimilar.rows])
    sign = np.repeat([1.0, -1.0], [len(similar.rows), len(dissimilar.rows)])
    total = np.concatenate([weight.similar * similar.share, weight.dissimilar * dissimilar.share])
    entry = np.where(rows[:, 0] == rows[:, 1], total, total / 2)  # (i, j) and (j, i) share it
    return ListedPairs(rows, sign, entry, n_rows, loss)


def _weigh_kinds(n_similar: float, n_dissimilar: float, balance: str | bool, by_default: bool) -> Balance:
    """Return what a pair of either kind weighs: one, or so that both kinds have half of the weight."""
    if not (by_default if isinstance(balance, str) else balance):
        return Balance()
    half = (n_similar + n_dissimilar) / 2
    return Balance(half / n_similar, half / n_dissimilar)
