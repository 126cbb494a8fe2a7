"""The neighbour rule against a literal double loop, and guesses against what they must not contradict."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import pairwise_distances

from mercer import Pairs
from mercer.learners import neighbours
from mercer.learners.neighbours import choose_from_labels, choose_from_pairs, guess_dissimilar
from reference import nearest_pairs

RADII = pytest.mark.parametrize("radius", ["median", None, 1.3])
COUNTS = pytest.mark.parametrize("n_neighbors", [1, 3, None])


def some_rows(n=30, n_columns=3, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, n_columns)), rng.integers(n_classes, size=n)


def choose(Z, known, n_neighbors=5, radius="median", seed=0):
    rng = np.random.RandomState(seed)
    if isinstance(known, Pairs):
        return choose_from_pairs(Z, known.check(len(Z)), n_neighbors, radius, rng)
    return choose_from_labels(Z, np.asarray(known), n_neighbors, radius, rng)


def as_sets(chosen):
    """The similar and the dissimilar pairs, each of them once and its smaller number first."""
    assert np.all(chosen.rows[:, 0] < chosen.rows[:, 1])
    assert len(np.unique(chosen.rows, axis=0)) == len(chosen.rows)
    assert chosen.dissimilar.dtype == np.bool_
    return tuple(
        {tuple(map(int, pair)) for pair in chosen.rows[chosen.dissimilar == d]} for d in (False, True)
    )


def as_expected(Z, pairs, m, radius):
    listed = np.concatenate([pairs.similar, pairs.dissimilar])
    if m is None and radius == "median":  # all pairs are asked for
        radius = None
    if radius == "median":
        radius = np.median([np.sqrt(np.sum((Z[i] - Z[j]) ** 2)) for i, j in listed])
    limit = np.inf if radius is None else radius
    return tuple(nearest_pairs(Z, [tuple(map(int, pair)) for pair in kind], m, limit) for kind in pairs)


@COUNTS
@RADII
@pytest.mark.parametrize("n_columns", [1, 3, 20])  # scikit-learn looks for neighbours in trees or in rows
def test_labels_give_the_nearest_pairs_of_each_kind(n_neighbors, radius, n_columns):
    Z, label = some_rows(30, n_columns)
    radius = 5.5 if radius == 1.3 and n_columns == 20 else radius
    expected = as_expected(Z, Pairs.from_labels(label), n_neighbors, radius)
    assert as_sets(choose(Z, label, n_neighbors, radius)) == expected
    assert all(expected)


@COUNTS
@RADII
def test_listed_pairs_are_thinned_by_the_same_rule(n_neighbors, radius):
    Z, label = some_rows()
    similar, dissimilar = Pairs.from_labels(label)
    rng = np.random.default_rng(1)
    listed = Pairs(rng.permutation(similar)[:80], rng.permutation(dissimilar)[:120]).check(30)
    expected = as_expected(Z, listed, n_neighbors, radius)
    assert as_sets(choose(Z, listed, n_neighbors, radius)) == expected
    assert all(expected)


@COUNTS
def test_listed_pairs_are_not_dropped_for_being_far_apart_unless_one_asks_for_it(n_neighbors):
    Z, label = some_rows()
    similar, dissimilar = Pairs.from_labels(label)
    some = np.random.default_rng(1).permutation(similar)[:15]
    listed = Pairs(some, dissimilar).check(30)
    assert as_sets(choose(Z, listed, n_neighbors, "auto")) == as_expected(Z, listed, n_neighbors, None)
    assert as_sets(choose(Z, label, n_neighbors, "auto")) == as_sets(choose(Z, label, n_neighbors, "median"))
    kept, near = (len(as_sets(choose(Z, listed, 3, radius))[0]) for radius in ("auto", "median"))
    assert near < kept == 15


@COUNTS
@RADII
def test_all_pairs_of_labels_give_what_the_labels_give(n_neighbors, radius):
    Z, label = some_rows(25)
    from_labels, from_pairs = (
        choose(Z, known, n_neighbors, radius) for known in (label, Pairs.from_labels(label))
    )
    assert as_sets(from_labels) == as_sets(from_pairs)


@pytest.mark.parametrize("n", [14, 15])  # an even and an odd number of pairs: the median may be a distance
@pytest.mark.parametrize("n_columns", [2, 20])
def test_the_pair_that_is_the_median_is_near_enough_whatever_is_rounded(n, n_columns):
    for seed in range(5):
        Z, label = some_rows(n, n_columns, 2, seed)
        expected = as_expected(Z, Pairs.from_labels(label), n, "median")
        assert sum(map(len, expected)) == (n * (n - 1) // 2 + 1) // 2
        assert as_sets(choose(Z, label, n)) == expected
        assert as_sets(choose(1.7e-5 * Z, label, n)) == expected


def test_no_radius_and_no_number_of_neighbours_mean_all_pairs():
    Z, label = some_rows()
    chosen = choose(Z, label, None, None)
    assert len(chosen.rows) == 30 * 29 // 2
    assert_array_equal(chosen.dissimilar, label[chosen.rows[:, 0]] != label[chosen.rows[:, 1]])


def test_neither_order_nor_repetition_of_pairs_matters():
    Z, label = some_rows()
    similar, dissimilar = Pairs.from_labels(label)
    rng = np.random.default_rng(0)
    loops = np.column_stack([np.arange(30), np.arange(30)])
    messy = Pairs(
        rng.permutation(np.concatenate([similar, similar[:9, ::-1], loops])),
        rng.permutation(np.concatenate([dissimilar[:, ::-1], dissimilar[:9]])),
    )
    assert as_sets(choose(Z, messy)) == as_sets(choose(Z, Pairs(similar, dissimilar)))


def test_a_class_of_one_row_has_dissimilar_pairs_only():
    Z, _ = some_rows(12)
    similar, dissimilar = as_sets(choose(Z, [2, *np.arange(11) % 2], radius=None))
    assert not any(0 in pair for pair in similar)
    assert sum(0 in pair for pair in dissimilar) >= 5


def test_classes_of_one_row_each_have_no_similar_pairs():
    similar, dissimilar = as_sets(choose(some_rows(6)[0], np.arange(6), radius=None))
    assert not similar
    assert len(dissimilar) == 15


def test_duplicate_rows_are_neighbours_but_no_row_is_its_own():
    Z = np.repeat(some_rows(4)[0], 6, axis=0)
    label = np.arange(24) % 2
    chosen = choose(Z, label, 2)
    assert np.all(chosen.rows[:, 0] != chosen.rows[:, 1])
    assert np.all(np.linalg.norm(Z[chosen.rows[:, 0]] - Z[chosen.rows[:, 1]], axis=1) == 0)


@pytest.mark.parametrize("kind", [0, 1])
def test_pairs_of_one_kind_may_be_missing(kind):
    Z, label = some_rows(8)
    pairs = [Pairs.from_labels(label)[0][:4], Pairs.from_labels(label)[1][:4]]
    pairs[1 - kind] = ()
    found = as_sets(choose(Z, Pairs(*pairs), None, None))
    assert found[kind] == {tuple(map(int, pair)) for pair in pairs[kind]}
    assert found[1]
    assert kind == 0 or not found[0]


# many rows


def test_the_median_of_many_distances_is_that_of_a_sample(monkeypatch):
    Z, label = some_rows(200, 2)
    exact = np.median(pairwise_distances(Z)[np.triu_indices(200, k=1)])
    monkeypatch.setattr(neighbours, "PAIRS_FOR_MEDIAN", 5000)
    chosen = choose(Z, label, 200)
    longest = np.max(np.linalg.norm(Z[chosen.rows[:, 0]] - Z[chosen.rows[:, 1]], axis=1))
    assert abs(longest / exact - 1) < 0.05
    assert as_sets(chosen) == as_sets(choose(Z, label, 200))
    assert as_sets(chosen) != as_sets(choose(Z, label, 200, seed=1))


@pytest.mark.parametrize("known", ["labels", "pairs"])
def test_distances_in_parts_are_the_same(known, monkeypatch):
    Z, label = some_rows()
    given = label if known == "labels" else Pairs.from_labels(label)
    expected = choose(Z, given)
    monkeypatch.setattr(neighbours, "NUMBERS_PER_BLOCK", 7)
    assert as_sets(choose(Z, given)) == as_sets(expected)


# similar pairs alone


def connected(n, pairs):
    """Which rows the pairs connect, by powers of the graph's matrix."""
    A = np.eye(n, dtype=bool)
    for i, j in pairs:
        A[i, j] = A[j, i] = True
    for _ in range(n):
        A = A @ A
    return A


