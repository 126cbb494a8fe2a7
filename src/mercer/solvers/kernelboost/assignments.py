r"""Where chunklets belong, given the log-densities of their rows: posteriors under all constraints.

This is [HBW06] (3) with its Kronecker deltas: the sum over all assignments L that respect Ω. Chunklets that
no dissimilar pair touches choose by themselves. Those that dissimilar pairs connect, a unit, choose together:
exactly, by a trellis of what is left, where that is small whatever the densities are.

In a wide unit most dissimilar pairs are respected anyway: the densities say so. Leave some of them out, so
that the others divide the unit into pieces, which are independent. With the posteriors q of the pieces,

.. math:: \delta = \sum_{\{a, b\} \text{ left out}} \sum_j q_a(j)\, q_b(j)

is at least the probability that any of the pairs left out is not respected; and the posteriors that are
wanted are those of the pieces, given that all are. So no posterior is wrong by more than δ. Pairs that
are at risk are put back, until δ is next to nothing. In a piece, components that are next to impossible for a
chunklet are dropped: of its d neighbours in the piece each can bar one component to it, so that the posterior
of j is at most

.. math:: p(j) \Big/ \sum_{k \text{ that is neither } j \text{ nor one of the d best others}} p(k) + p(j).

Where a piece is too wide nevertheless, pairs at a larger risk are left out, and δ says what that costs. The
last resort is belief propagation, whose error has no bound.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mercer._typing import Array, Flags, Index
from mercer.compiled import njit
from mercer.pairs import connected_sets
from mercer.solvers.kernelboost.beliefs import approximate_permanent, propagate_beliefs
from mercer.solvers.kernelboost.chunklets import Chunklets
from mercer.solvers.kernelboost.gaussians import softmax_rows
from mercer.solvers.kernelboost.trellis import Graph, Trellis, build_trellis, find_places, sum_assignments

MAX_STEPS = 25_000
"""Of the trellis of a unit: about half a millisecond per E-step. M classes have 2^M states: without a limit,
some twenty of them would fill the memory."""
MAX_PIECE_STEPS = 10_000
"""Of the trellis of a piece, which is built in each E-step and takes as long again."""
RISKS = (1e-9, 1e-4)
"""At which a pair is put back; the next one where pieces are too wide. Many pairs of the first risk together
are still next to nothing."""
LEAST = 1e-12
"""A posterior below which a component is dropped."""


class TooFewComponentsError(ValueError):
    """No assignment of the components keeps all dissimilar rows apart."""


class Assignments(NamedTuple):
    """Chunklets, and how to infer their components."""

    chunklets: Chunklets
    gather: csr_array  # (n_chunklets, n_rows_in_chunklets), ones: sums over the rows of each chunklet
    unit: Index  # (n_chunklets,): the connected set that each chunklet is in, from 0
    trellis: Trellis  # of the units of two or more chunklets that are small
    wide: "WideUnits | None"  # the others


class WideUnits(NamedTuple):
    """Units whose trellis is too wide as long as nothing is known of the densities."""

    members: Flags  # (n_chunklets,): which chunklets are in one
    apart: Index  # (n_edges, 2)
    graph: Graph  # of these edges
    place: Index  # (n_chunklets,): the order in which chunklets choose
    is_clique: Flags  # (n_units,): whether all chunklets of a unit are mutually apart
    max_steps: int  # of a piece


class Inference(NamedTuple):
    """What is known of the components of chunklets."""

    posterior: Array  # (n_chunklets, M)
    log_sums: Array  # (n_units,): the logarithm of the sum over the unit's allowed assignments
    error: float  # a bound on the error of every posterior; 1 where there is none


def plan_assignments(
    chunklets: Chunklets,
    n_components: int,
    max_steps: int = MAX_STEPS,
    max_piece_steps: int = MAX_PIECE_STEPS,
) -> Assignments:
    """Return how to infer the components of chunklets; raise `TooFewComponentsError` if none keep apart."""
    m, size = chunklets.n_chunklets, len(chunklets.rows)
    gather = csr_array((np.ones(size), (chunklets.number, np.arange(size))), shape=(m, size))
    unit, graph = connected_sets(chunklets.apart, m), Graph.of(chunklets.apart, m)
    place, number = find_places(graph, unit), np.where(np.diff(graph.begin) > 0, unit, -1)
    trellis = build_trellis(graph, number, place, np.ones((m, n_components), dtype=bool), max_steps)
    if np.any(trellis.n_states == 0):
        stuck = unit == unit[trellis.order[np.argmax(trellis.n_states[1:] == 0)]]
        raise _too_few(n_components, _greedy_clique(stuck, chunklets.apart))
    members = (number >= 0) & ~np.isin(unit, trellis.sets)
    if not np.any(members):
        return Assignments(chunklets, gather, unit, trellis, None)
    if (needed := _greedy_clique(members, chunklets.apart)) > n_components:
        raise _too_few(n_components, needed)
    max_piece_steps = max(max_piece_steps, n_components)  # so that a chunklet alone is always settled exactly
    wide = _describe_wide(chunklets, unit, members, place, max_piece_steps)
    return Assignments(chunklets, gather, unit, trellis, wide)


def infer_assignments(plan: Assignments, evidence: Array) -> Inference:
    """Return the posteriors of chunklets whose log-densities are `evidence`, (n_chunklets, M) [HBW06, (3)].

    An assignment of components to all chunklets has the product of their densities if it keeps those apart
    that must be, and zero otherwise.
    """
    best = evidence.max(axis=1, initial=-np.inf)
    relative = evidence - best[:, None]
    posterior, n_units, error = relative.copy(), int(plan.unit.max(initial=-1)) + 1, 0.0
    alone = softmax_rows(posterior)  # of chunklets alone; the others are overwritten
    log_sums = np.zeros(n_units)
    log_sums[plan.unit] = alone
    log_sums[plan.trellis.sets] = sum_assignments(plan.trellis, relative, posterior)
    if plan.wide is not None:
        log_sums[plan.unit[plan.wide.members]] = 0.0
        error = _infer_wide(plan.wide, plan.unit, relative, alone, posterior, log_sums)
    return Inference(posterior, log_sums + np.bincount(plan.unit, best, n_units), error)


def _describe_wide(
    chunklets: Chunklets, unit: Index, members: Flags, place: Index, max_steps: int
) -> WideUnits:
    apart = chunklets.apart[members[chunklets.apart[:, 0]]]
    n_members, n_edges = np.bincount(unit), np.bincount(unit[apart[:, 0]], minlength=int(unit.max()) + 1)
    is_clique = 2 * n_edges == n_members * (n_members - 1)
    return WideUnits(members, apart, Graph.of(apart, chunklets.n_chunklets), place, is_clique, max_steps)


def _infer_wide(
    wide: WideUnits, unit: Index, evidence: Array, alone: Array, posterior: Array, log_sums: Array
) -> float:
    """Fill in the posteriors of wide units, add to their sums, and return the bound on the error."""
    for risk in RISKS:
        division = _divide(wide, unit, evidence, posterior, risk)
        if division.error < 1.0:
            posterior[wide.members] = division.posterior[wide.members]
            free = wide.members & ~division.in_piece
            np.add.at(log_sums, unit[free], alone[free])
            log_sums += division.log_sums
            return division.error
    return _approximate(wide, unit, evidence, posterior, log_sums)


class Division(NamedTuple):
    """Wide units divided into pieces."""

    posterior: Array  # (n_chunklets, M)
    in_piece: Flags  # (n_chunklets,): whether it is in a piece of two or more
    log_sums: Array  # (n_units,): of the pieces of each unit
    error: float


def _divide(wide: WideUnits, unit: Index, evidence: Array, free: Array, risk: float) -> Division:
    """Put pairs back until all others are at less than the risk not to be respected."""
    first, second = wide.apart.T
    m, q, pieces = len(evidence), free.copy(), np.arange(len(evidence))
    active, same = np.zeros(len(first), dtype=bool), np.zeros(len(first), dtype=bool)
    in_piece, log_sums, lost = np.zeros(m, dtype=bool), np.zeros(len(wide.is_clique)), 0.0
    while True:
        shared = np.where(same, 0.0, np.einsum("ej,ej->e", q[first], q[second]))
        if not np.any(shared > risk):
            return Division(q, in_piece, log_sums, min(lost + float(shared.sum()), 1.0))
        active |= shared > risk
        _connect(first, second, active, pieces)
        same = pieces[first] == pieces[second]
        degree = np.bincount(wide.apart[same].ravel(), minlength=m)
        allowed, lost = _allow_components(evidence, degree)
        in_piece, q, log_sums = degree > 0, free.copy(), np.zeros(len(wide.is_clique))
        number = np.where(in_piece, pieces, -1)
        trellis = build_trellis(wide.graph, number, wide.place, allowed, wide.max_steps)
        if len(trellis.order) < np.count_nonzero(in_piece):  # a piece is too wide
            return Division(q, in_piece, log_sums, 1.0)
        np.add.at(log_sums, unit[trellis.order[trellis.ends[:-1]]], sum_assignments(trellis, evidence, q))


def _allow_components(evidence: Array, degree: Index) -> tuple[Flags, float]:
    """Return which components chunklets with so many neighbours may have, and what is lost by the others."""
    m, n_components = evidence.shape
    order = np.argsort(-evidence, axis=1)
    p = np.exp(np.take_along_axis(evidence, order, axis=1))  # the best first
    tails = np.zeros((m, n_components + 2))
    tails[:, :-2] = np.cumsum(p[:, ::-1], axis=1)[:, ::-1]  # Σ of all from a rank on
    barred = np.minimum(degree, n_components)
    rank = np.arange(n_components)
    rows = np.arange(m)
    # of the others, all but as many of the best as there are neighbours
    others = np.where(
        rank <= barred[:, None], tails[rows, barred + 1][:, None], tails[rows, barred][:, None] - p
    )
    total = p + np.maximum(others, 0.0)
    bound = np.divide(p, total, out=np.ones_like(p), where=total > 0.0)
    dropped = (bound <= LEAST) & (degree > 0)[:, None]
    allowed = np.empty((m, n_components), dtype=bool)
    np.put_along_axis(allowed, order, ~dropped, axis=1)
    return allowed, float(bound[dropped].sum())


def _approximate(wide: WideUnits, unit: Index, evidence: Array, posterior: Array, log_sums: Array) -> float:
    """Do the same by belief propagation, and return the error: none on trees, and no bound otherwise."""
    error = 0.0
    for number in np.unique(unit[wide.members]):
        members, edges = np.flatnonzero(unit == number), wide.apart[unit[wide.apart[:, 0]] == number]
        is_tree = len(edges) < len(members)
        if wide.is_clique[number] and not is_tree:
            posterior[members], log_sums[number] = approximate_permanent(evidence[members])
        else:
            log_sums[number] = propagate_beliefs(edges, evidence, posterior)
        error = error if is_tree else 1.0
    return error


@njit(cache=True, nogil=True)
def _connect(first: Index, second: Index, active: Flags, number: Index) -> None:
    """Give connected sets the number of their smallest member. SciPy takes longer than an E-step."""
    for e in range(len(first)):
        if active[e]:
            a, b = first[e], second[e]
            while number[a] != a:
                a = number[a]
            while number[b] != b:
                b = number[b]
            number[max(a, b)] = min(a, b)
    for a in range(len(number)):
        number[a] = number[number[a]]


def _greedy_clique(members: Flags, apart: Index) -> int:
    """Return the size of a set of chunklets that are mutually apart: a lower bound on the components."""
    near = np.zeros((len(members), len(members)), dtype=bool)
    first, second = apart[members[apart[:, 0]]].T
    near[first, second] = near[second, first] = True
    candidates, size = members.copy(), 0
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
