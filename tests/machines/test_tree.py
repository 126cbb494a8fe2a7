"""TreeSVC: exact against LIBSVM, landmarks that approach it, and categories that count as one split."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, StandardScaler
from sklearn.svm import SVC

from mercer import TreeSVC
from mercer.datasets import threenorm, twonorm
from mercer.kernels import Ranked, Rescaled, Tree
from mercer.kernels.tree import median_gamma
from mercer.machines import classifier, feature_samples, gram_samples, rows_of

IRIS = load_iris(return_X_y=True)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_exact_is_libsvm_with_the_tree_kernel(C):
    X, y = threenorm(200, random_state=0)
    X_new, _ = threenorm(300, random_state=1)
    weight = np.random.default_rng(0).uniform(0.2, 2.0, 200)
    ours = TreeSVC(C=C, gamma=0.05, tol=1e-6).fit(X, y, sample_weight=weight)
    theirs = SVC(C=C, kernel=Tree(0.05), tol=1e-6).fit(X, y, sample_weight=weight)
    assert ours.method_ == "gram"
    assert_allclose(ours.decision_function(X_new), theirs.decision_function(X_new), atol=1e-4)
    assert_array_equal(ours.support_, np.sort(theirs.support_))
    assert ours.residual_[0] <= 1e-3


def test_the_objective_is_that_of_the_dual_problem():
    X, y = threenorm(150, random_state=0)
    model = TreeSVC(C=0.5).fit(X, y)
    coef = np.zeros(150)
    coef[model.support_] = model.dual_coef_[0]
    assert_allclose(coef.sum(), 0.0, atol=1e-9)
    assert_allclose(model.objective_[0], 0.5 * coef @ model.kernel_(X) @ coef - y @ coef)


def test_three_classes_are_libsvms_one_against_one():
    X, y = IRIS
    ours = TreeSVC(C=5.0, class_weight={0: 1.0, 1: 0.3, 2: 2.0}).fit(X[::2], y[::2])
    weights = {0: 1.0, 1: 0.3, 2: 2.0}
    theirs = SVC(C=5.0, kernel=ours.kernel_, class_weight=weights, tol=1e-6).fit(X[::2], y[::2])
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)


def test_one_against_the_rest_is_scikit_learns():
    X, y = IRIS
    ours = TreeSVC(C=5.0, multi_class="ovr").fit(X[::2], y[::2])
    theirs = OneVsRestClassifier(SVC(C=5.0, kernel=ours.kernel_, tol=1e-6)).fit(X[::2], y[::2])
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)


def test_its_coefficients_and_support_vectors_are_the_decision_function():
    X, y = IRIS
    for method in ("gram", "landmarks"):
        model = TreeSVC(method=method, n_landmarks=40, random_state=0).fit(X, y)
        assert model.method_ == method
        f = model.kernel_(X, X[model.support_]) @ model.dual_coef_.T + model.intercept_
        assert_allclose(f, model._values(X), atol=1e-9)


def test_samples_of_no_weight_might_as_well_not_be_there():
    X, y = threenorm(120, random_state=0)
    weight = np.ones(120)
    weight[::3] = 0.0
    some = np.flatnonzero(weight)
    with_zeros, without = TreeSVC().fit(X, y, sample_weight=weight), TreeSVC().fit(X[some], y[some])
    assert_array_equal(with_zeros.support_, some[without.support_])
    assert_array_equal(with_zeros.decision_function(X), without.decision_function(X))


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_with_all_rows_as_landmarks_it_is_the_exact_svm(multi_class):
    X, y = IRIS
    exact = TreeSVC(C=1.0, multi_class=multi_class).fit(X, y)
    landmarks = TreeSVC(C=1.0, multi_class=multi_class, method="landmarks", random_state=0).fit(X, y)
    f, g = exact._values(X), landmarks._values(X)
    for a, b in zip(f.T, g.T, strict=True):
        assert_allclose(a, b, atol=3e-3)
    assert_array_equal(exact.predict(X), landmarks.predict(X))


def test_few_landmarks_classify_many_rows_nearly_as_well():
    X, y = threenorm(2000, random_state=0)
    X_new, y_new = threenorm(3000, random_state=1)
    exact = TreeSVC().fit(X, y).score(X_new, y_new)
    model = TreeSVC(method="landmarks", n_landmarks=300, random_state=0).fit(X, y)
    assert len(model.support_) == 300
    assert model.score(X_new, y_new) > exact - 0.03


def test_the_number_of_rows_decides_on_the_method(monkeypatch):
    monkeypatch.setattr(rows_of, "GRAM_ROWS", 60)
    X, y = threenorm(80, random_state=0)
    assert TreeSVC().fit(X[:60], y[:60]).method_ == "gram"
    assert TreeSVC(random_state=0).fit(X, y).method_ == "landmarks"
    assert TreeSVC(method="gram").fit(X, y).method_ == "gram"


def test_landmarks_are_the_same_for_the_same_seed():
    X, y = threenorm(100, random_state=0)
    a, b, c = (TreeSVC(method="landmarks", n_landmarks=20, random_state=s).fit(X, y) for s in (0, 0, 1))
    assert_array_equal(a.decision_function(X), b.decision_function(X))
    assert not np.array_equal(a.support_, c.support_)


def test_features_of_many_rows_have_single_precision_and_nearly_the_same_result(monkeypatch):
    X, y = threenorm(300, random_state=0)
    model = TreeSVC(method="landmarks", n_landmarks=50, random_state=0)
    expected = model.fit(X, y).decision_function(X)
    monkeypatch.setattr(feature_samples, "DOUBLE", 0)
    assert_allclose(model.fit(X, y).decision_function(X), expected, atol=1e-2)


def test_landmarks_are_fewer_where_their_features_would_be_too_many(monkeypatch):
    X, y = threenorm(300, random_state=0)
    monkeypatch.setattr(feature_samples, "HELD", 300 * 40)
    monkeypatch.setattr(feature_samples, "LEAST_LANDMARKS", 10)
    assert len(TreeSVC(method="landmarks", random_state=0).fit(X, y).support_) == 40
    monkeypatch.setattr(feature_samples, "HELD", 0)
    assert len(TreeSVC(method="landmarks", random_state=0).fit(X, y).support_) == 10


def test_a_gram_matrix_that_does_not_fit_is_refused_before_it_is_computed(have_memory):
    X, y = threenorm(100, random_state=0)
    have_memory(10_000)
    with pytest.raises(MemoryError, match="method='landmarks'"):
        TreeSVC(method="gram").fit(X, y)


def test_too_few_passes_give_a_warning():
    X, y = threenorm(200, random_state=0)
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations with a residual"):
        TreeSVC(C=100.0, method="landmarks", max_iter=1, random_state=0).fit(X, y)


def table(rng, n=300):
    """Numbers and two categories, one of them with a rare value; one-hot encoded, then standardised."""
    numbers = rng.normal(size=(n, 2))
    kinds = np.column_stack([rng.integers(0, 3, n), rng.choice(2, n, p=[0.95, 0.05])])
    X = np.hstack([numbers, OneHotEncoder(sparse_output=False).fit_transform(kinds)])
    return StandardScaler().fit_transform(X), kinds


def test_a_category_is_one_split_however_rare_it_is(rng):
    X, kinds = table(rng)
    y = (kinds[:, 0] == 1).astype(int)
    kernel = TreeSVC().fit(X, y).kernel_
    assert isinstance(kernel, Rescaled)
    rows = np.zeros((6, 7))
    rows[:] = X[0]
    rows[1, 0] += 2.0  # one step: two standard deviations
    for row, codes in zip(rows[2:], ([1, 0], [2, 0], [0, 0], [0, 1]), strict=True):
        same = np.flatnonzero((kinds == codes).all(axis=1))[0]
        row[2:] = X[same, 2:]
    distance = -np.log(kernel(rows)) / kernel.base.gamma
    assert_allclose(distance[0, 1], 2.0)
    assert_allclose([distance[2, 3], distance[2, 4], distance[3, 4], distance[4, 5]], 2.0)
    assert_allclose(distance[2, 5], 4.0)  # two categories


@pytest.mark.parametrize("ranks", [False, True])
def test_with_categories_too_weights_are_repeats(ranks, rng):
    X, _ = table(rng)
    y, weight = (X[:, 0] + X[:, 2] > 0).astype(int), rng.integers(0, 4, size=len(X))
    X[:, :2] **= 3  # a deviation that some rows have most of
    rows = np.repeat(np.arange(len(X)), weight)
    once = TreeSVC(ranks=ranks, tol=1e-8).fit(X, y, sample_weight=weight)
    again = TreeSVC(ranks=ranks, tol=1e-8).fit(X[rows], y[rows])
    assert_allclose(once.decision_function(X), again.decision_function(X), atol=1e-5)
    chosen = TreeSVC("cv", Cs=[1.0], gammas=[1.0], cv=2, ranks=ranks).fit(X, y, sample_weight=weight)
    assert_allclose(chosen.kernel_(X), again.kernel_(X), rtol=1e-9)


@pytest.mark.parametrize("model", [TreeSVC(ranks=True), TreeSVC("cv", ranks=True, cv=3)], ids=repr)
def test_with_ranks_it_is_the_svm_of_ranks_in_units_of_their_deviation(model, rng):
    X = rng.lognormal(sigma=2.0, size=(150, 3))
    y = (np.log(X[:, 0]) * np.log(X[:, 1]) > 0).astype(int)
    ranks = QuantileTransformer(n_quantiles=150).fit(X)
    scaler = StandardScaler().fit(ranks.transform(X))
    seen, new = (scaler.transform(ranks.transform(rows)) for rows in (X, X[::3] + 0.1))
    model.fit(X, y)
    theirs = clone(model).set_params(ranks=False).fit(seen, y)
    assert isinstance(model.kernel_, Ranked)
    assert_allclose(model.gamma_, theirs.gamma_)
    assert_allclose(model.decision_function(X[::3] + 0.1), theirs.decision_function(new), atol=2e-3)


def test_with_ranks_a_category_is_one_split_too(rng):
    X, kinds = table(rng)
    kernel = TreeSVC(ranks=True).fit(X, (kinds[:, 0] == 1).astype(int)).kernel_
    firsts = [np.flatnonzero((kinds == codes).all(axis=1))[0] for codes in ([0, 0], [1, 0], [0, 1])]
    rows = np.repeat(X[:1], 3, axis=0)
    rows[:, 2:] = X[firsts, 2:]
    distance = -np.log(kernel(rows)) / kernel.base.base.gamma
    assert_allclose([distance[0, 1], distance[0, 2], distance[1, 2]], [2.0, 2.0, 4.0])


def test_gamma_is_a_multiple_of_the_median_rules_unless_it_is_given():
    X, y = IRIS
    median = Tree().fitted_to(X).gamma
    assert TreeSVC().fit(X, y).gamma_ == median
    assert TreeSVC(relative_gamma=0.5).fit(X, y).gamma_ == median / 2
    assert TreeSVC(gamma=0.3, relative_gamma=0.5).fit(X, y).gamma_ == 0.3


def test_columns_are_left_as_they_are_on_request(rng):
    X, kinds = table(rng)
    model = TreeSVC(categories=None).fit(X, kinds[:, 0])
    assert model.kernel_ == Tree().fitted_to(X)


def test_the_choice_is_that_of_a_grid_search_over_the_same_folds():
    X, y = threenorm(150, random_state=0)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    Cs, gammas = [0.5, 2.0, 8.0], [0.5, 2.0]
    ours = TreeSVC("cv", Cs=Cs, gammas=gammas, cv=folds).fit(X, y)
    median = Tree().fitted_to(X).gamma
    kernels = [Tree(g * median) for g in gammas]
    theirs = GridSearchCV(SVC(tol=1e-6), {"C": Cs, "kernel": kernels}, cv=folds).fit(X, y)
    expected = theirs.cv_results_["mean_test_score"].reshape(3, 2)
    assert_allclose(ours.scores_.mean(axis=0), expected)
    assert_allclose(ours.gammas_, [k.gamma for k in kernels])
    assert (ours.C_, ours.kernel_) == (theirs.best_params_["C"], theirs.best_params_["kernel"])
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)


def test_any_score_may_be_maximised():
    X, y = IRIS
    folds = StratifiedKFold(3)
    accuracy = TreeSVC("cv", Cs=(0.1, 1.0), gammas=(1.0,), cv=folds).fit(X, y)
    named = TreeSVC("cv", Cs=(0.1, 1.0), gammas=(1.0,), cv=folds, scoring="accuracy").fit(X, y)
    assert_allclose(named.scores_, accuracy.scores_)
    weight = np.random.default_rng(0).uniform(size=150)
    plain = TreeSVC("cv", Cs=(0.1, 1.0), gammas=(1.0,), cv=folds).fit(X, y, sample_weight=weight)
    named = TreeSVC("cv", Cs=(0.1, 1.0), gammas=(1.0,), cv=folds, scoring="accuracy").fit(
        X, y, sample_weight=weight
    )
    assert_allclose(named.scores_, plain.scores_)


def test_threads_change_nothing():
    X, y = IRIS
    one, two = (TreeSVC("cv", Cs=(0.1, 1.0), gammas=(1.0,), cv=3, n_jobs=n).fit(X, y) for n in (1, 2))
    assert_array_equal(one.scores_, two.scores_)


def test_of_many_rows_the_settings_are_chosen_on_some(monkeypatch):
    monkeypatch.setattr(classifier, "SELECTION_ROWS", 100)
    X, y = twonorm(400, random_state=0)
    y = y.astype(int)
    y[:12] = 7  # a rare class, all of which is drawn
    seen = []
    solve = gram_samples.solve_by_libsvm
    monkeypatch.setattr(
        gram_samples, "solve_by_libsvm", lambda K, *args, **kw: seen.append(len(K)) or solve(K, *args, **kw)
    )
    model = TreeSVC("cv", Cs=(1.0,), gammas=(1.0,), cv=2, random_state=0).fit(X, y)
    assert 40 <= max(seen[:-1]) <= 65
    assert seen[-1] == 400
    assert 7 in model.classes_


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"C": 0.0}, "C must be positive"),
        ({"gamma": -1.0}, "gamma must be positive"),
        ({"relative_gamma": 0.0}, "relative_gamma must be positive"),
        ({"method": "fast"}, "method must be one of"),
        ({"n_landmarks": 0}, "n_landmarks must be at least 1"),
        ({"categories": "all"}, "categories must be one of"),
        ({"multi_class": "all"}, "multi_class must be one of"),
        ({"tol": 0.0}, "tol must be positive"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
    ],
)
def test_wrong_parameters_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        TreeSVC(**wrong).fit(*IRIS)


@pytest.mark.parametrize("gammas", [[], [0.0], [1.0, np.inf]])
def test_wrong_grids_are_named(gammas):
    with pytest.raises(ValueError, match="gammas must be one positive number or more"):
        TreeSVC("cv", gammas=gammas).fit(*IRIS)


def test_rows_in_a_rhythm_have_the_width_of_shuffled_ones(rng):
    X = np.zeros((4000, 2))
    X[1::2] = 100.0 * rng.normal(size=(2000, 2))
    shuffled = X[rng.permutation(4000)]
    assert median_gamma(X) == pytest.approx(median_gamma(shuffled), rel=0.3)


def test_landmarks_have_an_objective_and_a_residual_of_their_own():
    X, y = make_moons(300, noise=0.2, random_state=0)
    model = TreeSVC().fit(X, y)
    exact = model.objective_
    model.set_params(method="landmarks", n_landmarks=40).fit(X, y)
    assert model.objective_.shape == model.residual_.shape == (1,)
    assert model.objective_ != exact
    assert model.residual_ <= model.tol
