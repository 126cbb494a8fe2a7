"""KernelSearchRegressor: what it takes, what it leaves, and what it refuses."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score, cross_validate

from mercer import (
    ClippedScaler,
    KernelRegressor,
    KernelSearchRegressor,
    PerceptronRegressor,
    StumpRegressor,
    load,
    save,
)
from mercer.kernels import Perceptron, Rescaled
from mercer.search import SearchWarning
from mercer.search.words import describe_measure, describe_model, expected_on_new_samples

SOME = {
    "stump": (StumpRegressor(), {"C": [0.1, 1.0, 8.0]}),
    "perceptron": (PerceptronRegressor(), {"C": [1.0, 64.0]}),
    "linear": KernelRegressor(),
}
FRIEDMAN = make_friedman1(160, n_features=5, noise=1.0, random_state=0)
NEW = make_friedman1(400, n_features=5, noise=1.0, random_state=1)


def search_among(candidates=SOME, **options):
    return KernelSearchRegressor(candidates, **{"cv": 3, "random_state": 0} | options)


@pytest.fixture(scope="module")
def found():
    return search_among().fit(*FRIEDMAN)


def test_it_predicts_as_well_as_it_says(found):
    X, y = NEW
    score = r2_score(y, found.predict(X))
    assert found.score(X, y) == score
    assert abs(found.best_score_ - score) < 4 * found.std_error_
    assert found.result_.measure.low < score < found.result_.measure.high
    assert set(found.leaderboard_.index) == {*SOME, f"always {FRIEDMAN[1].mean():.6g}"}
    assert "r2" in found.leaderboard_
    assert "R²" in expected_on_new_samples(found.result_)


def test_intervals_hold_about_the_share_that_is_asked_for(found):
    X, y = NEW
    for coverage in (0.5, 0.9):
        low, high = found.predict_interval(X, coverage=coverage)
        assert abs(np.mean((low <= y) & (y <= high)) - coverage) < 0.1
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1"):
        found.predict_interval(X, coverage=90)


def test_predictions_are_the_weighted_mean_of_the_members(found):
    X, _ = NEW
    members = found.model_.members
    slow = sum(w * one.predict(X) for (_, one), w in zip(members, found.model_.weights, strict=True))
    assert_allclose(found.predict(X), slow)
    assert_allclose(sum(found.result_.blend.values()), 1.0)
    assert all(name in describe_model(found.result_) for name, _ in members)


def test_without_a_blend_the_winner_alone_predicts():
    search = search_among(blend=False).fit(*FRIEDMAN)
    assert search.result_.blend == {search.best_name_: 1.0}
    assert_array_equal(search.predict(NEW[0]), search.best_estimator_.predict(NEW[0]))
    low, high = search.predict_interval(NEW[0])
    inside = (low <= NEW[1]) & (NEW[1] <= high)
    assert 0.8 < inside.mean() < 0.98
    assert isinstance(search.best_kernel_, Rescaled)
    assert isinstance(search.best_kernel_.base, Perceptron)


def test_its_scores_are_those_of_a_grid_search_on_the_same_folds():
    X, y = FRIEDMAN
    folds = list(KFold(3, shuffle=True, random_state=5).split(X))
    search = search_among({"ridge": (Ridge(), {"alpha": [0.1, 10.0]})}, cv=folds).fit(X, y)
    pipeline = sklearn.pipeline.make_pipeline(ClippedScaler(), Ridge())
    grid = GridSearchCV(pipeline, {"ridge__alpha": [0.1, 10.0]}, cv=folds).fit(X, y)
    for k in range(3):
        key = f"split{k}_test_score"
        assert_allclose(search.cv_results_[key][:2], grid.cv_results_[key])  # the third is the mean
    assert search.best_index_ == grid.best_index_


@pytest.mark.parametrize(
    ("scoring", "key"),
    [
        ("neg_root_mean_squared_error", "rmse"),
        ("neg_mean_absolute_error", "mae"),
        ("neg_median_absolute_error", "neg_median_absolute_error"),
    ],
)
def test_other_scores_are_those_of_scikit_learn(scoring, key):
    search = search_among(scoring=scoring).fit(*FRIEDMAN)
    assert search.result_.metric.key == key
    assert search.best_score_ < 0
    assert abs(search.best_score_ - search.score(*NEW)) < 0.5
    assert f"{abs(search.best_score_):.2f}" in describe_measure(search.result_.measure)


def test_the_units_of_the_target_do_not_matter():
    X, y = FRIEDMAN
    scores = [
        search_among().fit(X, scale * y + shift)
        for scale, shift in ((1.0, 0.0), (1e-68, 0.0), (1e68, 0.0), (1e5, -1e7))
    ]
    for search in scores[1:]:
        assert search.best_settings_ == scores[0].best_settings_
        assert_allclose(search.best_score_, scores[0].best_score_, rtol=1e-4)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a"] * 5 + ["1"] * 5, "The target holds 'a', a regressor needs numbers"),
        ([1.0] * 9 + [np.inf], "infinity"),
        ([1.0] * 9 + [np.nan], "NaN"),
        ([2.5] * 10, "y is always 2.5 .*there is nothing to learn"),
        (np.arange(10).astype("datetime64[D]"), "The target holds dates or times"),
        (pd.to_datetime(["2020-01-01"] * 10), "dates"),
        (np.ones((10, 2)), "search for each column of y"),
        (1e140 * np.arange(10), "differ by up to 9e.140: divide them by their standard deviation"),
        (1e-140 * np.arange(10), "differ by up to 9e-140: divide them by their standard deviation"),
        (None, "requires y"),
    ],
)
def test_targets_that_cannot_be_are_refused_with_a_sentence(y, message, rng):
    with pytest.raises(ValueError, match=message):
        search_among().fit(rng.normal(size=(10, 2)), y)


def test_two_values_are_asked_about(rng):
    X = rng.normal(size=(40, 2))
    with pytest.warns(SearchWarning, match="two values, 0 and 1: if these are classes, use KernelSearchCV"):
        search_among().fit(X, (X[:, 0] > 0).astype(int))


def test_a_heavy_tail_is_spoken_of_and_not_transformed(rng):
    X = rng.normal(size=(200, 2))
    y = np.exp(3.0 * X[:, 0] + 0.1 * rng.normal(size=200))
    with pytest.warns(SearchWarning, match="consider its logarithm"):
        plain = search_among(cv=2).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SearchWarning)
        logs = TransformedTargetRegressor(search_among(cv=2), func=np.log, inverse_func=np.exp).fit(X, y)
    new = rng.normal(size=(200, 2))
    true = np.exp(3.0 * new[:, 0])
    errors = [
        np.median(np.abs(np.log(np.maximum(model.predict(new), 1e-9) / true))) for model in (plain, logs)
    ]
    assert errors[1] < errors[0] / 3


def test_tables_with_categories_and_gaps_are_encoded(rng):
    table = pd.DataFrame({"size": rng.normal(size=60), "colour": rng.choice(["red", "blue"], size=60)})
    table.loc[3, "size"] = np.nan
    y = np.where(table["colour"] == "red", 5.0, 1.0) + table["size"].fillna(0.0)
    search = search_among().fit(table, y)
    assert search.encoder_ is not None
    assert search.score(table, y) > 0.8


def test_weights_count_by_their_ratios(rng):
    X, y = FRIEDMAN
    weight = rng.uniform(0.5, 2.0, size=len(y))
    one, other = (search_among().fit(X, y, sample_weight=scale * weight) for scale in (1.0, 1e-4))
    assert one.best_settings_ == other.best_settings_
    assert_allclose(other.predict(X), one.predict(X), rtol=1e-6)


def test_weights_count_and_samples_without_weight_do_not(rng):
    X, y = FRIEDMAN
    spoilt = np.where(np.arange(160) < 40, 1e3, y)
    weight = np.where(np.arange(160) < 40, 0.0, 1.0)
    a = search_among().fit(X, spoilt, sample_weight=weight)
    b = search_among().fit(X[40:], y[40:])
    assert_allclose(a.predict(NEW[0]), b.predict(NEW[0]))
    assert_allclose(a.best_score_, b.best_score_)
    heavy = search_among().fit(X, y, sample_weight=np.where(X[:, 0] > 0.5, 100.0, 1.0))
    assert heavy.best_score_ != b.best_score_
    with pytest.raises(TypeError, match="takes no sample_weight"):
        search_among({"a": NoWeights()}).fit(X, y, sample_weight=np.ones(160))
    with pytest.raises(TypeError, match="candidate 'a' must be a regressor"):
        search_among({"a": LogisticRegression()}).fit(X, y)
    with pytest.raises(TypeError, match="scoring must be the name of one score"):
        search_among(scoring=["r2"]).fit(X, y)


class NoWeights(RegressorMixin, BaseEstimator):
    """It takes no weights."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.zeros(len(X))


