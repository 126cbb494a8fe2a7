"""Of many rows, those that a kernel is learned from: drawn by class, with all that listed pairs mention.

A kernel is a value: learned from some rows, it is there for all. What a method does with pairs of rows grows
as their square, and what the kernel gains by more than some thousand of them is little.
"""

import numpy as np
from numpy.random import RandomState

from mercer._typing import Array, Index
from mercer.pairs import Pairs

FEW = 10  # rows of a class that there are at least, if it has so many


def draw_by_class(label: Index, most: int, rng: RandomState) -> Index:
    """Draw rows, so many of each class as its share of all is, and at least ten of it if there are."""
    size = np.bincount(label)
    wanted = _share_out(size, most)
    order = rng.permutation(len(label))
    order = order[np.argsort(label[order], kind="stable")]
    place = np.arange(len(label)) - np.repeat(np.cumsum(size) - size, size)  # in its class, at random
    return np.sort(order[place < np.repeat(wanted, size)])


def draw_with_pairs(pairs: Pairs, n_rows: int, most: int, rng: RandomState) -> Index:
    """Return all rows that are in a pair, and of the others as many as there is room for."""
    listed = pairs.rows()
    others = np.setdiff1d(np.arange(n_rows), listed)
    return np.sort(np.concatenate([listed, rng.permutation(others)[: max(most - len(listed), 0)]]))


def draw(n_rows: int, most: int, rng: RandomState) -> Index:
    """Return all rows, or some drawn at random."""
    return np.arange(n_rows) if n_rows <= most else np.sort(rng.choice(n_rows, most, replace=False))


def _share_out(size: Index, most: int) -> Array:
    """Return how many rows of each class: by largest remainders, then at least ten or all of it."""
    quota = size * (most / size.sum())
    wanted = np.floor(quota).astype(np.intp)
    wanted[np.argsort(wanted - quota, kind="stable")[: most - int(wanted.sum())]] += 1
    return np.maximum(wanted, np.minimum(size, FEW))
