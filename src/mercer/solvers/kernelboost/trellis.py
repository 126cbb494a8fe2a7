r"""Exact inference where chunklets must not share components: a trellis of the choices that are left.

The chunklets of a connected set choose their components one after the other. What the choices so far mean for
those to come is which components each of these may still take: that is the state. Different choices that
leave the same are one state, so that there are far fewer of them than assignments: for C classes as one
chunklet each, the subsets of the components and not their orderings; for many chunklets of two classes, three
states a component; for a tree, few. Where a set ends, nothing is left to remember: one trellis holds many
sets, one after the other.
"""

from typing import NamedTuple

import numpy as np

from mercer._typing import Array, Flags, Index
from mercer.compiled import njit

HUBS = 3
"""Chunklets of the most neighbours, which choose first. Later, each would be part of the state nearly all the
time, and multiply the number of states."""
BITS = 62  # of a state in one word
WORDS = 4  # of a state, up to which its size does not matter
TOGETHER = 4  # times the steps of the largest set there may be of all


class Graph(NamedTuple):
    """Chunklets that are apart, as lists of neighbours."""

    begin: Index  # (n_chunklets + 1,): the first neighbour of each
    neighbour: Index  # (2 n_edges,)

    @classmethod
    def of(cls, apart: Index, n_chunklets: int) -> "Graph":
        """Return the graph of edges, each listed once."""
        first, second = np.r_[apart[:, 0], apart[:, 1]], np.r_[apart[:, 1], apart[:, 0]]
        order = np.lexsort((second, first))
        begin = np.searchsorted(first[order], np.arange(n_chunklets + 1))
        return cls(begin.astype(np.intp), second[order].astype(np.intp))


class Trellis(NamedTuple):
    """Steps from state to state, those of one chunklet after those of another."""

    order: Index  # the chunklets, as they choose
    begin: Index  # (m + 1,): the first step of each
    source: Index  # of each step: the state before it, the component that is chosen, the state after it
    choice: Index
    target: Index
    n_states: Index  # (m + 1,): before each choice, and after the last
    sets: Index  # the sets that it holds, in their order
    ends: Index  # (n_sets + 1,): the chunklet at which each set begins, and the end


def build_trellis(graph: Graph, number: Index, place: Index, allowed: Flags, max_steps: int) -> Trellis:
    """Return the trellis of sets of chunklets, without those that would have more steps than allowed.

    Parameters
    ----------
    graph : Graph
        Which chunklets are apart.
    number : array of shape (n_chunklets,)
        The set that each chunklet is in; −1: in none that is of interest. Edges between sets do not count.
    place : array of shape (n_chunklets,)
        The order in which chunklets choose, see `find_places`.
    allowed : array of shape (n_chunklets, M)
        The components that each may have. Where `n_states` is 0, no assignment is allowed.
    max_steps : int
        The limit for a set, and a quarter of that for all; fewer in proportion if states take many words.
    """
    members = np.flatnonzero(number >= 0)
    order = members[np.lexsort((place[members], number[members]))]
    sets, first = np.unique(number[order], return_index=True)
    first = np.append(first, len(order))
    sizes = allowed.sum(axis=1)
    # in a state, each chunklet has a bit for each component that it may have: set if it is barred by now
    used = np.cumsum(sizes[order]) - sizes[order]
    start = np.zeros(len(number), dtype=np.intp)
    start[order] = used - np.repeat(used[first[:-1]], np.diff(first))
    bit = start[:, None] + np.cumsum(allowed, axis=1) - 1
    n_words = int((start + sizes)[order].max(initial=1) - 1) // BITS + 1
    limit = max_steps * WORDS // max(n_words, WORDS)
    states = np.empty((2, limit + 1, n_words), dtype=np.intp)
    masks = np.empty((allowed.shape[1] + 1, n_words), dtype=np.intp)
    slots = np.zeros((2 << int(2 * limit + 1).bit_length(), 2), dtype=np.intp)  # of a hash table of states
    steps, layers = np.empty((TOGETHER * limit, 3), dtype=np.intp), np.empty((len(order), 3), dtype=np.intp)
    ends = np.empty(len(sets), dtype=np.intp)
    n_kept = _enumerate(
        order,
        first,
        graph.begin,
        graph.neighbour,
        number,
        place,
        allowed,
        bit,
        states,
        masks,
        slots,
        steps,
        layers,
        ends,
        limit,
    )
    kept, step_ends, n_states = layers[:n_kept].T.copy()
    source, choice, target = steps[: step_ends[-1] if n_kept else 0].T.copy()
    return Trellis(
        kept,
        np.append(0, step_ends),
        source,
        choice,
        target,
        np.append(1, n_states),
        sets[ends >= 0],
        np.append(0, ends[ends >= 0]),
    )


