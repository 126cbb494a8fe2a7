"""Several classes as problems of two: one against one, as LIBSVM does, or one against the rest.

Decision values are a matrix with one column per two-class problem. One against one, the pairs of classes come
in the order (0, 1), (0, 2), …, and positive values are for the later class.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

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
    if scheme == "ovr":
        return decisions
    first, second = _sides(decisions, n_classes)
    votes = (decisions <= 0) @ first + (decisions > 0) @ second
    confidence = decisions @ (second - first)
    scores: Array = votes + confidence / (3.0 * (np.abs(confidence) + 1.0))
    return scores


def choose_classes(decisions: Array, n_classes: int, scheme: str) -> Index:
    """Return the class of each row; one against one, the first class that has the most votes, as in LIBSVM.

    There the pair (a, b) votes for a where its decision is positive for a, and else for b.
    """
    if n_classes == 2:
        return (decisions[:, 0] > 0).astype(np.intp)
    if scheme == "ovr":
        return decisions.argmax(axis=1)
    first, second = _sides(decisions, n_classes)
    chosen: Index = ((decisions < 0) @ first + (decisions >= 0) @ second).argmax(axis=1)
    return chosen


def _sides(decisions: Array, n_classes: int) -> tuple[csr_array, csr_array]:
    """Return which class is the earlier one of each pair, and which the later: 1 in its column, else 0."""
    n_pairs = n_classes * (n_classes - 1) // 2
    if decisions.shape[1] != n_pairs:
        raise ValueError(
            f"{n_classes} classes are {n_pairs} pairs, but there are {decisions.shape[1]} decisions"
        )
    pairs, ones, row = np.triu_indices(n_classes, 1), np.ones(n_pairs), np.arange(n_pairs)
    first, second = (csr_array((ones, (row, side)), shape=(n_pairs, n_classes)) for side in pairs)
    return first, second


def combine_probabilities(p: Array, n_classes: int, scheme: str) -> Array:
    """Return the probability of each class, from that of the positive class of each two-class problem."""
    if n_classes == 2:
        return np.column_stack([1.0 - p[:, 0], p[:, 0]])
    if scheme == "ovr":
        return p / np.maximum(p.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    first, second = _sides(p, n_classes)
    total: Array = (1.0 - p) @ first + p @ second
    return total / len(p.T)
