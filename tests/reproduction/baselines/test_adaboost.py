import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.datasets import ringnorm, threenorm
from reproduction.baselines import AdaBoostPerceptron, AdaBoostStump
from reproduction.baselines.adaboost import boost
from reproduction.baselines.perceptron import PerceptronLearner
from reproduction.baselines.stump import DecisionStump, StumpLearner

BOTH = [AdaBoostStump(30), AdaBoostPerceptron(30, 40, random_state=0)]


@parametrize_with_checks([AdaBoostStump(10), AdaBoostPerceptron(10, 30, random_state=0)])
def test_scikit_learns_contract(estimator, check):
    check(estimator)


def slow_adaboost(learn, X, y, n_rounds):
    """AdaBoost by its closed form: a row's weight is the exponential of minus its margin so far."""
    margins, hypotheses, votes = np.zeros(len(X)), [], []
    for _ in range(n_rounds):
        weights = np.exp(-margins) / np.exp(-margins).sum()
        hypothesis = learn(weights)
        wrong = hypothesis(X) != y
        error = sum(w for w, miss in zip(weights, wrong, strict=True) if miss)
        vote = np.log(np.sqrt((1 - error) / error))
        margins = margins + vote * y * hypothesis(X)
        hypotheses.append(hypothesis)
        votes.append(vote)
    return hypotheses, votes


def base_learner(model, X, y):
    if isinstance(model, AdaBoostStump):
        return StumpLearner(X, y)
    return PerceptronLearner(X, y, model.n_updates, np.random.RandomState(model.random_state))


@pytest.mark.parametrize("model", BOTH)
def test_the_ensemble_is_that_of_the_closed_form(model):
    X, y = threenorm(120, 5, label_noise=0.1, random_state=0)
    hypotheses, votes = slow_adaboost(base_learner(model, X, y.astype(float)), X, y, 30)
    model.fit(X, y)
    assert_allclose(model.estimator_weights_, votes, rtol=1e-9)
    assert_allclose(model.decision_function(X), sum(a * h(X) for a, h in zip(votes, hypotheses, strict=True)))


@pytest.mark.parametrize("model", BOTH)
def test_the_training_error_obeys_freund_and_schapires_bound(model):
    X, y = ringnorm(150, 6, random_state=1)
    errors = model.fit(X, y).estimator_errors_
    bounds = np.cumprod(2 * np.sqrt(errors * (1 - errors)))
    found = [np.mean(stage != y) for stage in model.staged_predict(X)]
    assert len(found) == 30
    assert (found <= bounds + 1e-12).all()


@pytest.mark.parametrize("model", BOTH)
def test_stages_are_shorter_fits(model):
    X, y = threenorm(80, 4, random_state=2)
    fresh = threenorm(40, 4, random_state=3)[0]
    scores = list(model.fit(X, y).staged_decision_function(fresh))
    predictions = list(model.staged_predict(fresh))
    for rounds in (1, 7, 30):
        shorter = type(model)(**{**model.get_params(), "n_estimators": rounds}).fit(X, y)
        assert_allclose(scores[rounds - 1], shorter.decision_function(fresh))
        assert_array_equal(predictions[rounds - 1], shorter.predict(fresh))


@pytest.mark.parametrize("model", BOTH)
def test_labels_may_be_of_any_type_and_swapping_them_swaps_the_sign(model):
    X, y = threenorm(60, 3, random_state=0)
    scores = model.fit(X, y).decision_function(X)
    names = np.where(y == 1, "yes", "no")
    assert_array_equal(model.fit(X, names).predict(X), np.where(scores > 0, "yes", "no"))
    assert_allclose(model.decision_function(X), scores)


def test_the_sample_weights_are_the_weights_of_the_first_round():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([-1, 1, -1])
    # The one stump that gets the first two rows right, and the one that gets the last two right.
    assert AdaBoostStump(1).fit(X, y, [3, 3, 1]).estimators_ == [DecisionStump(0, 0.5, 1)]
    assert AdaBoostStump(1).fit(X, y, [1, 3, 3]).estimators_ == [DecisionStump(0, 1.5, -1)]


def test_a_hypothesis_without_error_votes_as_one_of_a_thousand_and_boosting_goes_on():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    seen = []

    def first_wrong_then_right(weights):
        seen.append(weights)
        return DecisionStump(0, 2.5 if len(seen) == 1 else 1.5, 1)

    ensemble = boost(first_wrong_then_right, X, y, np.full(4, 0.25), 3)
    assert ensemble.errors == [0.25, 0.0, 0.0]
    assert_allclose(np.exp(2 * np.array(ensemble.votes)), [3, 1000, 1000])
    assert_allclose(seen[1], [1 / 6, 1 / 6, 1 / 2, 1 / 6])
    assert_allclose(seen[2], seen[1])


def test_a_hypothesis_no_better_than_chance_ends_boosting_and_has_no_vote():
    # Exclusive or: every stump is right on half of the rows.
    X, y = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array([-1, -1, 1, 1])
    model = AdaBoostStump(5).fit(X, y)
    assert model.estimators_ == []
    assert list(model.staged_predict(X)) == []
    assert_array_equal(model.decision_function(X), np.zeros(4))


def test_the_same_seed_gives_the_same_perceptrons_and_another_seed_others():
    X, y = threenorm(60, 3, random_state=0)
    first, again, other = (
        AdaBoostPerceptron(5, 20, random_state=seed).fit(X, y).decision_function(X) for seed in (1, 1, 2)
    )
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("model", [AdaBoostStump(0), AdaBoostPerceptron(0)])
def test_an_impossible_number_of_rounds_is_refused(model):
    with pytest.raises(ValueError, match="n_estimators"):
        model.fit(*threenorm(10, 2, random_state=0))


@pytest.mark.parametrize("model", [AdaBoostStump(), AdaBoostPerceptron()])
def test_one_class_or_three_are_refused(model):
    X = np.arange(6.0)[:, None]
    with pytest.raises(ValueError, match="only one class"):
        model.fit(X, np.ones(6))
    with pytest.raises(ValueError, match="Only binary classification"):
        model.fit(X, [0, 1, 2] * 2)


@pytest.mark.parametrize(
    ("weights", "message"),
    [([1.0] * 9, r"\(9,\)"), ([0.0] * 10, "zero"), ([-1.0] * 10, "Negative"), ([np.nan] * 10, "NaN")],
)
def test_impossible_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        AdaBoostStump().fit(np.arange(20.0).reshape(10, 2), [0, 1] * 5, weights)


@pytest.mark.parametrize("n_updates", [0, 1.5])
def test_an_impossible_number_of_updates_is_refused(n_updates):
    with pytest.raises((TypeError, ValueError), match="n_updates"):
        AdaBoostPerceptron(n_updates=n_updates).fit(*threenorm(10, 2, random_state=0))


def test_weights_count_as_repeated_rows():
    X, y = threenorm(40, 2, random_state=0)
    weights = np.arange(40) % 3
    (weighted,) = AdaBoostPerceptron(1, 50, random_state=0).fit(X, y, weights).estimators_
    X, y = np.repeat(X, weights, axis=0), np.repeat(y, weights)
    (repeated,) = AdaBoostPerceptron(1, 50, random_state=0).fit(X, y).estimators_
    assert_allclose(weighted.w, repeated.w)
    assert_allclose(weighted.b, repeated.b)
