"""Votes of one against one, counted as LIBSVM counts them."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC
from sklearn.utils.multiclass import _ovr_decision_function

from mercer import KernelSVC, PerceptronSVC, StumpSVC, TreeSVC
from mercer.kernels import Perceptron, Stump, Tree
from mercer.machines.multiclass import choose_classes, score_classes, soften


def twelve_classes(n_rows, random_state):
    """Labels that have nothing to do with the rows, so that many votes are equal."""
    X = np.random.RandomState(random_state).normal(size=(n_rows, 10))
    return X, np.arange(n_rows) % 12


@pytest.mark.parametrize(
    ("model", "kernel"),
    [
        (StumpSVC(C=0.5, tol=1e-5), Stump()),
        (StumpSVC("cv", Cs=[0.5], cv=2, tol=1e-5), Stump()),
        (PerceptronSVC(C=0.5, tol=1e-5), Perceptron()),
        (PerceptronSVC("cv", Cs=[0.5], cv=2, tol=1e-5), Perceptron()),
        (KernelSVC(Stump(), C=0.5, tol=1e-5), Stump()),
        (TreeSVC(C=50.0, gamma=0.1, tol=1e-5), Tree(0.1)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_twelve_classes_are_predicted_as_by_svc(model, kernel):
    X, y = twelve_classes(240, 0)
    X_new, _ = twelve_classes(300, 1)
    rival = SVC(
        C=getattr(model, "Cs", [0.5])[0] if model.C == "cv" else model.C,
        kernel=kernel,
        decision_function_shape="ovo",
        tol=1e-6,
    ).fit(X, y)
    values = -rival.decision_function(X_new)  # positive for the later class
    clear = np.abs(values).min(axis=1) > 2e-3  # both solvers stop at a tolerance
    expected = rival.predict(X_new)
    by_confidence = score_classes(values, 12, "ovo").argmax(axis=1)
    assert clear.mean() > 0.7
    assert np.mean(by_confidence[clear] != expected[clear]) > 0.03  # ties are common here
    assert_array_equal(model.fit(X, y).predict(X_new)[clear], expected[clear])


@pytest.mark.parametrize("model", [StumpSVC(), PerceptronSVC(), KernelSVC()], ids=repr)
def test_between_two_classes_it_is_the_later_one_as_by_svc(model):
    X, y, middle = np.array([[-1.0], [1.0]]), ["a", "b"], [[0.0]]
    model.fit(X, y)
    assert model.decision_function(middle) == 0.0
    assert model.predict(middle) == SVC(kernel="linear").fit(X, y).predict(middle) == "b"


def test_the_score_of_a_choice_of_c_is_the_accuracy_of_the_votes():
    X, y = twelve_classes(240, 0)
    half = np.arange(240) % 24 < 12
    fold = [(np.flatnonzero(half), np.flatnonzero(~half))]
    score = StumpSVC("cv", Cs=[0.5], cv=fold).fit(X, y).scores_[0, 0]
    assert score == StumpSVC(C=0.5).fit(X[half], y[half]).score(X[~half], y[~half])
    named = StumpSVC("cv", Cs=[0.5], cv=fold, scoring="accuracy").fit(X, y).scores_[0, 0]
    assert score == named


def test_the_first_class_of_the_most_votes_is_chosen(rng):
    decisions = np.round(rng.normal(size=(400, 6)), 0)  # some are zero
    chosen = choose_classes(decisions, 4, "ovo")
    for values, found in zip(decisions, chosen, strict=True):
        votes = [0] * 4
        for (a, b), value in zip(combinations(range(4), 2), values, strict=True):
            votes[a if -value > 0 else b] += 1  # svm_predict_values of LIBSVM, whose sign is for the first
        assert found == votes.index(max(votes))


def test_scores_order_by_votes_and_then_by_the_sum_of_decision_values(rng):
    decisions = rng.normal(size=(50, 3))
    scores = score_classes(decisions, 3, "ovo")
    for (f01, f02, f12), row in zip(decisions, scores, strict=True):
        votes = [int(f01 < 0) + (f02 < 0), int(f01 > 0) + (f12 < 0), int(f02 > 0) + (f12 > 0)]
        sums = np.array([-f01 - f02, f01 - f12, f02 + f12])
        assert_allclose(row, votes + sums / (3 * (1 + np.abs(sums))))


def test_scores_are_those_of_scikit_learn(rng):
    decisions = np.round(rng.normal(size=(50, 45)), 1)
    expected = _ovr_decision_function(decisions > 0, decisions, 10)
    assert_allclose(score_classes(decisions, 10, "ovo"), expected, atol=1e-12)


@pytest.mark.parametrize("count", [choose_classes, score_classes, soften])
def test_decisions_of_other_classes_are_refused_before_they_take_memory(count, rng):
    with pytest.raises(ValueError, match="50000 classes are 1249975000 pairs"):
        count(rng.normal(size=(5, 1)), 50_000, "ovo")