def test_groups_and_weights_are_routed(rng):
    X, y = FRIEDMAN
    groups = np.arange(160) // 8
    with sklearn.config_context(enable_metadata_routing=True):
        search = search_among().set_fit_request(groups=True, sample_weight=True)
        search.set_score_request(sample_weight=True)
        done = cross_validate(
            search,
            X,
            y,
            cv=GroupKFold(2),
            params={"groups": groups, "sample_weight": np.ones(160)},
            return_estimator=True,
        )
    for one, (train, _) in zip(done["estimator"], GroupKFold(2).split(X, y, groups), strict=True):
        by_hand = search_among().fit(
            X[train], y[train], groups=groups[train], sample_weight=np.ones(len(train))
        )
        assert_allclose(one.best_score_, by_hand.best_score_)


def test_it_is_saved_whole_and_as_what_predicts(found, tmp_path):
    X, _ = NEW
    for model in (found, found.model_):
        save(model, tmp_path / "model.mercer")
        again = load(tmp_path / "model.mercer")
        assert_array_equal(again.predict(X), found.predict(X))
        assert_array_equal(again.predict_interval(X), found.predict_interval(X))


def test_with_a_budget_there_is_a_model_of_what_was_done():
    X, y = make_friedman1(2500, noise=1.0, random_state=0)
    search = KernelSearchRegressor(budget=0.5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SearchWarning)
        search.fit(X, y)
    assert search.best_score_ > 0.5
    assert search.rows_used_ >= 800  # what a fold of a thousand learns from


