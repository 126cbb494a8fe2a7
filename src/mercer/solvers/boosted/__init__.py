"""Boosting of a kernel over pairs of samples [CKS02]: directions of a space are added to a table of pairs."""

from mercer.solvers.boosted.boost import Round, boost_kernel
from mercer.solvers.boosted.directions import Coordinates, Expansions, Space
from mercer.solvers.boosted.pair_table import AllPairs, Balance, ListedPairs, PairTable

__all__ = [
    "AllPairs",
    "Balance",
    "Coordinates",
    "Expansions",
    "ListedPairs",
    "PairTable",
    "Round",
    "Space",
    "boost_kernel",
]
