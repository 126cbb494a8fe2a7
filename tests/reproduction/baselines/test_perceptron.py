from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mercer.datasets import threenorm, twonorm
from reproduction.baselines.perceptron import Hyperplane, PerceptronLearner, best_step


def sign(values):
    return np.where(values >= 0, 1.0, -1.0)


def error_after(step, scores, slopes, y, weights):
    return weights[sign(scores + step * slopes) != y].sum()


def candidates(scores, slopes):
    """One step from every interval on which no row changes its sign."""
    moving = slopes != 0
    breakpoints = np.unique(-scores[moving] / slopes[moving])
    if len(breakpoints) == 0:
        return np.zeros(1)
    middles = (breakpoints[1:] + breakpoints[:-1]) / 2
    first, last = breakpoints[[0, -1]]
    return np.concatenate([[first - 1 - abs(first)], middles, [last + 1 + abs(last)]])


@settings(max_examples=200)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 15), whole=st.booleans())
def test_the_step_has_the_lowest_weighted_error_on_its_line(seed, n, whole):
    rng = np.random.default_rng(seed)
    draw = (lambda: rng.integers(-3, 4, size=n).astype(float)) if whole else (lambda: rng.normal(size=n))
    scores, slopes = draw(), draw()  # whole numbers: equal breakpoints, and rows that never move
    y, weights = rng.choice([-1.0, 1.0], size=n), rng.dirichlet(np.ones(n))
    found = error_after(best_step(scores, slopes, y * weights), scores, slopes, y, weights)
    lowest = min(error_after(step, scores, slopes, y, weights) for step in candidates(scores, slopes))
    assert found <= lowest + 1e-11


def test_the_step_lies_in_the_middle_of_the_best_interval():
    # Rows change from −1 to +1 at t = 1, 2, 6: only between 2 and 6 all three are right.
    scores, slopes = np.array([-1.0, -2.0, -6.0]), np.ones(3)
    assert best_step(scores, slopes, np.array([1.0, 1.0, -1.0]) / 3) == 4.0


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_an_unbounded_interval_is_entered_at_any_scale(label, scale):
    scores, slopes = scale * np.array([1.0, -3.0, 5.0]), np.ones(3)
    step = best_step(scores, slopes, label * np.ones(3) / 3)
    assert_array_equal(np.sign(scores + step * slopes), [label] * 3)


def test_rows_that_do_not_move_leave_the_step_at_zero():
    assert best_step(np.ones(3), np.zeros(3), np.ones(3) / 3) == 0.0
    assert best_step(np.ones(1), np.full(1, 5e-324), np.ones(1)) == 0.0  # would move at infinity


def slow_descent(X, y, weights, n_updates, rng):
    """Random coordinate descent as it is told: zero, then the best step along b or a random direction."""
    D = X.shape[1]
    rows, vector = np.column_stack([X, np.ones(len(X))]), np.zeros(D + 1)
    directions = rng.uniform(-1, 1, size=(n_updates, D + 1))
    for r, direction in enumerate(directions):
        if r % (D + 1) == 0:
            direction = np.append(np.zeros(D), 1.0)
        scores, slopes = rows @ vector, rows @ direction
        steps = candidates(scores, slopes)
        errors = [error_after(step, scores, slopes, y, weights) for step in steps]
        vector = vector + steps[int(np.argmin(errors))] * direction
    return Hyperplane(vector[:-1], vector[-1])


@pytest.mark.parametrize("seed", range(5))
def test_the_learner_does_what_the_slow_descent_does(seed, rng):
    # Weights of no structure, so that no two intervals have the same error and the first steps are unique.
    X, y = threenorm(60, 3, random_state=seed)
    weights = rng.dirichlet(np.ones(60))
    learned = PerceptronLearner(X, y.astype(float), 25, np.random.RandomState(seed))(weights)
    slow = slow_descent(X, y, weights, 25, np.random.RandomState(seed))
    assert_array_equal(learned(X), slow(X))
    assert np.linalg.norm(learned.w) == pytest.approx(1)


def learn(X, y, n_updates=200):
    """Return the perceptron of equal weights, and its training error."""
    learner = PerceptronLearner(X, y.astype(float), n_updates, np.random.RandomState(0))
    plane = learner(np.full(len(X), 1 / len(X)))
    return plane, np.mean(plane(X) != y)


def test_more_updates_never_have_a_higher_error():
    X, y = threenorm(80, 5, random_state=0)
    errors = [learn(X, y, n_updates)[1] for n_updates in range(1, 60)]
    assert errors[0] == min(np.mean(y == 1), np.mean(y == -1))  # the best constant
    assert all(later <= earlier for earlier, later in pairwise(errors))
    assert errors[-1] < errors[0] / 2


def test_the_error_is_as_low_as_that_of_the_best_of_many_random_perceptrons(rng):
    X, y = twonorm(100, 3, random_state=1)
    drawn = [np.mean(sign(X @ w + b) != y) for *w, b in rng.normal(size=(3000, 4))]
    assert learn(X, y)[1] <= min(drawn)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_huge_and_tiny_features_do_no_harm(scale):
    X, y = twonorm(60, 3, random_state=0)
    plane, error = learn(scale * X, y)
    assert np.isfinite(plane.w).all()
    assert error <= min(np.mean(y == 1), np.mean(y == -1))
