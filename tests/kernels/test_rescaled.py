"""Rescaled is a scaler and a kernel in one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer import ClippedScaler
from mercer.kernels import Perceptron, Rescaled, Stump

X = np.random.default_rng(0).normal(size=(30, 3)) * [1.0, 100.0, 0.01] + [0.0, 5.0, -3.0]
Z = np.random.default_rng(1).normal(size=(7, 3)) * [1.0, 100.0, 0.01]
SCALER = StandardScaler().fit(X)
EACH = pytest.mark.parametrize("base", [RBF(0.7), DotProduct(1.0), Stump(), Perceptron.spanning(X)], ids=repr)


def rescaled(base):
    return Rescaled(base, SCALER.mean_, SCALER.scale_)


@EACH
def test_it_is_the_base_kernel_of_rows_that_a_scaler_has_scaled(base):
    kernel = rescaled(base)
    assert_allclose(kernel(X, Z), base(SCALER.transform(X), SCALER.transform(Z)), rtol=1e-12)
    assert_allclose(kernel(X), base(SCALER.transform(X)), rtol=1e-12, atol=1e-12)
    assert_allclose(kernel.diag(Z), base.diag(SCALER.transform(Z)), rtol=1e-12)


@EACH
def test_it_is_a_kernel_as_any_other(base):
    kernel = rescaled(base)
    assert clone(kernel) == kernel
    assert_array_equal(clone(kernel)(X), kernel(X))
    K = kernel(X)
    assert_array_equal(K, K.T)
    assert_allclose(kernel.diag(X), np.diag(K), rtol=1e-12)
    assert_allclose((2.0 * kernel + RBF())(X, Z), 2.0 * kernel(X, Z) + RBF()(X, Z))


def test_one_entry_by_hand():
    kernel = Rescaled(DotProduct(0.0), np.array([1.0, 2.0]), np.array([2.0, 4.0]))
    # (3 − 1)/2 · (0 − 1)/2 + (4 − 2)/4 · (10 − 2)/4
    assert_allclose(kernel(np.array([[3.0, 4.0]]), np.array([[0.0, 10.0]])), [[1.0 * -0.5 + 0.5 * 2.0]])


def test_an_svm_on_it_is_a_pipeline_with_a_scaler():
    y = np.arange(30) % 2
    ours = SVC(kernel=rescaled(RBF())).fit(X, y)
    theirs = make_pipeline(StandardScaler(), SVC(kernel=RBF())).fit(X, y)
    assert_allclose(ours.decision_function(Z), theirs.decision_function(Z), atol=1e-6)


@EACH
def test_with_fences_it_is_the_base_kernel_of_rows_that_are_clipped_too(base):
    scaler = ClippedScaler(reach=0.3).fit(X)
    kernel = Rescaled(base, scaler.mean_, scaler.scale_, scaler.low_, scaler.high_)
    assert_allclose(kernel(X, Z), base(scaler.transform(X), scaler.transform(Z)), rtol=1e-12)
    assert_array_equal(kernel.with_base(RBF())(X), RBF()(scaler.transform(X)))


def test_rows_with_other_columns_are_refused():
    with pytest.raises(ValueError, match="X has 2 columns, but the kernel was made for 3"):
        rescaled(RBF())(X[:, :2])
