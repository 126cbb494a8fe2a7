"""Boosting over pairs: the weights against the n × n recursion of Algorithm 1, and Algorithm 2."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import NearestNeighbors

from mercer.pairs import Pairs
from mercer.solvers.kernelboost import boost
from mercer.solvers.kernelboost.boost import (
    PairWeights,
    WeakLearner,
    boost_mixtures,
    largest_alpha,
    weak_hypothesis,
)
from mercer.solvers.kernelboost.chunklets import (
    chunk_labels,
    chunk_pairs,
    dissolve_chunklets,
    neighbour_graph,
)
from mercer.solvers.kernelboost.gaussians import log_joint

WEAK = WeakLearner(3, "full", 3.0, n_starts=1, max_iter=10, tol=1e-3)


def dense_signs(chunklets, n):
    """y of all n × n pairs: what is known, and 0 for *."""
    signs = np.zeros((n, n))
    signs[np.ix_(chunklets.rows, chunklets.rows)] = chunklets.signs()[
        np.ix_(chunklets.number, chunklets.number)
    ]
    return signs


def dense_step(W, y, K, alpha, decay):
    """Steps 5 and 6 as they are printed."""
    W = np.where(y == 0, W * np.exp(-decay * alpha), W * np.exp(-alpha * y * K))
    return W / W.sum()


@pytest.mark.parametrize("from_pairs", [False, True])
def test_a_block_and_a_number_are_the_dense_recursion(rng, from_pairs):
    n, label = 60, np.r_[np.arange(3), rng.integers(3, size=9)]
    chunklets = chunk_labels(label)
    if from_pairs:  # of which some pairs of listed rows are unknown
        chunklets = chunk_pairs(Pairs([(0, 5), (5, 9), (20, 21)], [(0, 20), (30, 9)]).check(n), n)
    weights = PairWeights.uniform(chunklets, n)
    y, W = dense_signs(chunklets, n), np.full((n, n), 1 / n**2)
    rows = chunklets.rows
    assert weights.n_known == np.count_nonzero(y)
    for _ in range(15):
        P = rng.dirichlet(np.ones(3), size=n)
        K = 2 * P @ P.T - 1
        alpha = rng.uniform(0.01, 0.3)
        r = np.sum(W * y * K)
        assert weights.edge(K[np.ix_(rows, rows)]) == pytest.approx(r, rel=1e-11)
        weights, W = (
            weights.update(K[np.ix_(rows, rows)], alpha, 10.0),
            dense_step(W, y, K, alpha, 10.0),
        )
        assert_allclose(weights.W, W[np.ix_(rows, rows)], rtol=1e-11)
        assert_allclose(weights.of_rows(), W.sum(axis=1), rtol=1e-11)
        unlabelled = np.setdiff1d(np.arange(n), rows)
        assert_allclose(W[unlabelled], weights.rest, rtol=1e-11)


def some_rows(rng, n=80):
    label = np.arange(n) % 3
    return 2.0 * np.column_stack([np.cos(2 * label), np.sin(2 * label)]) + rng.normal(size=(n, 2)), label


def test_the_rounds_are_algorithm_1_written_densely(rng):
    X, label = some_rows(rng)
    chunklets = chunk_labels(label[:12])
    rounds = boost_mixtures(
        X, chunklets, WEAK, np.random.RandomState(0), n_rounds=6, decay=10.0, max_alpha=5.0
    )
    y, W = dense_signs(chunklets, 80), np.full((80, 80), 1 / 80**2)
    clip = 5.0 * 12**2 / 80**2
    for found in rounds:
        L = log_joint(X, found.model)
        P = np.exp(L - np.logaddexp.reduce(L, axis=1)[:, None])  # without constraints
        K = 2 * P @ P.T - 1
        r = np.sum(W * y * K)
        assert found.edge == pytest.approx(r, rel=1e-9)
        assert found.alpha == pytest.approx(min(0.5 * np.log((1 + r) / (1 - r)), clip), rel=1e-9)
        W = dense_step(W, y, K, found.alpha, 10.0)
    assert len(rounds) == 6


def test_alpha_is_clipped_where_the_docstring_says(rng):
    everything = PairWeights.uniform(chunk_labels(np.arange(10) % 2), 10)
    assert largest_alpha(everything, 5.0) == pytest.approx(np.arctanh(1 - 1 / 100))
    few = PairWeights.uniform(chunk_labels(np.arange(10) % 2), 1000)
    assert largest_alpha(few, 5.0) == pytest.approx(5.0 * 100 / 1000**2)
    X = np.repeat([[-9.0, 0.0], [9.0, 0.0]], 5, axis=0) + 0.1 * rng.normal(size=(10, 2))
    (found,) = boost_mixtures(
        X,
        chunk_labels(np.repeat([0, 1], 5)),
        WEAK._replace(n_components=2),
        np.random.RandomState(0),
        n_rounds=1,
        decay=10.0,
        max_alpha=5.0,
    )
    assert found.edge == pytest.approx(1.0)
    assert found.alpha == pytest.approx(np.arctanh(1 - 1 / 100))


def test_other_seeds_are_tried_where_no_edge_is_positive_and_the_kernel_is_never_empty(rng, monkeypatch):
    X, _ = some_rows(rng, 30)
    fits = []
    fit = boost.fit_mixture
    monkeypatch.setattr(boost, "fit_mixture", lambda *a, **k: fits.append(fit(*a, **k)) or fits[-1])
    monkeypatch.setattr(boost, "weak_hypothesis", lambda X, model: -np.ones((len(X), len(X))))
    one_class = chunk_pairs(Pairs([(0, 1), (1, 2)], [(2, 3)]).check(30), 30)  # mostly similar: r < 0
    rounds = boost_mixtures(
        X, one_class, WEAK, np.random.RandomState(0), n_rounds=4, decay=10.0, max_alpha=5.0
    )
    assert len(fits) == boost.SETTINGS.max_attempts
    assert [(found.alpha, found.edge < 0) for found in rounds] == [(0.0, True)]


def test_progress_is_told_each_round_and_may_stop(rng):
    X, label = some_rows(rng, 30)
    told = []
    rounds = boost_mixtures(
        X,
        chunk_labels(label[:9]),
        WEAK,
        np.random.RandomState(0),
        n_rounds=5,
        decay=10.0,
        max_alpha=5.0,
        progress=lambda step: told.append(step) or step == 2,
    )
    assert told == [1, 2]
    assert len(rounds) == 2


def test_the_weak_hypothesis_is_one_where_the_mixture_is_sure(rng):
    X, label = some_rows(rng, 30)
    (found,) = boost_mixtures(
        X, chunk_labels(label), WEAK, np.random.RandomState(0), n_rounds=1, decay=10.0, max_alpha=5.0
    )
    K = weak_hypothesis(X, found.model)
    assert K.max() <= 1.0 + 1e-12
    assert K.min() >= -1.0
    assert np.mean((K > 0) == (label[:, None] == label)) > 0.8


# Algorithm 2


def test_neighbours_are_mutual_and_of_one_class(rng):
    X, label = some_rows(rng, 40)
    chunklets = chunk_labels(label)
    found = {tuple(edge) for edge in neighbour_graph(X, chunklets, 4).tolist()}
    expected = set()
    for k in range(3):
        members = np.flatnonzero(label == k)
        near = NearestNeighbors(n_neighbors=4).fit(X[members]).kneighbors(return_distance=False)
        for i in range(len(members)):
            expected |= {(members[i], members[j]) for j in near[i] if i in near[j] and i < j}
    assert found == {(int(i), int(j)) for i, j in expected}


@pytest.mark.parametrize("n", range(5, 60, 6))
def test_before_round_one_no_edge_is_dropped_though_the_average_rounds(n):
    # of so many equal weights the mean exceeds each of them for some n, by rounding
    label = np.arange(n) % 2
    chunklets = chunk_labels(label)
    weights = PairWeights.uniform(chunklets, 3 * n + 1)
    path = np.column_stack([np.arange(n - 2), np.arange(2, n)])  # connects each class
    parts = dissolve_chunklets(chunklets, path, weights.W)
    assert_array_equal(parts.number, label)
    assert_array_equal(parts.apart, [[0, 1]])


def test_edges_below_the_average_of_their_class_are_dropped():
    chunklets = chunk_labels(np.array([0, 0, 0, 0, 1, 1]))
    edges = np.array([[0, 1], [1, 2], [2, 3], [4, 5]])
    W = np.ones((6, 6))
    W[0, 1], W[1, 2], W[2, 3], W[4, 5] = 3.0, 1.0, 2.5, 0.1  # averages 13/6 and 0.1
    parts = dissolve_chunklets(chunklets, edges, W)
    assert_array_equal(parts.number, [0, 0, 1, 1, 2, 2])
    assert {tuple(edge) for edge in parts.apart.tolist()} == {(0, 2), (1, 2)}


def test_a_class_of_one_row_has_no_neighbours(rng):
    chunklets = chunk_labels(np.array([0, 1, 0, 2]))
    edges = neighbour_graph(rng.normal(size=(4, 2)), chunklets, 12)
    assert_array_equal(edges, [[0, 2]])
    assert len(neighbour_graph(rng.normal(size=(3, 2)), chunk_labels(np.arange(3)), 12)) == 0
