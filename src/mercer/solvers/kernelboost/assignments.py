"""Where chunklets belong, given the log-densities of their rows: posteriors under all constraints.

This is [HBW06] (3) with its Kronecker deltas: the sum over all assignments L that respect Ω. Chunklets that
no dissimilar pair touches choose by themselves. Those that dissimilar pairs connect choose together: exactly,
by a trellis of what is left, where that has at most `MAX_STEPS` steps; by belief propagation otherwise, which
is exact on trees and an approximation where there are loops.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mercer._typing import Array, Index
from mercer.pairs import connected_sets
from mercer.solvers.kernelboost.beliefs import propagate_beliefs
from mercer.solvers.kernelboost.chunklets import Chunklets
from mercer.solvers.kernelboost.gaussians import softmax_rows
from mercer.solvers.kernelboost.trellis import Trellis, build_trellis, sum_assignments

MAX_STEPS = 50_000
"""Of a trellis: about a millisecond per E-step. M classes have 2^M states: without a limit, some twenty of
them would fill the memory."""


class TooFewComponentsError(ValueError):
    """No assignment of the components keeps all dissimilar rows apart."""


class Assignments(NamedTuple):
    """Chunklets, and how to infer their components."""

    chunklets: Chunklets
    gather: csr_array  # (n_chunklets, n_rows_in_chunklets), ones: sums over the rows of each chunklet
    unit: Index  # (n_chunklets,): the connected set that each chunklet is in, from 0
    exact: list[tuple[int, Trellis]]  # of units of two or more chunklets
    loopy: list[tuple[int, Index, bool]]  # of the other such units: their edges, and whether there are loops

    @property
    def is_exact(self) -> bool:
        """Return whether nothing is approximated."""
        return not any(has_loops for _, _, has_loops in self.loopy)


class Inference(NamedTuple):
    """What is known of the components of chunklets."""

    posterior: Array  # (n_chunklets, M)
    log_sums: Array  # (n_units,): the logarithm of the sum over the unit's allowed assignments


def plan_assignments(chunklets: Chunklets, n_components: int, max_steps: int = MAX_STEPS) -> Assignments:
    """Return how to infer the components of chunklets; raise `TooFewComponentsError` if none keep apart."""
    m, size = chunklets.n_chunklets, len(chunklets.rows)
    gather = csr_array((np.ones(size), (chunklets.number, np.arange(size))), shape=(m, size))
    edges = chunklets.apart
    unit = connected_sets(edges, m)
    exact, loopy = [], []
    of_edge = unit[edges[:, 0]]
    for number in np.unique(of_edge):
        members, own = np.flatnonzero(unit == number), edges[of_edge == number]
        trellis = build_trellis(members, own, n_components, max_steps)
        if trellis is None:
            if (size := _greedy_clique(members, own)) > n_components:
                raise _too_few(n_components, size)
            loopy.append((int(number), own, len(own) >= len(members)))
        elif trellis.n_states[-1] == 0:
            raise _too_few(n_components, _greedy_clique(members, own))
        else:
            exact.append((int(number), trellis))
    return Assignments(chunklets, gather, unit, exact, loopy)


def infer_assignments(plan: Assignments, evidence: Array) -> Inference:
    """Return the posteriors of chunklets whose log-densities are `evidence`, (n_chunklets, M) [HBW06, (3)].

    An assignment of components to all chunklets has the product of their densities if it keeps those apart
    that must be, and zero otherwise.
    """
    posterior = evidence.copy()
    log_sums = np.zeros(int(plan.unit.max(initial=-1)) + 1)
    log_sums[plan.unit] = softmax_rows(posterior)  # of chunklets alone; the others are overwritten
    for number, trellis in plan.exact:
        log_sums[number] = sum_assignments(trellis, evidence, posterior)
    for number, edges, has_loops in plan.loopy:
        log_sums[number] = propagate_beliefs(edges, evidence, posterior, has_loops)
    return Inference(posterior, log_sums)


def _greedy_clique(members: Index, apart: Index) -> int:
    """Return the size of a set of chunklets that are mutually apart: a lower bound on the components."""
    m = len(members)
    near = np.zeros((m, m), dtype=bool)
    first, second = np.searchsorted(members, apart).T
    near[first, second] = near[second, first] = True
    candidates, size = np.ones(m, dtype=bool), 0
    while np.any(candidates):
        degree = np.where(candidates, near[:, candidates].sum(axis=1), -1)
        candidates = candidates & near[degree.argmax()]
        size += 1
    return size


def _too_few(n_components: int, n_needed: int) -> ValueError:
    what = "the dissimilar pairs need more"
    if n_needed > n_components:
        what = f"{n_needed} sets of similar rows are mutually dissimilar"
    return TooFewComponentsError(f"{n_components} components cannot keep all dissimilar rows apart: {what}")
