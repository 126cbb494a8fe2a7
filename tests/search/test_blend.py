"""The blend: greedy weights, calibrated values, and an error that the weights had no part in."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from mercer import KernelSearchCV, KernelSVC, StumpSVC
from mercer.persistence import load, save
from mercer.search import Calibration, Candidate
from mercer.search.blend import N_STEPS, held_out_values, hold_ballot, make_blend, measure_blend, select
from mercer.search.calibration import by_class, fit_calibration
from mercer.search.race import Outcome
from mercer.search.words import describe_blend
from search.made_races import race_on

TWO = {"linear": (KernelSVC(), {"C": [0.01, 1.0]}), "stump": (StumpSVC(), {"C": [0.01, 1.0]})}


def slow_selection(values, label, sample_weight, candidates):
    """Caruana's selection, word for word: one setting per candidate, then the best addition thirty times."""

    def loss(one):
        chances = softmax(one, axis=1)
        return -sum(
            w * np.log(chances[i, c]) for i, (c, w) in enumerate(zip(label, sample_weight, strict=True))
        )

    library = [
        min((k for k in range(len(values)) if candidates[k] == number), key=lambda k: loss(values[k]))
        for number in sorted(set(candidates))
    ]
    chosen = []
    for _ in range(N_STEPS):
        chosen.append(
            min(library, key=lambda k: round(loss(np.mean([values[j] for j in [*chosen, k]], axis=0)), 9))
        )
    return np.array([chosen.count(k) / N_STEPS for k in range(len(values))])


@pytest.mark.parametrize(
    ("n_classes", "candidates"), [(2, [0, 0, 1]), (3, [0, 1, 1, 2, 2, 2]), (2, [0]), (4, [3, 1, 1, 3])]
)
def test_members_are_added_as_the_paper_says_word_for_word(rng, n_classes, candidates):
    label = rng.integers(n_classes, size=25)
    values = rng.normal(size=(len(candidates), 25, n_classes)) + 0.7 * np.eye(n_classes)[label]
    weight = rng.integers(3, size=25).astype(float)
    weights = select(values, label, weight, np.array(candidates))
    assert_allclose(weights, slow_selection(values, label, weight, candidates), atol=1e-12)
    assert_allclose(weights.sum(), 1.0)


def test_one_that_is_surer_of_every_class_is_all_there_is():
    label = np.arange(9) % 2
    values = np.array([strength * np.eye(2)[label] for strength in (1.0, 3.0, 2.0)])
    assert_allclose(select(values, label, np.ones(9), np.arange(3)), [0.0, 1.0, 0.0])


def race_of(decisions, n_folds=4):
    """A race whose settings said these decision values, (n_rows, n_settings), of alternating classes."""
    n, k = decisions.shape
    race = race_on([Candidate(f"c{i}", SVC(), {}) for i in range(k)], n, n_folds=n_folds)
    wrong = (decisions > 0) != (np.arange(n) % 2 == 1)[:, None]
    for fold, test in enumerate(np.array_split(np.arange(n), n_folds)):
        for i in range(k):
            values = np.stack([wrong[test, i], decisions[test, i]], axis=-1)[:, None]
            race.record(i, race.of(i), fold, Outcome(values, np.ones(1), np.ones(1), 1.0, {}))
    return race


@pytest.fixture
def noisy(rng):
    """Three judges of 80 rows: two that see half of the truth, in other units, and one that sees none."""
    signs = np.where(np.arange(80) % 2 == 1, 1.0, -1.0)
    noise = rng.normal(size=(80, 3))
    return race_of(np.column_stack([signs + noise[:, 0], 1000 * (signs + noise[:, 1]), noise[:, 2]]))


def test_decision_values_are_calibrated_before_they_are_summed(noisy):
    ballot = hold_ballot(noisy)
    for k, calibration in enumerate(ballot.units):
        assert_allclose(softmax(ballot.values[k], axis=1), calibration(noisy.said[:, k]))
    weights = ballot.weigh()
    assert weights[0] > 0.1  # units do not matter
    assert weights[1] > 0.1


