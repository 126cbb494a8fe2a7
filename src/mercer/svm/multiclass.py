"""Several classes as problems of two: one against one, as LIBSVM does, or one against the rest.

Decision values are a matrix with one column per two-class problem. One against one, the pairs of classes come
in the order (0, 1), (0, 2), …, and positive values are for the later class.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from sklearn.utils.multiclass import _ovr_decision_function

from mercer._typing import Array, Index


class TwoClassProblem(NamedTuple):
    """Rows of a data set with labels −1 and +1."""

    rows: Index
    y: Array


def split_problems(label: Index, n_classes: int, scheme: str) -> list[TwoClassProblem]:
    """Return the two-class problems of labels 0 … n_classes − 1. Two classes make one problem."""
    everything = np.arange(len(label))
    if n_classes == 2:
        return [TwoClassProblem(everything, np.where(label == 1, 1.0, -1.0))]
    if scheme == "ovr":
        return [TwoClassProblem(everything, np.where(label == k, 1.0, -1.0)) for k in range(n_classes)]
    problems = []
    for a, b in combinations(range(n_classes), 2):
        rows = np.flatnonzero((label == a) | (label == b))
        problems.append(TwoClassProblem(rows, np.where(label[rows] == b, 1.0, -1.0)))
    return problems


def score_classes(decisions: Array, n_classes: int, scheme: str) -> Array:
    """Return one score per row (two classes), or one per row and class.

    One against one: the number of votes plus the sum of the decision values squashed into (−1/3, 1/3), which
    orders rows and classes of equally many votes; as in scikit-learn.
    """
    if n_classes == 2:
        return decisions[:, 0]
    scores: Array = (
        decisions if scheme == "ovr" else _ovr_decision_function(decisions > 0, decisions, n_classes)
    )
    return scores


def choose_classes(decisions: Array, n_classes: int, scheme: str) -> Index:
    """Return the class of each row; one against one, the first class that has the most votes, as in LIBSVM.

    There the pair (a, b) votes for a where its decision is positive for a, and else for b.
    """
    if n_classes == 2:
        return (decisions[:, 0] > 0).astype(np.intp)
    if scheme == "ovr":
        return decisions.argmax(axis=1)
    votes = np.zeros((len(decisions), n_classes), dtype=np.intp)
    for (a, b), f in zip(combinations(range(n_classes), 2), decisions.T, strict=True):
        votes[:, a] += f < 0
        votes[:, b] += f >= 0
    return votes.argmax(axis=1)


def combine_probabilities(p: Array, n_classes: int, scheme: str) -> Array:
    """Return the probability of each class, from that of the positive class of each two-class problem."""
    if n_classes == 2:
        return np.column_stack([1.0 - p[:, 0], p[:, 0]])
    if scheme == "ovr":
        return p / np.maximum(p.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    total = np.zeros((len(p), n_classes))
    for (a, b), of_b in zip(combinations(range(n_classes), 2), p.T, strict=True):
        total[:, a] += 1.0 - of_b
        total[:, b] += of_b
    return total / len(p.T)
