"""What every kernel owes to scikit-learn: clone, equality, parameters, pickling, `+` and `*`."""

import pickle
from copy import copy, deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from mercer.kernels import Combination, FeatureKernel, Perceptron, Series, Stump, StumpEnsemble, Tree


class Scaled(FeatureKernel):
    """A kernel with an array and a kernel among its parameters, as the learned ones have."""

    def __init__(self, weights, base=None):
        self.weights = weights
        self.base = base

    def transform(self, X):
        return X * self.weights


X = np.random.default_rng(0).normal(size=(8, 2))
X.flags.writeable = False
KERNELS = [Stump(), Stump(delta=2.5), Perceptron.spanning(X), Stump.sample(X, 30, random_state=0), Tree(0.4)]
KERNELS += [Perceptron.sample(X, 30, random_state=0), Scaled(np.array([1.0, 2.0]), base=RBF(2.0))]
KERNELS += [
    Series(RBF(2.0), "exp", np.array([[1.0, 0.5]]), np.array([2.0]), by_feature=True),
    Combination([RBF(), RBF(2.0)], np.array([1.0, 2.0]), [(0,), (0, 1)]),
]
EACH = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)


@EACH
def test_clones_and_pickles_are_equal_and_give_the_same_numbers(kernel):
    for same in (clone(kernel), pickle.loads(pickle.dumps(kernel)), kernel.clone_with_theta(kernel.theta)):
        assert same == kernel
        assert same is not kernel
        assert_array_equal(same(X), kernel(X))


def arrays_of(kernel):
    return [value for value in kernel.get_params().values() if isinstance(value, np.ndarray)]


@EACH
def test_its_arrays_are_read_only_and_so_are_those_of_clones_and_copies(kernel):
    copies = clone(kernel), copy(kernel), deepcopy(kernel), pickle.loads(pickle.dumps(kernel))
    for same in (kernel, *copies):
        assert not any(array.flags.writeable for array in arrays_of(same))
        assert same == kernel


def test_an_array_that_is_changed_later_does_not_change_the_kernel():
    weights = np.array([1.0, 2.0])
    kernel = Scaled(weights).set_params(base=RBF())
    weights[0] = 7.0
    assert_array_equal(kernel.weights, [1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        kernel.weights[0] = 7.0
    kernel.set_params(weights=weights)
    weights[0] = 9.0
    assert_array_equal(kernel.weights, [7.0, 2.0])


def test_clones_share_arrays_and_nothing_else():
    kernel = Scaled(np.array([1.0, 2.0]), base=RBF(2.0))
    twin = clone(kernel)
    assert twin.weights is kernel.weights
    assert twin.base is not kernel.base
    twin.set_params(base__length_scale=3.0)
    assert kernel.base.length_scale == 2.0


@EACH
def test_called_on_one_set_of_rows_it_is_symmetric_and_has_its_diagonal(kernel):
    K = kernel(X)
    assert_array_equal(K, K.T)
    assert_allclose(kernel(X, X.copy()), K, rtol=1e-13, atol=1e-13)
    assert_allclose(kernel.diag(X), np.diag(K), rtol=1e-13)


@EACH
def test_there_is_nothing_for_a_gaussian_process_to_tune(kernel):
    assert kernel.theta.shape == (0,)
    assert kernel.bounds.size == 0
    K, gradient = kernel(X, eval_gradient=True)
    assert_array_equal(K, kernel(X))
    assert gradient.shape == (8, 8, 0)
    with pytest.raises(ValueError, match="leave Y out"):
        kernel(X, X[:2], eval_gradient=True)


@EACH
def test_sums_and_products_with_scikit_learns_kernels_are_those_of_the_matrices(kernel):
    rbf = RBF(1.3)
    assert_allclose((kernel + rbf)(X), kernel(X) + rbf(X))
    assert_allclose((2.0 * kernel * rbf)(X, X[:3]), 2.0 * kernel(X, X[:3]) * rbf(X, X[:3]))
    assert_allclose((kernel + 1.5).diag(X), kernel.diag(X) + 1.5)
    assert_allclose((kernel**2)(X), kernel(X) ** 2)


@EACH
def test_the_gradient_of_a_sum_is_that_of_its_tunable_part(kernel):
    K, gradient = (kernel + ConstantKernel(2.0) * RBF(1.3))(X, eval_gradient=True)
    _, expected = (ConstantKernel(2.0) * RBF(1.3))(X, eval_gradient=True)
    assert_allclose(gradient, expected)
    assert K.shape == (8, 8)


def test_only_distance_kernels_are_stationary():
    stationary = [type(kernel).__name__ for kernel in KERNELS if kernel.is_stationary()]
    assert stationary == ["Stump", "Stump", "Perceptron", "Tree"]
    moved = X + np.array([100.0, -7.0])
    assert_allclose(Stump()(moved), Stump()(X), atol=1e-12)


@pytest.mark.parametrize(
    "other",
    [
        Scaled(np.array([1.0, 2.5])),
        Scaled(np.array([1.0, 2.0, 3.0])),
        Scaled(np.array([[1.0, 2.0]])),
        Scaled(1.0),
        Scaled(None),
        Scaled(np.array([1.0, 2.0]), base=RBF()),
        Stump(),
        RBF(),
        "precomputed",
        None,
    ],
    ids=repr,
)
def test_kernels_of_other_parameters_or_types_differ(other):
    assert Scaled(np.array([1.0, 2.0])) != other
    assert other != Scaled(np.array([1.0, 2.0]))


def test_equality_looks_into_nested_kernels():
    assert Scaled(1.0, base=RBF(2.0)) == Scaled(1.0, base=RBF(2.0))
    assert Scaled(1.0, base=RBF(2.0)) != Scaled(1.0, base=RBF(3.0))


def test_a_kernel_that_may_be_changed_by_set_params_has_no_hash():
    with pytest.raises(TypeError, match="unhashable"):
        hash(Stump())


def test_set_params_sets_and_refuses_what_is_not_there():
    assert Stump().set_params(delta=4.0) == Stump(delta=4.0)
    with pytest.raises(ValueError, match="Invalid parameter gamma"):
        Stump().set_params(gamma=1.0)


def test_a_kernel_shows_its_parameters_but_not_whole_arrays():
    assert repr(Stump(delta=np.float64(1.5))) == "Stump(delta=1.5)"
    assert repr(Scaled(np.array([1, 2]))) == "Scaled(weights=array([1, 2]), base=None)"
    long = StumpEnsemble([0] * 9, np.zeros(9), 1.0)
    assert repr(long) == f"StumpEnsemble(features={[0] * 9}, thresholds=<array of shape (9,)>, scale=1.0)"