def test_weights_and_units_of_a_fold_are_those_of_the_other_folds(noisy):
    ballot = hold_ballot(noisy)
    values = held_out_values(ballot)
    for k in range(4):
        mine = noisy.fold == k
        label, alike = ballot.truth[~mine], np.ones((~mine).sum())
        units = [fit_calibration(noisy.said[~mine, j], label) for j in range(3)]
        others = np.array([unit.values(noisy.said[:, j]) for j, unit in enumerate(units)])
        weights = select(others[:, ~mine], label, alike, np.arange(3))
        assert_allclose(values[mine], sum(w * v[mine] for w, v in zip(weights, others, strict=True)))
    measure = measure_blend(ballot, values)
    assert_allclose(measure.value, np.mean(values.argmax(axis=1) != np.arange(80) % 2))
    assert measure.low < measure.value < measure.high
    assert measure.n_samples == 80


def test_a_blend_of_two_halves_of_the_truth_knows_more_than_either(rng):
    signs = np.where(np.arange(400) % 2 == 1, 1.0, -1.0)
    race = race_of(signs[:, None] + 1.5 * rng.normal(size=(400, 2)))
    ballot = hold_ballot(race)
    assert measure_blend(ballot, held_out_values(ballot)).value < race.errors(np.arange(2)).min()


class Says:
    """A classifier whose decision values are a column of its input."""

    def __init__(self, column, classes):
        self.column, self.classes_ = column, classes

    def decision_function(self, X):
        return X[:, self.column]

    def predict(self, X):
        return self.classes_[(X[:, self.column] > 0).astype(int)]


def test_predictions_are_those_of_the_weighted_calibrated_sum(noisy, rng):
    calibrations = tuple(Calibration(1.0 + k, np.array([-0.3, 0.3]) * k) for k in range(3))
    ballot, classes = hold_ballot(noisy)._replace(units=calibrations), noisy.task.classes
    weights = np.array([0.5, 0.3, 0.2])
    fitted = {0: Says(0, classes), 2: Says(2, classes)}  # the one with the weight 0.3 could not be fitted
    blend = make_blend(ballot, weights, fitted)
    assert blend.names == ("c0", "c2")
    X = rng.normal(size=(20, 3))
    slow = 0.0
    for k in (0, 2):
        chances = ballot.units[k](X[:, k])
        slow = slow + weights[k] / 0.7 * np.log(chances[:, 1] / chances[:, 0])
    assert_allclose(blend.decision_function(X), slow)
    assert_array_equal(blend.predict(X), classes[(slow > 0).astype(int)])


def test_a_winner_without_weight_is_the_blend_if_nothing_else_could_be_fitted(noisy):
    ballot = hold_ballot(noisy)
    blend = make_blend(ballot, np.array([0.0, 1.0, 0.0]), {0: Says(0, noisy.task.classes)})
    assert blend.names == ("c0",)
    assert_array_equal(blend.weights, [1.0])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_blended_search_predicts_by_its_members_and_keeps_its_winner(n_classes, tmp_path):
    X, y = make_classification(
        240, 6, n_informative=4, n_classes=n_classes, class_sep=0.8, flip_y=0.1, random_state=0
    )
    names = np.array(["ant", "bee", "cat"])[y]
    three = TWO | {"rbf": SVC()}
    plain, blended = (
        KernelSearchCV(three, cv=3, blend=blend, random_state=0).fit(X[:120], names[:120])
        for blend in (False, True)
    )
    assert plain.blend_ is None
    assert (blended.best_name_, blended.best_settings_) == (plain.best_name_, plain.best_settings_)
    assert_array_equal(blended.best_estimator_.predict(X), plain.predict(X))
    assert len(blended.blend_.names) > 1
    decisions = blended.decision_function(X)
    assert_array_equal(
        blended.predict(X), np.array(["ant", "bee", "cat"])[by_class(decisions).argmax(axis=1)]
    )
    chances = blended.predict_proba(X)
    assert chances.shape == (240, n_classes)
    assert_allclose(chances.sum(axis=1), 1.0)
    error = 1 - blended.score(X[120:], names[120:])
    assert abs(blended.error_ - error) < 4 * np.hypot(blended.std_error_, np.sqrt(error * (1 - error) / 120))
    save(blended, tmp_path / "model.mercer")
    assert_allclose(load(tmp_path / "model.mercer").decision_function(X), decisions)
    again = clone(blended.blend_).fit(X[:120], names[:120])  # the same samples: the same members
    assert_allclose(again.decision_function(X), decisions)
    assert blended.result_.blend == dict(zip(again.names, again.weights, strict=True))
    told = describe_blend(blended.result_)
    assert all(name in told for name in again.names)
    assert describe_blend(plain.result_) == ""


