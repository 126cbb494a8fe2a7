"""Kernels on tensors have the values that they have on arrays, and stay where the tensors are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern

from devices import DEVICES, EACH_DEVICE, EACH_TENSOR, assert_there, dispatched, numpy, put, torch
from mercer.kernels import (
    Combination,
    Mapped,
    Mixture,
    Perceptron,
    Projected,
    Ranked,
    Rescaled,
    Series,
    Stump,
    Tree,
)
from mercer.kernels.metrics import city_block, euclidean

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(40, 3)), rng.normal(size=(25, 3))
A = rng.normal(size=(3, 2))
MIXTURE = {
    "alpha": np.array([0.5, 2.0]),
    "offsets": rng.normal(size=(2, 3)),
    "means": rng.normal(size=(2, 3, 3)),
}
SERIES = [
    Series(RBF(1.5), function, np.array([0.3, 0.9]), np.array([2.0, 1.0]))
    for function in ("geometric", "exp", "sinh", "cosh", "arctanh", "log")
]
KERNELS = [
    Stump(2.0),
    Perceptron(1.5),
    Tree(0.4),
    Stump.sample(X, 30, random_state=0),
    Perceptron.sample(X, 30, random_state=0),
    Projected(A),
    Projected(rng.normal(size=(25, 2)), RBF(1.3), Y),
    Projected(rng.normal(size=(25, 2)), Tree(0.3), Y),
    Mixture(**MIXTURE, factors=rng.normal(size=(2, 3, 3, 3))),
    Mixture(**MIXTURE, factors=rng.normal(size=(2, 1, 3, 3))),
    Mixture(**MIXTURE, factors=rng.uniform(0.5, 2.0, size=(2, 3, 3))),
    *SERIES,
    Series(RBF(2.0), "exp", np.array([[1.0, 0.5, 0.1]]), np.array([2.0]), by_feature=True, factor=0.5),
    Combination(
        [RBF(), RBF(2.0), DotProduct(), Stump()], np.array([1.0, 2.0, 0.5, 0.1]), [(0,), (0, 2), None, (1, 2)]
    ),
    Combination([RBF(np.array([1.0, 2.0, 3.0])), RBF(np.array([2.0, 4.0, 6.0]))], np.array([1.0, 0.5])),
    Rescaled(ConstantKernel(2.0) * RBF(np.array([1.0, 2.0, 0.5])) + DotProduct() ** 2, X.mean(0), X.std(0)),
    Ranked.spanning(X, Tree(2.0)),
    Rescaled(Perceptron(), X.mean(0), X.std(0), X.min(0) / 2, X.max(0) / 2),
    Mapped(RBF(1.3), A),
]
EACH = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)


@pytest.fixture(autouse=True)
def dispatch():
    with dispatched():
        yield


@EACH
@EACH_DEVICE
@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_the_values_are_those_of_numpy(kernel, device, kind):
    x, y = put(X.astype(kind), device), put(Y.astype(kind), device)
    exact, others = X.astype(kind).astype(float), Y.astype(kind).astype(float)
    K = kernel(exact, others)
    options = {"atol": (1e-11 if kind == "float64" or device == "numpy" else 1e-5) * np.abs(K).max()}
    given = None if device == "numpy" else getattr(torch, kind)
    v = np.random.default_rng(1).normal(size=(25, 2))
    for values, expected in (
        (kernel(x, y), K),
        (kernel(x), kernel(exact)),
        (kernel.diag(x), kernel.diag(exact)),
        (kernel.squared_distance(x, y), kernel.squared_distance(exact, others)),
    ):
        assert_there(values, device, given)
        assert_allclose(numpy(values), expected, **options)
    for columns in (v, v[:, 0]):
        product = kernel.product(x, y, put(columns, device))
        assert_there(product, device, None if device == "numpy" else torch.float64)
        assert_allclose(numpy(product), K @ columns, rtol=0, atol=100 * options["atol"])
    if hasattr(kernel, "transform"):
        assert_there(kernel.transform(x), device, given)
        assert_allclose(numpy(kernel.transform(x)), kernel.transform(exact), **options)


@EACH_DEVICE
def test_a_product_in_blocks_is_that_of_the_gram_matrix(device, monkeypatch):
    monkeypatch.setattr("mercer.kernels.base.at_once", lambda X, n: 60)  # two rows at a time
    v = rng.normal(size=25)
    assert_allclose(numpy(Stump().product(put(X, device), put(Y, device), v)), Stump()(X, Y) @ v, atol=1e-12)


@EACH_DEVICE
def test_what_is_taken_from_the_rows_may_be_taken_from_tensors(device):
    x = put(X, device)
    for kernel in (Stump, Perceptron):
        assert kernel.spanning(x).delta == pytest.approx(kernel.spanning(X).delta)
        assert kernel.sample(x, 7, random_state=0) == kernel.sample(X, 7, random_state=0)
    assert Tree().fitted_to(x).gamma == pytest.approx(Tree().fitted_to(X).gamma)


@EACH_TENSOR
def test_distances_of_rows_that_nearly_coincide_have_their_digits(device):
    far = 1e3 + rng.normal(size=(60, 4))
    near = np.vstack([far, far + 1e-9 * rng.normal(size=(60, 4)), far[:10]])
    expected = np.sqrt(((near[:, None] - near[None]) ** 2).sum(axis=2))
    assert_allclose(numpy(euclidean(put(near, device), put(near, device))), expected, rtol=1e-6, atol=1e-15)
    same = np.ones((30, 2))
    assert_array_equal(numpy(euclidean(put(same, device), put(same, device))), 0.0)


@pytest.mark.parametrize("metric", [city_block, euclidean])
@pytest.mark.parametrize(("n", "m", "d"), [(1, 1, 1), (129, 127, 1), (300, 1, 5), (5, 260, 33)])
@EACH_TENSOR
def test_tiles_of_distances_fit_together(device, metric, n, m, d, monkeypatch):
    monkeypatch.setattr("mercer.kernels.metrics.at_once", lambda X, n: 500)
    x, y = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    difference = np.abs(x[:, None] - y[None])
    expected = difference.sum(axis=2) if metric is city_block else np.sqrt((difference**2).sum(axis=2))
    assert_allclose(numpy(metric(put(x, device), put(y, device))), expected, atol=1e-12)


def test_a_kernel_that_was_called_on_tensors_is_the_kernel_that_it_was():
    kernel = Projected(A, RBF(1.0), rng.normal(size=(3, 3)))
    twin = clone(kernel)
    kernel(put(X, "cpu"))
    assert kernel == twin
    assert isinstance(kernel.coef, np.ndarray)


def test_rows_of_two_libraries_are_computed_with_where_the_first_are():
    assert_there(Stump()(put(X, "cpu"), Y), "cpu")
    assert_there(Stump()(X, put(Y, "cpu")), "numpy")


def test_bad_rows_and_kernels_of_numpy_alone_are_named():
    bad = put(X, "cpu")
    bad[3, 1] = np.nan
    for kernel in (Stump(), Projected(A)):
        with pytest.raises(ValueError, match="NaN"):
            kernel(bad)
    with pytest.raises(ValueError, match="the kernel was made for 3"):
        Projected(A)(put(X[:, :2], "cpu"))
    for base in (Matern(), 2.0 * Matern() + RBF()):
        with pytest.raises(TypeError, match=r"no tensors: give X\.cpu\(\)\.numpy\(\)"):
            Rescaled(base, np.zeros(3), np.ones(3))(put(X, "cpu"))
    with pytest.raises(ValueError, match="power series"):
        Series(DotProduct(), "log", np.array([1.0]), np.array([1.0]))(put(X, "cpu"))


def test_without_dispatch_a_tensor_is_an_array():
    from sklearn import config_context

    with config_context(array_api_dispatch=False):
        assert_there(Stump()(put(X, "cpu")), "numpy")
        assert_there(Projected(A).transform(put(X, "cpu")), "numpy")


def test_there_is_a_tensor_to_test():
    assert "cpu" in DEVICES
