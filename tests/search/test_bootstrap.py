"""The error that is reported: of the choice, not of the luckiest."""

import numpy as np
import pytest
from numpy.random import RandomState
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from mercer import ClippedScaler, KernelSearchCV, KernelSVC, StumpSVC
from mercer.search.bootstrap import draw_rows, judge_choice
from mercer.search.interval import standard_error
from mercer.search.selection_rule import Rule

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


def rule_of_one(n_settings):
    """The rule for settings of one candidate that have no neighbours."""
    return Rule(np.zeros(n_settings, dtype=np.intp), np.eye(n_settings))


def slow_judgement(wrong, counts, rule=None):
    """The bootstrap of [TGB18], draw by draw and row by row."""
    rule = rule_of_one(wrong.shape[1]) if rule is None else rule
    errors = []
    for count in counts:
        inside = [row for row, times in enumerate(count) for _ in range(int(times))]
        outside = [row for row, times in enumerate(count) if times == 0]
        if not outside:
            continue
        chosen = slow_choice(inside, wrong, rule)
        errors.append(np.mean([wrong[row, chosen] for row in outside]))
    return np.mean(errors), errors


@pytest.mark.parametrize(("n_rows", "n_settings"), [(2, 3), (7, 1), (30, 6)])
@pytest.mark.parametrize("candidate", [[0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 2, 3], [0, 2, 1, 0, 2, 1]])
def test_a_choice_is_judged_as_the_bootstrap_says_word_for_word(rng, n_rows, n_settings, candidate):
    nearby = np.eye(n_settings) + rng.random((n_settings, n_settings)) * (rng.random() < 0.5)
    rule = Rule(np.array([*candidate, 4]), np.eye(7)).among(np.arange(n_settings))
    rule = rule._replace(nearby=nearby / nearby.sum(axis=1, keepdims=True))
    wrong = (rng.random((n_rows, n_settings)) < 0.4).astype(float)
    counts = draw_rows(n_rows, 0, n_draws=60)
    error, each = slow_judgement(wrong, counts, rule)
    judged = judge_choice(wrong, counts, rule)
    assert_allclose(judged.mean(), error)
    assert_allclose(judged, each)


def test_ties_go_to_the_first_setting():
    wrong = np.array([[0.0, 0.0], [1.0, 0.0]])  # both right on the row drawn; the first wrong on the other
    assert judge_choice(wrong, np.array([[2.0, 0.0]]), rule_of_one(2)).mean() == 1.0


def test_one_row_leaves_no_draw_to_judge_on_and_its_error_is_taken():
    assert judge_choice(np.array([[1.0, 0.0]]), draw_rows(1, 0), rule_of_one(2)).mean() == 0.0


def test_a_draw_takes_as_many_rows_as_there_are_and_leaves_out_the_share_that_is_known():
    counts = draw_rows(50, 0, n_draws=2000)
    assert_array_equal(counts.sum(axis=1), 50)
    share = (1 - 1 / 50) ** 50  # of n draws none is this row
    noise = np.sqrt(share / counts.size)
    assert abs((counts == 0).mean() - share) < 5 * noise
    assert_allclose(counts.mean(axis=0), 1.0, atol=5 / np.sqrt(2000))


def test_the_standard_error_is_that_of_a_share_and_never_nothing():
    flips = RandomState(0).binomial(80, 0.3, size=4000) / 80
    assert_allclose(standard_error(0.3, 80), flips.std(), rtol=0.05)
    # of no errors at all: as if half a row had been wrong
    assert standard_error(0.0, 80) == standard_error(1.0, 80) == 0.5 / 80


def test_of_one_setting_the_judged_error_is_its_mean_error(rng):
    wrong = (rng.random((200, 1)) < 0.25).astype(float)
    judged = judge_choice(wrong, draw_rows(200, 0), rule_of_one(1))
    assert_allclose(judged.mean(), wrong.mean(), atol=5 * judged.std() / np.sqrt(len(judged)))


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


def test_each_candidates_error_is_honest_about_the_choice_of_its_settings():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4))
    many = {"rbf": (SVC(), {"C": np.logspace(-1, 3, 8), "gamma": np.logspace(-2, 1, 6)})}
    errors = []
    for seed in range(6):
        y = rng.permutation(np.arange(60) % 2)
        search = KernelSearchCV(many, cv=3, random_state=seed).fit(X, y)
        errors.append(search.leaderboard_.loc["rbf", "error"])
    assert abs(np.mean(errors) - 0.5) < 2.5 * np.std(errors, ddof=1) / np.sqrt(6)