RARE = {"scoring": "balanced_accuracy"}


@pytest.mark.parametrize(
    ("options", "blends"),
    [
        ({}, True),
        ({"scoring": "roc_auc"}, True),
        (RARE, False),
        (RARE | {"blend": True}, True),
        ({"scoring": "jaccard"}, False),
        ({"class_weight": "balanced"}, False),
        ({"candidates": ["linear"]}, False),
        ({"candidates": ["linear"], "blend": True}, False),
        ({"refit": False}, False),
    ],
)
def test_a_search_blends_where_the_most_probable_class_is_what_is_asked_for(options, blends):
    X, y = make_classification(100, 5, flip_y=0.2, random_state=0)
    search = KernelSearchCV(**{"candidates": TWO, "cv": 2, "random_state": 0} | options).fit(X, y)
    assert (search.blend_ is not None) == blends
    assert bool(search.result_.blend) == blends


class Stubborn(SVC):
    """Raises what a user's Ctrl-C raises, once it is fitted to all samples."""

    def fit(self, X, y, sample_weight=None):
        if len(X) == 100:
            raise KeyboardInterrupt
        return super().fit(X, y)


def test_a_member_that_is_interrupted_is_done_without():
    X, y = make_classification(100, 5, flip_y=0.1, random_state=0)
    three = {"linear": KernelSVC(), "stubborn": Stubborn(C=0.05), "stump": StumpSVC(C=0.02)}
    search = KernelSearchCV(three, cv=2, random_state=0)
    search.fit(X, y)
    assert search.best_name_ != "stubborn"
    assert "stubborn" not in search.blend_.names
    assert search.stopped_ == "interrupt"
    assert search.predict(X).shape == y.shape


def test_a_member_that_cannot_be_fitted_is_done_without(monkeypatch):
    X, y = make_classification(100, 5, random_state=0)
    refit, tried = KernelSearchCV._refit, []

    def refit_once(self, schedule, winner, task, seed):
        tried.append(winner)
        if len(tried) > 1:
            raise ValueError("no")
        return refit(self, schedule, winner, task, seed)

    monkeypatch.setattr(KernelSearchCV, "_refit", refit_once)
    search = KernelSearchCV(TWO, cv=3, blend=True, random_state=0).fit(X, y)
    assert len(tried) > 1
    assert search.blend_.names == (search.best_name_,)


def test_on_shuffled_labels_a_blend_promises_nothing(rng):
    X = rng.normal(size=(60, 4))
    errors = [
        KernelSearchCV(TWO, cv=3, blend=True, random_state=seed).fit(X, rng.permutation(60) % 2).error_
        for seed in range(12)
    ]
    assert abs(np.mean(errors) - 0.5) < 3 * np.std(errors, ddof=1) / np.sqrt(12)


def test_a_score_of_whole_folds_is_refused():
    X, y = make_classification(60, 5, random_state=0)
    with pytest.raises(ValueError, match="needs a score of single samples"):
        KernelSearchCV(TWO, scoring="jaccard", blend=True).fit(X, y)


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", "balanced_accuracy"])
def test_other_scores_are_measured_of_the_blend(scoring):
    X, y = make_classification(200, 6, n_informative=4, flip_y=0.1, random_state=1)
    search = KernelSearchCV(TWO, scoring=scoring, cv=3, blend=True, random_state=0).fit(X[:100], y[:100])
    assert abs(search.best_score_ - search.score(X[100:], y[100:])) < 0.25


def test_folds_count_in_the_error_of_a_blend_by_the_weight_of_their_samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = np.where(np.arange(100) < 60, X[:, 0] > 0, rng.random(100) < 0.5).astype(int)
    weight = np.where(np.arange(100) < 20, 50.0, 1.0)
    parts = [np.arange(0, 20), np.arange(20, 60), np.arange(60, 100)]
    folds = [(np.setdiff1d(np.arange(100), part), part) for part in parts]
    two = {"a": LogisticRegression(), "b": LogisticRegression()}
    found = [
        KernelSearchCV(two, cv=folds, blend=blend, random_state=0).fit(X, y, sample_weight=weight).error_
        for blend in (True, False)
    ]
    assert found[0] == pytest.approx(found[1], abs=0.05)
