"""The folds that all candidates share."""

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from mercer._typing import Index


def make_folds(y: NDArray[Any], n_folds: int, seed: int) -> list[tuple[Index, Index]]:
    """Return training and test rows, by class; fewer folds where a class has fewer rows.

    A class of a single row is in no test part that could be judged: then folds are drawn without classes.
    """
    _, counts = np.unique(y, return_counts=True)
    fewest = int(counts.min())
    if fewest >= 2:
        splitter = StratifiedKFold(min(n_folds, fewest), shuffle=True, random_state=seed)
        return list(splitter.split(y, y))
    splits = KFold(min(n_folds, len(y)), shuffle=True, random_state=seed).split(y)
    folds = [(train, test) for train, test in splits if len(np.unique(y[train])) > 1]
    if not folds:
        raise ValueError(f"{len(y)} samples are too few to hold some back: whatever is left is of one class")
    return folds


def thin_by_class(y: NDArray[Any], n: int, seed: int) -> Index:
    """Return so many rows at random, of each class as large a share as of all, but one row at least.

    With more classes than `n` there are as many rows as classes.
    """
    order = RandomState(seed).permutation(len(y))
    _, label, counts = np.unique(y[order], return_inverse=True, return_counts=True)
    by_class = np.argsort(label, kind="stable")
    place = np.empty(len(y))
    place[by_class] = np.arange(len(y)) - np.repeat(np.cumsum(counts) - counts, counts)
    # the k-th row of a class of m comes after a share of (k − 1/2) / m of all rows; the first one at once
    due = np.where(place == 0, 0.0, (place + 0.5) / counts[label])
    chosen: Index = np.sort(order[np.argsort(due, kind="stable")[: max(n, len(counts))]])
    return chosen
