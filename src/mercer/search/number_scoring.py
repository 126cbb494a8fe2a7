"""What regressors are judged by: scikit-learn's scores of numbers, as losses of single samples.

As in `mercer.search.scoring` a score of a fold is a function of the weights of its samples, and the losses
are its pseudo-values. Those of R² = 1 − A / B, A the sum of the squared errors and B that of the squared
distances from the mean, have both in them: where a model predicts the mean, R² is surely about zero, however
much the squared errors differ.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from mercer._typing import Array
from mercer.search.scorers import as_scorer
from mercer.search.scoring import Scoring, Slope, make_metric, of_means, of_whole_folds

R2 = "r2"


class JudgedNumbers(NamedTuple):
    """What a candidate predicted for the test samples of a fold, and what is true."""

    truth: Array
    predicted: Array
    weight: Array

    def score_by(self, scorer: Any, options: dict[str, Any]) -> float:
        """Return what scikit-learn's scorer, or a user's, says."""
        return float(scorer(_Recorded(self.predicted), np.zeros((len(self.truth), 1)), self.truth, **options))


class _Recorded(RegressorMixin, BaseEstimator):
    """A regressor that says again what was said, for scorers, which ask one."""

    def __init__(self, predicted: Array) -> None:
        self.predicted = predicted

    def predict(self, X: Any) -> Array:
        """Return the numbers that were said."""
        return self.predicted


class Known(NamedTuple):
    """A score of which the losses of single samples are known."""

    key: str
    shown: str
    meaning: str
    slope: Callable[[JudgedNumbers], Slope]
    power: int  # of the target's unit


def find_number_scoring(given: object, y: Array) -> Scoring:
    """Return a score by its name, as scikit-learn's, or the one that a user's scorer gives."""
    name = R2 if given is None else given
    if not isinstance(name, str) or name not in NUMBER_SCORES:
        return of_whole_folds(given, as_scorer(given))
    known = NUMBER_SCORES[name]
    metric = make_metric(known.key, known.shown, known.meaning)._replace(
        greater_is_better=name == R2, of_target=known.power > 0
    )
    return Scoring(name, metric, known.slope, None, best=0.0, unit=float(np.std(y)) ** known.power or 1.0)


def is_absolute(scoring: Scoring) -> bool:
    """Return whether the median, and not the mean, is what a score asks for."""
    return "absolute" in scoring.name


def r2(judged: JudgedNumbers) -> Slope:
    """Return 1 − A / B, the share of the variance that is predicted."""
    y, w = judged.truth, judged.weight
    off, away = (y - judged.predicted) ** 2, (y - np.average(y, weights=w)) ** 2
    A, B = float(w @ off), float(w @ away)
    if len(y) < 2:
        raise ValueError(
            "a fold tests a single sample, and R² needs several: use fewer folds or another scoring"
        )
    if B == 0.0:  # then scikit-learn says this
        return float(A == 0.0), np.zeros(len(y))
    return 1.0 - A / B, (A * away / B - off) / B


def squared(judged: JudgedNumbers) -> Slope:
    """Return minus the mean squared error."""
    return of_means(-((judged.truth - judged.predicted) ** 2), judged.weight)


def root_squared(judged: JudgedNumbers) -> Slope:
    """Return minus the root of the mean squared error."""
    score, slope = squared(judged)
    root = float(np.sqrt(-score))
    return -root, slope / (2.0 * root) if root > 0.0 else slope


def absolute(judged: JudgedNumbers) -> Slope:
    """Return minus the mean absolute error."""
    return of_means(-np.abs(judged.truth - judged.predicted), judged.weight)


def absolute_percentage(judged: JudgedNumbers) -> Slope:
    """Return minus the mean of the absolute error as a share of the target."""
    size = np.maximum(np.abs(judged.truth), np.finfo(np.float64).eps)
    return of_means(-np.abs(judged.truth - judged.predicted) / size, judged.weight)


NUMBER_SCORES: dict[str, Known] = {
    R2: Known(R2, "R²", "the share of the variance that is predicted (1 is best, 0 is the mean)", r2, 0),
    "neg_root_mean_squared_error": Known(
        "rmse", "RMSE", "the root of the mean squared error, in units of the target", root_squared, 1
    ),
    "neg_mean_squared_error": Known(
        "mse", "mean squared error", "in squared units of the target", squared, 2
    ),
    "neg_mean_absolute_error": Known("mae", "mean absolute error", "in units of the target", absolute, 1),
    "neg_mean_absolute_percentage_error": Known(
        "mape",
        "mean absolute percentage error",
        "absolute errors as shares of the target",
        absolute_percentage,
        0,
    ),
}
