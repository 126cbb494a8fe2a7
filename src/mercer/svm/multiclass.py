"""Several classes as problems of two: one against one, as LIBSVM does, or one against the rest.

Decision values are a matrix with one column per two-class problem. One against one, the pairs of classes come
in the order (0, 1), (0, 2), …, and positive values are for the later class. Arrays may be tensors.
"""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mercer._typing import Array, Index
from mercer.array_api import is_of_numpy, like, namespace


class TwoClassProblem(NamedTuple):
    """Rows of a data set with labels −1 and +1."""

    rows: Index
    y: Array


def split_problems(label: Index, n_classes: int, scheme: str) -> list[TwoClassProblem]:
    """Return the two-class problems of labels 0 … n_classes − 1. Two classes make one problem."""
    xp = namespace(label)
    everything = xp.arange(len(label), device=label.device)
    if n_classes == 2:
        return [TwoClassProblem(everything, xp.where(label == 1, 1.0, -1.0))]
    if scheme == "ovr":
        return [TwoClassProblem(everything, xp.where(label == k, 1.0, -1.0)) for k in range(n_classes)]
    rows = [everything[label == k] for k in range(n_classes)]
    ones = [xp.ones(len(own), dtype=xp.float64, device=label.device) for own in rows]
    return [
        TwoClassProblem(xp.concat([rows[a], rows[b]]), xp.concat([-ones[a], ones[b]]))
        for a, b in combinations(range(n_classes), 2)
    ]


def score_classes(decisions: Array, n_classes: int, scheme: str) -> Array:
    """Return one score per row (two classes), or one per row and class.

    One against one: the number of votes plus the sum of the decision values squashed into (−1/3, 1/3), which
    orders rows and classes of equally many votes; as in scikit-learn.
    """
    if n_classes == 2:
        return decisions[:, 0]
    if scheme == "ovr":
        return decisions
    xp, (first, second) = namespace(decisions), _sides(decisions, n_classes)
    later = xp.astype(decisions > 0, xp.float64)
    confidence = decisions @ (second - first)
    scores: Array = (1.0 - later) @ first + later @ second + confidence / (3.0 * (abs(confidence) + 1.0))
    return scores


def choose_classes(decisions: Array, n_classes: int, scheme: str) -> Index:
    """Return the class of each row; one against one, the first class that has the most votes, as in LIBSVM.

    There the pair (a, b) votes for a where its decision is positive for a, and else for b; of two classes,
    too.
    """
    xp = namespace(decisions)
    if n_classes == 2:
        chosen = xp.astype(decisions[:, 0] >= 0, xp.int64)
    elif scheme == "ovr":
        chosen = xp.argmax(decisions, axis=1)
    else:
        first, second = _sides(decisions, n_classes)
        later = xp.astype(decisions >= 0, xp.float64)
        chosen = xp.argmax((1.0 - later) @ first + later @ second, axis=1)
    return chosen


def _sides(decisions: Array, n_classes: int) -> tuple[Any, Any]:
    """Return which class is the earlier one of each pair, and which the later: 1 in its column, else 0."""
    n_pairs = n_classes * (n_classes - 1) // 2
    if decisions.shape[1] != n_pairs:
        raise ValueError(
            f"{n_classes} classes are {n_pairs} pairs, but there are {decisions.shape[1]} decisions"
        )
    pairs, ones, row = np.triu_indices(n_classes, 1), np.ones(n_pairs), np.arange(n_pairs)
    first, second = (csr_array((ones, (row, side)), shape=(n_pairs, n_classes)) for side in pairs)
    if not is_of_numpy(decisions):
        return like(decisions, first.toarray()), like(decisions, second.toarray())
    return first, second


def combine_probabilities(p: Array, n_classes: int, scheme: str) -> Array:
    """Return the probability of each class, from that of the positive class of each two-class problem."""
    xp = namespace(p)
    if n_classes == 2:
        return xp.stack([1.0 - p[:, 0], p[:, 0]], axis=1)
    if scheme == "ovr":
        return p / xp.clip(xp.sum(p, axis=1, keepdims=True), np.finfo(float).tiny, None)
    first, second = _sides(p, n_classes)
    total: Array = (1.0 - p) @ first + p @ second
    return total / p.shape[1]
