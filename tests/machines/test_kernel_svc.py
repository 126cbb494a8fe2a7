"""KernelSVC against LIBSVM on the Gram matrix, by both of its roads."""

import pickle
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelBoost, KernelRegressor, KernelSVC
from mercer.kernels import FeatureKernel, Perceptron, Stump
from mercer.machines import functions
from mercer.machines.functions import KernelFunction

LIBSVM_TOL = 1e-6  # in single precision it gets no further; decision values are then good to some 1e-4
MOONS = make_moons(80, noise=0.25, random_state=0)
IRIS = load_iris(return_X_y=True)
EACH_DATA = pytest.mark.parametrize("data", [MOONS, IRIS], ids=["moons", "iris"])


class Projection(FeatureKernel):
    """The inner product of the rows' projections."""

    def __init__(self, directions):
        self.directions = directions

    def transform(self, X):
        return X @ self.directions


class MeansLearner(BaseEstimator):
    """A small learner: its kernel compares rows along the means of the classes, and it tells what it saw."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def fit(self, X, y=None, **given):
        self.seen_ = {"X": X, "y": y, **given}
        means = [X[y == label].mean(axis=0) for label in np.unique(y)]
        self.kernel_ = Projection(self.scale * np.transpose(means))
        return self


def libsvm(kernel, X, y, Z, **params):
    """The decision values and classes that LIBSVM finds from the Gram matrix."""
    svc = SVC(kernel="precomputed", tol=LIBSVM_TOL, **params).fit(kernel(X), y)
    return svc.decision_function(kernel(Z, X)), svc.predict(kernel(Z, X))


def assert_same_svm(model, expected, Z):
    decision, classes = expected
    assert_allclose(model.decision_function(Z), decision, atol=1e-3)
    assert_array_equal(model.predict(Z), classes)


def shaken(X):
    return X + np.random.default_rng(1).normal(scale=0.1, size=X.shape)


@parametrize_with_checks([KernelSVC(), KernelSVC(RBF()), KernelSVC(Stump()), KernelSVC(method="features")])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@EACH_DATA
@pytest.mark.parametrize("kernel", [Stump(), Perceptron(), RBF(0.7), 0.5 * RBF() + DotProduct()], ids=repr)
def test_with_a_kernel_it_is_libsvm_on_the_gram_matrix(data, kernel):
    X, y = data
    Z = shaken(X)
    model = KernelSVC(kernel, C=2.0, tol=LIBSVM_TOL).fit(X, y)
    assert_same_svm(model, libsvm(kernel, X, y, Z, C=2.0), Z)


@EACH_DATA
@pytest.mark.parametrize("C", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("method", ["gram", "features"])
def test_with_features_it_is_libsvm_on_their_gram_matrix(data, C, method):
    X, y = data
    Z = shaken(X)
    kernel = Stump.sample(X, 12, random_state=0)
    model = KernelSVC(kernel, C=C, method=method, tol=LIBSVM_TOL).fit(X, y)
    assert_same_svm(model, libsvm(kernel, X, y, Z, C=C), Z)


@EACH_DATA
def test_without_a_learner_it_is_a_linear_svm(data):
    X, y = data
    Z = shaken(X)
    for method in ("gram", "features"):
        model = KernelSVC(method=method, tol=LIBSVM_TOL).fit(X, y)
        assert_same_svm(model, libsvm(lambda A, B=None: A @ (A if B is None else B).T, X, y, Z), Z)


@pytest.mark.parametrize("method", ["gram", "features"])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0, 1: 0.5}], ids=str)
def test_weights_of_rows_and_classes_are_those_of_libsvm(rng, method, class_weight):
    X, y = IRIS
    X, y = X[10:], y[10:]  # so that the classes differ in size
    weight = rng.uniform(0.2, 2, size=len(X))
    kernel = Perceptron.sample(X, 15, random_state=0)
    svc = SVC(kernel=kernel, tol=LIBSVM_TOL, class_weight=class_weight).fit(X, y, sample_weight=weight)
    model = KernelSVC(kernel, tol=LIBSVM_TOL, class_weight=class_weight, method=method)
    model.fit(X, y, sample_weight=weight)
    assert_allclose(model.decision_function(X), svc.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("method", ["gram", "features"])
def test_a_weight_of_two_is_a_row_twice_and_of_none_is_no_row(method):
    X, y = MOONS
    weight = np.tile([0, 1, 2, 1], 20)
    rows = np.repeat(np.arange(80), weight)
    model = KernelSVC(method=method, tol=LIBSVM_TOL)
    weighed = clone(model).fit(X, y, sample_weight=weight).decision_function(X)
    assert_allclose(weighed, clone(model).fit(X[rows], y[rows]).decision_function(X), atol=1e-4)


def test_many_small_and_easy_problems_go_to_libsvm_at_once():
    X, y = make_blobs(600, 3, centers=20, random_state=0)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)

    def uses_features(**options):
        return KernelSVC(**options).fit(Z, y).machines_[0].anchors is None

    assert not uses_features(C=1.0)
    assert uses_features(C=100.0)  # which slows LIBSVM down
    assert not uses_features(C=10.0, relative_C=True)
    small, large = KernelSVC(C=1.0).fit(Z, y), KernelSVC(C=1.0, method="features").fit(Z, y)
    assert np.mean(small.predict(Z) == large.predict(Z)) > 0.99


def test_features_are_used_where_they_are_few():
    X, y = MOONS
    few, many = (Stump.sample(X, n, random_state=0) for n in (16, 17))  # of 80 rows
    assert KernelSVC(few).fit(X, y).machines_[0].anchors is None
    assert KernelSVC(many).fit(X, y).machines_[0].anchors is not None
    assert KernelSVC(few, method="gram").fit(X, y).machines_[0].anchors is not None
    assert KernelSVC(many, method="features").fit(X, y).machines_[0].anchors is None
    assert KernelSVC(DotProduct(sigma_0=1.0)).fit(X, y).machines_[0].anchors is not None


@EACH_DATA
def test_only_support_vectors_are_kept(data):
    X, y = data
    model = KernelSVC(RBF(), tol=LIBSVM_TOL).fit(X, y)
    support = SVC(kernel=RBF(), tol=LIBSVM_TOL).fit(X, y).support_
    assert_array_equal(model.machines_[0].anchors, X[np.sort(support)])
    assert len(support) < len(X)


@pytest.mark.parametrize("method", ["gram", "features"])
def test_predictions_in_blocks_are_the_same(monkeypatch, method):
    X, y = IRIS
    model = KernelSVC(Stump.sample(X, 20, random_state=0), method=method).fit(X, y)
    whole = model.decision_function(X)
    monkeypatch.setattr(functions, "BLOCK", 7 * len(model.machines_[0].coef))
    sizes, inputs = [], KernelFunction._inputs
    monkeypatch.setattr(KernelFunction, "_inputs", lambda self, X: sizes.append(len(X)) or inputs(self, X))
    assert_allclose(model.decision_function(X), whole, atol=1e-12)
    assert sizes == [7] * 21 + [3]


def test_a_large_constant_in_the_kernel_does_not_cost_digits():
    # theorem 2 of [LL05], where LIBSVM's single precision would hide it
    X, y = MOONS
    Z = shaken(X)
    expected = KernelSVC(Stump(), tol=LIBSVM_TOL).fit(X, y).decision_function(Z)
    found = KernelSVC(Stump(delta=1e6), tol=LIBSVM_TOL).fit(X, y).decision_function(Z)
    assert_allclose(found, expected, atol=1e-3)
    far = KernelSVC(tol=LIBSVM_TOL, method="gram").fit(X + 1e4, y).decision_function(Z + 1e4)
    near = KernelSVC(tol=LIBSVM_TOL, method="features").fit(X + 1e4, y).decision_function(Z + 1e4)
    assert_allclose(far, near, atol=1e-3)


def test_the_learner_gets_what_is_given_and_nothing_else(rng):
    X, y = MOONS
    unlabelled, pairs = rng.normal(size=(5, 2)), object()
    learner = MeansLearner()
    model = KernelSVC(learner).fit(X, y)
    assert set(model.learner_.seen_) == {"X", "y"}
    model.fit(X, y, pairs=pairs, unlabelled=unlabelled, sample_weight=np.ones(80))
    assert set(model.learner_.seen_) == {"X", "y", "pairs", "unlabelled"}
    assert model.learner_.seen_["pairs"] is pairs
    assert model.learner_.seen_["unlabelled"] is unlabelled
    assert_array_equal(model.learner_.seen_["X"], X)
    assert model.kernel_ is model.learner_.kernel_
    assert not hasattr(learner, "kernel_")


@pytest.mark.parametrize("machine", [KernelSVC, KernelRegressor])
def test_names_of_unlabelled_samples_are_those_of_the_labelled_ones(machine, rng):
    X, y = MOONS[0], np.arange(80) % 3
    table = pd.DataFrame(X, columns=["a", "b"])
    more = pd.DataFrame(rng.normal(size=(5, 2)), columns=["a", "b"])
    fitted = machine(MeansLearner()).fit(table, y, unlabelled=more)  # without a warning
    assert_array_equal(fitted.learner_.seen_["unlabelled"], more)
    with pytest.raises(ValueError, match="same order"):
        machine(MeansLearner()).fit(table, y, unlabelled=more[["b", "a"]])
    with pytest.raises(ValueError, match="unlabelled has 1 features, X has 2"):
        machine(MeansLearner()).fit(X, y, unlabelled=more.to_numpy()[:, :1])
    learned = [KernelBoost(n_rounds=2, random_state=0) for _ in range(2)]
    named = machine(learned[0]).fit(table, y, unlabelled=more)
    plain = machine(learned[1]).fit(X, y, unlabelled=more.to_numpy())
    assert_allclose(named.predict(table), plain.predict(X), rtol=1e-6)


def test_the_svm_of_a_learner_is_the_svm_of_its_kernel():
    X, y = IRIS
    Z = shaken(X)
    model = KernelSVC(MeansLearner(scale=0.2), tol=LIBSVM_TOL).fit(X, y)
    means = np.transpose([X[y == label].mean(axis=0) for label in range(3)])
    assert_same_svm(model, libsvm(Projection(0.2 * means), X, y, Z), Z)


def test_cross_validation_shows_the_learner_the_training_rows_alone():
    X, y = IRIS
    found = cross_validate(KernelSVC(MeansLearner()), X, y, cv=3, return_estimator=True, return_indices=True)
    for model, train in zip(found["estimator"], found["indices"]["train"], strict=True):
        assert_array_equal(model.learner_.seen_["X"], X[train])


def test_metadata_is_routed_to_the_learner_and_to_the_svm(rng):
    X, y = MOONS
    unlabelled = rng.normal(size=(5, 2))
    weight = np.where(y == 1, 100.0, 1.0)
    with config_context(enable_metadata_routing=True):
        model = KernelSVC(MeansLearner()).set_fit_request(unlabelled=True, sample_weight=True)
        model.set_score_request(sample_weight=False)
        params = {"unlabelled": unlabelled, "sample_weight": weight}
        found = cross_validate(model, X, y, cv=2, params=params, return_estimator=True, return_indices=True)
    for fitted, train in zip(found["estimator"], found["indices"]["train"], strict=True):
        assert_array_equal(fitted.learner_.seen_["unlabelled"], unlabelled)
        expected = KernelSVC(MeansLearner()).fit(X[train], y[train], sample_weight=weight[train])
        assert_allclose(fitted.decision_function(X), expected.decision_function(X))


def test_a_grid_searches_the_learner_and_the_svm_at_once():
    X, y = MOONS
    ours = make_pipeline(StandardScaler(), KernelSVC(RBF(), tol=LIBSVM_TOL))
    rival = make_pipeline(StandardScaler(), SVC(kernel=RBF(), tol=LIBSVM_TOL))
    grid = {"length_scale": [0.1, 1.0], "C": [0.1, 10.0]}

    def scores(pipeline, names):
        search = GridSearchCV(pipeline, dict(zip(names, grid.values(), strict=True)), cv=3).fit(X, y)
        return search.cv_results_["mean_test_score"]

    expected = scores(rival, ["svc__kernel__length_scale", "svc__C"])
    assert_allclose(scores(ours, ["kernelsvc__learner__length_scale", "kernelsvc__C"]), expected)
    learned = GridSearchCV(KernelSVC(MeansLearner()), {"learner__scale": [0.01, 1.0], "C": [1.0]}).fit(X, y)
    assert len(learned.cv_results_["params"]) == 2


def test_labels_may_be_words_and_a_fitted_model_survives_pickling():
    X, y = IRIS
    words = np.array(["setosa", "versicolor", "virginica"])
    model = KernelSVC(Perceptron()).fit(X, words[y])
    assert_array_equal(model.predict(X), words[KernelSVC(Perceptron()).fit(X, y).predict(X)])
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("model", "fit_params", "error", "message"),
    [
        (KernelSVC(RBF()), {"pairs": object()}, ValueError, "pairs given, but the kernel RBF"),
        (KernelSVC(), {"unlabelled": MOONS[0]}, ValueError, "unlabelled given, but the kernel None"),
        (KernelSVC("rbf"), {}, TypeError, "not 'rbf'"),
        (KernelSVC(RBF(), method="features"), {}, ValueError, "no finite feature map"),
        (KernelSVC(method="fast"), {}, ValueError, "method must be one of"),
        (KernelSVC(C=0.0), {}, ValueError, "C must be positive"),
        (KernelSVC(tol=-1.0), {}, ValueError, "tol must be positive"),
        (KernelSVC(), {"sample_weight": MOONS[1]}, ValueError, "only one class: 1"),
        (KernelSVC(), {"sample_weight": -np.ones(80)}, ValueError, "Negative values"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(model, fit_params, error, message):
    with pytest.raises(error, match=message):
        model.fit(*MOONS, **fit_params)


def test_data_that_cannot_be_is_refused_with_a_reason():
    X, y = MOONS
    with pytest.raises(ValueError, match="one class"):
        KernelSVC().fit(X, np.ones(80))
    with pytest.raises(ValueError, match="NaN"):
        KernelSVC().fit(X * np.nan, y)


@pytest.mark.parametrize("method", ["gram", "features"])
def test_sparse_samples_are_as_the_same_samples_dense(method):
    X, y = MOONS
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    model = KernelSVC(method=method)
    expected = clone(model).fit(X, y).decision_function(X)
    assert_array_equal(clone(model).fit(csr_array(X), y).decision_function(csr_array(X)), expected)


@EACH_DATA
def test_few_free_samples_lie_on_the_margin_whatever_the_tolerance(data):
    X, y = data
    for rows in (np.isin(y, pair) for pair in combinations(np.unique(y), 2)):
        model = KernelSVC(RBF(), tol=1e-3).fit(X[rows], y[rows])
        svms = model.machines_[0]
        free = np.abs(svms.coef[:, 0]) < 1.0  # C
        assert free.sum() > 1
        assert_allclose(svms(svms.anchors[free])[:, 0], np.sign(svms.coef[free, 0]), atol=1e-9)


@pytest.mark.parametrize("method", ["gram", "features"])
def test_an_svm_that_was_stopped_early_says_so(method):
    with pytest.warns(ConvergenceWarning):
        KernelSVC(method=method, max_iter=2).fit(*MOONS)


@pytest.mark.parametrize("method", ["gram", "features"])
def test_rows_that_all_coincide_get_the_larger_class(method):
    model = KernelSVC(method=method).fit(np.ones((5, 2)), [0, 0, 1, 1, 1])
    assert_allclose(model.decision_function([[1.0, 1.0]]), [1.0], atol=1e-6)
