"""Pairs: checked, sorted, each once; and whether two groups explain them, against trying all groups."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mercer import Pairs
from mercer.pairs import connected_sets


def two_groups_exist(pairs, n_rows):
    """Try every way to split the rows in two."""
    for group in product([0, 1], repeat=n_rows):
        if all(group[i] == group[j] for i, j in pairs.similar) and all(
            group[i] != group[j] for i, j in pairs.dissimilar
        ):
            return True
    return False


def some_pairs(n_rows):
    row = st.integers(0, n_rows - 1)
    return st.lists(st.tuples(row, row), max_size=6)


def test_pairs_of_labels_are_all_pairs_of_different_rows():
    y = ["b", "a", "b", "c", "a"]
    pairs = Pairs.from_labels(y)
    similar, dissimilar = {tuple(p) for p in pairs.similar}, {tuple(p) for p in pairs.dissimilar}
    assert similar == {(0, 2), (1, 4)}
    assert dissimilar == {(i, j) for i in range(5) for j in range(i + 1, 5) if y[i] != y[j]}
    assert len(pairs.similar) + len(pairs.dissimilar) == 10


def test_checked_pairs_are_sorted_and_each_is_there_once():
    found = Pairs([(3, 1), (1, 3), (0, 0), (1, 3)], [[2, 0], [0, 1]]).check(4)
    assert_array_equal(found.similar, [[0, 0], [1, 3]])
    assert_array_equal(found.dissimilar, [[0, 1], [0, 2]])
    assert found.similar.dtype == found.dissimilar.dtype == np.intp


@given(st.data())
def test_check_keeps_the_set_of_pairs(data):
    similar, dissimilar = data.draw(some_pairs(7)), data.draw(some_pairs(7))
    a, b = ({tuple(sorted(pair)) for pair in pairs} for pairs in (similar, dissimilar))
    if a & b or not a | b or any(i == j for i, j in b):
        with pytest.raises(ValueError, match=r"drop|no pairs"):
            Pairs(similar, dissimilar).check(7)
        return
    found = Pairs(similar, dissimilar).check(7)
    assert [tuple(pair) for pair in found.similar] == sorted(a)
    assert [tuple(pair) for pair in found.dissimilar] == sorted(b)
    assert_array_equal(found.rows(), sorted({row for pair in a | b for row in pair}))


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint64])
def test_any_integers_are_row_numbers(dtype):
    found = Pairs(np.array([[200, 100]], dtype=dtype)).check(201)
    assert_array_equal(found.similar, [[100, 200]])


def test_row_numbers_of_large_data_do_not_overflow():
    n = 3_000_000_000
    found = Pairs([(n - 1, n - 2)], [(0, n - 1)]).check(n)
    assert_array_equal(found.similar, [[n - 2, n - 1]])
    assert_array_equal(found.dissimilar, [[0, n - 1]])


def test_two_groups_are_found_if_there_are_any(rng):
    every, answers = np.column_stack(np.triu_indices(6, k=1)), []
    for _ in range(400):
        kind = rng.choice(["similar", "dissimilar", "unknown"], size=len(every), p=[0.2, 0.2, 0.6])
        kind[rng.integers(len(every))] = "dissimilar"
        pairs = Pairs(every[kind == "similar"], every[kind == "dissimilar"]).check(6)
        answers.append(two_groups_exist(pairs, 6))
        assert pairs.are_of_two_groups() == answers[-1]
    assert 100 < sum(answers) < 300  # both happen


@pytest.mark.parametrize(("n_changes", "two"), [(2, True), (3, False), (4, True), (5, False)])
def test_a_ring_that_changes_sides_an_odd_number_of_times_has_no_two_groups(n_changes, two):
    n = 2 * n_changes
    ring = np.column_stack([np.arange(n), (np.arange(n) + 1) % n])
    pairs = Pairs(ring[1::2], ring[::2]).check(n)
    assert pairs.are_of_two_groups() is two


@pytest.mark.parametrize(("y", "two"), [([0, 1, 1, 0], True), ([0, 1, 2, 1], False), ([0, 0, 0], True)])
def test_two_classes_are_two_groups_and_three_are_not(y, two):
    assert Pairs.from_labels(y).check(len(y)).are_of_two_groups() is two


@pytest.mark.parametrize(
    ("similar", "dissimilar", "error", "message"),
    [
        ([(0, 5)], (), ValueError, "similar names row 5, but X has rows 0 to 4"),
        ((), [(-1, 2)], ValueError, "dissimilar names row -1, but X has rows 0 to 4"),
        ([0, 1], (), ValueError, r"similar must be of shape \(n_pairs, 2\), .* not \(2,\)"),
        ([(0, 1, 2)], (), ValueError, r"not \(1, 3\)"),
        (3, (), TypeError, "must be a list or an array of pairs of row numbers, not 3"),
        (None, (), TypeError, "row numbers, not None"),
        ([(0, 1), (2,)], (), TypeError, "pairs of row numbers"),
        ([(0.0, 1.0)], (), TypeError, r"row numbers \(integers\), not float64"),
        ((), [(True, False)], TypeError, "dissimilar must hold row numbers"),
        ([("a", "b")], (), TypeError, "similar must hold row numbers"),
        ((), (), ValueError, "there are no pairs: list some"),
        ((), [(3, 3)], ValueError, "row 3 is listed as dissimilar to itself: drop"),
        ([(1, 2)], [(2, 1)], ValueError, r"1 of the pairs are listed .* such as \(1, 2\): drop one"),
        ([(1, 2), (0, 4), (3, 4)], [(4, 0), (2, 1)], ValueError, r"2 of the pairs .* such as \(0, 4\)"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(similar, dissimilar, error, message):
    with pytest.raises(error, match=message):
        Pairs(similar, dissimilar).check(5)


def test_pairs_within_some_rows_are_numbered_in_these():
    pairs = Pairs(np.array([(0, 1), (2, 4), (5, 3)]), np.array([(4, 5), (1, 2)]))
    part = pairs.within(np.array([5, 4, 3, 2]))
    assert_array_equal(part.similar, [(3, 1), (0, 2)])
    assert_array_equal(part.dissimilar, [(1, 0)])
    assert Pairs([(0, 1)]).within(np.array([0])).dissimilar.shape == (0, 2)


def test_connected_sets_are_numbered_by_their_first_nodes_and_alone_ones_count():
    edges = np.array([(5, 1), (1, 3), (2, 2), (6, 4), (4, 6)])
    assert_array_equal(connected_sets(edges, 8), [0, 1, 2, 1, 3, 1, 3, 4])
    assert_array_equal(connected_sets(edges[:0], 3), [0, 1, 2])


def test_connected_sets_are_the_reachable_nodes(rng):
    edges = rng.integers(30, size=(22, 2))
    reach = np.eye(30)
    reach[edges[:, 0], edges[:, 1]] = reach[edges[:, 1], edges[:, 0]] = 1
    reach = np.linalg.matrix_power(reach, 30) > 0
    number = connected_sets(edges, 30)
    assert_array_equal(number[:, None] == number, reach)


# from numbers


def literal_pairs(y, near, far):
    """All pairs by their ranks, in two loops."""
    y, n = np.asarray(y, dtype=float), len(y)
    share = [(np.sum(y < v) + np.sum(y == v) / 2) / n for v in y]
    group = [np.floor(s / max(near, 2 / n) + 1e-9) for s in share]
    apart = min(far, max(share) - min(share))
    kinds = set(), set()
    for i in range(n):
        for j in range(i):
            if group[i] == group[j]:
                kinds[0].add((j, i))
            elif abs(share[i] - share[j]) > apart - 1e-9:
                kinds[1].add((j, i))
    return kinds


@pytest.mark.parametrize(("near", "far"), [(0.1, 0.5), (0.3, 0.4), (0.25, 0.9), (0.01, 1.0)])
@pytest.mark.parametrize("n_values", [2, 3, 7, 1000])
def test_near_numbers_are_similar_and_far_ones_dissimilar(near, far, n_values):
    rng = np.random.default_rng(n_values)
    y = rng.integers(0, n_values, size=41) ** 3.0  # ties where the values are few
    pairs = Pairs.from_target(y, near=near, far=far)
    found = pairs.check(41)
    similar, dissimilar = literal_pairs(y, near, far)
    assert {tuple(pair) for pair in found.similar} == similar
    assert {tuple(pair) for pair in found.dissimilar} == dissimilar
    assert len(pairs.similar) == len(similar)  # each once
    assert len(dissimilar) > 0


def test_only_the_order_of_numbers_counts():
    y = np.random.default_rng(0).normal(size=50)
    for kind, other in zip(Pairs.from_target(y), Pairs.from_target(np.exp(9 * y)), strict=True):
        assert_array_equal(kind, other)


def test_pairs_of_numbers_are_drawn_without_replacement_half_of_either_kind():
    y = np.random.default_rng(0).normal(size=200)
    everything = Pairs.from_target(y).check(200)
    drawn = Pairs.from_target(y, n_pairs=101, random_state=0)
    checked = drawn.check(200)
    assert [len(kind) for kind in checked] == [50, 50] == [len(kind) for kind in drawn]
    for kind, whole in zip(checked, everything, strict=True):
        assert {tuple(p) for p in kind} <= {tuple(p) for p in whole}
    again = Pairs.from_target(y, n_pairs=101, random_state=0)
    assert_array_equal(again.similar, drawn.similar)
    assert not np.array_equal(Pairs.from_target(y, n_pairs=101, random_state=1).similar, drawn.similar)
    spare = Pairs.from_target(y, near=0.01, n_pairs=5000, random_state=0)  # 100 similar ones alone
    assert [len(kind) for kind in spare] == [100, 4900]


def test_of_many_numbers_pairs_are_drawn_without_writing_all_down():
    y = np.random.default_rng(0).normal(size=300_000)
    pairs = Pairs.from_target(y, n_pairs=1000, random_state=0)
    rank = np.argsort(np.argsort(y)) / len(y)
    near, far = (np.abs(np.diff(rank[kind], axis=1)) for kind in pairs)
    assert near.max() < 0.1
    assert far.min() > 0.499
    assert len(np.unique(np.floor(10 * rank[pairs.similar[:, 0]]))) == 10  # of all groups


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([1.0, 1.0, 1.0], {}, "all numbers of the target are equal"),
        (["a", "b"], {}, "The target holds 'a'"),
        ([0.0, 1.0, 2.0], {"near": 0.5, "far": 0.5}, "near and far must be shares"),
        ([0.0, 1.0, 2.0], {"far": 1.5}, "near and far must be shares"),
        ([0.0, 1.0, 2.0], {"n_pairs": 1}, "n_pairs must be at least 2"),
        ([[0.0, 1.0], [2.0, 3.0]], {}, "pairs are made of one target, but there are 2"),
    ],
)
def test_numbers_that_make_no_pairs_get_a_sentence(y, options, message):
    with pytest.raises(ValueError, match=message):
        Pairs.from_target(y, **options)


def test_triplets_are_pairs_by_the_majority_of_what_they_say():
    pairs = Pairs.from_triplets([(0, 1, 2), (2, 0, 3), (0, 2, 3), (4, 5, 1), (5, 1, 4)])
    # 0-2 is farther once and nearer twice; 4-5 is nearer once and farther once
    np.testing.assert_array_equal(pairs.similar, [(0, 1), (0, 2), (1, 5)])
    np.testing.assert_array_equal(pairs.dissimilar, [(0, 3), (1, 4), (2, 3)])
    with pytest.raises(ValueError, match="shape"):
        Pairs.from_triplets([(0, 1)])
