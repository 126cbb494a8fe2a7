"""Several classes as problems of two: one against one, as LIBSVM does, or one against the rest; or as one.

Decision values are a matrix with one column per two-class problem. One against one, the pairs of classes come
in the order (0, 1), (0, 2), …, and positive values are for the later class. The multinomial log-loss has a
column for each class: logarithms of probabilities, but for a constant. Arrays may be tensors.
"""

from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mercer._typing import Array, Index
from mercer.array_api import is_of_numpy, like, namespace
from mercer.machines.problems import MULTINOMIAL, Problem, Problems
from mercer.scikit import expit


def split_problems(label: Index, weight: Array, n_classes: int, scheme: str) -> Problems:
    """Return the two-class problems of labels 0 … n_classes − 1. Two classes make one problem."""
    xp = namespace(label)
    if n_classes == 2 or scheme != "ovo":
        positive = [1] if n_classes == 2 else range(n_classes)
        signs = (2.0 * xp.astype(label == k, xp.float64) - 1.0 for k in positive)
        each = [Problem(None, y, weight) for y in signs]
        return Problems(each, label, weight, "ovo" if n_classes == 2 else scheme)
    everything = xp.arange(len(label), device=label.device)
    rows = [everything[label == k] for k in range(n_classes)]
    ones = [xp.ones(len(own), dtype=xp.float64, device=label.device) for own in rows]
    each = []
    for a, b in combinations(range(n_classes), 2):
        both = xp.concat([rows[a], rows[b]])
        each.append(Problem(both, xp.concat([-ones[a], ones[b]]), weight[both]))
    return Problems(each, label, weight, scheme)


def score_classes(decisions: Array, n_classes: int, scheme: str, is_log: bool = False) -> Array:
    """Return one score per row (two classes), or one per row and class.

    One against one: the number of votes plus the sum of the decision values squashed into (−1/3, 1/3), which
    orders rows and classes of equally many votes; as in scikit-learn. Of the log-loss (`is_log`) it is what
    `soften` makes probabilities of.
    """
    if n_classes == 2:
        return decisions[:, 0]
    if is_log:
        return _log_scores(decisions, n_classes, scheme)
    if scheme == "ovr":
        return decisions
    xp, (first, second) = namespace(decisions), _sides(decisions, n_classes)
    later = xp.astype(decisions > 0, xp.float64)
    confidence = decisions @ (second - first)
    scores: Array = (1.0 - later) @ first + later @ second + confidence / (3.0 * (abs(confidence) + 1.0))
    return scores


def choose_classes(decisions: Array, n_classes: int, scheme: str, is_log: bool = False) -> Index:
    """Return the class of each row; one against one, the first class that has the most votes, as in LIBSVM.

    There the pair (a, b) votes for a where its decision is positive for a, and else for b; of two classes,
    too.
    """
    xp = namespace(decisions)
    if n_classes == 2:
        chosen = xp.astype(decisions[:, 0] >= 0, xp.int64)
    elif is_log or scheme != "ovo":
        chosen = xp.argmax(score_classes(decisions, n_classes, scheme, is_log), axis=1)
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


def soften(decisions: Array, n_classes: int, scheme: str) -> Array:
    """Return the probability of each class, from decision values that are logarithms of odds."""
    xp = namespace(decisions)
    if n_classes == 2:
        p = expit(decisions[:, 0], xp=xp)
        return xp.stack([1.0 - p, p], axis=1)
    scores = _log_scores(decisions, n_classes, scheme)
    p = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
    return p / xp.sum(p, axis=1, keepdims=True)


def _log_scores(decisions: Array, n_classes: int, scheme: str) -> Array:
    """Return the logarithm of each class's probability, but for a constant.

    One against the rest, probabilities are shares of those of each class. One against one, the coupling is
    Σ log σ(d) over a class's problems: as if these were independent witnesses.
    """
    if scheme == MULTINOMIAL:
        return decisions
    xp = namespace(decisions)

    def log_sigmoid(d: Any) -> Any:
        return xp.clip(d, None, 0.0) - xp.log1p(xp.exp(-xp.abs(d)))

    if scheme == "ovr":
        return log_sigmoid(decisions)
    first, second = _sides(decisions, n_classes)
    scores: Array = log_sigmoid(-decisions) @ first + log_sigmoid(decisions) @ second
    return scores
