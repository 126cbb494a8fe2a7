"""Many classes as several problems of two: one against one (as LIBSVM does) or one against the rest."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array


class TwoClassProblem(NamedTuple):
    """Rows of a data set with labels −1 and +1."""

    rows: NDArray[np.intp]
    y: Array


def split_problems(label: NDArray[Any], n_classes: int, scheme: str) -> list[TwoClassProblem]:
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


def combine_decisions(decisions: Sequence[Array], n_classes: int, scheme: str) -> Array:
    """Return one score a row (two classes) or one score a row and class; the largest wins.

    One against one: the number of votes, ties broken by the sum of the decision values squashed into
    (−1/3, 1/3), as scikit-learn does.
    """
    if n_classes == 2:
        return decisions[0]
    if scheme == "ovr":
        return np.column_stack(decisions)
    votes = np.zeros((len(decisions[0]), n_classes))
    confidence = np.zeros_like(votes)
    for (a, b), f in zip(combinations(range(n_classes), 2), decisions, strict=True):
        votes[:, b] += f > 0
        votes[:, a] += f <= 0
        confidence[:, b] += f
        confidence[:, a] -= f
    return votes + confidence / (3.0 * (np.abs(confidence) + 1.0))


def choose_classes(scores: Array) -> NDArray[np.intp]:
    """Return the position of the class that wins in each row."""
    return np.argmax(scores, axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)
