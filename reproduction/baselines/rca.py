"""Relevant component analysis [Bar-Hillel et al. 2003]: whitening by what varies among similar rows."""

from typing import final

import numpy as np

from mercer._typing import Array, Index
from mercer.kernels import Projected
from mercer.learners.base import KernelLearner, TrainingData
from mercer.pairs import connected_sets
from mercer.scikit import CallbackContext

RANK_TOL = 1e-10  # of the largest singular value or eigenvalue: less is a rounding error


@final
class RCA(KernelLearner):
    r"""Relevant component analysis: the inner product in which similar rows vary alike in all directions.

    .. math:: k(x, x') = x^\top (C + \rho T)^{-1} x', \qquad
              C = \frac1N \sum_j \sum_{x \in H_j} (x - m_j)(x - m_j)^\top,

    where the chunklets :math:`H_j`, with means :math:`m_j` and N rows in all, are sets of two or more rows
    that are known to be similar: the classes, or what the similar pairs connect (the similar of the similar
    are similar). T is the covariance of all rows.

    Where rows of one chunklet do not vary, C is singular, and its inverse would look at nothing else. The
    ridge ρ bounds that: such a direction counts as if a share ρ of its whole variance were within chunklets.
    `within_rank_` says how many directions C has. With ``ridge=0`` it must have all that the rows have.
    Directions in which no rows differ are left out.

    Dissimilar pairs and unlabelled rows are not used. O(np min(n, p)).

    Parameters
    ----------
    ridge : float, default=1e-3
        ρ. Zero is the published method.

    Attributes
    ----------
    kernel_ : Projected
        The learned kernel.
    chunklets_ : array of shape (n_samples,)
        The number of each row's chunklet, −1 for rows that are similar to no other.
    within_rank_ : int
        The rank of C.
    classes_ : array of shape (n_classes,)
        The labels, if it was fitted to labels.

    References
    ----------
    A. Bar-Hillel, T. Hertz, N. Shental, D. Weinshall. Learning distance functions using equivalence
    relations. ICML 2003.

    Examples
    --------
    >>> from mercer import Pairs
    >>> from reproduction.baselines import RCA
    >>> X = [[0.0, 0.0], [0.0, 8.0], [3.0, 1.0], [3.0, 7.0], [4.0, 2.0], [4.2, 2.0]]
    >>> learner = RCA().fit(X, pairs=Pairs(similar=[(0, 1), (2, 3), (4, 5)]))
    >>> learner.chunklets_
    array([0, 0, 1, 1, 2, 2])
    >>> d = learner.kernel_.squared_distance(X, X)
    >>> bool(d[0, 1] < d[0, 2])
    True
    """

    def __init__(self, *, ridge: float = 1e-3) -> None:
        self.ridge = ridge

    def _learn(self, known: TrainingData, context: CallbackContext) -> None:
        check_ridge(self.ridge)
        self.chunklets_ = _chunklets(known)
        W = standardizing_directions(known.X)
        Z = known.X @ W
        values, Q = np.linalg.eigh(within_covariance(Z, self.chunklets_))
        self.within_rank_ = int(np.sum(values > RANK_TOL * max(values[-1], RANK_TOL)))
        if self.ridge == 0 and self.within_rank_ < len(values):
            raise ValueError(
                f"similar rows differ in {self.within_rank_} directions, all rows in {len(values)}: without "
                "a ridge the others would weigh infinitely much. Set ridge, or give more similar rows"
            )
        self.kernel_ = Projected((W @ Q) / np.sqrt(np.maximum(values, 0.0) + self.ridge))


def check_ridge(ridge: object) -> None:
    """Raise unless the ridge is a finite number, zero or positive."""
    if not isinstance(ridge, int | float | np.number) or not 0.0 <= float(ridge) < np.inf:
        raise ValueError(f"ridge must be a finite number, zero or positive, got {ridge!r}.")


def standardizing_directions(X: Array) -> Array:
    """Return W such that the rows X W have the covariance I, of as many columns as the rows have directions.

    What is learned in these coordinates does not depend on the scale of the features.
    """
    _, size, V = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    kept = size > RANK_TOL * np.max(np.abs(X))
    if not np.any(kept):
        raise ValueError("all rows are equal: there is nothing to tell them apart")
    W: Array = V[kept].T * (np.sqrt(len(X)) / size[kept])
    return W


def within_covariance(Z: Array, chunklet: Index) -> Array:
    """Return the mean of (x − m)(x − m)ᵀ over the rows of all chunklets, m being the chunklet's mean."""
    member = chunklet >= 0
    rows, number = Z[member], chunklet[member]
    means = np.zeros((number.max() + 1, Z.shape[1]))
    np.add.at(means, number, rows)
    centred = rows - (means / np.bincount(number)[:, None])[number]
    C: Array = centred.T @ centred / len(rows)
    return C


def _chunklets(known: TrainingData) -> Index:
    """Return the number of each row's chunklet, counted from zero; −1 for rows that are alone."""
    group = known.label
    if group is None:
        assert known.pairs is not None
        group = connected_sets(known.pairs.similar, len(known.X))
    counts = np.bincount(group)
    number = np.cumsum(counts > 1) - 1
    if number[-1] < 0:
        raise ValueError("no two different rows are known to be similar: list some similar pairs")
    return np.where(counts > 1, number, -1)[group].astype(np.intp)
