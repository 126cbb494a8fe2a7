"""The error that is reported: of the choice, not of the luckiest."""

import numpy as np
import pytest
from numpy.random import RandomState
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from mercer import ClippedScaler, KernelSearchCV, KernelSVC, StumpSVC
from mercer.search.ranking import standard_error
from mercer.search.selection_rule import Rule, choose_elsewhere

CS = [0.001, 0.1, 10.0]
CHEAP = {
    "linear": (KernelSVC(), {"C": CS}),
    "stump": (StumpSVC(), {"C": [2.0**k for k in (-13, -7, -1)]}),
    "rbf": (SVC(), {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 2.0]}),
}


def slow_choice(inside, wrong, rule):
    """The best of each candidate's best settings, neighbours considered; of equals the first."""
    settings = range(wrong.shape[1])
    totals = [sum(wrong[row, k] for row in inside) for k in settings]
    smooth = [round(sum(rule.nearby[k, j] * totals[j] for j in settings), 9) for k in settings]
    own = [
        min((k for k in settings if rule.candidate[k] == number), key=lambda k: smooth[k])
        for number in sorted(set(rule.candidate))
    ]
    return min(own, key=lambda k: totals[k])


@pytest.mark.parametrize(("n_rows", "n_settings"), [(2, 3), (7, 1), (30, 6)])
@pytest.mark.parametrize("candidate", [[0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 2, 3], [0, 2, 1, 0, 2, 1]])
def test_a_choice_is_judged_on_rows_that_had_no_say_in_it(rng, n_rows, n_settings, candidate):
    nearby = np.eye(n_settings) + rng.random((n_settings, n_settings)) * (rng.random() < 0.5)
    rule = Rule(np.array([*candidate, 4]), np.eye(7)).among(np.arange(n_settings))
    rule = rule._replace(nearby=nearby / nearby.sum(axis=1, keepdims=True))
    wrong = (rng.random((n_rows, n_settings)) < 0.4).astype(float)
    part = np.arange(n_rows) % 3
    slow = []
    for row in range(n_rows):
        others = [other for other in range(n_rows) if part[other] != part[row]]
        slow.append(wrong[row, slow_choice(others, wrong, rule)])
    assert_array_equal(choose_elsewhere(wrong, rule, part), slow)


def test_ties_go_to_the_first_setting_and_a_single_part_is_its_own_judge():
    rule = Rule(np.zeros(2, dtype=np.intp), np.eye(2))
    wrong = np.array([[0.0, 0.0], [1.0, 0.0]])  # the first is wrong on the second row alone
    assert_array_equal(choose_elsewhere(wrong, rule, np.array([0, 1])), [0.0, 1.0])
    assert_array_equal(choose_elsewhere(wrong, rule, np.array([0, 0])), [0.0, 0.0])


def test_the_standard_error_is_that_of_a_share_and_never_nothing():
    flips = RandomState(0).binomial(80, 0.3, size=4000) / 80
    assert_allclose(standard_error(0.3, 80), flips.std(), rtol=0.05)
    # of no errors at all: as if half a row had been wrong
    assert standard_error(0.0, 80) == standard_error(1.0, 80) == 0.5 / 80


def least_error(X, y, seed):
    """The least cross-validated error of all settings: what is commonly reported."""
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    models = [KernelSVC(C=C) for C in CS]
    models += [SVC(C=C, gamma=gamma) for C in (0.1, 1.0, 10.0) for gamma in (0.1, 2.0)]
    found = (cross_val_predict(make_pipeline(ClippedScaler(), model), X, y, cv=folds) for model in models)
    return min(float(np.mean(labels != y)) for labels in found)


def test_on_shuffled_labels_the_reported_error_stays_at_chance_where_the_least_one_does_not(rng):
    X = rng.normal(size=(60, 4))
    y = np.arange(60) % 2
    reported, least, noise = [], [], []
    for seed in range(15):
        y = rng.permutation(y)
        search = KernelSearchCV(CHEAP, random_state=seed).fit(X, y)
        reported.append(search.error_)
        noise.append(search.std_error_)
        least.append(least_error(X, y, seed))
    spread = np.std(reported, ddof=1) / np.sqrt(15)
    assert abs(np.mean(reported) - 0.5) < 3 * spread
    assert abs(np.mean(reported) - 0.5) < 2 * np.mean(noise)
    # the printed standard error is of the size of what shuffles show
    assert 0.5 < np.mean(noise) / np.std(reported, ddof=1) < 2.0
    assert np.mean(least) < 0.5 - 4 * np.std(least, ddof=1) / np.sqrt(15)
    assert np.mean(least) < np.mean(reported) - 0.03


def test_where_there_is_something_to_learn_the_reported_error_is_that_of_new_rows(rng):
    def draw(n):
        y = rng.integers(2, size=n)
        return rng.normal(size=(n, 3)) + 1.5 * y[:, None] * [1, 0, 0], y

    new = draw(5000)
    two = {name: CHEAP[name] for name in ("linear", "rbf")}
    excess = []
    for seed in range(25):
        search = KernelSearchCV(two, cv=3, random_state=seed).fit(*draw(60))
        excess.append(search.error_ - (1 - search.score(*new)))
    assert abs(np.mean(excess)) < 3 * np.std(excess, ddof=1) / np.sqrt(25)


def test_each_candidates_error_is_honest_about_the_choice_of_its_settings(rng):
    many = {"rbf": (SVC(), {"C": np.logspace(-1, 3, 6), "gamma": np.logspace(-2, 1, 5)})}
    errors, least = [], []
    for seed in range(16):
        X, y = rng.normal(size=(60, 4)), rng.permutation(np.arange(60) % 2)
        search = KernelSearchCV(many, cv=3, random_state=seed).fit(X, y)
        errors.append(search.leaderboard_.loc["rbf", "error"])
        least.append(1.0 - search.cv_results_["mean_test_score"].max())
    noise = np.std(errors, ddof=1) / 4.0
    assert abs(np.mean(errors) - 0.5) < 3.0 * noise
    assert np.mean(least) < 0.5 - 4.0 * noise
