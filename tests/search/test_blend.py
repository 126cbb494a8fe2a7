"""The blend: greedy weights, calibrated values, and an error that the weights had no part in."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from mercer import KernelSearchCV, KernelSearchRegressor
from mercer.search import SearchWarning
from mercer.search.blend import N_STEPS, Ballot, Blend, select
from mercer.search.calibration import Calibration, fit_calibration
from mercer.search.decisions import Decision
from mercer.search.scoring import find_scoring
from mercer.search.spread import Spread
from mercer.search.task import LabelTask, Samples


def task_of(label, scoring=None, weight=None):
    y = np.asarray(label)
    return LabelTask(Samples(np.zeros((len(y), 1)), y, weight=weight), find_scoring(scoring, y, weight))


def slow_selection(values, label, sample_weight):
    """Caruana's selection, word for word: the best addition, thirty times."""

    def loss(one):
        chances = softmax(one, axis=1)
        return -sum(
            w * np.log(chances[i, c]) for i, (c, w) in enumerate(zip(label, sample_weight, strict=True))
        )

    chosen = []
    for _ in range(N_STEPS):
        every = range(len(values))
        chosen.append(
            min(
                every,
                key=lambda k: round(loss(np.mean([values[j] for j in [*chosen, k]], axis=0)) / len(label), 9),
            )
        )
    return np.array([chosen.count(k) / N_STEPS for k in range(len(values))])


@pytest.mark.parametrize(("n_classes", "n_members"), [(2, 3), (3, 4), (2, 1), (4, 2)])
def test_members_are_added_as_the_paper_says_word_for_word(rng, n_classes, n_members):
    label = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=25)])
    values = rng.normal(size=(n_members, len(label), n_classes)) + 0.7 * np.eye(n_classes)[label]
    weight = 1.0 + rng.integers(3, size=len(label)).astype(float)
    weights = select(values, np.arange(len(label)), task_of(label, weight=weight))
    assert_allclose(weights, slow_selection(values, label, weight), atol=1e-12)
    assert_allclose(weights.sum(), 1.0)


