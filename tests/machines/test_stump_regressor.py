"""StumpRegressor: each loss against a generic solver, bins, weights, several targets, paths and intervals."""

from functools import partial

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import make_scorer, mean_absolute_error, mean_poisson_deviance
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelRegressor, PerceptronRegressor, StumpRegressor, TreeRegressor
from mercer.kernels import Tree
from mercer.machines import additive
from mercer.machines.selection import is_past_the_best

LOSSES = {
    "squared_error": lambda e: cp.square(e) / 2,
    "absolute_error": cp.abs,
    "quantile": lambda e: 0.8 * cp.pos(e) + 0.2 * cp.pos(-e),
    "epsilon_insensitive": lambda e: cp.pos(cp.abs(e) - 0.3),
}
OPTIONS = {"quantile": 0.8, "epsilon": 0.3, "tol": 1e-6}


def make_data(rng, n=60, counts=False):
    X = np.round(rng.normal(size=(n, 3)), 1)  # ties
    signal = X[:, 0] + np.abs(X[:, 1]) + 0.5 * rng.normal(size=n)
    y = rng.poisson(5.0 * np.exp(0.5 * signal)).astype(float) if counts else 40.0 + 7.0 * signal
    return X, y, rng.uniform(0.5, 2.0, size=n)


def penalty_of(model, scale=1.0):
    """Return ¼ Σ_d ∫ g_d'² of the fitted shapes."""
    return 0.25 * sum((np.diff(v / scale) ** 2 / np.diff(k)).sum() for k, v in model.shape_functions_)


