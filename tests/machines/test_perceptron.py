"""PerceptronSVC: exact against LIBSVM, and slices that approach it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from mercer import PerceptronRegressor, PerceptronSVC
from mercer.datasets import threenorm
from mercer.kernels import Perceptron
from mercer.machines.additive_samples import draw_directions


@pytest.mark.parametrize("C", 2.0 ** np.arange(-17, 6, 4))
def test_exact_is_libsvm_with_the_perceptron_kernel(C):
    X, y = threenorm(200, random_state=0)
    X_new, _ = threenorm(300, random_state=1)
    ours = PerceptronSVC(C=C, method="gram", tol=1e-5).fit(X, y)
    theirs = SVC(C=C, kernel=Perceptron(), tol=1e-5).fit(X, y)
    assert ours.residual_[0] <= 1e-5
    f, expected = ours.decision_function(X_new), theirs.decision_function(X_new)
    assert np.corrcoef(f, expected)[0, 1] > 0.9999
    assert np.mean(ours.predict(X_new) == theirs.predict(X_new)) >= 0.999


def test_the_objective_is_that_of_the_dual_problem():
    X, y = threenorm(150, random_state=0)
    model = PerceptronSVC(C=0.5, method="gram").fit(X, y)
    coef = np.zeros(150)
    coef[model.support_] = model.dual_coef_[0]
    assert_allclose(coef.sum(), 0.0, atol=1e-9)
    assert_allclose(model.objective_[0], -0.5 * coef @ cdist(X, X) @ coef - y @ coef)


@pytest.mark.parametrize("n_features", [1, 2, 5, 20])
def test_the_projections_estimate_the_distance_without_bias(n_features, rng):
    X = rng.normal(size=(20, n_features))
    directions = draw_directions(n_features, 40_000, random_state=0)
    estimate = cdist(X @ directions, X @ directions, "cityblock")
    assert_allclose(estimate, cdist(X, X), rtol=0.02, atol=1e-9)


def test_orthogonal_directions_have_a_smaller_error_than_independent_ones(rng):
    X = rng.normal(size=(30, 10))
    K = cdist(X, X)

    def error(directions):
        return np.mean((cdist(X @ directions, X @ directions, "cityblock") - K) ** 2)

    orthogonal = np.mean([error(draw_directions(10, 20, seed)) for seed in range(30)])
    length = np.linalg.norm(draw_directions(10, 20, 0), axis=0)[0]
    independent = []
    for _ in range(30):
        directions = rng.normal(size=(10, 20))
        independent.append(error(length * directions / np.linalg.norm(directions, axis=0)))
    assert orthogonal < np.mean(independent) / 2


def test_more_directions_come_nearer_to_the_exact_classifier():
    X, y = threenorm(300, random_state=0)
    X_new, _ = threenorm(300, random_state=1)
    exact = PerceptronSVC(C=0.25, method="gram").fit(X, y).decision_function(X_new)
    correlations = []
    for n_directions in (20, 160, 1280):
        model = PerceptronSVC(C=0.25, method="sliced", n_directions=n_directions, random_state=0).fit(X, y)
        correlations.append(np.corrcoef(exact, model.decision_function(X_new))[0, 1])
    assert correlations[0] < correlations[1] < correlations[2]
    assert correlations[2] > 0.985


def test_one_feature_needs_one_direction():
    X, y = threenorm(100, n_features=2, random_state=0)
    X = X[:, :1]
    exact = PerceptronSVC(method="gram").fit(X, y)
    sliced = PerceptronSVC(method="sliced", n_directions=1, max_bins=None).fit(X, y)
    assert_allclose(sliced.decision_function(X), exact.decision_function(X), atol=1e-2)
    assert_allclose(sliced.objective_, exact.objective_, rtol=1e-4)


def test_auto_is_exact_for_few_rows_and_sliced_for_many(monkeypatch):
    X, y = threenorm(60, random_state=0)
    automatic, exact = (PerceptronSVC(method=m, random_state=0).fit(X, y) for m in ("auto", "gram"))
    assert_array_equal(automatic.decision_function(X), exact.decision_function(X))
    monkeypatch.setattr("mercer.machines.rows_of.SLICED_ROWS", 59)
    some = {"n_directions": 14, "random_state": 0}  # 4 × 14 is less than 60, 4 × 15 is not
    automatic, sliced = (PerceptronSVC(method=m, **some).fit(X, y) for m in ("auto", "sliced"))
    assert_array_equal(automatic.decision_function(X), sliced.decision_function(X))
    automatic = PerceptronSVC(n_directions=15, random_state=0).fit(X, y)
    assert_array_equal(automatic.decision_function(X), exact.decision_function(X))
    monkeypatch.setattr("mercer.machines.rows_of.MOST_UNSLICED", 59)
    automatic, sliced = (PerceptronSVC(method=m, random_state=0).fit(X, y) for m in ("auto", "sliced"))
    assert_array_equal(automatic.decision_function(X), sliced.decision_function(X))


def test_selection_and_refit_are_of_one_kind(monkeypatch):
    monkeypatch.setattr("mercer.machines.rows_of.SLICED_ROWS", 55)  # 60 rows are too many, 40 are not
    X, y = threenorm(60, random_state=0)
    options = {"Cs": 2, "cv": 3, "n_directions": 10, "random_state": 0}
    automatic, sliced = (PerceptronSVC("cv", method=m, **options).fit(X, y) for m in ("auto", "sliced"))
    assert_array_equal(automatic.scores_, sliced.scores_)


@pytest.mark.parametrize(
    "parameters", [{"max_bins": 1}, {"max_bins": -5}, {"n_directions": 0}, {"method": "fast"}]
)
@pytest.mark.parametrize("method", ["gram", "sliced"])
def test_bad_parameters_are_named_whatever_the_method(method, parameters):
    (name,) = parameters
    with pytest.raises(ValueError, match=name):
        PerceptronSVC(**{"method": method, **parameters}).fit([[0.0], [1.0]], [0, 1])


def test_memory_that_is_not_there_is_said_before_it_starts(have_memory):
    have_memory(10_000)
    X, y = threenorm(30, random_state=0)
    with pytest.raises(MemoryError, match=r"30 rows.*method='landmarks'"):
        PerceptronSVC(method="gram").fit(X, y)


def test_libsvm_that_was_stopped_says_so():
    X, y = threenorm(200, random_state=0)
    with pytest.warns(ConvergenceWarning, match="stopped after 3 iterations"):
        PerceptronSVC(method="gram", max_iter=3).fit(X, y)


def test_cv_gives_the_scores_of_a_grid_search():
    X, y = threenorm(150, random_state=0)
    Cs = 2.0 ** np.arange(-9, 4, 3)
    ours = PerceptronSVC("cv", Cs=Cs, cv=3).fit(X, y)
    search = GridSearchCV(PerceptronSVC(), {"C": Cs}, cv=3).fit(X, y)
    assert_allclose(ours.scores_, [search.cv_results_[f"split{k}_test_score"] for k in range(3)])
    assert search.best_params_["C"] == ours.C_


def test_the_same_result_on_two_threads(rng):
    X, y = threenorm(90, random_state=0)
    one, two = (
        PerceptronSVC("cv", Cs=3, cv=3, method="sliced", n_directions=20, n_jobs=jobs, random_state=1).fit(
            X, y
        )
        for jobs in (1, 2)
    )
    assert_array_equal(one.scores_, two.scores_)
    assert_array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize(
    "machine", [PerceptronSVC(), PerceptronSVC("cv", cv=2), PerceptronRegressor()], ids=repr
)
def test_samples_too_far_apart_for_distances_are_named_with_what_to_do(rng, machine):
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 3
    with pytest.raises(ValueError, match=r"as large as \de\+150, .* scale the features"):
        machine.fit(1e150 * X, y)
    machine.fit(1e3 * X, y)
