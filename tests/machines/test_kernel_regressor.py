"""KernelRegressor: leave-one-out errors against fits without each sample, LIBSVM, learners."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_friedman1
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR

from mercer import (
    BlendedKernel,
    BoostedKernel,
    IdealizedKernel,
    KernelBoost,
    KernelRegressor,
    KernelSVC,
    Pairs,
    RelevanceKernel,
)
from mercer.kernels import Perceptron, Tree

X, y = make_friedman1(60, n_features=5, noise=1.0, random_state=0)
NEW, Y_NEW = make_friedman1(300, n_features=5, random_state=1)


def spread(K, weight):
    share = weight / weight.sum()
    return share @ np.diag(K) - share @ K @ share


def test_with_the_plain_inner_product_it_is_ridge_regression(rng):
    weight = rng.uniform(0.5, 2.0, len(y))
    model = KernelRegressor(C=3.0).fit(X, y, weight)
    rival = Ridge(alpha=spread(X @ X.T, weight) / 3.0).fit(X, y, weight)
    assert_allclose(model.predict(NEW), rival.predict(NEW), rtol=1e-9)


@pytest.mark.parametrize("kernel", [RBF(1.5), Perceptron(), DotProduct()])
def test_the_leave_one_out_errors_are_those_of_fits_without_each_sample(kernel, rng):
    weight = rng.uniform(0.5, 2.0, len(y))
    model = KernelRegressor(kernel).fit(X, y, weight)
    assert_allclose(model.C_, model.Cs_[model.scores_.argmax()])
    mean = np.average(y, weights=weight)
    scale = np.sqrt(np.average((y - mean) ** 2, weights=weight))
    C = model.C_ / spread(kernel(X), weight)
    errors = []
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        system = np.ones((len(y), len(y)))  # the literal system of the other samples, and of b
        system[:-1, :-1] = kernel(X[others]) + np.diag(1.0 / (C * weight[others]))
        system[-1, -1] = 0.0
        *a, b = np.linalg.solve(system, np.append(y[others], 0.0))
        errors.append(y[i] - (kernel(X[[i]], X[others]) @ a)[0] - b)
    assert_allclose(model.unseen_.error[:, 0], errors, rtol=3e-6, atol=3e-8)
    best = np.average(np.square(errors), weights=weight) / scale**2
    assert_allclose(-model.scores_.max(), best, rtol=1e-6)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_insensitive_error_is_that_of_libsvm(C):
    kernel = RBF(1.5)
    model = KernelRegressor(kernel, C=C, loss="epsilon_insensitive", epsilon=0.1).fit(X, y)
    unit = spread(kernel(X), np.ones(len(y)))
    rival = SVR(kernel=kernel, C=C / unit, epsilon=0.1, tol=1e-9).fit(X, (y - y.mean()) / y.std())
    assert_allclose(model.predict(NEW), y.mean() + y.std() * rival.predict(NEW), atol=2e-4 * y.std())


def test_c_is_the_same_for_a_kernel_of_any_scale():
    one, other = (KernelRegressor(k, C=2.0).fit(X, y).predict(NEW) for k in (RBF(), 100.0 * RBF()))
    assert_allclose(one, other, rtol=1e-6)


def test_several_targets_have_one_c_and_each_its_interval():
    Y = np.column_stack([y, X[:, 0] * 100.0])
    model = KernelRegressor(Tree()).fit(X, Y)
    low, high = model.predict_interval(NEW, 0.8)
    assert model.predict(NEW).shape == low.shape == (300, 2)
    apart = KernelRegressor(Tree(), C=model.C_).fit(X, y)
    assert_allclose(model.predict(NEW)[:, 0], apart.predict(NEW))
    assert 0.65 < ((low[:, 0] <= Y_NEW) & (high[:, 0] >= Y_NEW)).mean() < 0.99
    machine = KernelRegressor(Tree(), loss="absolute_error", Cs=2, cv=3).fit(X, Y)  # which folds choose
    low, high = machine.predict_interval(NEW, 0.8)
    assert machine.predict(NEW).shape == low.shape == high.shape == (300, 2)
    assert not hasattr(KernelRegressor(Tree(), C=1.0, cv=3), "predict_interval")


def test_a_learner_learns_from_pairs_and_unlabelled_samples(rng):
    near = np.argsort(y)
    pairs = Pairs(np.column_stack([near[:20:2], near[1:20:2]]), np.column_stack([near[:20], near[-20:]]))
    model = KernelRegressor(IdealizedKernel(RBF(), C_dissimilar=1e6)).fit(X, y, pairs=pairs)
    assert model.learner_.kernel_ is model.kernel_
    assert np.isfinite(model.predict(NEW)).all()
    boosted = KernelRegressor(KernelBoost(n_rounds=2, random_state=0))
    assert boosted.fit(X, y, pairs=pairs, unlabelled=NEW).predict(NEW).shape == (300,)


@pytest.mark.parametrize(
    "learner",
    [
        BoostedKernel(RBF(), n_rounds=5, random_state=0),
        IdealizedKernel(RBF(), C_dissimilar=1e6, random_state=0),
        KernelBoost(n_rounds=3, random_state=0),
    ],
)
def test_learners_of_pairs_learn_from_near_and_far_numbers(learner, monkeypatch):
    monkeypatch.setattr("mercer.learners.base.PAIRS_OF_NUMBERS", 500)
    model = KernelRegressor(learner).fit(X, y)
    pairs = Pairs.from_target(y, n_pairs=500, random_state=0)
    assert_allclose(model.kernel_(NEW), clone(learner).fit(X, pairs=pairs).kernel_(NEW), rtol=1e-10)
    assert not hasattr(model.learner_, "classes_")
    assert np.isfinite(model.predict(NEW)).all()


def test_a_blended_kernel_passes_numbers_on():
    blended = BlendedKernel(RelevanceKernel(n_rounds=1, random_state=0))
    model = KernelRegressor(blended).fit(X, y)
    alone = RelevanceKernel(n_rounds=1, random_state=0).fit(X, target=y)
    assert_array_equal(model.learner_.learner_.relevance_, alone.relevance_)


def test_a_learner_of_others_gets_the_numbers_as_y():
    class Widest(BaseEstimator):
        def fit(self, X, y):
            self.kernel_ = RBF(np.ptp(y))
            return self

    assert KernelRegressor(Widest()).fit(X, y).kernel_ == RBF(np.ptp(y))


def test_it_is_tuned_as_one_with_its_kernel():
    grid = {"learner__length_scale": [0.01, 1.0]}
    search = GridSearchCV(KernelRegressor(RBF()), grid).fit(X, y)
    assert search.best_params_ == {"learner__length_scale": 1.0}


def test_of_samples_of_weight_zero_a_kernel_takes_no_gamma(rng):
    X, y = np.append(rng.normal(size=(40, 2)), np.full((20, 2), 1e3), axis=0), rng.normal(size=60)
    weight = np.repeat([1.0, 0.0], [40, 20])
    model = KernelRegressor(Tree()).fit(X, y, weight)
    assert model.kernel_.gamma == KernelRegressor(Tree()).fit(X[:40], y[:40]).kernel_.gamma
    label = np.arange(60) % 2
    svm = KernelSVC(Tree()).fit(X, label, sample_weight=weight)
    assert svm.kernel_.gamma == model.kernel_.gamma


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_features_too_large_for_the_kernel_get_a_sentence(loss):
    with pytest.raises(ValueError, match=r"features are as large as \de\+200, .* scale the features"):
        KernelRegressor(loss=loss).fit(1e200 * X, y)


def test_wrong_use_gets_a_sentence():
    with pytest.raises(ValueError, match=r"pairs given, but the kernel .* is fixed"):
        KernelRegressor(RBF()).fit(X, y, pairs=Pairs([[0, 1]], [[0, 2]]))
    with pytest.raises(TypeError, match="learner must be a learner"):
        KernelRegressor("rbf").fit(X, y)
    with pytest.raises(TypeError, match="must leave a kernel_"):
        KernelRegressor(Ridge()).fit(X, y)
    with pytest.raises(ValueError, match="C must be positive"):
        KernelRegressor(C=-1.0).fit(X, y)


def test_of_many_samples_some_choose_c_and_all_are_fitted(monkeypatch):
    X, y = make_friedman1(300, n_features=5, noise=0.5, random_state=0)
    everyone = KernelRegressor(RBF(2.0)).fit(X, y)
    monkeypatch.setattr("mercer.machines.gram_samples.LEFT_OUT_ROWS", 150)
    model = KernelRegressor(RBF(2.0)).fit(X, y)
    same = KernelRegressor(RBF(2.0), C=model.C_).fit(X, y)
    np.testing.assert_allclose(model.predict(X), same.predict(X), rtol=1e-7)
    np.testing.assert_allclose(model.unseen_.error, same.unseen_.error)
    assert len(model.unseen_.error) == 300
    assert len(model.scores_) == len(model.Cs_) > 1
    assert everyone.C_ / 8 <= model.C_ <= 8 * everyone.C_


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("method", ["gram", "landmarks"])
def test_rows_that_all_coincide_are_predicted_within_the_range_of_their_targets(loss, method):
    rows, targets = np.full((20, 3), 0.1), np.arange(20.0)
    model = KernelRegressor(RBF(1.0), C=1.0, loss=loss, method=method).fit(rows, targets)
    predicted = model.predict(rows[:2])
    assert np.all((targets.min() <= predicted) & (predicted <= targets.max()))
    if loss != "absolute_error":  # of which anything between the middle two is a median
        assert_allclose(predicted, targets.mean())
