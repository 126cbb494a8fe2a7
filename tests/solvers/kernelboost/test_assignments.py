"""Chunklets, and their posteriors against all assignments written out."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.pairs import Pairs
from mercer.solvers.kernelboost.assignments import (
    TooFewComponentsError,
    infer_assignments,
    plan_assignments,
)
from mercer.solvers.kernelboost.beliefs import approximate_permanent
from mercer.solvers.kernelboost.chunklets import (
    Chunklets,
    ContradictionError,
    chunk_labels,
    chunk_pairs,
    color_greedily,
    split_chunklets,
)

GRAPHS = {
    "pair": [(0, 1)],
    "triangle": [(0, 1), (0, 2), (1, 2)],
    "clique": [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)],
    "star": [(0, 1), (0, 2), (0, 3), (0, 4)],
    "path": [(0, 3), (3, 1), (1, 2), (2, 4)],
    "tree": [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)],
    "two classes": [(0, 2), (0, 3), (1, 2), (1, 3), (0, 4), (1, 4)],
    "three classes": [(0, 2), (0, 3), (1, 2), (1, 3), (0, 4), (1, 4), (2, 4), (3, 4)],
    "ring": [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)],
    "two sets": [(0, 1), (2, 3), (3, 4)],
}
TREES = {"pair", "star", "path", "tree", "two sets"}


def graph(name):
    edges = np.array(sorted(tuple(sorted(edge)) for edge in GRAPHS[name]))
    m = edges.max() + 2  # one more that is apart from none
    return Chunklets(np.arange(m), np.arange(m), edges)


def write_out(evidence, edges):
    """The posteriors and the log-sum, over all assignments that keep the edges' ends apart."""
    m, M = evidence.shape
    allowed = [a for a in product(range(M), repeat=m) if all(a[i] != a[j] for i, j in edges)]
    values = np.array([sum(evidence[c, k] for c, k in enumerate(a)) for a in allowed])
    p = np.exp(values - values.max())
    posterior = np.zeros((m, M))
    for a, share in zip(allowed, p / p.sum(), strict=True):
        posterior[np.arange(m), a] += share
    return posterior, values.max() + np.log(p.sum())


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_posteriors_are_those_of_all_assignments(rng, name, scale):
    chunklets = graph(name)
    evidence = scale * rng.normal(size=(chunklets.n_chunklets, 4)) - 1e3
    expected, total = write_out(evidence, chunklets.apart)
    plan = plan_assignments(chunklets, 4)
    assert plan.wide is None
    found = infer_assignments(plan, evidence)
    assert found.error == 0.0
    assert_allclose(found.posterior, expected, atol=1e-10)
    assert found.log_sums.sum() == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_a_unit_that_is_divided_into_pieces_has_the_posteriors_of_all_assignments(rng, name, scale):
    chunklets = graph(name)
    evidence = scale * rng.normal(size=(chunklets.n_chunklets, 4))
    expected, total = write_out(evidence, chunklets.apart)
    plan = plan_assignments(chunklets, 4, max_steps=0)
    assert plan.wide is not None
    found = infer_assignments(plan, evidence)
    assert found.error < 1e-7
    assert_allclose(found.posterior, expected, atol=1e-7)
    assert found.log_sums.sum() == pytest.approx(total, rel=1e-7, abs=1e-7)


def random_problem(rng):
    m, M = int(rng.integers(3, 8)), int(rng.integers(2, 5))
    edges = [(a, b) for a in range(m) for b in range(a + 1, m) if rng.uniform() < 0.6] or [(0, 1)]
    evidence = 10 ** rng.uniform(-1.0, 2.0) * rng.normal(size=(m, M))
    return Chunklets(np.arange(m), np.arange(m), np.array(edges)), evidence


@pytest.mark.parametrize("max_piece_steps", [0, 12, 40])
def test_no_posterior_is_wrong_by_more_than_the_bound_however_narrow_pieces_must_be(rng, max_piece_steps):
    bounds = []
    for _ in range(60):
        chunklets, evidence = random_problem(rng)
        try:
            plan = plan_assignments(chunklets, evidence.shape[1], 0, max_piece_steps)
            plan_assignments(chunklets, evidence.shape[1])  # exactly: whether there are enough components
        except TooFewComponentsError:
            continue
        expected, total = write_out(evidence, chunklets.apart)
        found = infer_assignments(plan, evidence)
        assert_allclose(found.posterior.sum(axis=1), 1.0)
        assert np.abs(found.posterior - expected).max() <= found.error + 1e-8
        if found.error < 0.5:
            assert abs(found.log_sums.sum() - total) <= 2.0 * found.error + 1e-7
        bounds.append(found.error)
    assert min(bounds) < 1e-6  # some were exact,
    assert max(bounds) == 1.0  # and of some no bound is known


@pytest.mark.parametrize("name", sorted(TREES))
def test_belief_propagation_is_exact_on_trees(rng, name):
    chunklets = graph(name)
    evidence = 0.1 * rng.normal(size=(chunklets.n_chunklets, 3))
    expected, total = write_out(evidence, chunklets.apart)
    found = infer_assignments(plan_assignments(chunklets, 3, 0, 0), evidence)
    assert found.error < 1e-9
    assert_allclose(found.posterior, expected, atol=1e-9)
    assert found.log_sums.sum() == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("name", sorted(GRAPHS.keys() - TREES))
