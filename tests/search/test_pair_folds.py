"""Pairs that are held back: of other rows, or at least not implied by what is learned from."""

import numpy as np
import pytest
from numpy.random import RandomState
from numpy.testing import assert_array_equal

from mercer import KernelBoost, KernelSearchCV, Pairs
from mercer.search import pairs as pair_task
from mercer.search.pairs import ENOUGH, split_pairs


def as_set(pairs):
    return {tuple(pair) for pair in np.asarray(pairs).tolist()}


def pairs_of(y, n_similar, n_dissimilar, seed=0):
    """Draw pairs from labels."""
    everything = Pairs.from_labels(y)
    rng = np.random.default_rng(seed)
    some = (
        kind[rng.permutation(len(kind))[:n]]
        for kind, n in zip(everything, (n_similar, n_dissimilar), strict=True)
    )
    return Pairs(*some).check(len(y))


def closure(learned, n_rows):
    """All pairs that follow: the similar of the similar, and what is dissimilar to it. Word for word."""
    similar = np.eye(n_rows, dtype=bool)
    for a, b in learned.similar:
        similar[a, b] = similar[b, a] = True
    for k in range(n_rows):  # Warshall
        similar |= similar[:, [k]] & similar[[k], :]
    dissimilar = np.zeros_like(similar)
    for a, b in learned.dissimilar:
        dissimilar[a, b] = dissimilar[b, a] = True
    return similar, similar @ dissimilar @ similar


def rows_of(pairs):
    return set(np.ravel(pairs.similar)) | set(np.ravel(pairs.dissimilar))


def test_with_many_pairs_they_are_of_other_rows():
    y = np.arange(90) % 3
    pairs = pairs_of(y, 400, 400)
    folds = split_pairs(pairs, 90, 5, RandomState(0))
    assert len(folds) == 3  # a third of the rows has a ninth of the pairs: more folds would have too few
    for learned, test in folds:
        assert not rows_of(learned) & rows_of(test)
        assert as_set(learned.similar) | as_set(test.similar) <= as_set(pairs.similar)
        assert as_set(learned.dissimilar) | as_set(test.dissimilar) <= as_set(pairs.dissimilar)
    for kind in range(2):
        assert sum(len(test[kind]) for _, test in folds) >= ENOUGH
        tested = [pair for _, test in folds for pair in as_set(test[kind])]
        assert len(tested) == len(set(tested))
    # all pairs among the rows that are not held back are learned from
    for learned, test in folds:
        held_back = rows_of(test)
        outside = {pair for pair in as_set(pairs.similar) if not held_back & set(pair)}
        assert as_set(learned.similar) <= outside
        assert len(learned.similar) > len(outside) / 2


@pytest.mark.parametrize("seed", range(5))
def test_with_few_pairs_they_are_of_the_same_rows_but_never_implied(seed):
    n = 30
    pairs = pairs_of(np.arange(n) % 3, 30, 30, seed)
    folds = pair_task._of_the_same_rows(pairs, pairs, n, 4, RandomState(seed))
    folds = [fold for fold in folds if not fold[0].are_of_two_groups()]
    n_implied = 0
    for learned, test in folds:
        similar, dissimilar = closure(learned, n)
        assert not any(similar[a, b] for a, b in test.similar)
        assert not any(dissimilar[a, b] for a, b in test.dissimilar)
        assert as_set(learned.similar) | as_set(test.similar) <= as_set(pairs.similar)
        # nothing else is left out
        for held, kept, known, implied in [
            (as_set(pairs.similar) - as_set(learned.similar), as_set(test.similar), learned.similar, similar),
            (
                as_set(pairs.dissimilar) - as_set(learned.dissimilar),
                as_set(test.dissimilar),
                learned.dissimilar,
                dissimilar,
            ),
        ]:
            assert not kept & as_set(known)
            assert kept == {pair for pair in held if not implied[pair]}
            n_implied += len(held) - len(kept)
    assert n_implied > 0  # or the test has shown nothing
    assert len(folds) <= 4


@pytest.mark.parametrize("n_similar", [12, 300])
def test_of_similar_pairs_alone_the_dissimilar_ones_to_be_judged_on_are_drawn_and_not_learned_from(n_similar):
    y = np.arange(60) % 20 if n_similar == 12 else np.arange(60) % 2
    pairs = pairs_of(y, n_similar, 0)
    for learned, test in split_pairs(pairs, 60, 3, RandomState(0)):
        assert learned.dissimilar.shape == (0, 2)
        assert len(test.similar) > 0
        assert len(test.dissimilar) > 0
        everything, _ = closure(pairs, 60)
        assert not any(everything[a, b] for a, b in test.dissimilar)


def test_each_pair_of_few_is_held_back_once():
    pairs = Pairs([(k, k + 1) for k in range(0, 16, 2)], [(k, k + 3) for k in range(0, 12, 2)]).check(20)
    folds = split_pairs(pairs, 20, 4, RandomState(0))
    for kind in range(2):
        held = np.concatenate([test[kind] for _, test in folds])
        assert len(as_set(held)) == len(held)
    assert_array_equal(np.sort(np.concatenate([test.similar for _, test in folds]), axis=0), pairs.similar)


@pytest.mark.parametrize(
    "pairs",
    [
        Pairs([(0, 1)], [(2, 3)]),
        Pairs([(0, 1)]),
        Pairs([], [(0, 1), (2, 3), (4, 5)]),
        Pairs([(0, 0)], [(1, 2)]),
    ],
)
def test_too_few_pairs_are_refused_with_advice(pairs):
    with pytest.raises(ValueError, match="too few pairs to hold some back"):
        split_pairs(pairs.check(6), 6, 5, RandomState(0))


def test_the_seed_decides():
    pairs = pairs_of(np.arange(30) % 3, 30, 30)
    first, again, other = (split_pairs(pairs, 30, 3, RandomState(seed)) for seed in (0, 0, 1))
    assert all(np.array_equal(a[1].similar, b[1].similar) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a[1].similar, b[1].similar) for a, b in zip(first, other, strict=True))


def test_of_two_classes_nothing_is_judged_that_pairs_of_whatever_kind_connect(rng):
    y = rng.permutation(np.arange(40) % 2)
    pairs = pairs_of(y, 30, 30)
    for learned, test in pair_task._of_the_same_rows(pairs, pairs, 40, 4, np.random.RandomState(0)):
        reached = {row: {row} for row in range(40)}
        for a, b in np.vstack(learned):
            merged = reached[a] | reached[b]
            for row in merged:
                reached[row] = merged
        assert all(b not in reached[a] for a, b in np.vstack(test))


def test_what_a_learner_knows_by_heart_does_not_count_on_classes_without_meaning():
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        some = {"kernelboost": KernelBoost(n_rounds=5, random_state=0)}
        search = KernelSearchCV(some, random_state=0)
        pairs = pairs_of(rng.permutation(np.arange(60) % 2), 60, 60, seed)
        search.fit(rng.normal(size=(60, 20)), pairs=pairs)
        found.append(search.leaderboard_.loc["kernelboost", "auc"])
    assert abs(np.mean(found) - 0.5) < 3 * np.std(found, ddof=1) / np.sqrt(6)  # it was 0.8
