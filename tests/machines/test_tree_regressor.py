"""TreeRegressor: exact against LIBSVM and a linear system, landmarks against exact, the choice of C and γ."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.model_selection import KFold
from sklearn.svm import SVR

from mercer import TreeRegressor
from mercer.machines import regressor, rows_of

X, y = make_friedman1(90, n_features=5, noise=1.0, random_state=0)
Z = (y - y.mean()) / y.std()
NEW, Y_NEW = make_friedman1(400, n_features=5, random_state=1)


def test_the_squared_error_is_a_linear_system_with_the_laplacian_kernel():
    n, C, K = len(y), 30.0, laplacian_kernel(X, gamma=0.4)
    system = np.block([[K + np.eye(n) / C, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    *a, b = np.linalg.solve(system, np.append(Z, 0.0))
    wanted = y.mean() + y.std() * (laplacian_kernel(NEW, X, gamma=0.4) @ a + b)
    assert_allclose(TreeRegressor(C, gamma=0.4).fit(X, y).predict(NEW), wanted, rtol=1e-7)


def test_the_insensitive_error_is_that_of_libsvm():
    model = TreeRegressor(10.0, gamma=0.4, loss="epsilon_insensitive", epsilon=0.2).fit(X, y)
    rival = SVR(kernel="precomputed", C=10.0, epsilon=0.2, tol=1e-9).fit(laplacian_kernel(X, gamma=0.4), Z)
    wanted = y.mean() + y.std() * rival.predict(laplacian_kernel(NEW, X, gamma=0.4))
    assert_allclose(model.predict(NEW), wanted, atol=1e-4 * y.std())


@pytest.mark.parametrize("loss", ["squared_error", "quantile", "poisson"])
def test_with_every_sample_a_landmark_it_is_exact(loss):
    options = {"loss": loss, "C": 5.0, "quantile": 0.8, "tol": 1e-6}
    exact = TreeRegressor(**options).fit(X, y)
    landmarks = TreeRegressor(method="landmarks", random_state=0, **options).fit(X, y)
    assert (exact.method_, landmarks.method_) == ("gram", "landmarks")
    assert_allclose(landmarks.objective_, exact.objective_, rtol=1e-6)
    assert_allclose(landmarks.predict(NEW), exact.predict(NEW), atol=3e-3 * y.std())


def test_c_and_gamma_have_the_best_mean_score_over_the_folds():
    folds = list(KFold(3).split(X))
    model = TreeRegressor("cv", Cs=[1.0, 100.0], gammas=[0.3, 3.0], cv=folds).fit(X, y)
    assert model.scores_.shape == (3, 2, 2)
    for k, (train, test) in enumerate(folds):
        for i, C in enumerate(model.Cs_):
            for j, gamma in enumerate(model.gammas_):
                one = TreeRegressor(C, gamma=gamma).fit(X[train], y[train])
                error = np.mean((y[test] - one.predict(X[test])) ** 2)
                assert_allclose(-model.scores_[k, i, j], error, rtol=1e-6)
    best = np.unravel_index(model.scores_.mean(axis=0).argmax(), (2, 2))
    assert (model.C_, model.gamma_) == (model.Cs_[best[0]], model.gammas_[best[1]])
    again = TreeRegressor(model.C_, gamma=model.gamma_).fit(X, y)
    assert_allclose(model.predict(NEW), again.predict(NEW))


def test_of_many_samples_some_choose_and_the_errors_are_of_a_fit_to_most(monkeypatch):
    monkeypatch.setattr(regressor, "SELECTION_ROWS", 100)
    monkeypatch.setattr(rows_of, "RIDGE_ROWS", 200)
    X, y = make_friedman1(1000, n_features=5, noise=1.0, random_state=2)
    model = TreeRegressor("cv", Cs=(16.0, 64.0), gammas=(0.25, 0.5), n_landmarks=150, random_state=0).fit(
        X, y
    )
    assert model.method_ == "landmarks"
    assert len(model.unseen_.error) == 200
    assert model.score(NEW, Y_NEW) > 0.9
    again = TreeRegressor(
        "cv", Cs=(16.0, 64.0), gammas=(0.25, 0.5), n_landmarks=150, random_state=0, n_jobs=2
    ).fit(X, y)
    assert_array_equal(again.predict(NEW), model.predict(NEW))


@pytest.mark.parametrize("few", [True, False])
def test_samples_of_weight_zero_have_no_part_in_the_choice_of_gamma_and_c(few, monkeypatch):
    monkeypatch.setattr(regressor, "SELECTION_ROWS", 100 if few else 60)
    monkeypatch.setattr(rows_of, "RIDGE_ROWS", 100)
    far, nothing = np.vstack([1000.0 * X, X]), np.append(np.zeros(90), np.ones(90))
    options = {"Cs": (1.0, 16.0), "gammas": (0.25, 1.0), "cv": 3, "random_state": 0}
    alone = TreeRegressor("cv", **options).fit(X, y)
    model = TreeRegressor("cv", **options).fit(far, np.append(-y, y), sample_weight=nothing)
    assert_array_equal(model.gammas_, alone.gammas_)
    assert_allclose(model.scores_, alone.scores_)
    assert model.method_ == alone.method_
    assert_allclose(model.predict(NEW), alone.predict(NEW))


def test_categories_are_one_step_as_in_the_classifier(rng):
    kinds = np.eye(3)[rng.integers(0, 3, 60)]
    rows = np.column_stack([kinds, rng.normal(size=60)])
    assert TreeRegressor().fit(rows, rows[:, 3] + kinds[:, 0]).kernel_.scale[0] != 1.0
    plain = TreeRegressor(categories=None).fit(rows, rows[:, 3] + kinds[:, 0])
    assert type(plain.kernel_).__name__ == "Tree"


@pytest.mark.parametrize(
    "model", [TreeRegressor(), TreeRegressor("cv", Cs=[4.0], gammas=[0.5], cv=2)], ids=repr
)
def test_with_categories_too_the_kernel_of_weights_is_that_of_repeats(model, rng):
    rows = np.column_stack([np.eye(3)[rng.integers(0, 3, 60)], rng.normal(size=60) ** 3])
    y, weight = rows[:, 3] + rows[:, 0], rng.integers(0, 4, size=60)
    repeated = np.repeat(np.arange(60), weight)
    once = clone(model).fit(rows, y, sample_weight=weight)
    again = clone(model).fit(rows[repeated], y[repeated])
    assert_allclose(once.kernel_(rows), again.kernel_(rows), rtol=1e-9)
    assert_allclose(clone(model).fit(rows, y).kernel_.scale[3], 1.0)


def test_wrong_options_are_named():
    for options in ({"method": "fast"}, {"gamma": 0.0}, {"relative_gamma": -1.0}, {"n_landmarks": 0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            TreeRegressor(**options).fit(X, y)
