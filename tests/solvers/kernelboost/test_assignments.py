"""Chunklets, and their posteriors against all assignments written out."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.pairs import Pairs
from mercer.solvers.kernelboost.assignments import infer_assignments, plan_assignments
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
    assert plan.is_exact
    found = infer_assignments(plan, evidence)
    assert_allclose(found.posterior, expected, atol=1e-10)
    assert found.log_sums.sum() == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("name", sorted(TREES))
def test_belief_propagation_is_exact_on_trees(rng, name):
    chunklets = graph(name)
    evidence = 5.0 * rng.normal(size=(chunklets.n_chunklets, 3))
    expected, total = write_out(evidence, chunklets.apart)
    plan = plan_assignments(chunklets, 3, max_steps=0)
    assert plan.is_exact
    assert plan.loopy
    found = infer_assignments(plan, evidence)
    assert_allclose(found.posterior, expected, atol=1e-10)
    assert found.log_sums.sum() == pytest.approx(total, rel=1e-10)


@pytest.mark.parametrize("name", sorted(GRAPHS.keys() - TREES))
def test_belief_propagation_with_loops_says_so_and_is_near_where_evidence_is_weak(rng, name):
    chunklets = graph(name)
    plan = plan_assignments(chunklets, 6, max_steps=0)
    assert not plan.is_exact
    evidence = 0.3 * rng.normal(size=(chunklets.n_chunklets, 6))
    expected, total = write_out(evidence, chunklets.apart)
    found = infer_assignments(plan, evidence)
    assert_allclose(found.posterior, expected, atol=0.02)
    assert found.log_sums.sum() == pytest.approx(total, abs=0.25)


def test_evidence_of_thousands_of_nats_is_no_trouble():
    chunklets = chunk_labels(np.arange(3))
    evidence = -1e4 * np.array([[0.0, 1.0, 2.0], [0.0, 3.0, 9.0], [0.0, 4.0, 9.0]])
    for max_steps in (10**4, 0):
        found = infer_assignments(plan_assignments(chunklets, 3, max_steps), evidence)
        assert np.all(np.isfinite(found.posterior))
        assert_allclose(found.posterior.sum(axis=1), 1.0)
    exact = infer_assignments(plan_assignments(chunklets, 3), evidence).posterior
    assert_array_equal(exact.argmax(axis=1), [2, 1, 0])  # 2 + 3 + 0 is the least of the six sums


def test_ten_classes_are_exact_and_many_chunklets_of_three_classes_too(rng):
    assert plan_assignments(chunk_labels(np.arange(10)), 10).is_exact
    whole = chunk_labels(np.repeat([0, 1, 2], 20))
    assert plan_assignments(split_chunklets(whole, np.arange(60)), 4).is_exact


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
    assert plan_assignments(chunklets, int(color.max()) + 1).is_exact  # so many are enough
    if name in {"triangle", "clique"}:
        assert color.max() == len(np.unique(chunklets.apart)) - 1
