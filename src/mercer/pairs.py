"""Pairs of samples that are known to be similar, or dissimilar."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import rankdata
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from mercer._typing import Array, Index
from mercer.parameters import check_count
from mercer.validation import check_target

TINY = 1e-12  # by which shares of the samples may differ for rounding alone


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

    @classmethod
    def from_target(
        cls,
        y: Any,
        *,
        near: float = 0.1,
        far: float = 0.5,
        n_pairs: int | None = None,
        random_state: Any = None,
    ) -> Self:
        """Return pairs of samples with near and with far numbers. This is ours, and of none of the papers.

        Numbers count by their ranks. They are cut into groups of a share `near` of the samples, and two of
        one group are similar; two whose ranks are a share `far` of the samples apart are dissimilar. Of all
        others nothing is said. What is similar to the similar is similar (`KernelBoost` needs that), and
        neither the unit of the target nor its outliers matter.

        Equal numbers share one rank, the mean of theirs, and so a group. If no two ranks are so far apart,
        those are dissimilar that are farthest.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            The numbers, at least two of them different.
        near : float, default=0.1
            The share of the samples in a group; it has at least two.
        far : float, default=0.5
            The share of the samples that lie between dissimilar ones.
        n_pairs : int or None, default=None
            Maximum number of pairs. If there are more, so many are drawn at random, half of them similar;
            what one kind does not need goes to the other. None: all of them, O(n²).
        random_state : int, RandomState instance or None, default=None
            Random seed of what is drawn.

        Examples
        --------
        >>> from mercer import Pairs
        >>> Pairs.from_target([3.1, 0.2, 3.0, 0.1], near=0.5, far=0.75).similar
        array([[3, 1],
               [2, 0]])
        """
        if not 0.0 < near < far <= 1.0:
            raise ValueError(f"near and far must be shares, 0 < near < far <= 1, got {near!r} and {far!r}.")
        if n_pairs is not None:
            check_count(n_pairs, "n_pairs", 2)
        order, share = _rank(y)
        similar, dissimilar = _find_near_and_far(share, near, far)
        most = share_out(similar.total, dissimilar.total, n_pairs)
        rng = check_random_state(random_state)
        return cls(order[similar.draw(most[0], rng)], order[dissimilar.draw(most[1], rng)])

    @classmethod
    def from_triplets(cls, triplets: Any) -> Self:
        """Return pairs of triplets (a, b, c): "a is more like b than like c". Of none of the papers.

        (a, b) counts as similar and (a, c) as dissimilar, each once. A pair that is nearer in some triplets
        and farther in others is what it is in most of them, and left out if they are as many. Every learner
        takes the result, but pairs say more than triplets: that two rows are alike, and not only more so
        than two others.

        Parameters
        ----------
        triplets : array-like of shape (n_triplets, 3)
            Row numbers.

        Examples
        --------
        >>> from mercer import Pairs
        >>> Pairs.from_triplets([(0, 1, 2), (1, 0, 3), (2, 3, 0)])
        Pairs(similar=array([[0, 1],
               [2, 3]]), dissimilar=array([[0, 2],
               [1, 3]]))
        """
        rows = np.asarray(triplets)
        if rows.ndim != 2 or rows.shape[1] != 3 or rows.dtype.kind not in "iu":
            raise ValueError(f"triplets must be row numbers of shape (n_triplets, 3), not {triplets!r}")
        both = np.concatenate([rows[:, [0, 1]], rows[:, [0, 2]]])
        pairs, number = np.unique(np.sort(both, axis=1), axis=0, return_inverse=True)
        votes = np.bincount(number.ravel(), weights=np.repeat([1.0, -1.0], len(rows)))
        return cls(pairs[votes > 0], pairs[votes < 0])

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


class _LaterRows(NamedTuple):
    """For each of n rows in order, the range of later rows that it makes a pair with."""

    begin: Index
    end: Index

    @property
    def total(self) -> int:
        """Return the number of pairs."""
        return int(np.sum(self.end - self.begin))

    def draw(self, most: int, rng: RandomState) -> Index:
        """Return all pairs, or some drawn without replacement. Time and memory are O(n) and theirs."""
        last = np.cumsum(self.end - self.begin)
        if self.total > most:
            number = np.sort(sample_without_replacement(self.total, most, random_state=rng))
        else:
            number = np.arange(self.total)
        first = np.searchsorted(last, number, side="right")
        return np.column_stack([first, self.end[first] - (last[first] - number)])


def _rank(y: Any) -> tuple[Index, Array]:
    """Return the rows in the order of their numbers, and which share of the samples lies below each."""
    target = check_target(y)
    if target.ndim == 2 and target.shape[1] > 1:
        raise ValueError(
            f"pairs are made of one target, but there are {target.shape[1]}: make them of one, "
            "pairs=Pairs.from_target(Y[:, 0])"
        )
    target = target.ravel()
    if np.ptp(target) == 0.0:
        raise ValueError("all numbers of the target are equal: no two are far apart")
    order = np.argsort(target, kind="stable")
    return order, (rankdata(target[order]) - 0.5) / len(order)


def _find_near_and_far(share: Array, near: float, far: float) -> tuple[_LaterRows, _LaterRows]:
    n = len(share)
    group = np.floor(share / max(near, 2.0 / n) + TINY)
    group_end = np.searchsorted(group, group, side="right")
    apart = min(far, share[-1] - share[0]) - TINY
    far_begin = np.maximum(np.searchsorted(share, share + apart), group_end)
    return _LaterRows(np.arange(1, n + 1), group_end), _LaterRows(far_begin, np.full(n, n))


def share_out(n_similar: int, n_dissimilar: int, max_pairs: int | None) -> tuple[int, int]:
    """Return how many pairs of either kind to keep: half each; what one does not need goes to the other."""
    if max_pairs is None:
        return n_similar, n_dissimilar
    half = max(1, max_pairs // 2)
    return max(half, max_pairs - n_dissimilar), max(half, max_pairs - n_similar)


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
