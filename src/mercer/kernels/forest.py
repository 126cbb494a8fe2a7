"""Trees as a kernel: in what share of them two rows come to the same leaf."""

from typing import Any, final

import numpy as np
from scipy.sparse import csr_array

from mercer._typing import Array, Index
from mercer.array_api import like, to_numpy
from mercer.kernels.base import Kernel, check_columns


@final
class Forest(Kernel):
    r"""The share of trees in which two rows meet [B00, DG14, S16].

    .. math:: k(x, x') = \frac1T \sum_{t=1}^T [\text{leaf}_t(x) = \text{leaf}_t(x')]

    It has a feature for each leaf of each tree, and is positive semi-definite: the finite and learned sibling
    of the tree kernel (`Tree`), which is the mean over all trees. A forest and boosted trees are sums over
    these features. Where trees were grown by labels, the rows that had these are nearer to their like than
    new rows will be.

    All trees stand one after another in each array; a leaf is its own child, on both sides.

    Parameters
    ----------
    feature : array of shape (n_nodes,)
        Which column each node looks at.
    threshold : array of shape (n_nodes,)
        The value up to which a row goes to the low child. Rows are in single precision, as scikit-learn's
        trees see them.
    low, high : arrays of shape (n_nodes,)
        The children.
    roots : array of shape (n_trees,)
        Where each tree begins.
    n_features : int
        The number of columns.

    References
    ----------
    [B00] L. Breiman. Some infinity theory for predictor ensembles. Technical report 577, Berkeley, 2000.
    [DG14] A. Davies, Z. Ghahramani. The random forest kernel and other kernels for big data from random
    partitions. arXiv:1402.4293, 2014.
    [S16] E. Scornet. Random forests and kernel methods. IEEE Transactions on Information Theory 62, 2016.

    Examples
    --------
    Two trees: one asks the first column, one the second.

    >>> from mercer.kernels import Forest
    >>> low, high = [1, 1, 2, 4, 4, 5], [2, 1, 2, 5, 4, 5]
    >>> kernel = Forest([0, 0, 0, 1, 0, 0], [0.5, 0, 0, 0.5, 0, 0], low, high, [0, 3], n_features=2)
    >>> kernel([[0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    array([[1. , 0.5, 0. ]])
    """

    def __init__(
        self, feature: Any, threshold: Any, low: Any, high: Any, roots: Any, n_features: int
    ) -> None:
        self.feature = np.asarray(feature)
        self.threshold = np.asarray(threshold)
        self.low = np.asarray(low)
        self.high = np.asarray(high)
        self.roots = np.asarray(roots)
        self.n_features = n_features

    def gram(self, X: Array, Y: Array) -> Array:
        """Return the shares."""
        F = self._one_hot(X)
        shares = (F @ (F if Y is X else self._one_hot(Y)).T).toarray() / len(self.roots)
        return like(X, shares)

    def diag(self, X: Array) -> Array:
        """Return ones: a row meets itself in every tree."""
        check_columns(X, self.n_features)
        return like(X, np.ones(len(X)))

    def leaves(self, X: Any) -> Index:
        """Return the leaf of each tree that rows come to, (n_rows, n_trees)."""
        check_columns(X, self.n_features)
        X = to_numpy(X).astype(np.float32)
        node = np.repeat(self.roots[None], len(X), axis=0)
        rows = np.arange(len(X))[:, None]
        for _ in range(len(self.feature)):  # at most: then all are in leaves, unless these are no trees
            goes_low = X[rows, self.feature[node]] <= self.threshold[node]
            below = np.where(goes_low, self.low[node], self.high[node])
            if np.array_equal(below, node):
                break
            node = below
        return node

    def _one_hot(self, X: Any) -> Any:
        leaves = self.leaves(X)
        starts = np.arange(len(leaves) + 1) * leaves.shape[1]
        shape = (len(leaves), len(self.feature))
        return csr_array((np.ones(leaves.size), leaves.ravel(), starts), shape=shape)
