"""Pairs to learn from, and pairs to be judged on."""

import numpy as np
from numpy.random import RandomState
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mercer.learners.neighbours import guess_dissimilar
from mercer.pairs import Pairs

ENOUGH = 20  # pairs of either kind to be judged on, in all


def split_pairs(pairs: Pairs, n_rows: int, n_folds: int, rng: RandomState) -> list[tuple[Pairs, Pairs]]:
    """Return pairs to learn from and pairs to be judged on, of other rows if there are enough of them.

    Otherwise they are of the same rows, and those that follow from what is learned from (the similar of the
    similar, and what is dissimilar to it) are not judged on: a learner of many parameters knows them by
    heart. If two classes explain all pairs, what is dissimilar to the dissimilar is similar, too. Where no
    dissimilar pairs are listed, those to be judged on are drawn.
    """
    judged = (
        pairs if len(pairs.dissimilar) else Pairs(pairs.similar, guess_dissimilar(n_rows, pairs.similar, rng))
    )
    other = _usable(_of_other_rows(pairs, judged, n_rows, max(2, min(3, n_folds)), rng))
    same = [] if _count(other) >= ENOUGH else _usable(_of_the_same_rows(pairs, judged, n_rows, n_folds, rng))
    folds = max(other, same, key=_count)
    if not folds:
        raise ValueError(
            "there are too few pairs to hold some back for a comparison: list more of them, or fit a learner "
            "such as IdealizedKernel to all"
        )
    return folds


def _of_other_rows(
    pairs: Pairs, judged: Pairs, n_rows: int, n_folds: int, rng: RandomState
) -> list[tuple[Pairs, Pairs]]:
    fold = rng.permutation(n_rows) % n_folds
    return [
        (_chosen(pairs, lambda row, k=k: fold[row] != k), _chosen(judged, lambda row, k=k: fold[row] == k))
        for k in range(n_folds)
    ]


def _chosen(pairs: Pairs, wanted) -> Pairs:  # type: ignore[no-untyped-def]
    """Return the pairs both of whose rows are wanted."""
    return Pairs(*(kind[wanted(kind).all(axis=1)] for kind in pairs))


def _of_the_same_rows(
    pairs: Pairs, judged: Pairs, n_rows: int, n_folds: int, rng: RandomState
) -> list[tuple[Pairs, Pairs]]:
    n_folds = max(2, min(n_folds, len(pairs.similar)))
    similar = rng.permutation(len(pairs.similar)) % n_folds
    dissimilar = rng.permutation(len(judged.dissimilar)) % n_folds
    folds = []
    for k in range(n_folds):
        known = judged.dissimilar[dissimilar != k] if len(pairs.dissimilar) else pairs.dissimilar
        learned = Pairs(pairs.similar[similar != k], known)
        test = Pairs(pairs.similar[similar == k], judged.dissimilar[dissimilar == k])
        folds.append((learned, _not_implied(test, learned, n_rows)))
    return folds


def _not_implied(test: Pairs, learned: Pairs, n_rows: int) -> Pairs:
    """Return the pairs that do not follow from those that are learned from."""
    edges = learned.similar
    graph = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n_rows, n_rows))
    _, group = connected_components(graph, directed=False)
    if learned.are_of_two_groups():
        return _not_known_of_two_groups(test, learned, n_rows)
    known = {tuple(pair) for pair in np.sort(group[learned.dissimilar], axis=1).tolist()}
    similar, dissimilar = group[test.similar], np.sort(group[test.dissimilar], axis=1)
    is_new = np.array([tuple(pair) not in known for pair in dissimilar.tolist()], dtype=bool)
    return Pairs(test.similar[similar[:, 0] != similar[:, 1]], test.dissimilar[is_new])


def _not_known_of_two_groups(test: Pairs, learned: Pairs, n_rows: int) -> Pairs:
    """Return the pairs whose rows are not connected by pairs that are learned from, of whatever kind."""
    edges = np.vstack(learned)
    graph = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n_rows, n_rows))
    _, group = connected_components(graph, directed=False)
    return Pairs(*(kind[group[kind[:, 0]] != group[kind[:, 1]]] for kind in test))


def _usable(folds: list[tuple[Pairs, Pairs]]) -> list[tuple[Pairs, Pairs]]:
    return [(learned, test) for learned, test in folds if len(learned.similar) and _has_both(test)]


def _has_both(pairs: Pairs) -> bool:
    return len(pairs.similar) > 0 and len(pairs.dissimilar) > 0


def _count(folds: list[tuple[Pairs, Pairs]]) -> int:
    """Return how many pairs there are to be judged on, of the kind that is rarer."""
    tests = [test for _, test in folds]
    return min((sum(len(kind) for kind in kinds) for kinds in zip(*tests, strict=True)), default=0)