def sum_assignments(trellis: Trellis, evidence: Array, posterior: Array) -> Array:
    """Put the posteriors of the trellis' chunklets into `posterior`, and return the log-sum of each set.

    Parameters
    ----------
    trellis : Trellis
        Of some sets of chunklets.
    evidence : array of shape (n_chunklets, M)
        The log-density of each chunklet in each component; an assignment has the product of its densities.
    posterior : array of shape (n_chunklets, M)
        Filled in, in the rows of these chunklets.
    """
    # one by one: a named tuple takes numba a microsecond more, as long as a small sum
    order, begin, source, choice, target, n_states, _, ends = trellis
    widest = int(n_states.max())
    forward, backward, largest = np.zeros((len(order) + 1, widest)), np.zeros((2, widest)), np.empty(widest)
    _sum(
        order,
        begin,
        source,
        choice,
        target,
        n_states,
        evidence,
        posterior,
        forward,
        backward,
        largest,
    )
    sums: Array = np.diff(forward[ends, 0])  # where a set ends, there is one state
    return sums


def find_places(graph: Graph, number: Index) -> Index:
    """Return the place of each chunklet in an order in which few at a time have neighbours on both sides.

    Those of most neighbours come first, since they would be open nearly all the time; then always the one
    that opens the fewest others. Chunklets with the same neighbours come one after the other: the same is
    left for all of them. Places are those in the connected set of each chunklet, whose `number` is given.
    """
    near = [tuple(some) for some in np.split(graph.neighbour, graph.begin[1:-1])]
    place = np.zeros(len(near), dtype=np.intp)
    for members in np.split(np.argsort(number, kind="stable"), np.cumsum(np.bincount(number))[:-1]):
        if len(members) > 1:
            order = _narrow_order({int(c): set(map(int, near[c])) for c in members})
            leader: dict[tuple[int, ...], int] = {}
            together = [leader.setdefault(near[c], k) for k, c in enumerate(order)]
            place[np.array(order)[np.argsort(together, kind="stable")]] = np.arange(len(order))
    return place


