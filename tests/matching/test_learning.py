"""Weights by the logistic loss, folds that share no record, calibrated probabilities, thresholds."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from matching.tables import fitted, judged_customers
from mercer import PairMatcher, Pairs, StumpSVC
from mercer.matching.decision import LIFT, Design
from mercer.matching.pair_folds import make_folds
from mercer.matching.probability import Sigmoid, calibrate, find_threshold, measure
from mercer.solvers.nonnegative import fit_nonnegative


def problem(seed=0, n=80, d=6):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, d))
    y = F @ np.array([2.0, -1.0, 0.5, -0.5, 0.0, 1.0]) + rng.normal(size=n) > 0.3
    return F, y, np.geomspace(1e-3, 1e-1, d), np.arange(d) < 4, rng.uniform(0.5, 2.0, size=n)


def gradient(F, y, penalty, weight, found):
    sign = np.where(y, 1.0, -1.0)
    slope = -sign * (weight / weight.sum()) * expit(-sign * (F @ found.weights + found.intercept))
    return F.T @ slope + penalty * found.weights, slope.sum()


@pytest.mark.parametrize("seed", range(5))
def test_the_weights_fulfil_the_optimality_condition(seed):
    F, y, penalty, bounded, weight = problem(seed)
    found = fit_nonnegative(F, y, penalty, bounded, weight)
    slope, of_intercept = gradient(F, y, penalty, weight, found)
    zero = bounded & (found.weights == 0.0)
    assert abs(of_intercept) < 1e-7
    assert np.abs(slope[~zero]).max() < 1e-7
    assert (slope[zero] >= 0.0).all()
    assert zero.any()
    assert (found.weights[bounded] >= 0.0).all()


def test_the_weights_are_those_of_another_solver():
    F, y, penalty, bounded, weight = problem()

    def loss(x):
        margin = np.where(y, 1.0, -1.0) * (F @ x[:-1] + x[-1])
        return weight / weight.sum() @ np.logaddexp(0.0, -margin) + 0.5 * penalty @ x[:-1] ** 2

    bounds = [(0.0, None) if one else (None, None) for one in bounded] + [(None, None)]
    theirs = minimize(
        loss, np.zeros(7), method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-9}
    ).x
    found = fit_nonnegative(F, y, penalty, bounded, weight)
    np.testing.assert_allclose(np.append(found.weights, found.intercept), theirs, atol=1e-3)


def test_separable_pairs_have_finite_weights():
    F = np.array([[1.0], [0.9], [0.1], [0.0]])
    found = fit_nonnegative(F, np.array([True, True, False, False]), np.array([1e-5]), np.array([True]))
    assert found.residual < 1e-7
    assert np.isfinite(found.weights).all()


@pytest.mark.parametrize("n_records", [15, 60, 500])  # one connected set, large ones, many small ones
def test_no_record_of_a_held_out_pair_is_learned_from_and_each_pair_is_held_out_once(n_records):
    rng = np.random.default_rng(0)
    keys = rng.integers(n_records, size=(200, 2)).astype(np.uint64)
    answer = rng.random(200) < 0.3
    folds = make_folds(keys, answer, 5, np.random.RandomState(0))
    times = np.zeros(200)
    for fold in range(5):
        train, test = folds.split(fold)
        assert not set(keys[train].ravel()) & set(keys[test].ravel())
        times += test
    assert (times == 1).all()
    if n_records == 500:  # there they are of nearly one size, with as many matches
        sizes = np.bincount(folds.fold)
        assert sizes.max() <= 2 * sizes.min()


def test_a_clique_of_judged_records_is_in_one_fold():
    rows = np.concatenate([Pairs.from_labels([0] * 5).similar + 5 * k for k in range(10)]).astype(np.uint64)
    folds = make_folds(rows, np.arange(100) % 2 == 0, 5, np.random.RandomState(0))
    for k in range(10):
        assert len(set(folds.fold[10 * k : 10 * k + 10])) == 1


def test_calibration_finds_the_sigmoid_that_drew_the_answers():
    rng = np.random.default_rng(0)
    score = rng.normal(0.0, 3.0, size=20_000)
    answer = rng.random(20_000) < expit(0.7 * score - 1.0)
    found = calibrate(score, answer)
    assert found.slope == pytest.approx(0.7, abs=0.05)
    assert found.offset == pytest.approx(-1.0, abs=0.1)


def test_a_probability_has_its_score():
    sigmoid = Sigmoid(2.0, -1.0)
    assert sigmoid(np.array([sigmoid.score_of(0.9)]))[0] == pytest.approx(0.9)
    assert sigmoid.score_of(0.0) == -np.inf


def test_a_threshold_by_precision_is_the_least_that_has_it():
    probability = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
    answer = np.array([True, True, False, True, False])
    assert find_threshold(probability, answer, 1.0, 1.0) == 0.8
    assert find_threshold(probability, answer, 1.0, 0.75) == 0.6
    assert find_threshold(probability, ~answer, 1.0, 0.9) == 1.0
    assert find_threshold(probability, answer, 4.0, None) == 0.8


def test_errors_are_shares_of_decisions_and_intervals_are_of_sets_of_pairs():
    taken = np.array([True, True, False, False] * 25)
    answer = np.array([True, False, True, False] * 25)
    one_by_one = measure(np.full(100, 0.5), taken, answer, np.arange(100))
    assert one_by_one.f1.value == one_by_one.precision.value == one_by_one.recall.value == 0.5
    assert one_by_one.log_loss == pytest.approx(np.log(2.0))
    in_sets = measure(np.full(100, 0.5), taken, answer, np.arange(100) % 4)
    width = one_by_one.error.high - one_by_one.error.low
    assert in_sets.error.high - in_sets.error.low > 2 * width


def test_an_interval_without_an_error_is_no_point():
    answer = np.arange(30) < 15
    found = measure(np.where(answer, 0.9, 0.1), answer, answer, np.arange(30))
    assert found.f1.value == 1.0
    assert found.f1.low == pytest.approx(0.9)
    assert found.error.high == pytest.approx(0.1)


def test_probabilities_of_new_pairs_are_calibrated():
    """Of pairs like those judged, the expected number of matches is the number there is."""
    matcher, _, _, _ = fitted()
    expected, there_are, n = 0.0, 0, 0
    for seed in range(1, 6):
        table, _, pairs = judged_customers(seed=seed)
        for same, rows in ((1, pairs.similar), (0, pairs.dissimilar)):
            chance = matcher.match_proba(table.iloc[rows[:, 0]], table.iloc[rows[:, 1]])
            expected += chance.sum()
            there_are += same * len(rows)
            n += len(rows)
    assert abs(expected - there_are) < 0.03 * n


def test_answers_of_all_kinds_have_their_sentence():
    table, _, pairs = judged_customers()
    matcher = PairMatcher().fit(table)
    assert "No pair is judged yet" in matcher.notes_[0]
    with pytest.raises(ValueError, match="no pair is judged the same yet"):
        matcher.match(table)
    matcher.tell(table, Pairs([], pairs.dissimilar[:3]))
    assert "All pairs are judged different" in matcher.notes_[0]
    matcher = PairMatcher().fit(table, pairs=Pairs(pairs.similar))
    assert "All pairs are judged the same" in matcher.notes_[0]
    assert len(matcher.match(table)) >= 30
    matcher = PairMatcher().fit(table, pairs=Pairs(pairs.similar[:1]))
    assert any("1 judged pair is too few" in note for note in matcher.notes_)


def test_contradictions_and_rows_that_do_not_exist_are_refused():
    table, _, pairs = judged_customers()
    with pytest.raises(ValueError, match="listed as similar and as dissimilar"):
        PairMatcher().fit(table, pairs=Pairs([(0, 1)], [(1, 0)]))
    with pytest.raises(ValueError, match="names row 500"):
        PairMatcher().fit(table, pairs=Pairs([(0, 500)]))
    with pytest.raises(ValueError, match="right table, with rows 0 to 4"):
        PairMatcher().fit(table, right=table[:5], pairs=Pairs([(0, 7)]))
    matcher = PairMatcher().fit(table, pairs=pairs)
    with pytest.raises(ValueError, match="judged both ways"):
        matcher.tell(table, Pairs([], pairs.similar[:1]))


def test_a_column_that_tells_all_judged_pairs_apart_is_named():
    table, person, pairs = judged_customers()
    matcher = PairMatcher().fit(table.assign(number=[f"k{k:03d}" for k in person]), pairs=pairs)
    assert any("told apart by" in note and "'number'" in note for note in matcher.notes_)


def test_curves_are_the_mean_of_the_linear_decision_and_the_machine():
    matcher, _, _, _ = fitted()
    found, answer = matcher.judged_.found, matcher.judged_.answer
    design = Design.of(matcher.comparison_, found, answer)
    linear = design.learn(design.features(found), answer, 1e-3)
    similarities = linear.all_similarities(found)
    machine = StumpSVC(10.0, loss="log_loss").fit(similarities, answer)
    half = np.minimum((machine.decision_function(similarities) - linear.score(found)) / 2.0, LIFT)
    half += linear.score(found)
    np.testing.assert_allclose(linear.with_curves(machine).score(found), half, atol=0.1 * half.std())