@pytest.mark.parametrize("seed", range(5))
def test_guesses_never_contradict_what_follows_from_the_similar_pairs(seed):
    _, label = some_rows(seed=seed)
    similar = np.random.default_rng(seed).permutation(Pairs.from_labels(label).similar)[:25]
    guessed = guess_dissimilar(30, similar, np.random.RandomState(seed))
    assert not np.any(connected(30, similar)[guessed[:, 0], guessed[:, 1]])
    assert 30 < len(guessed) <= 5 * 30
    assert len(np.unique(np.sort(guessed, axis=1), axis=0)) == len(guessed)
    assert guessed.min() >= 0
    assert guessed.max() < 30


def test_guesses_are_spread_evenly_over_all_pairs_that_are_left():
    similar = np.array([(0, 1), (1, 2)])
    count = np.zeros((12, 12))
    for seed in range(300):
        guessed = guess_dissimilar(12, similar, np.random.RandomState(seed))
        np.add.at(count, tuple(guessed.T), 1)
    expected = ~connected(12, similar)[np.triu_indices(12, k=1)]
    drawn = (count + count.T)[np.triu_indices(12, k=1)]
    assert np.all(drawn[~expected] == 0)
    assert np.ptp(drawn[expected]) < 0.25 * drawn[expected].mean()