def _narrow_order(near: dict[int, set[int]]) -> list[int]:
    order = sorted(near, key=lambda c: (-len(near[c]), c))[:HUBS]
    rest = near.keys() - set(order)
    open_ones = set[int]().union(*(near[c] for c in order)) & rest
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
def _enumerate(
    order: Index,
    first: Index,
    begin: Index,
    neighbour: Index,
    number: Index,
    place: Index,
    allowed: Flags,
    bit: Index,
    states: Index,
    masks: Index,
    slots: Index,
    steps: Index,
    layers: Index,
    ends: Index,
    max_steps: int,
) -> int:
    """Fill in the steps (source, choice, target) and the layers (chunklet, end of steps, states), set by set.

    `ends` gets the layers after each set, or −1 if it does not fit; the number of layers is returned. States
    are those of a layer and of the next, by turns; masks are of a chunklet's own bits, and of what it bars.
    """
    n_components, n_words, n_slots = allowed.shape[1], states.shape[2], len(slots)
    n_kept, n_steps, layer, now = 0, 0, 0, 0
    for s in range(len(first) - 1):
        kept_before, steps_before, n_now, fits = n_kept, n_steps, 1, True
        for w in range(n_words):
            states[now, 0, w] = 0
        for k in range(first[s], first[s + 1]):
            a, n_after = order[k], 0
            layer += 1
            for w in range(n_words):
                masks[n_components, w] = -1
                for j in range(n_components):
                    masks[j, w] = 0
            for j in range(n_components):
                if allowed[a, j]:  # its own bits no longer distinguish states; its choice bars j to others
                    masks[n_components, bit[a, j] // BITS] &= ~(1 << (bit[a, j] % BITS))
                    for e in range(begin[a], begin[a + 1]):
                        c = neighbour[e]
                        if number[c] == number[a] and place[c] > place[a] and allowed[c, j]:
                            masks[j, bit[c, j] // BITS] |= 1 << (bit[c, j] % BITS)
            for choice in range(n_now * n_components):
                source, j = choice // n_components, choice % n_components
                if not allowed[a, j] or states[now, source, bit[a, j] // BITS] >> (bit[a, j] % BITS) & 1:
                    continue
                if n_steps - steps_before >= max_steps or n_steps >= len(steps):
                    fits = False
                    break
                code = 0
                for w in range(n_words):
                    states[1 - now, n_after, w] = (
                        states[now, source, w] & masks[n_components, w] | masks[j, w]
                    )
                    code = (code ^ states[1 - now, n_after, w]) * 7046029254386353131
                    code ^= code >> 31
                slot, target = code & (n_slots - 1), -1
                while target < 0:
                    if slots[slot, 0] != layer:  # a new state, and it stands where it should already
                        slots[slot, 0], slots[slot, 1], target = layer, n_after, n_after
                        n_after += 1
                    else:
                        target = slots[slot, 1]
                        for w in range(n_words):
                            if states[1 - now, target, w] != states[1 - now, n_after, w]:
                                target = -1
                                break
                    slot = (slot + 1) & (n_slots - 1)
                steps[n_steps, 0], steps[n_steps, 1], steps[n_steps, 2] = source, j, target
                n_steps += 1
            if not fits:
                break
            now, n_now = 1 - now, n_after
            layers[n_kept, 0], layers[n_kept, 1], layers[n_kept, 2] = a, n_steps, n_now
            n_kept += 1
        if fits:
            ends[s] = n_kept
        else:
            ends[s], n_kept, n_steps = -1, kept_before, steps_before
    return n_kept


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
    forward: Array,
    backward: Array,
    largest: Array,
) -> None:
    """Put log-sums over the first choices into `forward`, (m + 1, states); it begins with a row of zeros."""
    m, n_components = len(order), evidence.shape[1]
    for k in range(m):
        for t in range(n_states[k + 1]):
            forward[k + 1, t], largest[t] = 0.0, -np.inf
        for s in range(begin[k], begin[k + 1]):
            value = forward[k, source[s]] + evidence[order[k], choice[s]]
            largest[target[s]] = max(largest[target[s]], value)
        for s in range(begin[k], begin[k + 1]):
            value = forward[k, source[s]] + evidence[order[k], choice[s]]
            forward[k + 1, target[s]] += np.exp(value - largest[target[s]])
        for t in range(n_states[k + 1]):
            forward[k + 1, t] = largest[t] + np.log(forward[k + 1, t])
    for k in range(m - 1, -1, -1):
        now, total, share = k % 2, -np.inf, 0.0
        for t in range(n_states[k]):
            backward[now, t], largest[t] = 0.0, -np.inf
        for s in range(begin[k], begin[k + 1]):
            onward = evidence[order[k], choice[s]] + backward[1 - now, target[s]]
            largest[source[s]] = max(largest[source[s]], onward)
            total = max(total, forward[k, source[s]] + onward)
        for j in range(n_components):
            posterior[order[k], j] = 0.0
        for s in range(begin[k], begin[k + 1]):
            onward = evidence[order[k], choice[s]] + backward[1 - now, target[s]]
            if onward > -np.inf:  # else no allowed assignment goes on from there
                value = np.exp(forward[k, source[s]] + onward - total)
                posterior[order[k], choice[s]] += value
                share += value
                backward[now, source[s]] += np.exp(onward - largest[source[s]])
        for j in range(n_components):
            posterior[order[k], j] /= share
        for t in range(n_states[k]):
            backward[now, t] = largest[t] + np.log(backward[now, t]) if largest[t] > -np.inf else -np.inf
