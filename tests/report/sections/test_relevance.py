"""Which columns matter, in the score that was asked for."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import average_precision_score, balanced_accuracy_score, make_scorer, r2_score

from mercer.report.content import Subject
from mercer.report.sections.relevance import choose_losses
from mercer.search.label_task import LabelTask
from mercer.search.number_task import NumberTask


class Line(ClassifierMixin, BaseEstimator):
    """The sign of the first feature decides."""

    classes_ = np.array(["no", "yes"])

    def decision_function(self, X):
        return X[:, 0]

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0).astype(int)]


def losses_of(scoring, X, y, predictor):
    search = SimpleNamespace(scoring=scoring, classes_=Line.classes_)
    task = NumberTask(X, y) if y.dtype == float else LabelTask(X, y)
    return choose_losses(
        Subject(search, task, [], None, 0, []), SimpleNamespace(predictor=predictor, X=X, y=y)
    )


@pytest.mark.parametrize("scoring", ["average_precision", "balanced_accuracy", "own", "accuracy", None])
def test_shuffled_classes_are_judged_by_the_score_that_was_asked_for(rng, scoring):
    X = rng.normal(size=(80, 2))
    y = Line.classes_[(X[:, 0] + rng.normal(size=80) > 1.0).astype(int)]
    given = make_scorer(balanced_accuracy_score) if scoring == "own" else scoring
    losses = losses_of(given, X, y, Line())
    right = Line().predict(X) == y
    expected = {
        "average_precision": -average_precision_score(y == "yes", X[:, 0]),
        "balanced_accuracy": -balanced_accuracy_score(y, Line().predict(X)),
        "own": -balanced_accuracy_score(y, Line().predict(X)),
        "accuracy": -np.mean(right),  # which falls as much as the error rises
        None: np.mean(~right),
    }
    assert losses.mean(X, y) == pytest.approx(expected[scoring])
    assert losses.change.startswith("rise" if scoring in (None, "accuracy") else "fall")


@pytest.mark.parametrize("scoring", ["r2", "neg_mean_absolute_error", None])
def test_shuffled_numbers_are_judged_by_the_score_that_was_asked_for(rng, scoring):
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + rng.normal(size=80)
    losses = losses_of(scoring, X, y, SimpleNamespace(predict=lambda X: X[:, 0]))
    off = y - X[:, 0]
    expected = {
        "r2": (-r2_score(y, X[:, 0]), "fall of the R²"),
        "neg_mean_absolute_error": (np.mean(np.abs(off)), "rise of the mean absolute error"),
        None: (np.sqrt(np.mean(off**2)), "rise of the RMSE"),
    }
    assert losses.mean(X, y) == pytest.approx(expected[scoring][0])
    assert losses.change == expected[scoring][1]
