"""Pairs of samples that are known to be similar, or dissimilar."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mercer._typing import Index


class Pairs(NamedTuple):
    """Pairs of similar and of dissimilar samples, as row numbers of the X that they are passed with.

    A pair has no order and counts once, however often it is listed. Learners call `check`, which refuses
    row numbers that X does not have, and pairs that are listed as both. Cross-validation, which fits to
    subsets of X, does not renumber pairs: fit learners to pairs outside of it.

    Parameters
    ----------
    similar : array-like of shape (n_similar, 2), default=()
        Pairs of row numbers of similar samples.
    dissimilar : array-like of shape (n_dissimilar, 2), default=()
        Pairs of row numbers of dissimilar samples.

    Examples
    --------
    >>> from mercer import Pairs
    >>> pairs = Pairs(similar=[(0, 1)], dissimilar=[(2, 0)])
    >>> pairs.check(n_rows=3).dissimilar
    array([[0, 2]])
    >>> Pairs.from_labels(["a", "b", "a"]).similar
    array([[0, 2]])
    """

    similar: Any = ()
    dissimilar: Any = ()

    @classmethod
    def from_labels(cls, y: Any) -> Self:
        """Return all pairs of different samples: similar if of the same class, else dissimilar. O(n²)."""
        y = np.asarray(y)
        rows = np.column_stack(np.triu_indices(len(y), k=1))
        same = y[rows[:, 0]] == y[rows[:, 1]]
        return cls(rows[same], rows[~same])

    def check(self, n_rows: int) -> "Pairs":
        """Return the pairs as arrays, each pair once and its smaller number first.

        Parameters
        ----------
        n_rows : int
            The number of rows of X.
        """
        similar = _as_index(self.similar, "similar", n_rows)
        dissimilar = _as_index(self.dissimilar, "dissimilar", n_rows)
        alone = dissimilar[dissimilar[:, 0] == dissimilar[:, 1]]
        if len(alone):
            raise ValueError(f"row {alone[0, 0]} is listed as dissimilar to itself: drop that pair")
        both = np.intersect1d(_key(similar, n_rows), _key(dissimilar, n_rows))
        if len(both):
            pair = tuple(int(row) for row in divmod(both[0], n_rows))
            raise ValueError(
                f"{len(both)} of the pairs are listed as similar and as dissimilar, such as {pair}: drop one "
                "of the two, or both"
            )
        if not len(similar) + len(dissimilar):
            raise ValueError("there are no pairs: list some similar or dissimilar rows")
        return Pairs(similar, dissimilar)

    def rows(self) -> Index:
        """Return the rows that occur in a pair, ascending."""
        rows: Index = np.unique(np.concatenate([np.ravel(self.similar), np.ravel(self.dissimilar)]))
        return rows.astype(np.intp)

    def within(self, rows: Index) -> "Pairs":
        """Return the (checked) pairs that have both their rows among the given ones, numbered in these."""
        most = int(max([*np.ravel(self.similar), *np.ravel(self.dissimilar), *rows], default=0))
        number = np.full(most + 1, -1)
        number[rows] = np.arange(len(rows))
        kinds = (number[np.asarray(kind, dtype=np.intp).reshape(-1, 2)] for kind in self)
        return Pairs(*(kind[(kind >= 0).all(axis=1)] for kind in kinds))

    def are_of_two_groups(self) -> bool:
        """Return whether two classes explain all (checked) pairs: similar within one, dissimilar between.

        With more than two classes the dissimilar pairs cannot all lie between two groups.
        """
        rows = self.rows()
        similar = np.searchsorted(rows, self.similar).reshape(-1, 2)
        dissimilar = np.searchsorted(rows, self.dissimilar).reshape(-1, 2)
        # the bipartite double cover: each row stands once on either side; similar rows share a side,
        # dissimilar rows change it. A row that is connected with its own double needs a third group.
        n = len(rows)
        across = np.array([0, n])
        edges = np.concatenate([similar, similar + n, dissimilar + across, dissimilar + across[::-1]])
        group = connected_sets(edges, 2 * n)
        return not np.any(group[:n] == group[n:])


def connected_sets(edges: Index, n: int) -> Index:
    """Return the number of the connected set that each of n nodes is in, from 0 in the order of first nodes.

    Parameters
    ----------
    edges : array of shape (n_edges, 2)
        Pairs of nodes; those that are in none are sets of their own.
    n : int
        The number of nodes.
    """
    graph = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    _, number = connected_components(graph, directed=False)
    return np.asarray(number, dtype=np.intp)


def _as_index(pairs: Any, name: str, n_rows: int) -> Index:
    try:
        array = np.asarray(pairs if hasattr(pairs, "__len__") else list(pairs))
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name} must be a list or an array of pairs of row numbers, not {pairs!r}"
        ) from error
    if array.size == 0:
        return np.empty((0, 2), dtype=np.intp)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"{name} must be of shape (n_pairs, 2), two row numbers per pair, not {array.shape}")
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold row numbers (integers), not {array.dtype}")
    if array.min() < 0 or array.max() >= n_rows:
        wrong = array[(array < 0) | (array >= n_rows)][0]
        raise ValueError(
            f"{name} names row {wrong}, but X has rows 0 to {n_rows - 1} (cross-validation, which fits to "
            "subsets of X, does not renumber pairs)"
        )
    key = np.unique(_key(np.sort(array.astype(np.intp), axis=1), n_rows))
    return np.column_stack(np.divmod(key, n_rows)).astype(np.intp)


def _key(pairs: Index, n_rows: int) -> NDArray[np.int64]:
    return pairs[:, 0].astype(np.int64) * n_rows + pairs[:, 1]