def minimise(X, y, C, loss_of):
    """Minimise the same by a generic solver, over the values of each g_d."""
    total, penalty = cp.Variable() * np.ones(len(y)), 0.0
    for column in X.T:
        values, code = np.unique(column, return_inverse=True)
        g = cp.Variable(len(values))
        penalty = penalty + 0.25 * cp.sum(cp.multiply(cp.square(cp.diff(g)), 1.0 / np.diff(values)))
        total = total + g[code]
    return cp.Problem(cp.Minimize(penalty + C @ loss_of(y, total))).solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("C", [0.05, 2.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_minimum_is_that_of_a_generic_solver(loss, C, few, rng, monkeypatch):
    if not few:
        monkeypatch.setattr(additive, "FEW_ROWS", 0)
    X, y, weight = make_data(rng)
    mean = np.average(y, weights=weight)
    spread = np.sqrt(np.average((y - mean) ** 2, weights=weight))
    model = StumpRegressor(C=C, loss=loss, **OPTIONS).fit(X, y, weight)
    error = (y - model.predict(X)) / spread
    ours = penalty_of(model, spread) + C * weight @ LOSSES[loss](error).value
    wanted = minimise(X, (y - mean) / spread, C * weight, lambda y, f: LOSSES[loss](y - f))
    assert_allclose(ours, wanted, rtol=1e-6)
    assert_allclose(-model.objective_, wanted, rtol=1e-6)


@pytest.mark.parametrize("few", [True, False])
def test_of_poisson_the_minimum_is_that_of_the_counts_themselves(few, rng, monkeypatch):
    if not few:
        monkeypatch.setattr(additive, "FEW_ROWS", 0)
    X, y, weight = make_data(rng, counts=True)
    model = StumpRegressor(C=0.3, loss="poisson", tol=1e-6).fit(X, y, weight)
    predicted = model.predict(X)
    ours = penalty_of(model) + 0.3 * weight @ (predicted - y * np.log(predicted))
    wanted = minimise(X, y, 0.3 * weight, lambda y, f: cp.exp(f) - cp.multiply(y, f))
    assert_allclose(ours, wanted, rtol=1e-6)


@pytest.mark.parametrize("loss", [*LOSSES, "poisson"])
def test_predictions_are_the_sum_of_the_shapes(loss, rng):
    X, y, _ = make_data(rng)
    model = StumpRegressor(loss=loss).fit(X, y)
    f = model.intercept_ + sum(
        np.interp(x, *shape) for x, shape in zip(X.T, model.shape_functions_, strict=True)
    )
    assert_allclose(np.exp(f) if loss == "poisson" else f, model.predict(X), rtol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_c_does_not_depend_on_the_units_of_the_target(loss, rng):
    X, y, _ = make_data(rng)
    one, other = (StumpRegressor(loss=loss, C=0.5).fit(X, t).predict(X) for t in (y, 1e4 * y - 3e5))
    assert_allclose(1e4 * one - 3e5, other, rtol=1e-6, atol=1e-6 * 1e4 * y.std())


def test_of_a_pipeline_exact_rows_and_bins_agree_where_rows_are_many(rng):
    X, y = make_friedman1(4000, random_state=0, noise=0.5)
    X = np.round(X, 2)
    exact, binned = (StumpRegressor(C=4.0, max_bins=b, tol=1e-5).fit(X, y) for b in (None, 256))
    assert_allclose(exact.predict(X), binned.predict(X), atol=1e-2 * y.std())


def test_a_quantile_has_its_share_of_the_samples_below(rng):
    X = rng.uniform(size=(4000, 2))
    y = X[:, 0] + (0.2 + X[:, 1]) * rng.exponential(size=4000)
    for level in (0.1, 0.5, 0.9):
        below = y <= StumpRegressor(loss="quantile", quantile=level, max_bins=32, C=0.05).fit(X, y).predict(X)
        assert_allclose(below.mean(), level, atol=0.01)
        assert_allclose(below[X[:, 1] > 0.5].mean(), level, atol=0.04)  # in parts as well


def test_weights_are_repetitions_and_weight_zero_is_absence(rng):
    X, y, _ = make_data(rng)
    times = rng.integers(0, 3, size=len(y))
    weighted = StumpRegressor().fit(X, y, times)
    repeated = StumpRegressor().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-7)


def test_several_targets_are_fitted_each_by_itself(rng):
    X, y, _ = make_data(rng)
    Y = np.column_stack([y, -3.0 * y, X[:, 2]])
    for model in (StumpRegressor(n_jobs=2), StumpRegressor("cv", Cs=[0.5], random_state=0)):
        together = clone(model).fit(X, Y)
        alone = [clone(model).fit(X, target).predict(X) for target in Y.T]
        assert_allclose(together.predict(X), np.column_stack(alone), rtol=1e-9, atol=1e-9)
        assert len(together.shape_functions_) == len(together.intercept_) == 3
    low, high = together.predict_interval(X)
    assert low.shape == high.shape == Y.shape
    assert together.fit(X, Y[:, :1]).predict(X).shape == (len(X), 1)


def test_squared_errors_of_bins_take_few_steps_even_of_features_that_are_nearly_one(rng):
    X = rng.normal(size=(4000, 1)) + 0.1 * rng.normal(size=(4000, 12))
    model = StumpRegressor(100.0, max_bins=64).fit(X, X[:, 0])  # a warning would be an error
    assert model.n_iter_ <= 6  # 2, as measured
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations"):
        StumpRegressor(100.0, max_bins=64, max_iter=1).fit(X, X[:, 0])


def test_a_constant_target_is_predicted_as_it_is(rng):
    X = rng.normal(size=(30, 2))
    for loss in (*LOSSES, "poisson"):
        for kind in (StumpRegressor, PerceptronRegressor, TreeRegressor, partial(KernelRegressor, Tree())):
            assert_allclose(kind(loss=loss).fit(X, np.full(30, 0.1)).predict(X), 0.1, rtol=1e-9)
        model = StumpRegressor("cv", Cs=3, loss=loss, random_state=0).fit(X, np.full(30, 0.1))
        assert_allclose(model.predict_interval(X), 0.1, rtol=1e-9)
    assert_allclose(TreeRegressor("cv", random_state=0).fit(X, np.ones(30)).predict(X), 1.0)
    assert_allclose(TreeRegressor().fit(np.ones((30, 2)), X[:, 0]).predict(np.ones((1, 2))), X[:, 0].mean())


def test_the_chosen_c_has_the_least_mean_loss_over_the_folds(rng):
    X, y = make_friedman1(300, random_state=0, noise=1.0)
    folds = list(KFold(4).split(X))
    for loss in LOSSES:
        model = StumpRegressor("cv", Cs=[0.01, 0.5, 100.0], cv=folds, loss=loss, **OPTIONS).fit(X, y)
        for k, (train, test) in enumerate(folds):
            for j, C in enumerate(model.Cs_):
                one = StumpRegressor(C=C, loss=loss, **OPTIONS).fit(X[train], y[train])
                error = y[test] - one.predict(X[test])
                unit = y.std() if loss == "epsilon_insensitive" else 1.0  # ε is in standard deviations
                lost = unit * LOSSES[loss](error / unit).value.mean()
                lost *= 2.0 if loss == "squared_error" else 1.0
                assert_allclose(-model.scores_[k, j], lost, rtol=1e-3)
        assert model.C_ == model.Cs_[model.scores_.mean(axis=0).argmax()] == 0.5


def test_a_path_ends_after_the_best_c_and_a_search_over_all_finds_no_other(rng):
    X, y = make_friedman1(300, random_state=1, noise=2.0)
    model = StumpRegressor("cv", cv=KFold(4)).fit(X, y)
    tried = np.isfinite(model.scores_).all(axis=0)
    assert 2 < tried.sum() < 12
    assert_array_equal(np.isfinite(model.scores_), np.broadcast_to(np.sort(tried)[::-1], (4, 12)))
    search = GridSearchCV(StumpRegressor(), {"C": model.Cs_}, cv=KFold(4), scoring="neg_mean_squared_error")
    assert search.fit(X, y).best_params_ == {"C": model.C_}


@pytest.mark.parametrize(
    ("scores", "past"),
    [
        ([[1, 3, 2, 1], [1, 3, 2, 1]], True),
        ([[1, 3, 2], [1, 3, 1]], False),  # worse once, by three standard errors
        ([[1, 3, 2], [1, 3, 1.4]], False),  # by four
        ([[1, 3, 2], [1, 3, 1.6]], True),  # by six
        ([[1, 3, 2, 3.5], [1, 3, 2, 2]], False),  # worse, but by less than a standard error
        ([[1, 3, 2, 1]], False),  # one fold knows no standard error
        ([[1, 2, 3], [1, 2, 3]], False),
    ],
)
def test_worse_is_twice_in_a_row_by_a_standard_error_or_once_by_more_than_five(scores, past):
    assert is_past_the_best(np.array(scores, dtype=float)) is past


def test_along_a_path_counts_are_fitted_as_without_one(rng):
    X, y, _ = make_data(rng, n=300, counts=True)
    train, test = np.arange(200), np.arange(200, 300)
    model = StumpRegressor(
        "cv", Cs=[1e-4, 0.05, 10.0, 1e3], cv=[(train, test)], loss="poisson", max_bins=8, tol=1e-5
    )
    scores = model.fit(X, y).scores_[0]
    for C, score in zip(model.Cs_, scores, strict=True):
        one = StumpRegressor(C, loss="poisson", max_bins=8, tol=1e-5).fit(X[train], y[train])
        deviance = mean_poisson_deviance(y[test], one.predict(X[test]))
        assert_allclose(-score, deviance, rtol=1e-3)


def test_scoring_groups_weights_and_threads_are_those_of_scikit_learn(rng):
    X, y = make_friedman1(120, random_state=0)
    weight, groups = rng.uniform(0.0, 1.0, 120), np.arange(120) // 10
    options = {"Cs": [0.1, 10.0], "cv": GroupKFold(3)}
    named = StumpRegressor("cv", **options, scoring="neg_mean_absolute_error").fit(X, y, groups=groups)
    called = StumpRegressor(
        "cv", **options, scoring=make_scorer(mean_absolute_error, greater_is_better=False), n_jobs=2
    )
    assert_array_equal(named.scores_, called.fit(X, y, groups=groups).scores_)
    weighted = StumpRegressor("cv", **options).fit(X, y, weight, groups=groups)
    train, test = next(GroupKFold(3).split(X, y, groups))
    one = StumpRegressor(C=0.1).fit(X[train], y[train], weight[train])
    lost = np.average((y[test] - one.predict(X[test])) ** 2, weights=weight[test])
    assert_allclose(-weighted.scores_[0, 0], lost, rtol=1e-3)


def test_it_works_in_pipelines_and_searches_and_the_same_seed_gives_the_same(rng):
    X, y = make_friedman1(150, random_state=0)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), StumpRegressor()), {"stumpregressor__C": [1e-3, 1.0]}
    )
    assert search.fit(X, y).best_params_ == {"stumpregressor__C": 1.0}
    one, other = (StumpRegressor("cv", random_state=3, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert_array_equal(one.scores_, other.scores_)
    assert_array_equal(one.predict(X), other.predict(X))
    for end, again in zip(one.predict_interval(X), other.predict_interval(X), strict=True):
        assert_array_equal(end, again)
