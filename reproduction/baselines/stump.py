"""Decision stumps of the lowest weighted error [LL05, IV]."""

from typing import NamedTuple

import numpy as np

from mercer._typing import Array, Index
from mercer.compiled import njit

TIE = 1e-12
"""Errors as near as this count as equal: the order in which weights are summed must not decide."""


class DecisionStump(NamedTuple):
    """The decision stump s(x) = q · sign(x_d − α), where sign(0) = 1; constant if α = −∞."""

    feature: int
    threshold: float
    sign: int

    def __call__(self, X: Array) -> Array:
        """Return s(x) = ±1 for each row."""
        return np.where(X[:, self.feature] >= self.threshold, self.sign, -self.sign).astype(np.float64)


class StumpLearner:
    r"""Find the stump of the lowest weighted error, whatever the weights.

    .. math:: \min_{q, d, \alpha} \sum_i w_i \, [\, q \operatorname{sign}(x_{id} - \alpha) \ne y_i \,]

    over both signs q, all features d and all thresholds α, with α = −∞ (the constant ±1) among them. The
    features are sorted once, at construction; each call then costs O(nD). A threshold lies halfway between
    two neighbouring values. This is not what a decision tree of depth one does: a tree lets both leaves
    vote for the same class, and splits by an impurity (Gini), which has its minimum elsewhere.

    Parameters
    ----------
    X : array of shape (n, D)
    y : array of −1 and +1
    """

    def __init__(self, X: Array, y: Array):
        self.y = y
        self.order = np.ascontiguousarray(np.argsort(X, axis=0, kind="stable").T)
        self.values = np.take_along_axis(X.T, self.order, axis=1)

    def __call__(self, weights: Array) -> DecisionStump:
        """Return the best stump for these weights of the rows."""
        feature, position, sign = _best_split(self.values, self.order, weights * self.y)
        if position == 0:
            return DecisionStump(0, -np.inf, int(sign))
        below, above = self.values[feature, position - 1 : position + 1]
        middle = below + (above - below) / 2
        # Between neighbouring floats the middle may be `below` itself, which belongs to the other side.
        return DecisionStump(int(feature), float(middle if middle > below else above), int(sign))


@njit(cache=True)
def _best_split(values: Array, order: Index, signed_weights: Array) -> tuple[int, int, int]:
    """Return (d, k, q): feature d with the k smallest values on the side of −q.

    With margin M = Σ_{right} w y − Σ_{left} w y the error of q is (Σ w − q M) / 2, so the best stump has
    the largest |M|. Moving a row from right to left changes M by −2 w y.
    """
    n_features, n = values.shape
    total = signed_weights.sum()
    best_feature, best_position, best_margin = 0, 0, total
    for d in range(n_features):
        margin = total
        for k in range(1, n):
            margin -= 2 * signed_weights[order[d, k - 1]]
            if values[d, k - 1] < values[d, k] and abs(margin) > abs(best_margin) + TIE:
                best_feature, best_position, best_margin = d, k, margin
    return best_feature, best_position, 1 if best_margin >= 0 else -1
