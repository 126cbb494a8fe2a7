"""Weighted sums of kernels on columns of their own against scikit-learn's kernels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern, RationalQuadratic

from mercer.kernels import Combination, Series, combination

KERNELS = [RBF(0.5), RBF(1.5), Matern(1.0), RBF([1.0, 2.0]), RBF([0.5, 1.0]), RBF([2.0, 1.0])]
KERNELS += [DotProduct(0.0)]
COLUMNS = [(0, 2), (0, 2), None, (1, 0), (1, 0), (0, 1), (2,)]
WEIGHTS = np.array([1.0, 2.0, 0.5, 3.0, 1.5, 0.7, 0.2])


def literal(kernels, weights, columns, X, Z):
    total = np.zeros((len(X), len(Z)))
    for kernel, w, some in zip(kernels, weights, columns, strict=True):
        some = range(X.shape[1]) if some is None else some
        total += w * kernel(X[:, list(some)], Z[:, list(some)])
    return total


@pytest.mark.parametrize("block", [1, 7, 2**20])
def test_values_are_the_weighted_sum_in_blocks_of_any_size(rng, block, monkeypatch):
    monkeypatch.setattr(combination, "BLOCK", block)
    X, Z = rng.normal(size=(9, 3)), rng.normal(size=(5, 3))
    kernel = Combination(KERNELS, WEIGHTS, COLUMNS)
    assert_allclose(kernel(X, Z), literal(KERNELS, WEIGHTS, COLUMNS, X, Z), rtol=1e-12)
    assert_allclose(kernel(X), literal(KERNELS, WEIGHTS, COLUMNS, X, X), rtol=1e-12)
    assert_allclose(kernel.diag(X), np.diag(kernel(X)), rtol=1e-12)


def test_the_order_of_kernels_does_not_matter(rng):
    X = rng.normal(size=(9, 3))
    order = rng.permutation(len(KERNELS))
    shuffled = Combination([KERNELS[i] for i in order], WEIGHTS[order], [COLUMNS[i] for i in order])
    assert_allclose(shuffled(X), Combination(KERNELS, WEIGHTS, COLUMNS)(X), rtol=1e-12)


def test_without_columns_all_of_them_are_looked_at(rng):
    X = rng.normal(size=(9, 2))
    kernels = [RBF(0.5), RationalQuadratic()]
    assert_allclose(Combination(kernels, [1.0, 2.0])(X), RBF(0.5)(X) + 2 * RationalQuadratic()(X), rtol=1e-12)


def test_kernels_without_weight_are_not_computed(rng):
    class Broken(DotProduct):
        def __call__(self, X, Y=None, eval_gradient=False):
            raise AssertionError

    X = rng.normal(size=(4, 2))
    assert_allclose(Combination([RBF(), Broken()], [2.0, 0.0])(X), 2 * RBF()(X))


def test_it_is_positive_semi_definite(rng):
    K = Combination(KERNELS, WEIGHTS, COLUMNS)(rng.normal(size=(40, 3)))
    assert np.linalg.eigvalsh(K)[0] > -1e-12 * np.trace(K)


def test_distances_far_from_the_origin_keep_their_digits(rng):
    X = rng.normal(size=(9, 3))
    far = X + 1e6
    assert_allclose(Combination([RBF()], [1.0])(far), RBF()(X), rtol=1e-5)


def test_columns_that_are_not_there_are_refused():
    kernel = Combination([RBF()], [1.0], [(3,)])
    for call in (kernel, kernel.diag):
        with pytest.raises(ValueError, match="X has 2 columns, but the kernel looks at column 3"):
            call(np.zeros((2, 2)))


@pytest.mark.parametrize(
    "kernel",
    [Combination([DotProduct()], np.array([0.1])), Series(DotProduct(), "exp", [0.1], [2.0])],
    ids=repr,
)
def test_diagonals_of_single_precision_are_computed_in_double(kernel, rng):
    X = rng.normal(size=(20, 3)).astype(np.float32)
    assert_allclose(kernel.diag(X), kernel.diag(X.astype(float)), rtol=1e-12)
