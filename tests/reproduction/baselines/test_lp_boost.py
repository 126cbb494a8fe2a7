import cvxpy as cp
import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from reproduction.baselines.lp_boost import boost_by_programs, choose_c
from reproduction.baselines.stump import DecisionStump


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(30, 3))
    return X, np.where(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=30) > 0, 1.0, -1.0)


def all_stumps(X):
    return [
        DecisionStump(d, threshold, sign)
        for d in range(X.shape[1])
        for threshold in (-np.inf, *(np.sort(X[:, d])[1:] + np.sort(X[:, d])[:-1]) / 2)
        for sign in (-1, 1)
    ]


@pytest.mark.parametrize("C", [0.05, 0.5, 100.0])
def test_it_is_the_minimum_over_all_stumps(rows, C):
    X, y = rows
    H = np.column_stack([y * stump(X) for stump in all_stumps(X)])
    w, xi = cp.Variable(H.shape[1], nonneg=True), cp.Variable(len(y), nonneg=True)
    least = cp.Problem(cp.Minimize(cp.sum(w) + C * cp.sum(xi)), [H @ w + xi >= 1]).solve()
    vote = boost_by_programs(X, y, C)
    margin = y * sum(w * stump(X) for stump, w in zip(vote.stumps, vote.weights, strict=True))
    assert (vote.weights >= 0).all()
    assert vote.weights.sum() + C * np.maximum(0, 1 - margin).sum() == pytest.approx(least, rel=1e-4)


def test_where_no_stump_is_worth_its_weight_one_votes(rows):
    X, y = rows
    assert len(boost_by_programs(X, y, 1e-3).stumps) == 1


def test_the_c_of_least_error_over_the_folds_is_chosen(rows):
    X, y = rows
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    wrong = {
        C: np.mean(
            [np.mean(boost_by_programs(X[a], y[a], C).predict(X[b]) != y[b]) for a, b in folds.split(X, y)]
        )
        for C in (1e-3, 0.5)
    }
    assert choose_c(X, y, np.array([1e-3, 0.5]), folds) == min(wrong, key=wrong.__getitem__)