class Interrupts(LinearRegression):
    """A user presses Ctrl-C in its second fit."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Interrupts.fits += 1
        if Interrupts.fits > 1:
            raise KeyboardInterrupt
        return super().fit(X, y)


def test_ctrl_c_ends_it_with_what_is_done():
    Interrupts.fits = 0
    search = search_among({"ridge": Ridge(), "interrupts": Interrupts()})
    with pytest.warns(SearchWarning, match="rests on [12] of 3 folds"):
        search.fit(*FRIEDMAN)
    assert search.stopped_ == "interrupt"
    assert search.predict(NEW[0]).shape == (400,)


def test_on_shuffled_targets_nothing_is_promised(rng):
    X, y = make_friedman1(60, n_features=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SearchWarning)
        scores = [search_among(random_state=k).fit(X, rng.permutation(y)).best_score_ for k in range(10)]
    assert np.mean(scores) < 2 * np.std(scores, ddof=1) / np.sqrt(10)


def test_the_default_candidates_beat_the_mean_on_smooth_data():
    X, y = FRIEDMAN
    search = KernelSearchRegressor(cv=2, random_state=0).fit(X[:100], y[:100])
    assert search.best_score_ > 0.6
    assert set(search.result_.listed) == set(search.result_.names()) - {search.result_.baseline}
    assert not any(one.status == "failed" for one in search.result_.candidates)


def test_it_is_cross_validated_as_any_regressor():
    scores = cross_val_score(search_among({"linear": KernelRegressor()}), *FRIEDMAN, cv=2)
    assert scores.shape == (2,)
    assert np.all(scores > 0.4)