def test_belief_propagation_with_loops_says_so_and_is_near_where_evidence_is_weak(rng, name):
    chunklets = graph(name)
    evidence = 0.3 * rng.normal(size=(chunklets.n_chunklets, 6))
    expected, total = write_out(evidence, chunklets.apart)
    found = infer_assignments(plan_assignments(chunklets, 6, 0, 0), evidence)
    assert found.error == 1.0
    assert_allclose(found.posterior, expected, atol=0.05)
    assert found.log_sums.sum() == pytest.approx(total, abs=0.5)


@pytest.mark.parametrize(("m", "M"), [(4, 4), (5, 5), (3, 5)])
def test_the_bethe_permanent_is_at_most_the_permanent_and_at_least_a_power_of_two_less(rng, m, M):
    edges = np.column_stack(np.triu_indices(m, k=1))
    for scale in (0.1, 1.0, 10.0):
        evidence = scale * rng.normal(size=(m, M))
        expected, total = write_out(evidence, edges)
        posterior, log_Z = approximate_permanent(evidence)
        assert log_Z <= total + 1e-4
        if m == M:  # [V13]
            assert log_Z >= total - 0.5 * m * np.log(2.0) - 1e-4
        assert_allclose(posterior.sum(axis=1), 1.0)
        assert np.abs(posterior - expected).mean() < 0.1


def test_a_hundred_classes_that_are_apart_are_exact_and_whose_they_are_is_found(rng):
    evidence = -80.0 * rng.uniform(0.5, 1.0, size=(100, 100))
    place = rng.permutation(100)
    evidence[np.arange(100), place] = 0.0
    evidence[3] = evidence[4]  # both want one component, and one of them must take the next best
    evidence[[3, 4], place[3]] = -20.0
    plan = plan_assignments(chunk_labels(np.arange(100)), 100)
    found = infer_assignments(plan, evidence)
    assert found.error < 1e-6
    others = np.setdiff1d(np.arange(100), [3, 4])
    assert_allclose(found.posterior[others, place[others]], 1.0, atol=1e-6)
    assert_allclose(found.posterior[np.ix_([3, 4], place[[3, 4]])], 0.5, atol=1e-6)


def test_evidence_of_thousands_of_nats_is_no_trouble():
    chunklets = chunk_labels(np.arange(3))
    evidence = -1e4 * np.array([[0.0, 1.0, 2.0], [0.0, 3.0, 9.0], [0.0, 4.0, 9.0]])
    for max_steps, max_piece_steps in [(10**4, 0), (0, 10**4), (0, 0)]:
        found = infer_assignments(plan_assignments(chunklets, 3, max_steps, max_piece_steps), evidence)
        assert np.all(np.isfinite(found.posterior))
        assert_allclose(found.posterior.sum(axis=1), 1.0)
    exact = infer_assignments(plan_assignments(chunklets, 3), evidence).posterior
    assert_array_equal(exact.argmax(axis=1), [2, 1, 0])  # 2 + 3 + 0 is the least of the six sums


def test_ten_classes_are_exact_and_many_chunklets_of_three_classes_too(rng):
    assert plan_assignments(chunk_labels(np.arange(10)), 10).wide is None
    whole = chunk_labels(np.repeat([0, 1, 2], 20))
    assert plan_assignments(split_chunklets(whole, np.arange(60)), 4).wide is None


def test_chunklets_are_the_transitive_closure_of_similar_pairs():
    pairs = Pairs([(0, 1), (1, 4), (5, 6)], [(0, 6), (4, 5), (2, 4)]).check(9)
    rows, number, apart = chunk_pairs(pairs, 9)
    assert_array_equal(rows, [0, 1, 2, 4, 5, 6])
    assert_array_equal(number, [0, 0, 1, 0, 2, 2])
    assert_array_equal(apart, [[0, 1], [0, 2]])


def test_pairs_of_labels_are_the_labels(rng):
    label = np.r_[np.arange(3), rng.integers(3, size=9)]
    one, other = chunk_labels(label), chunk_pairs(Pairs.from_labels(label).check(12), 12)
    signs = [c.signs()[np.ix_(c.number, c.number)] for c in (one, other)]
    assert_array_equal(*signs)
    assert_array_equal(signs[0], np.where(label[:, None] == label, 1.0, -1.0))


def test_a_dissimilar_pair_that_is_similar_by_closure_is_named_with_its_way():
    pairs = Pairs([(0, 3), (3, 7), (2, 7), (4, 5)], [(0, 4), (0, 2)]).check(8)
    with pytest.raises(ContradictionError, match=r"such as \(0, 2\).* 0 – 3 – 7 – 2$"):
        chunk_pairs(pairs, 8)


def test_parts_of_a_chunklet_keep_apart_from_those_of_others_alone():
    whole = chunk_labels(np.array([0, 0, 0, 1, 1]))
    rows, number, apart = split_chunklets(whole, np.array([7, 7, 8, 7, 9]))
    assert_array_equal(rows, np.arange(5))
    assert_array_equal(number, [0, 0, 1, 2, 3])
    assert {tuple(edge) for edge in apart.tolist()} == {(0, 2), (0, 3), (1, 2), (1, 3)}


@pytest.mark.parametrize("name", GRAPHS)
def test_the_greedy_colouring_keeps_all_edges_apart(name):
    chunklets = graph(name)
    color = color_greedily(chunklets)
    assert np.all(color[chunklets.apart[:, 0]] != color[chunklets.apart[:, 1]])
    assert plan_assignments(chunklets, int(color.max()) + 1).wide is None  # so many are enough
    if name in {"triangle", "clique"}:
        assert color.max() == len(np.unique(chunklets.apart)) - 1