def ballot_of(said, label, n_parts=4, scoring=None):
    """What candidates of one setting each said, (n_members, n_samples)."""
    task, n = task_of(label, scoring), len(label)
    every = np.arange(n)
    values = [np.asarray(one)[:, None] for one in said]
    costs = [
        task.blend_losses(task.unit(one, every, plain=True).values(one)[None], every)[0] for one in values
    ]
    numbers = np.arange(len(said))
    return Ballot(task, numbers, numbers, values, np.array(costs), every, every, every * n_parts // n, 1)


@pytest.fixture
def noisy(rng):
    """Three judges of 80 rows: two that see half of the truth, in other units, and one that sees none."""
    label, noise = np.arange(80) % 2, rng.normal(size=(3, 80))
    signs = 2.0 * label - 1.0
    return ballot_of([signs + noise[0], 1000 * (signs + noise[1]), noise[2]], label)


def test_units_do_not_matter(noisy):
    weights, units = noisy.weigh([0, 1, 2], np.arange(80))
    assert weights[0] > 0.1
    assert weights[1] > 0.1
    for said, unit in zip(noisy.said, units, strict=True):
        assert_allclose(unit.values(said), fit_calibration(said, noisy.task.label).values(said))


def test_weights_and_units_of_a_part_are_those_of_the_others(noisy):
    values = noisy.held_out()
    for k in range(4):
        mine, others = noisy.part == k, np.flatnonzero(noisy.part != k)
        label = noisy.task.label[others]
        units = [fit_calibration(said[others], label) for said in noisy.said]
        alike = np.array([unit.values(said) for unit, said in zip(units, noisy.said, strict=True)])
        weights = slow_selection(alike[:, others], label, np.ones(len(others)))
        assert_allclose(values[mine], np.tensordot(weights, alike[:, mine], 1))
    assert_allclose(noisy.judge(values).mean(), np.mean(noisy.judge(values) > 0.5))


def test_the_two_best_settings_of_a_candidate_may_be_members(noisy):
    worse = ballot_of([-noisy.said[0][:, 0], *(one[:, 0] for one in noisy.said)], noisy.task.label)
    one = worse._replace(candidates=np.array([7, 7, 7, 4]))
    every = np.arange(80)
    best = np.argsort(one.costs[:3].mean(axis=1))
    assert one.own(every) == [best[0], 3]
    assert one._replace(n_settings=2).own(every) == [best[0], best[1], 3]


def test_a_blend_of_two_halves_of_the_truth_knows_more_than_either(rng):
    label = np.arange(400) % 2
    said = 2.0 * label - 1.0 + 1.5 * rng.normal(size=(2, 400))
    ballot = ballot_of(said, label)
    assert ballot.judge(ballot.held_out()).mean() < min(np.mean((one > 0) != label) for one in said)


class Says:
    """A classifier whose decision values are a column of its input."""

    def __init__(self, column, classes):
        self.column, self.classes_ = column, classes

    def fit(self, X, y):
        return self

    def decision_function(self, X):
        return X[:, self.column]


def test_predictions_are_those_of_the_weighted_calibrated_sum(rng):
    classes, X = np.array(["no", "yes"]), rng.normal(size=(20, 3))
    units = [Calibration(1.0 + k, np.array([-0.3, 0.3]) * k) for k in range(2)]
    members = [
        (f"c{k}", Pipeline([("same", FunctionTransformer()), ("says", Says(k, classes))])) for k in range(2)
    ]
    final = Calibration(1.7, np.array([0.1, -0.1]))
    blend = Blend(members, np.array([0.7, 0.3]), units, classes, final, Decision.at(0.3, 1))
    slow = 0.0
    for k, weight in enumerate(blend.weights):
        chances = units[k](X[:, k])
        slow = slow + weight * np.log(chances)
    chances = softmax(1.7 * slow + final.offsets, axis=1)
    assert_allclose(blend.predict_proba(X), chances)
    assert_array_equal(blend.predict(X), np.where(chances[:, 1] > 0.3, "yes", "no"))
    assert_allclose(blend.decision_function(X), np.log(chances[:, 1] / chances[:, 0]))


def test_a_threshold_by_costs_is_the_one_of_least_expected_cost(rng):
    X, y = rng.normal(size=(300, 2)), np.arange(300) % 6 == 0
    X[y] += 1.2
    search = KernelSearchCV(["linear"], cost={"FP": 1, "FN": 4}, random_state=0, cv=3).fit(X, y.astype(int))
    chances = search.predict_proba(X)
    expected = np.column_stack([4.0 * chances[:, 1], 1.0 * chances[:, 0]])  # of saying 0, and of saying 1
    assert_array_equal(search.predict(X), expected.argmin(axis=1))
    assert "0.2" in search.result_.decision
    assert search.result_.measure.metric.key == "cost"


def test_a_class_of_one_in_sixteen_is_spoken_of_before_time_is_spent(rng):
    X, y = rng.normal(size=(320, 2)), (np.arange(320) % 16 == 0).astype(int)
    with pytest.warns(SearchWarning, match="one sample in 16.*average_precision"):
        search = KernelSearchCV(["linear"], random_state=0, cv=2).fit(X, y)
    assert "one sample in 16" in search.result_.remarks[0]


def test_intervals_are_as_wide_as_errors_are_where_the_prediction_is(rng):
    x = rng.uniform(1.0, 10.0, size=600)
    y = x * (1.0 + 0.2 * rng.normal(size=600))
    search = KernelSearchRegressor(["linear"], random_state=0).fit(x[:, None], y)
    new = rng.uniform(1.0, 10.0, size=20_000)
    truth = new * (1.0 + 0.2 * rng.normal(size=20_000))
    low, high = search.predict_interval(new[:, None], 0.9)
    inside = (low <= truth) & (truth <= high)
    for part in np.array_split(np.argsort(new), 5):  # with one width for all, 1.00 and 0.77
        assert 0.82 <= inside[part].mean() <= 0.97
    assert (high - low)[np.argmax(new)] > 2.5 * (high - low)[np.argmin(new)]


def test_a_spread_is_the_mean_error_where_predictions_are(rng):
    predicted = np.repeat([0.0, 10.0], 40)
    spread = Spread.of(predicted, np.where(predicted > 5, 3.0, 1.0), np.ones(80))
    assert_allclose(spread(np.array([-5.0, 0.0, 5.0, 10.0, 20.0])), [1.0, 1.0, 2.0, 3.0, 3.0])
