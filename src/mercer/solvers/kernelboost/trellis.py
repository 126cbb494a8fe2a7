r"""Exact inference where chunklets must not share components: a trellis of the choices that are left.

The chunklets of a connected set choose their components one after the other. What the choices so far mean for
those to come is which components each of these may still take: that is the state. Different choices that
leave the same are one state, so that there are far fewer of them than assignments: for C classes as one
chunklet each, the subsets of the components and not their orderings; for many chunklets of two classes, three
states a component; for a tree, few. The states depend on the graph alone: they are enumerated once, and sums
over all allowed assignments are then sums along the trellis.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mercer._typing import Array, Index
from mercer.compiled import njit

HUBS = 3
"""Chunklets of the most neighbours, which choose first. Later, each would be part of the state nearly all the
time, and multiply the number of states."""


class Trellis(NamedTuple):
    """Steps from state to state, those of one chunklet after those of another."""

    order: Index  # the chunklets, as they choose
    begin: Index  # (m + 1,): the first step of each
    source: Index  # of each step: the state before it, the component that is chosen, the state after it
    choice: Index
    target: Index
    n_states: Index  # (m + 1,): before each choice, and after the last


def build_trellis(members: Index, apart: Index, n_components: int, max_steps: int) -> Trellis | None:
    """Return the trellis of connected chunklets, or None if it would have more steps than allowed.

    Parameters
    ----------
    members : array of shape (m,)
        The chunklets.
    apart : array of shape (n_edges, 2)
        Which of them must not share a component.
    n_components : int
        M. Where the last entry of `n_states` is 0, it is too small for any assignment.
    max_steps : int
        The limit.
    """
    order, group, neighbours = _arrange(members, apart)
    left = np.bincount(group)
    states: dict[tuple[int, ...], int] = {(0,) * len(left): 0}
    steps: list[tuple[int, int, int]] = []
    begin, n_states = [0], [1]
    for k in range(len(order)):
        own = int(group[k])
        left[own] -= 1
        barred = [g for g in neighbours[own] if left[g]]
        after: dict[tuple[int, ...], int] = {}
        for state, source in states.items():
            for j in range(n_components):
                if state[own] >> j & 1:
                    continue
                new = list(state)
                for g in barred:
                    new[g] |= 1 << j
                if not left[own]:
                    new[own] = 0  # none is left to choose: what is barred no longer distinguishes states
                steps.append((source, j, after.setdefault(tuple(new), len(after))))
        if len(steps) > max_steps:
            return None
        states = after
        begin.append(len(steps))
        n_states.append(len(states))
    source_of, choice, target = np.array(steps, dtype=np.intp).reshape(-1, 3).T.copy()
    return Trellis(members[order], np.array(begin), source_of, choice, target, np.array(n_states))


def sum_assignments(trellis: Trellis, evidence: Array, posterior: Array) -> float:
    """Put the posteriors of the trellis' chunklets into `posterior`, and return the logarithm of their sum.

    Parameters
    ----------
    trellis : Trellis
        Of some chunklets.
    evidence : array of shape (n_chunklets, M)
        The log-density of each chunklet in each component; an assignment has the product of its densities.
    posterior : array of shape (n_chunklets, M)
        Filled in, in the rows of these chunklets.
    """
    # one by one: a named tuple takes numba a microsecond more, as long as a small sum
    order, begin, source, choice, target, n_states = trellis
    return float(_sum(order, begin, source, choice, target, n_states, evidence, posterior))


def _arrange(members: Index, apart: Index) -> tuple[Index, Index, list[list[int]]]:
    """Return an order of the members, the group of each (in that order), and the groups next to each group.

    Members with the same neighbours are one group, and stand together: the same is left for all of them.
    """
    m = len(members)
    first, second = np.searchsorted(members, apart).T
    graph = csr_array((np.ones(2 * len(first)), (np.r_[first, second], np.r_[second, first])), shape=(m, m))
    graph.sort_indices()
    lists = [tuple(part) for part in np.split(graph.indices, graph.indptr[1:-1])]
    place = np.empty(m, dtype=np.intp)
    place[_narrow_order(lists)] = np.arange(m)
    groups: dict[tuple[int, ...], int] = {}
    for c in np.argsort(place):
        groups.setdefault(lists[c], len(groups))
    group = np.array([groups[neighbours] for neighbours in lists], dtype=np.intp)
    order = np.lexsort((place, group))
    return order, group[order], [sorted(set(group[list(neighbours)].tolist())) for neighbours in groups]


def _narrow_order(neighbours: list[tuple[int, ...]]) -> list[int]:
    """Return an order in which few members at a time have neighbours on both sides.

    The members of most neighbours come first, since they would be open nearly all the time; then always the
    one that opens the fewest others.
    """
    near = [set(some) for some in neighbours]
    order = sorted(range(len(near)), key=lambda c: (-len(near[c]), c))[:HUBS]
    rest, open_ones = set(range(len(near))) - set(order), set[int]()
    while rest:
        candidates = open_ones or rest
        chosen = min(
            candidates,
            key=lambda c: (
                len((near[c] & rest) - open_ones - {c}) - (c in open_ones),
                len(near[c] & rest),
                c,
            ),
        )
        order.append(chosen)
        rest.discard(chosen)
        open_ones = (open_ones | near[chosen]) & rest
    return order


@njit(cache=True, nogil=True)
def _log_add(a: float, b: float) -> float:
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + np.log1p(np.exp(b - a))


@njit(cache=True, nogil=True)
def _sum(
    order: Index,
    begin: Index,
    source: Index,
    choice: Index,
    target: Index,
    n_states: Index,
    evidence: Array,
    posterior: Array,
) -> float:
    m, widest = len(order), n_states.max()
    forward = np.full((m + 1, widest), -np.inf)
    forward[0, 0] = 0.0
    for k in range(m):
        for s in range(begin[k], begin[k + 1]):
            value = forward[k, source[s]] + evidence[order[k], choice[s]]
            forward[k + 1, target[s]] = _log_add(forward[k + 1, target[s]], value)
    total = -np.inf
    for s in range(n_states[m]):
        total = _log_add(total, forward[m, s])
    backward, before = np.zeros(widest), np.empty(widest)
    for k in range(m - 1, -1, -1):
        before[:] = -np.inf
        posterior[order[k]] = 0.0
        for s in range(begin[k], begin[k + 1]):
            onward = evidence[order[k], choice[s]] + backward[target[s]]
            # the total has the largest terms in it; of huge numbers it may round to less
            posterior[order[k], choice[s]] += np.exp(min(forward[k, source[s]] + onward - total, 0.0))
            before[source[s]] = _log_add(before[source[s]], onward)
        posterior[order[k]] /= posterior[order[k]].sum()
        backward, before = before, backward
    return total