def test_guesses_depend_on_the_seed_alone():
    Z, label = some_rows()
    similar = Pairs(Pairs.from_labels(label).similar[::7])
    fits = [choose(Z, similar, seed=seed) for seed in (0, 0, 1)]
    assert as_sets(fits[0]) == as_sets(fits[1])
    assert as_sets(fits[0])[1] != as_sets(fits[2])[1]


def test_guesses_are_neither_thinned_nor_cut_off_by_the_radius():
    Z, label = some_rows()
    similar = Pairs.from_labels(label).similar[::7]
    guessed = guess_dissimilar(30, np.asarray(similar), np.random.RandomState(0))
    found = as_sets(choose(Z, Pairs(similar), 1, 1e-9))
    assert found[1] == {tuple(sorted(map(int, pair))) for pair in guessed}
    assert not found[0]


def test_rows_that_are_all_connected_leave_nothing_to_guess():
    with pytest.raises(ValueError, match="connect all rows, so none can be dissimilar: list fewer"):
        choose(some_rows(4)[0], Pairs([(0, 1), (1, 2), (2, 3)]))


def test_a_pair_of_a_row_with_itself_says_nothing():
    with pytest.raises(
        ValueError, match="a row with itself, which says nothing: list pairs of different rows"
    ):
        choose(some_rows(4)[0], Pairs([(1, 1)]))


@pytest.mark.parametrize("radius", ["median", None])
def test_few_listed_pairs_are_all_used(radius):
    Z, label = some_rows()
    similar, dissimilar = Pairs.from_labels(label)
    listed = Pairs(similar[:40], dissimilar[:20]).check(30)  # two a row
    assert as_sets(choose(Z, listed, 1, radius)) == as_expected(Z, listed, None, None)
    assert as_sets(choose(Z, listed, 1, 1.3)) == as_expected(Z, listed, None, 1.3)


def test_classes_farther_apart_than_the_median_still_have_dissimilar_pairs():
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1], [40, 8])
    Z = rng.normal(size=(48, 2)) + 100.0 * label[:, None]
    chosen = choose(Z, label)
    assert as_sets(chosen)[1] == as_expected(Z, Pairs.from_labels(label), 5, None)[1]
    assert np.any(~chosen.dissimilar)
