"""Regressors on tensors are those on NumPy arrays, and stay where the tensors are."""

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import clone, config_context
from sklearn.datasets import make_friedman1

from mercer import PerceptronRegressor, StumpRegressor, TreeRegressor

torch = pytest.importorskip("torch")

TENSORS = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
SLICED = {"method": "sliced", "n_directions": 12, "max_bins": 16, "random_state": 0}
MODELS = [
    StumpRegressor(max_bins=16),
    StumpRegressor(max_bins=16, loss="absolute_error"),
    StumpRegressor(max_bins=16, loss="quantile", quantile=0.9),
    StumpRegressor(max_bins=16, loss="epsilon_insensitive"),
    StumpRegressor(max_bins=16, loss="poisson"),
    StumpRegressor(),  # exact: by way of NumPy
    StumpRegressor("cv", Cs=[0.1, 10.0], cv=2, max_bins=16, random_state=0),
    StumpRegressor("cv", Cs=[0.1, 10.0], cv=2, max_bins=16, scoring="r2", random_state=0),
    PerceptronRegressor(**SLICED),
    PerceptronRegressor("cv", Cs=[0.1, 10.0], cv=2, **SLICED),
    PerceptronRegressor(method="gram"),
]
X, y = make_friedman1(600, n_features=5, noise=1.0, random_state=0)
Y = np.column_stack([y - y.min(), 100.0 * X[:, 0]])
NEW, _ = make_friedman1(200, n_features=5, random_state=1)
WEIGHT = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)


@pytest.fixture(autouse=True)
def dispatch(monkeypatch):
    """scikit-learn wants the variable to be set before it lets tensors through."""
    monkeypatch.setitem(os.environ, "SCIPY_ARRAY_API", "1")
    with config_context(array_api_dispatch=True):
        yield


@pytest.mark.parametrize("device", TENSORS)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:50])
def test_a_fit_to_tensors_is_that_to_arrays(model, device):
    def put(array):
        return torch.tensor(array, device=device)

    for target, weight in ((y - y.min(), None), (Y, WEIGHT)):
        expected = clone(model).fit(X, target, sample_weight=weight)
        found = clone(model).fit(put(X), put(target), sample_weight=None if weight is None else put(weight))
        predicted = found.predict(put(NEW))
        assert predicted.device.type == device
        assert_allclose(predicted.cpu(), expected.predict(NEW), atol=0.01 * target.std())
        score = found.score(put(X), put(target))
        assert float(score) == pytest.approx(expected.score(X, target), abs=0.01)
        if model.C == "cv":
            assert found.C_ == expected.C_
            for end, other in zip(
                found.predict_interval(put(NEW)), expected.predict_interval(NEW), strict=True
            ):
                assert isinstance(end, torch.Tensor)
                assert_allclose(end.cpu(), other, atol=0.02 * target.std())


def test_targets_and_weights_follow_the_samples():
    model = StumpRegressor(max_bins=16)
    expected = model.fit(torch.tensor(X), torch.tensor(y)).predict(torch.tensor(NEW))
    assert_allclose(model.fit(torch.tensor(X), list(y), np.ones(len(y))).predict(torch.tensor(NEW)), expected)


def test_what_tensors_cannot_do_gets_a_sentence(monkeypatch):
    fitted = StumpRegressor(max_bins=16).fit(torch.tensor(X), torch.tensor(y))
    with pytest.raises(ValueError, match="Input y contains NaN"):
        fitted.fit(torch.tensor(X), torch.full((len(X),), torch.nan))
    fitted.fit(torch.tensor(X), torch.tensor(y))
    with config_context(array_api_dispatch=False), pytest.raises(ValueError, match="was fitted to tensors"):
        fitted.predict(NEW)
    trees, expected = TreeRegressor(), TreeRegressor().fit(X, y).predict(NEW)
    assert_allclose(
        trees.fit(torch.tensor(X), torch.tensor(y)).predict(torch.tensor(NEW)), expected, atol=1e-4
    )
    monkeypatch.setattr("mercer.machines.places.MOST_EXACT", 100)
    with pytest.raises(ValueError, match="600 samples on cpu are too many to move there unasked"):
        StumpRegressor().fit(torch.tensor(X), torch.tensor(y))
