"""Columns that are one category together, and how far apart two categories are."""

import numpy as np

from mercer._typing import Array, Index


def find_one_hot(X: Array) -> list[Index]:
    """Return the runs of neighbouring columns that one-hot encode a category, whatever their scale is.

    Each of them has two values, and in each row exactly one of them has its greater value.
    """
    low, high = X.min(axis=0), X.max(axis=0)
    is_high = np.equal(X, high)
    two_valued = np.all(is_high | np.equal(X, low), axis=0) & (low < high)
    groups, first = [], 0
    while first < X.shape[1]:
        n_high, last = np.zeros(len(X), dtype=np.intp), first
        while last < X.shape[1] and two_valued[last] and n_high.max() <= 1 and n_high.min() == 0:
            n_high += is_high[:, last]
            last += 1
        if last > first + 1 and np.all(n_high == 1):
            groups.append(np.arange(first, last))
            first = last
        else:
            first += 1
    return groups


def category_scale(X: Array, weight: Array | None = None) -> Array | None:
    """Return what to divide columns by, so that a change of a category is one step; None if there is none.

    By the city-block distance a change of category moves two columns, each of them by half a step. A step is
    what tells two rows apart in the other columns: twice their median standard deviation, in which rows count
    by their weight.
    """
    groups = find_one_hot(X)
    if not groups:
        return None
    columns = np.concatenate(groups)
    numbers = np.delete(X, columns, axis=1)
    others = numbers.std(axis=0)
    if weight is not None:
        centred = numbers - np.average(numbers, axis=0, weights=weight)
        others = np.sqrt(np.average(centred**2, axis=0, weights=weight))
    step = 2.0 * float(np.median(others[others > 0])) if np.any(others > 0) else 1.0
    scale = np.ones(X.shape[1])
    scale[columns] = np.ptp(X[:, columns], axis=0) / (step / 2.0)
    return scale
