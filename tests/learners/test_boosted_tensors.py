"""Boosted kernels are learned where the tensor lives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.gaussian_process.kernels import RBF

from devices import EACH_TENSOR, assert_there, dispatched, numpy, put, torch
from mercer import BoostedKernel, KernelSVC

X, y = load_iris(return_X_y=True)
X = X - X.mean(axis=0)
NAMES = np.array(["a", "b", "c"])[y]


@pytest.fixture(autouse=True)
def dispatch():
    with dispatched():
        yield


@pytest.mark.parametrize("options", [{}, {"loss": "exp", "balance": False}, {"n_directions": 1}], ids=str)
@EACH_TENSOR
def test_the_kernel_is_that_of_numpy(device, options):
    model = BoostedKernel(n_rounds=6, **options)
    expected = clone(model).fit(X, y)
    for labels in (put(y, device), y, NAMES):
        found = clone(model).fit(put(X, device), labels)
        assert_allclose(found.kernel_(X), expected.kernel_(X), rtol=1e-5, atol=1e-5)
        assert_allclose(numpy(found.losses_), expected.losses_, rtol=1e-6)
        for name in ("alphas_", "losses_", "n_directions_"):
            assert_there(getattr(found, name), device)
        features = found.transform(put(X, device))
        assert_there(features, device)
        assert_allclose(numpy(features), found.kernel_.transform(X), atol=1e-9)
        assert (
            found.kernel_after(3) == clone(model).set_params(n_rounds=3).fit(put(X, device), labels).kernel_
        )
    assert_array_equal(found.classes_, ["a", "b", "c"])


@EACH_TENSOR
def test_a_learner_and_an_svm_are_fitted_there_as_one(device):
    model = KernelSVC(BoostedKernel(n_rounds=5), C=10.0)
    expected = clone(model).fit(X, NAMES)
    found = clone(model).fit(put(X, device, torch.float32), NAMES)
    assert np.mean(found.predict(put(X, device, torch.float32)) == expected.predict(X)) >= 0.99


def test_what_is_for_numpy_alone_is_named():
    T = put(X, "cpu")
    for model in (BoostedKernel(RBF()), BoostedKernel(max_pairs=100)):
        with pytest.raises(TypeError, match=r"no base, pairs, unlabelled and max_pairs"):
            model.fit(T, y)
    with pytest.raises(TypeError, match=r"give X\.cpu\(\)\.numpy\(\)"):
        BoostedKernel().fit(T, y, unlabelled=X)
