"""Which columns matter, in the score that was asked for."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    make_scorer,
    r2_score,
    roc_auc_score,
)

from mercer.report.content import Subject
from mercer.report.sections import relevance
from mercer.report.sections.relevance import choose_losses, find_importance
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


@pytest.mark.parametrize("scoring", ["average_precision", "roc_auc"])
def test_a_class_that_is_rare_is_among_the_samples_that_are_shuffled(scoring, monkeypatch):
    """Of 600 samples two are yes: a draw of 50 that does not look at classes seldom has one."""
    monkeypatch.setattr(relevance, "MOST_PREDICTIONS", 0)  # so few are drawn as are allowed
    X = np.full((600, 2), -1.0)
    X[[17, 411], 0] = 1.0
    subject, data = shuffled(scoring, X, Line.classes_[(X[:, 0] > 0).astype(int)])
    losses, rises, order, instead = find_importance(subject, data)
    assert not instead
    assert losses.verb == "falls"
    assert order[0] == 0
    assert (rises[0] > 0.3).all()
    assert (rises[1] == 0).all()
    assert find_importance(subject, data).rises is rises  # it is computed once


@pytest.mark.parametrize("scoring", ["average_precision", "roc_auc", make_scorer(roc_auc_score)])
def test_a_score_that_held_out_samples_do_not_allow_is_replaced_and_that_is_said(scoring):
    X = np.linspace(-1.0, 1.0, 40)[:, None]
    subject, data = shuffled(scoring, X, np.repeat(Line.classes_[:1], 40))
    losses, rises, _, instead = find_importance(subject, data)
    assert instead.endswith("cannot be computed on these samples: the error is used instead.")
    assert losses.name == "error"
    assert np.isfinite(rises).all()


def shuffled(scoring, X, y):
    task = LabelTask(np.vstack([X, [[1.0] * X.shape[1]]]), np.append(y, "yes"))  # which one was fitted to
    search = SimpleNamespace(scoring=scoring, classes_=Line.classes_)
    names = [f"x{d}" for d in range(X.shape[1])]
    data = SimpleNamespace(predictor=Line(), X=X, y=y)
    return Subject(search, task, names, None, 0, []), data
