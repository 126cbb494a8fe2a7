"""The folds that all candidates share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

Index = NDArray[np.intp]


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
    return [(train, test) for train, test in splits if len(np.unique(y[train])) > 1]
