"""Features are weighed where the tensor lives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from devices import EACH_TENSOR, assert_there, dispatched, numpy, put, torch
from mercer import KernelRegressor, KernelSVC, RelevanceKernel

rng = np.random.default_rng(0)
X = rng.normal(size=(240, 12))
X[:, 11] = 2.0  # does not vary
SUM = X[:, 1] + X[:, 4] ** 2
y = np.digitize(SUM, [0.0, 2.0])
MORE = rng.normal(size=(60, 12))
BASES = pytest.mark.parametrize("base", ["tree", "perceptron", "rbf"])


@pytest.fixture(autouse=True)
def dispatch():
    with dispatched():
        yield


@BASES
@EACH_TENSOR
def test_the_weights_are_those_of_numpy(device, base):
    model = RelevanceKernel(base, n_rounds=3, random_state=0)
    expected = clone(model).fit(X, y, unlabelled=MORE)
    found = clone(model).fit(put(X, device), put(y, device), unlabelled=put(MORE, device))
    assert_allclose(numpy(found.relevance_), expected.relevance_, atol=1e-4)
    assert_allclose(numpy(found.loss_), expected.loss_, rtol=1e-5)
    for name in ("relevance_", "loss_", "classes_"):
        assert_there(getattr(found, name), device)
    assert_allclose(found.kernel_(X), expected.kernel_(X), atol=1e-4)
    features = found.transform(put(X[:5], device))
    assert_there(features, device)
    assert_allclose(numpy(features) @ numpy(features).T, found.kernel_(X[:5]), atol=1e-5)


@EACH_TENSOR
def test_useless_features_have_a_price_there_too(device):
    wide = np.column_stack([X, np.random.default_rng(1).normal(size=(240, 40))])
    model = RelevanceKernel(n_rounds=3, random_state=0)
    expected = clone(model).fit(wide, target=SUM)
    found = clone(model).fit(put(wide, device), target=put(SUM, device))
    assert np.count_nonzero(expected.relevance_) < 20
    assert_allclose(numpy(found.relevance_), expected.relevance_, atol=1e-4)


@EACH_TENSOR
def test_machines_are_fitted_there_with_it(device):
    learner, single = RelevanceKernel(n_rounds=2, max_rows=150, random_state=0), put(X, device, torch.float32)
    expected = KernelSVC(clone(learner)).fit(X, y)
    found = KernelSVC(clone(learner)).fit(single, put(y, device))
    assert np.mean(numpy(found.predict(single)) == expected.predict(X)) >= 0.98
    with pytest.raises(TypeError, match="no tensors"):
        KernelRegressor(clone(learner)).fit(single, SUM)
