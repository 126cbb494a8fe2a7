"""Mapped is a linear map and a kernel in one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.svm import SVC

from mercer.kernels import Mapped, Perceptron, Projected, Stump

rng = np.random.default_rng(0)
X, Z, A = rng.normal(size=(30, 3)), rng.normal(size=(7, 3)), rng.normal(size=(3, 2))
EACH = pytest.mark.parametrize(
    "base", [RBF(0.7), DotProduct(1.0), Stump(), Perceptron.spanning(X @ A)], ids=repr
)


@EACH
def test_it_is_the_base_kernel_of_mapped_rows(base):
    kernel = Mapped(base, A)
    assert_allclose(kernel(X, Z), base(X @ A, Z @ A), rtol=1e-12)
    assert_allclose(kernel(X), base(X @ A), rtol=1e-12, atol=1e-12)
    assert_allclose(kernel.diag(Z), base.diag(Z @ A), rtol=1e-12)


@EACH
def test_it_is_a_kernel_as_any_other(base):
    kernel = Mapped(base, A)
    assert clone(kernel) == kernel
    K = kernel(X)
    assert_array_equal(K, K.T)
    assert_allclose(kernel.diag(X), np.diag(K), rtol=1e-12)
    assert_allclose((2.0 * kernel + RBF())(X, Z), 2.0 * kernel(X, Z) + RBF()(X, Z))
    y = np.arange(30) % 2
    ours, theirs = SVC(kernel=kernel).fit(X, y), SVC(kernel=base).fit(X @ A, y)
    assert_allclose(ours.decision_function(Z), theirs.decision_function(Z @ A), atol=1e-6)


def test_an_inner_product_after_a_map_is_a_projected_kernel():
    assert_allclose(Mapped(DotProduct(0.0), A)(X, Z), Projected(A)(X, Z), rtol=1e-12)


def test_rows_with_other_columns_are_refused():
    with pytest.raises(ValueError, match="X has 2 columns, but the kernel was made for 3"):
        Mapped(RBF(), A)(X[:, :2])
