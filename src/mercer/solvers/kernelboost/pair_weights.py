r"""The weights of all pairs of rows while kernels are boosted, and what they say of points [HBW06].

Every pair of which nothing is known is multiplied by the same number in every round: all of them have *one*
weight. So the n × n weights W are a block for the rows that are in a chunklet, and a number: exactly, in
O(l²) time and memory for l such rows, however many others there are.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors

from mercer._typing import Array, Index
from mercer.solvers.kernelboost.chunklets import Chunklets, split_chunklets

SAME = 1e-9  # weights that differ by less than this share are the same: sums of equal numbers round


class PairWeights(NamedTuple):
    """W, of sum one: the weights of all ordered pairs of n rows, a row and itself among them."""

    rows: Index  # the rows that are in a chunklet
    signs: Array  # (l, l): 1 for similar rows (and a row and itself), −1 for dissimilar ones, 0 if unknown
    block: Array  # (l, l): the weights of their pairs
    rest: float  # the weight of every pair of which nothing is known
    n_rows: int

    @classmethod
    def uniform(cls, chunklets: Chunklets, n_rows: int) -> "PairWeights":
        """Return the weights before the first round: 1/n² for each pair."""
        signs = chunklets.signs()[np.ix_(chunklets.number, chunklets.number)]
        each = 1.0 / float(n_rows) ** 2
        return cls(chunklets.rows, signs, np.full(signs.shape, each), each, n_rows)

    @property
    def n_known(self) -> int:
        """Return of how many ordered pairs it is known whether they are similar."""
        return int(np.count_nonzero(self.signs))

    def edge(self, hypothesis: Array) -> float:
        """Return r = Σ W y K̃ over the known pairs (step 3), of the values K̃ in [−1, 1] on the block."""
        return float(np.sum(self.block * self.signs * hypothesis))

    def update(self, hypothesis: Array, alpha: float, decay: float) -> "PairWeights":
        """Return the weights of the next round (steps 5 and 6): the known pairs by how wrong they are."""
        fade = np.exp(-decay * alpha)
        factor = np.where(self.signs == 0.0, fade, np.exp(-alpha * self.signs * hypothesis))
        block, rest = self.block * factor, self.rest * fade
        total = block.sum() + rest * (float(self.n_rows) ** 2 - block.size)
        return self._replace(block=block / total, rest=rest / total)

    def of_rows(self) -> Array:
        """Return w_k = Σ_i W_ki for every row (step 7)."""
        weights = np.full(self.n_rows, self.rest * self.n_rows)
        weights[self.rows] = self.block.sum(axis=1) + self.rest * (self.n_rows - len(self.rows))
        return weights


def neighbour_graph(X: Array, chunklets: Chunklets, n_mutual: int) -> Index:
    """Return the edges between rows of a chunklet that are among the `n_mutual` nearest of each other.

    As positions in `chunklets.rows`, the smaller first: what Algorithm 2 prepares.
    """
    edges = []
    for c in range(chunklets.n_chunklets):
        members = np.flatnonzero(chunklets.number == c)
        k = min(n_mutual, len(members) - 1)
        if k == 0:
            continue
        near = NearestNeighbors(n_neighbors=k).fit(X[chunklets.rows[members]]).kneighbors_graph()
        mutual = coo_array(near.multiply(near.T))
        first, second = (members[position] for position in mutual.coords)
        edges.append(np.column_stack([first, second])[first < second])
    return np.concatenate(edges) if edges else np.empty((0, 2), dtype=np.intp)


def dissolve_chunklets(whole: Chunklets, edges: Index, weights: PairWeights) -> Chunklets:
    """Return the chunklets, split where the pairs are right already [HBW06, Algorithm 2].

    An edge goes if it weighs less than the average edge of its chunklet; the parts are what is still
    connected. The comparison has a tolerance: of equal weights, the average may round to more than each.
    """
    weight, of = weights.block[edges[:, 0], edges[:, 1]], whole.number[edges[:, 0]]
    counts = np.bincount(of, minlength=whole.n_chunklets)
    average = np.bincount(of, weight, whole.n_chunklets) / np.maximum(counts, 1)
    kept = edges[weight >= (1.0 - SAME) * average[of]]
    n = len(whole.rows)
    _, part = connected_components(
        coo_array((np.ones(len(kept)), (kept[:, 0], kept[:, 1])), shape=(n, n)), directed=False
    )
    return split_chunklets(whole, part.astype(np.intp))
