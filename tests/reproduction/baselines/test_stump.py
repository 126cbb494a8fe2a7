import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.tree import DecisionTreeClassifier

from reproduction.baselines.stump import DecisionStump, StumpLearner


def all_stumps(X):
    """Every decision stump that separates rows of X, and both constants."""
    for sign in (-1, 1):
        yield DecisionStump(0, -np.inf, sign)
        for d in range(X.shape[1]):
            yield from (DecisionStump(d, threshold, sign) for threshold in np.unique(X[:, d]))


def weighted_error(hypothesis, X, y, weights):
    return weights[hypothesis(X) != y].sum()


def test_a_stump_is_q_times_the_sign_of_the_difference():
    X = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]])
    assert_array_equal(DecisionStump(1, 2.0, 1)(X), [-1, 1, 1])
    assert_array_equal(DecisionStump(1, 2.0, -1)(X), [1, -1, -1])
    assert_array_equal(DecisionStump(0, -np.inf, -1)(X), [-1, -1, -1])


@settings(max_examples=150)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 12), D=st.integers(1, 4), n_values=st.integers(1, 6))
def test_the_learner_finds_the_lowest_weighted_error_of_all_stumps(seed, n, D, n_values):
    rng = np.random.default_rng(seed)
    X = rng.integers(n_values, size=(n, D)).astype(float)  # few values: ties in plenty
    y, weights = rng.choice([-1.0, 1.0], size=n), rng.dirichlet(np.ones(n))
    learned = StumpLearner(X, y)(weights)
    lowest = min(weighted_error(stump, X, y, weights) for stump in all_stumps(X))
    assert weighted_error(learned, X, y, weights) <= lowest + 1e-11


def test_one_learner_serves_all_weights(rng):
    X, y = rng.normal(size=(40, 3)), rng.choice([-1.0, 1.0], size=40)
    learner = StumpLearner(X, y)
    for weights in rng.dirichlet(np.full(40, 0.3), size=20):
        lowest = min(weighted_error(stump, X, y, weights) for stump in all_stumps(X))
        assert weighted_error(learner(weights), X, y, weights) <= lowest + 1e-11


def test_it_is_the_error_that_is_minimised_and_not_an_impurity():
    # The tree's left leaf is pure, three rows of −1, but its right leaf is wrong three times.
    X, y = np.arange(9.0)[:, None], np.array([-1.0, -1, -1, 1, -1, -1, 1, 1, -1])
    tree = DecisionTreeClassifier(max_depth=1).fit(X, y)
    assert np.sum(tree.predict(X) != y) == 3
    assert np.sum(StumpLearner(X, y)(np.full(9, 1 / 9))(X) != y) == 2


def test_the_threshold_is_halfway_between_two_values():
    assert StumpLearner(np.array([[1.0], [2.0], [5.0]]), np.array([-1.0, -1.0, 1.0]))(np.full(3, 1 / 3)) == (
        DecisionStump(0, 3.5, 1)
    )


@pytest.mark.parametrize("below", [1.0, -1.0, 0.0, 1e-300, -1e300])
def test_neighbouring_floats_are_separated(below):
    X = np.array([[below], [np.nextafter(below, np.inf)]])
    for y in (np.array([-1.0, 1.0]), np.array([1.0, -1.0])):
        assert_array_equal(StumpLearner(X, y)(np.array([0.5, 0.5]))(X), y)


@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_constant_columns_leave_the_constant_of_the_heavier_class(label):
    y = np.array([label, label, -label])
    stump = StumpLearner(np.ones((3, 2)), y)(np.full(3, 1 / 3))
    assert_array_equal(stump(np.array([[1.0, 1.0], [-9.0, 9.0]])), [label, label])


def test_the_rounding_of_the_weights_does_not_decide_between_equal_stumps(rng):
    # Both columns are the same up to a sign, so each stump has a twin; the first column must win throughout.
    x, y = rng.normal(size=30), rng.choice([-1.0, 1.0], size=30)
    learner = StumpLearner(np.column_stack([x, -x]), y)
    assert {learner(weights).feature for weights in rng.dirichlet(np.ones(30), size=50)} == {0}
