"""Numbers as a task: folds, the mean as a line, blends of predictions, and errors for intervals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, LeaveOneOut, TimeSeriesSplit

from mercer.search import Candidate
from mercer.search.blend import N_STEPS, held_out_values, hold_ballot, measure_blend
from mercer.search.number_scoring import find_number_scoring
from mercer.search.number_task import NumberTask, number_candidates
from mercer.search.race import Outcome


def task_of(n=40, scoring=None, **options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = 100.0 + 3.0 * X[:, 0] + rng.normal(size=n)
    return NumberTask(X, y, scoring=find_number_scoring(scoring, y), **options)


def race_of(predictions, task, n_folds=4):
    """A race whose candidates predicted these numbers, (n_samples, n_candidates)."""
    candidates = [Candidate(f"c{i}", Ridge(), {}) for i in range(predictions.shape[1])]
    rows = np.arange(len(predictions))
    folds = [(np.setdiff1d(rows, test), test) for test in np.array_split(rows, n_folds)]
    race = task.start_race(candidates, folds, 0)
    for fold, (train, test) in enumerate(folds):
        for i in range(predictions.shape[1]):
            said = Fixed(predictions[test, i])
            values = task.judge(said, task.X[test], test)[0][:, None]
            race.record(i, race.of(i), fold, Outcome(values, np.ones(1), np.ones(1), 1.0, {}))
        race.record(
            race.baseline, race.of(race.baseline), fold, task.evaluate(task.constant(), [{}], train, test)
        )
    return race


class Fixed:
    """It predicts what it was told to."""

    def __init__(self, predictions):
        self.predictions = predictions

    def predict(self, X):
        return self.predictions


@pytest.mark.parametrize("cv", [3, TimeSeriesSplit(3), LeaveOneOut()])
def test_folds_are_those_of_the_splitter_or_in_random_order(cv):
    task = task_of()
    folds = task.split(cv, seed=0)
    assert len(folds) == (40 if isinstance(cv, LeaveOneOut) else 3)
    for train, test in folds:
        assert not set(train) & set(test)
    if cv == 3:
        assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(40))
        assert any(np.any(np.diff(test) > 1) for _, test in folds)


def test_there_are_two_samples_to_test_in_each_fold():
    assert [len(test) for _, test in task_of(7).split(5, seed=0)] == [3, 2, 2]


def test_no_fold_tears_a_group_apart():
    groups = np.repeat(np.arange(10), 4)
    for train, test in task_of(groups=groups).split(5, seed=0):
        assert not set(groups[train]) & set(groups[test])


def test_samples_that_leave_one_target_are_too_few():
    task = NumberTask(np.arange(3.0)[:, None], np.array([1.0, 1.0, 5.0]))
    assert len(task.split(KFold(3), seed=0)) == 2  # without the fold that learns from 1 and 1
    with pytest.raises(ValueError, match="too few to hold some out: those left are of one target"):
        NumberTask(np.arange(2.0)[:, None], np.array([1.0, 2.0])).split(2, seed=0)


@pytest.mark.parametrize(("scoring", "kind"), [(None, np.mean), ("neg_mean_absolute_error", np.median)])
def test_the_line_that_takes_no_learning_is_the_mean_or_the_median(scoring, kind):
    task = task_of(scoring=scoring)
    assert task.constant().name == f"always {kind(task.y):.6g}"
    fitted = task.constant().estimator.fit(task.X, task.y)
    assert_allclose(fitted.predict(task.X[:1]), kind(task.y))


def test_predictions_that_are_no_numbers_are_a_failure_of_that_candidate():
    task = task_of()
    with pytest.raises(ValueError, match="predicts infinite numbers"):
        task.judge(Fixed(np.full(5, np.inf)), task.X[:5], np.arange(5))


def slow_blend(predictions, y, loss):
    """Greedy selection [CNCK04], word for word, of predictions as they are."""
    chosen = []
    for _ in range(N_STEPS):
        tried = [
            np.mean(loss(np.mean([predictions[:, j] for j in [*chosen, k]], axis=0) - y))
            for k in range(predictions.shape[1])
        ]
        chosen.append(int(np.argmin(np.round(tried, 9))))
    return np.bincount(chosen, minlength=predictions.shape[1]) / N_STEPS


@pytest.mark.parametrize(("scoring", "loss"), [(None, np.square), ("neg_mean_absolute_error", np.abs)])
def test_weights_are_those_of_the_greedy_selection_and_a_part_may_be_the_mean(scoring, loss, rng):
    task = task_of(scoring=scoring)
    noise = rng.normal(size=(40, 3)) * [2.0, 3.0, 9.0]
    predictions = task.y[:, None] + noise
    race = race_of(predictions, task)
    ballot = hold_ballot(race)
    said = race.said[:, ballot.entries, 0]
    assert_array_equal(said[:, :3], predictions)
    assert_allclose(ballot.weigh(), slow_blend(said, task.y, loss), atol=1e-12)
    values = held_out_values(ballot)
    for k in range(4):
        mine = race.fold == k
        weights = slow_blend(said[~mine], task.y[~mine], loss)
        assert_allclose(race.predictions(values)[mine], said[mine] @ weights)


def test_the_measure_of_a_blend_is_the_score_of_what_the_other_folds_weigh(rng):
    task = task_of()
    race = race_of(task.y[:, None] + rng.normal(size=(40, 2)), task)
    ballot = hold_ballot(race)
    values = held_out_values(ballot)
    predicted = race.predictions(values)
    folds = [race.fold == k for k in range(4)]
    scores = [
        1 - np.sum((task.y[f] - predicted[f]) ** 2) / np.sum((task.y[f] - task.y[f].mean()) ** 2)
        for f in folds
    ]
    measure = measure_blend(ballot, values)
    assert_allclose(measure.value, np.mean(scores))
    assert measure.low < measure.value < measure.high <= 1.0


def test_where_nothing_can_be_learned_the_blend_is_the_mean(rng):
    task = task_of()
    race = race_of(task.y.mean() + 20 * rng.normal(size=(40, 2)), task)
    ballot = hold_ballot(race)
    assert ballot.weigh()[ballot.candidates == race.baseline] > 0.7


def test_unseen_errors_are_those_of_held_out_samples(rng):
    task = task_of()
    race = race_of(task.y[:, None] + rng.normal(size=(40, 1)), task)
    errors = race.unseen_errors(race.said[:, 0, 0], np.arange(40))
    assert_allclose(errors.error[:, 0], task.y - race.said[:, 0, 0])


def test_names_are_those_of_the_candidates_that_are_proposed():
    assert NumberTask.candidate_names == tuple(one.name for one in number_candidates(100, 3, 0))
    assert isinstance(task_of().constant().estimator, DummyRegressor)
