"""The learned kernel of records: a sum of the columns' kernels with weights that are not negative [OSW02]."""

from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.matching.comparison import Comparison, Records


class RecordKernel:
    """k(a, b) = Σ_j w_j k_j(a, b) on tables, w_j ≥ 0: positive semi-definite by construction.

    The k_j are inner products of TF-IDF vectors, equality, and exp(−|a − b| / scale); where a cell is missing
    they are 0. Called on tables it returns the Gram matrix, for ``SVC(kernel="precomputed")`` and its like.

    Parameters
    ----------
    comparison : Comparison
        The kernels of the columns.
    weights : array of shape (n_kernels,)
        Their weights.
    """

    def __init__(self, comparison: Comparison, weights: Array) -> None:
        self.comparison = comparison
        self.weights = weights

    def __call__(self, X: Any, Y: Any = None) -> Array:
        """Return the Gram matrix of the records of two tables, or of one with itself."""
        left = self.comparison.prepare(X, "X")
        return self.gram(left, left if Y is None else self.comparison.prepare(Y, "Y"))

    def gram(self, left: Records, right: Records) -> Array:
        """Return the Gram matrix of prepared records."""
        total = np.zeros((len(left.keys), len(right.keys)))
        for w, mine, its in zip(self.weights, left.views, right.views, strict=True):
            if w > 0.0:
                total += w * mine.block(its, slice(None))  # type: ignore[arg-type]  # of one kind
        return total

    def features(self, X: Any, n_components: int | None = None) -> Array:
        """Return features of the records of a table whose inner products are the kernel, or nearest to it.

        From the Gram matrix's eigenvectors, O(n³). For learners that take rows: `IdealizedKernel`,
        `KernelBoost`.

        Parameters
        ----------
        X : DataFrame
            The records.
        n_components : int, optional
            At most so many features, those of the largest eigenvalues.
        """
        values, vectors = np.linalg.eigh(self(X))
        kept = np.flatnonzero(values > 1e-10 * max(values[-1], 0.0))[::-1][:n_components]
        found: Array = vectors[:, kept] * np.sqrt(values[kept])
        return found
