"""Scores of numbers: scikit-learn's values, and losses of samples that are their derivatives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import get_scorer, make_scorer, median_absolute_error, r2_score

from mercer.search.scoring import NUMBER_SCORES, Judged, find_number_scoring


class Same(RegressorMixin, BaseEstimator):
    """It predicts the first column."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, 0]


@pytest.fixture
def judged(rng):
    y = rng.normal(5.0, 3.0, size=40)
    return Judged(y, y + rng.normal(size=40), rng.uniform(0.5, 2.0, size=40))


def score_of(name, judged):
    """What scikit-learn says."""
    scorer = get_scorer(name)
    return scorer(Same(), judged.predicted[:, None], judged.truth, sample_weight=judged.weight)


@pytest.mark.parametrize("name", NUMBER_SCORES)
def test_the_mean_loss_of_a_fold_is_scikit_learns_score(name, judged):
    scoring = find_number_scoring(name, judged.truth)
    losses = scoring.losses(judged)
    assert_allclose(scoring.best - scoring.unit * losses.mean(), score_of(name, judged), rtol=1e-9)
    sign = 1.0 if scoring.metric.greater_is_better else -1.0
    assert_allclose(scoring.value(losses.mean()), sign * score_of(name, judged), rtol=1e-9)


@pytest.mark.parametrize("name", NUMBER_SCORES)
def test_the_losses_are_the_derivatives_of_scikit_learns_score_by_the_weights(name, judged):
    scoring = find_number_scoring(name, judged.truth)
    losses = scoring.losses(judged)
    for i in (0, 7, 39):
        scores = []
        for step in (-1e-5, 1e-5):
            weight = judged.weight.copy()
            weight[i] += step
            scores.append(score_of(name, judged._replace(weight=weight)))
        slope = (scores[1] - scores[0]) / 2e-5
        pseudo = score_of(name, judged) + 40 * judged.weight[i] * slope
        assert_allclose(scoring.best - scoring.unit * losses[i], pseudo, rtol=1e-5)


@pytest.mark.parametrize("name", NUMBER_SCORES)
def test_losses_do_not_depend_on_the_units_of_the_target(name, judged):
    if name == "neg_mean_absolute_percentage_error":
        return  # in which zero is not another number
    losses = []
    for scale in (1.0, 1e-7, 1e9):
        scaled = Judged(scale * judged.truth, scale * judged.predicted, judged.weight)
        losses.append(find_number_scoring(name, scaled.truth).losses(scaled))
    assert_allclose(losses[1], losses[0], rtol=1e-6)
    assert_allclose(losses[2], losses[0], rtol=1e-6)


def test_exact_predictions_lose_nothing(judged):
    exact = judged._replace(predicted=judged.truth)
    for name in NUMBER_SCORES:
        losses = find_number_scoring(name, judged.truth).losses(exact)
        assert_allclose(losses, -1.0 if name == "r2" else 0.0, atol=1e-12)


def test_r2_of_equal_targets_is_scikit_learns_and_of_a_single_sample_refused():
    scoring = find_number_scoring(None, np.arange(9.0))
    for predicted in (np.ones(3), np.arange(3.0)):
        same = Judged(np.ones(3), predicted, np.ones(3))
        losses = scoring.losses(same)
        assert_allclose(-losses, r2_score(same.truth, predicted))
    one = Judged(*(np.ones(1) for _ in range(3)))
    with pytest.raises(ValueError, match="use fewer folds"):
        scoring.losses(one)


@pytest.mark.parametrize("given", ["neg_median_absolute_error", make_scorer(median_absolute_error)])
def test_other_scores_are_of_whole_folds(given, rng):
    scoring = find_number_scoring(given, rng.normal(size=9))
    X = rng.normal(size=(20, 1))
    said = Judged(X[:, 0] + 2.0, X[:, 0], np.ones(20))
    losses = scoring.losses(said)
    expected = 2.0 if isinstance(given, str) else -2.0
    assert_allclose(losses, expected)
    assert scoring.slope is None
