"""The kernel of a forest: in what share of the trees two rows meet."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import ExtraTreesClassifier

from mercer import KernelSVC
from mercer.kernels import Forest
from mercer.search.trees import BoostingClassifier, ForestClassifier

X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32).astype(np.float64)
Y = X[:, 0] * X[:, 1] > 0


@pytest.fixture(scope="module")
def kernel():
    return ForestClassifier(9, random_state=0).fit(X[:40], Y[:40]).kernel_


def test_it_is_the_share_of_equal_leaves_of_scikit_learn(kernel):
    trees = ExtraTreesClassifier(9, max_features=0.5, random_state=0).fit(X[:40], Y[:40])
    leaves = trees.apply(X)
    slow = [[np.mean(one == other) for other in leaves[:7]] for one in leaves]
    assert_allclose(kernel(X, X[:7]), slow)
    assert_array_equal(kernel.diag(X), np.diag(kernel(X)))
    assert np.linalg.eigvalsh(kernel(X)).min() > -1e-12


def test_boosted_trees_have_one_too():
    kernel = BoostingClassifier(5, random_state=0).fit(X, Y).kernel_
    assert set(np.unique(5 * kernel(X)).round(9)) <= {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}
    assert_array_equal(kernel.diag(X), 1.0)


def test_machines_learn_with_it(kernel):
    assert KernelSVC(kernel, C=1.0).fit(X[:40], Y[:40]).score(X[40:], Y[40:]) > 0.6


def test_rows_of_another_width_are_refused(kernel):
    for method in (kernel, kernel.diag):
        with pytest.raises(ValueError, match="2"):
            method(X[:, :2])


def test_a_forest_in_which_rows_go_round_ends():
    turned = Forest([0, 0], [0.0, 0.0], [1, 0], [1, 0], [0], 3)
    assert turned.leaves(X).shape == (60, 1)
