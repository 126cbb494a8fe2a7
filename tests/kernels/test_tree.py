"""The tree kernel against the ensemble that defines it, and scikit-learn's Laplacian kernel."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, pdist
from sklearn.metrics.pairwise import laplacian_kernel

import reference
from mercer import BoostedKernel, KernelSVC
from mercer.kernels import Tree, metrics
from mercer.kernels.metrics import BLOCK, city_block
from mercer.kernels.tree import SOME_ROWS, median_gamma


def test_it_is_the_mean_over_all_trees_of_every_depth(rng):
    X = rng.uniform(-1, 2, size=(5, 3))
    lower, upper = X.min(axis=0) - 0.1, X.max(axis=0) + 0.2
    expected = [[reference.tree_kernel(x, z, lower, upper, 0.7) for z in X] for x in X]
    assert_allclose(Tree(gamma=0.7)(X), expected, rtol=1e-10)


def test_it_is_the_mean_product_of_random_trees(rng):
    # stumps drawn one by one: the levels of a tree, whose number is Poisson's
    X, gamma, n_trees = rng.uniform(size=(4, 2)), 1.5, 40_000
    delta = 1.0  # of the unit square
    votes = np.ones((n_trees, 4))
    for t, n_levels in enumerate(rng.poisson(gamma * delta, size=n_trees)):
        columns, thresholds = rng.integers(0, 2, n_levels), rng.uniform(size=n_levels)
        votes[t] = np.prod(np.sign(X[:, columns] - thresholds), axis=1)
    assert_allclose(votes.T @ votes / n_trees, Tree(gamma)(X), atol=5 / np.sqrt(n_trees))


def test_it_is_the_probability_that_no_random_cut_parts_two_rows(rng):
    X, gamma, n_draws = rng.uniform(size=(4, 2)), 1.5, 20_000
    together = np.zeros((4, 4))
    for _ in range(n_draws):
        same = np.ones((4, 4), dtype=bool)
        for column in X.T:
            cell = np.searchsorted(np.sort(rng.uniform(size=rng.poisson(gamma))), column)
            same &= cell[:, None] == cell[None, :]
        together += same
    assert_allclose(together / n_draws, Tree(gamma)(X), atol=8 * 0.5 / np.sqrt(n_draws))


@pytest.mark.parametrize("n_columns", [1, 7])
def test_it_is_scikit_learns_laplacian_kernel(rng, n_columns):
    X, Y = rng.normal(size=(30, n_columns)), rng.normal(size=(BLOCK + 9, n_columns))
    assert_allclose(Tree(0.3)(X, Y), laplacian_kernel(X, Y, gamma=0.3), rtol=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
def test_many_distances_are_those_of_scipy_in_any_order_of_memory(monkeypatch, rng, order):
    monkeypatch.setattr(metrics, "FEW", 0)
    X = np.asarray(rng.normal(size=(3 * BLOCK // 2, 4)), order=order)
    assert_allclose(city_block(X[::2], X), cdist(X[::2], X, "cityblock"), rtol=1e-13)


def test_distinct_rows_give_a_positive_definite_matrix(rng):
    X = rng.integers(0, 3, size=(40, 4)).astype(float)
    X = np.unique(X, axis=0)
    assert np.linalg.eigvalsh(Tree(0.2)(X)).min() > 1e-6


def test_the_median_rule_gives_rows_at_the_median_distance_the_value_one_over_e(rng):
    X = rng.normal(size=(31, 3))  # 465 pairs: the median is one of the distances
    kernel = Tree().fitted_to(X)
    values = kernel(X)[np.triu_indices(31, 1)]
    assert_allclose(np.median(values), math.exp(-1.0))
    assert_allclose(kernel.gamma, 1.0 / np.median(pdist(X, "cityblock")))


def test_rows_that_coincide_do_not_count_for_the_median_rule():
    X = np.repeat([[0.0], [2.0]], 20, axis=0)
    assert median_gamma(X) == 0.5
    assert median_gamma(np.ones((3, 2))) == 1.0


def test_of_many_rows_some_are_enough_for_the_median(rng):
    X = rng.normal(size=(5 * SOME_ROWS, 2))
    assert_allclose(median_gamma(X), median_gamma(X[:SOME_ROWS]), rtol=0.1)


def test_a_gamma_of_its_own_is_kept(rng):
    assert Tree(0.25).fitted_to(rng.normal(size=(5, 2))) == Tree(0.25)


def test_without_a_gamma_it_says_where_to_get_one():
    with pytest.raises(ValueError, match=r"Tree\(\)\.fitted_to\(X\)"):
        Tree()([[0.0], [1.0]])


def test_what_is_fitted_fixes_the_gamma_of_the_median_rule(rng):
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    expected = Tree().fitted_to(X)
    assert KernelSVC(Tree()).fit(X, y).kernel_ == expected
    assert BoostedKernel(Tree(), n_rounds=2).fit(X, y).kernel_.base == expected


def test_each_row_is_as_similar_to_itself_as_can_be(rng):
    X = rng.normal(size=(4, 2))
    assert_array_equal(Tree(0.5).diag(X), np.ones(4))
    assert Tree().is_stationary()


def test_sparse_rows_are_refused_with_the_way_out():
    with pytest.raises(TypeError, match=r"toarray\(\)"):
        Tree(1.0)(csr_array(np.eye(3)))


@pytest.mark.parametrize("few", [0, 10**7])
def test_distances_of_rows_that_do_not_fit_are_refused(monkeypatch, rng, few):
    monkeypatch.setattr(metrics, "FEW", few)
    with pytest.raises(ValueError, match="columns"):
        city_block(rng.normal(size=(4, 3)), rng.normal(size=(4, 2)))
