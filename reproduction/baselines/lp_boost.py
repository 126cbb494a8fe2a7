"""Boosting by linear programming with decision stumps, which [LL05, II-C] mentions."""

import numpy as np
from scipy.optimize import linprog
from sklearn.model_selection import StratifiedKFold

from mercer._typing import Array
from reproduction.baselines.stump import DecisionStump, StumpLearner

TOL = 1e-6


class Vote:
    """Stumps with nonnegative weights."""

    def __init__(self, stumps: list[DecisionStump], weights: Array) -> None:
        self.stumps, self.weights = stumps, weights

    def predict(self, X: Array) -> Array:
        """Return the class, −1 or +1, of each row."""
        votes = np.sum([w * stump(X) for stump, w in zip(self.stumps, self.weights, strict=True)], axis=0)
        return np.where(votes > 0, 1.0, -1.0)


def boost_by_programs(X: Array, y: Array, C: float, tol: float = TOL) -> Vote:
    r"""Solve LPBoost [Demiriz, Bennett and Shawe-Taylor 2002] over all stumps, by column generation.

    .. math:: \min_{w, \xi \ge 0} \sum_t w_t + C \sum_i \xi_i \quad \text{s.t.} \quad
              y_i \sum_t w_t h_t(x_i) \ge 1 - \xi_i

    Each round adds the stump whose dual constraint is violated most, until none is by more than `tol`.
    """
    learn, n = StumpLearner(X, y), len(y)
    stumps: list[DecisionStump] = []
    margins = np.empty((n, 0))
    dual, weights = np.full(n, C), np.empty(0)
    while True:
        stump = learn(dual)
        margin = y * stump(X)
        if dual @ margin <= 1 + tol or stump in stumps:
            return Vote(stumps or [stump], weights if stumps else np.ones(1))
        stumps.append(stump)
        margins = np.column_stack([margins, margin])
        cost = np.concatenate([np.ones(len(stumps)), np.full(n, C)])
        found = linprog(cost, A_ub=-np.hstack([margins, np.eye(n)]), b_ub=-np.ones(n), method="highs")
        weights, dual = found.x[: len(stumps)], -found.ineqlin.marginals


def choose_c(X: Array, y: Array, Cs: Array, folds: StratifiedKFold) -> float:
    """Return the C of the least cross-validation error, the smallest of equals."""
    wrong = [
        np.mean(
            [
                np.mean(boost_by_programs(X[kept], y[kept], C).predict(X[left]) != y[left])
                for kept, left in folds.split(X, y)
            ]
        )
        for C in Cs
    ]
    return float(Cs[int(np.argmin(wrong))])
