"""Mixtures are boosted where the tensor lives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_wine

from devices import EACH_TENSOR, assert_there, dispatched, numpy, put, torch
from mercer import KernelBoost, KernelSVC, Pairs

X, y = load_wine(return_X_y=True)
X = np.column_stack([X[:, :6], np.full(len(X), 3.0)])  # and a column that does not vary
FEW = np.random.default_rng(0).permutation(len(X))[:30]
REST = np.setdiff1d(np.arange(len(X)), FEW)


@pytest.fixture(autouse=True)
def dispatch():
    with dispatched():
        yield


@pytest.mark.parametrize(
    "options",
    [{}, {"covariance_type": "tied"}, {"covariance_type": "diag"}, {"dissolve": True, "n_components": 5}],
    ids=str,
)
@EACH_TENSOR
def test_the_kernel_is_that_of_numpy(device, options):
    model = KernelBoost(n_rounds=4, random_state=0, **options)
    expected = clone(model).fit(X[FEW], y[FEW], unlabelled=X[REST])
    found = clone(model).fit(put(X[FEW], device), put(y[FEW], device), unlabelled=put(X[REST], device))
    assert_allclose(found.kernel_(X), expected.kernel_(X), rtol=1e-5, atol=1e-5)
    assert_allclose(numpy(found.edges_), expected.edges_, rtol=1e-6)
    for name in ("alphas_", "edges_", "classes_"):
        assert_there(getattr(found, name), device)
    features = found.transform(put(X, device))
    assert_there(features, device)
    assert_allclose(numpy(features), found.kernel_.transform(X), atol=1e-9)
    assert_allclose(found.kernel_after(2)(X), expected.kernel_after(2)(X), rtol=1e-5, atol=1e-5)
    best = found.kernel_for(put(X[FEW], device), put(y[FEW], device))
    assert_allclose(best(X), expected.kernel_for(X[FEW], y[FEW])(X), rtol=1e-5, atol=1e-5)


@EACH_TENSOR
def test_pairs_and_single_precision_and_rows_elsewhere_do(device):
    pairs = Pairs.from_labels(y[FEW])
    model = KernelBoost(n_rounds=3, random_state=0)
    expected = clone(model).fit(X[FEW], pairs=pairs, unlabelled=X[REST])
    found = clone(model).fit(put(X[FEW], device, torch.float32), pairs=pairs, unlabelled=X[REST])
    assert_allclose(found.kernel_(X), expected.kernel_(X), atol=1e-2)


@EACH_TENSOR
def test_a_learner_and_an_svm_are_fitted_there_as_one(device):
    model = KernelSVC(KernelBoost(n_rounds=4, random_state=0), C=100.0)
    expected = clone(model).fit(X[FEW], y[FEW], unlabelled=X[REST])
    found = clone(model).fit(put(X[FEW], device), put(y[FEW], device), unlabelled=put(X[REST], device))
    assert np.mean(numpy(found.predict(put(X, device))) == expected.predict(X)) >= 0.99


@EACH_TENSOR
def test_blocks_of_rows_do_not_matter(device, monkeypatch):
    from mercer.solvers.kernelboost import gaussians

    model = KernelBoost(n_rounds=2, random_state=0)
    whole = clone(model).fit(put(X[FEW], device), y[FEW], unlabelled=put(X[REST], device)).kernel_
    monkeypatch.setattr(gaussians, "at_once", lambda X, of_numpy: 100)
    parts = clone(model).fit(put(X[FEW], device), y[FEW], unlabelled=put(X[REST], device)).kernel_
    assert_allclose(whole(X), parts(X), rtol=1e-6, atol=1e-6)


def test_unlabelled_tensors_are_checked():
    with pytest.raises(ValueError, match="features"):
        KernelBoost().fit(put(X, "cpu"), y, unlabelled=put(X[:, :3], "cpu"))
    with pytest.raises(ValueError, match="NaN"):
        KernelBoost().fit(put(X, "cpu"), y, unlabelled=put(np.full((2, X.shape[1]), np.nan), "cpu"))
