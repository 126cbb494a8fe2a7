"""KernelSVC with `relative_C`: the scale of a kernel does not matter. And with no C: the learner's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris, make_moons
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from mercer import KernelSVC
from mercer.kernels import Projected, Stump

MOONS = make_moons(80, noise=0.25, random_state=0)
IRIS = load_iris(return_X_y=True)
EACH_DATA = pytest.mark.parametrize("data", [MOONS, IRIS], ids=["moons", "iris"])


def spread(kernel, X):
    """The mean squared distance of the rows from their mean in feature space, from all pairs of rows.

    For any points it is half the mean squared distance of all pairs.
    """
    K = kernel(X)
    squared = np.diag(K)[:, None] - 2 * K + np.diag(K)[None, :]
    return squared.mean() / 2


@EACH_DATA
@pytest.mark.parametrize("method", ["gram", "features"])
def test_a_relative_C_is_divided_by_the_spread_of_the_rows_in_feature_space(data, method):
    X, y = data
    kernel = Projected(np.diag(np.arange(1.0, X.shape[1] + 1)))
    ours = KernelSVC(kernel, C=3.0, relative_C=True, method=method, tol=1e-6).fit(X, y)
    expected = KernelSVC(kernel, C=3.0 / spread(kernel, X), method=method, tol=1e-6).fit(X, y)
    assert_allclose(ours.decision_function(X), expected.decision_function(X), atol=1e-4)
    plain = KernelSVC(kernel, C=3.0, method=method, tol=1e-6).fit(X, y)
    assert np.abs(plain.decision_function(X) - ours.decision_function(X)).max() > 1e-2


@EACH_DATA
@pytest.mark.parametrize("method", ["gram", "features"])
def test_rows_of_a_weight_are_repeated_rows(data, method):
    X, y = data
    weight = np.random.default_rng(0).integers(0, 5, size=len(y))
    weight[X[:, 0] > np.median(X[:, 0])] *= 3  # the mean is elsewhere, and so is the spread
    rows = np.repeat(np.arange(len(y)), weight)
    model = KernelSVC(Projected(np.eye(X.shape[1])), C=1.0, relative_C=True, method=method, tol=1e-6)
    once = model.fit(X, y, sample_weight=weight).decision_function(X)
    assert_allclose(once, model.fit(X[rows], y[rows]).decision_function(X), atol=1e-4)


@pytest.mark.parametrize("kernel", [RBF(0.7), Stump()], ids=repr)
def test_neither_the_scale_of_a_kernel_nor_a_constant_in_it_matters(kernel):
    X, y = MOONS
    expected = KernelSVC(kernel, C=5.0, relative_C=True, tol=1e-6).fit(X, y).decision_function(X)
    for other in (1e3 * kernel, 1e-3 * kernel, kernel + ConstantKernel(2.0)):
        found = KernelSVC(other, C=5.0, relative_C=True, tol=1e-6).fit(X, y).decision_function(X)
        assert_allclose(found, expected, atol=2e-3)


@pytest.mark.parametrize("method", ["gram", "features"])
@pytest.mark.parametrize("value", [0.1, 1.0, 1e8])
def test_rows_that_coincide_have_no_spread_and_get_the_larger_class(method, value):
    model = KernelSVC(method=method, relative_C=True).fit(np.full((5, 2), value), [0, 0, 1, 1, 1])
    assert_array_equal(model.predict([[value, value]]), [1])


class Penalized(BaseEstimator):
    """A learner that learns for a C, as `Superkernel` does."""

    svm_C = 7.0  # noqa: N815  (C is the letter that the field uses)

    def fit(self, X, y=None):
        self.kernel_ = RBF(0.5)
        return self


def test_without_a_C_it_is_the_learners_and_without_one_there_it_is_1():
    X, y = MOONS
    for model, C in [
        (KernelSVC(Penalized()), 7.0),
        (KernelSVC(Penalized(), C=2.0), 2.0),
        (KernelSVC(RBF(0.5)), 1.0),
        (KernelSVC(Penalized(), relative_C=True), 1.0 / spread(RBF(0.5), X)),
    ]:
        expected = KernelSVC(RBF(0.5), C=C).fit(X, y)
        assert_allclose(model.fit(X, y).decision_function(X), expected.decision_function(X), atol=2e-3)
