"""Chunklets: rows that must share a component, and which of these sets must not share one.

Similar rows are connected through each other (the similar of the similar are similar): the connected sets are
chunklets, which hold the positive constraints of [HBW06, Section 2.2]. A dissimilar pair, a negative one,
then keeps two whole chunklets apart. Boosting may dissolve chunklets into parts [HBW06, Algorithm 2].
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order
from sklearn.neighbors import NearestNeighbors

from mercer._typing import Array, Index
from mercer.array_api import take, to_numpy
from mercer.pairs import Pairs, connected_sets

SAME_WEIGHT = 1.0 - 1e-9
"""An edge is dropped if it weighs less than this times the average edge. Without a tolerance, some of equal
weights would be dropped: their average may round to more than each."""


class ContradictionError(ValueError):
    """Dissimilar rows are similar by way of others."""


class Chunklets(NamedTuple):
    """Sets of rows, and which of them are apart. Rows that are in none are free."""

    rows: Index  # the rows that are in a chunklet
    number: Index  # the chunklet of each of them, from 0 without gaps
    apart: Index  # (n_edges, 2): chunklets that must not share a component, each pair once, smaller first

    @property
    def n_chunklets(self) -> int:
        """Return how many there are."""
        return int(self.number.max(initial=-1)) + 1

    def signs(self) -> Array:
        """Return what is known of chunklets two at a time: 1 for one and itself, −1 for two apart, else 0."""
        signs = np.eye(self.n_chunklets)
        signs[self.apart[:, 0], self.apart[:, 1]] = signs[self.apart[:, 1], self.apart[:, 0]] = -1.0
        return signs


def chunk_labels(label: Index) -> Chunklets:
    """Return one chunklet for each class, each apart from all others; rows behind the labels are free."""
    n_classes = int(label.max(initial=-1)) + 1
    return Chunklets(np.arange(len(label)), label, np.column_stack(np.triu_indices(n_classes, k=1)))


def chunk_pairs(pairs: Pairs, n_rows: int) -> Chunklets:
    """Return the chunklets of the rows in (checked) pairs, by transitive closure.

    Raises `ContradictionError` where a dissimilar pair is similar by closure, and says through which rows.
    """
    group = connected_sets(pairs.similar, n_rows)
    inside = group[pairs.dissimilar[:, 0]] == group[pairs.dissimilar[:, 1]]
    if np.any(inside):
        raise ContradictionError(_contradiction(_graph(pairs.similar, n_rows), pairs.dissimilar[inside]))
    rows = pairs.rows()
    groups, number = np.unique(group[rows], return_inverse=True)
    apart = np.sort(np.searchsorted(groups, group[pairs.dissimilar]), axis=1)
    return Chunklets(rows, number.astype(np.intp), np.unique(apart, axis=0).astype(np.intp))


def split_chunklets(whole: Chunklets, part: Index) -> Chunklets:
    """Return smaller chunklets: `part` numbers them, for each row. Parts of one are not kept apart."""
    parts, number = np.unique(np.column_stack([whole.number, part]), axis=0, return_inverse=True)
    origin = csr_array((np.ones(len(parts)), (np.arange(len(parts)), parts[:, 0])))
    # parts are numbered in the order of the chunklets that they are of, so that the smaller stays the first
    between = (origin @ _graph(whole.apart, whole.n_chunklets) @ origin.T).tocoo()
    apart = np.column_stack(between.coords).astype(np.intp)
    return Chunklets(whole.rows, number.reshape(-1).astype(np.intp), apart)


def neighbour_graph(X: Array, chunklets: Chunklets, n_mutual: int) -> Index:
    """Return the edges between rows of a chunklet that are among the `n_mutual` nearest of each other.

    As positions in `chunklets.rows`, the smaller first: what Algorithm 2 prepares [HBW06].
    """
    edges = []
    for c in range(chunklets.n_chunklets):  # [HBW06] Algorithm 2, preprocess: for each label l
        members = np.flatnonzero(chunklets.number == c)
        k = min(n_mutual, len(members) - 1)
        if k == 0:
            continue
        rows = to_numpy(take(X, chunklets.rows[members]))
        near = NearestNeighbors(n_neighbors=k).fit(rows).kneighbors_graph()
        mutual = coo_array(near.multiply(near.T))
        first, second = (members[position] for position in mutual.coords)
        edges.append(np.column_stack([first, second])[first < second])
    return np.concatenate(edges) if edges else np.empty((0, 2), dtype=np.intp)


def dissolve_chunklets(whole: Chunklets, edges: Index, W: Array) -> Chunklets:
    """Return the chunklets, split where the pairs are right already [HBW06, Algorithm 2].

    Parameters
    ----------
    whole : Chunklets
        All similar rows in one.
    edges : array of shape (n_edges, 2)
        The graph that `neighbour_graph` gives.
    W : array of shape (l, l)
        The weights of the pairs of the l rows in chunklets.
    """
    weight, of = W[edges[:, 0], edges[:, 1]], whole.number[edges[:, 0]]  # [HBW06] Algorithm 2, step 1
    counts = np.bincount(of, minlength=whole.n_chunklets)
    average = np.bincount(of, weight, whole.n_chunklets) / np.maximum(counts, 1)
    kept = edges[weight >= SAME_WEIGHT * average[of]]  # step 2
    return split_chunklets(whole, connected_sets(kept, len(whole.rows)))  # step 3


def color_greedily(chunklets: Chunklets) -> Index:
    """Return a component for each chunklet such that chunklets that are apart have different ones.

    Each takes the first that is free, those with the most neighbours first. That needs at least as many
    components as there are chunklets mutually apart, and that number is enough where these are
    complete, as classes are.
    """
    m = chunklets.n_chunklets
    neighbours: list[set[int]] = [set() for _ in range(m)]
    for a, b in chunklets.apart.tolist():
        neighbours[a].add(b)
        neighbours[b].add(a)
    color = np.full(m, -1, dtype=np.intp)
    for c in sorted(range(m), key=lambda c: -len(neighbours[c])):
        taken = {int(color[other]) for other in neighbours[c]}
        color[c] = next(k for k in range(m) if k not in taken)
    return color


def _graph(edges: Index, n: int) -> csr_array:
    return coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n)).tocsr()


def _contradiction(similar: csr_array, wrong: Index) -> str:
    first, last = (int(row) for row in wrong[0])
    _, before = breadth_first_order(similar, first, directed=False)
    path = [last]
    while path[-1] != first:
        path.append(int(before[path[-1]]))
    return (
        f"{len(wrong)} of the dissimilar pairs are similar by way of other rows, such as {(first, last)}: "
        f"the similar pairs connect {' – '.join(map(str, reversed(path)))}"
    )
