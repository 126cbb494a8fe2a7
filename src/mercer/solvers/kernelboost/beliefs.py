r"""Approximate inference where chunklets must not share components: belief propagation.

Each chunklet a tells each b that it is apart from where it will not be:

.. math:: m_{a \to b}(j) = 1 - b_{a \setminus b}(j), \qquad
          b_{a \setminus b}(j) \propto p_a(j) \prod_{c \ne b} m_{c \to a}(j),

until nobody has news; the posterior of a is :math:`p_a(j) \prod_c m_{c \to a}(j)`, normalised. It is exact on
trees. Where there are loops it is an approximation, which may be far off: what a chunklet has said comes back
to it as news. The sum over all allowed assignments is then the Bethe approximation,

.. math:: \log Z \approx \sum_a \log \sum_j p_a(j) \prod_c m_{c \to a}(j)
          - \sum_{\{a, b\}} \log \Bigl( 1 - \sum_j b_{a \setminus b}(j)\, b_{b \setminus a}(j) \Bigr).

Where chunklets are all mutually apart, as classes are, the sum is a permanent, and chunklets talk to
components instead, of which each takes one chunklet at most: :math:`\alpha_{aj}` says how much a wants
j, and :math:`\beta_{aj}` how free j is for it,

.. math:: \alpha_{aj} = p_a(j) \Big/ \sum_{k \ne j} p_a(k) \beta_{ak}, \qquad
          \beta_{aj} = 1 \Big/ \Bigl( s + \sum_{b \ne a} \alpha_{bj} \Bigr),

with s = 0 if every component has to take one, and else 1. The Bethe approximation of a permanent is convex,
and at most Z; a sweep takes O(C M) instead of O(C² M) [V13].

All of it is in logarithms: the evidence of a chunklet of many rows is thousands of nats.

[V13] Vontobel: The Bethe permanent of a nonnegative matrix. IEEE Transactions on Information Theory 59, 2013.
"""

from typing import NamedTuple

import numpy as np

from mercer._typing import Array, Index
from mercer.compiled import njit


class BeliefSettings(NamedTuple):
    """What steers belief propagation, and what goes wrong without it."""

    max_sweeps: int = 20
    """Over all messages. Where there are loops, they need not converge at all."""
    max_work: int = 500_000
    """Numbers in all messages of all sweeps: some milliseconds. Many chunklets would take minutes."""
    tol: float = 1e-8
    """The largest change of a message's logarithm at which it ends. EM compares likelihoods: errors in them
    would look like steps that lower the objective."""
    damping: float = 0.5
    """The share of the old message that is kept where there are loops. Without it, messages may oscillate."""


SETTINGS = BeliefSettings()


def propagate_beliefs(apart: Index, evidence: Array, posterior: Array) -> float:
    """Put the posteriors of connected chunklets into `posterior`, and return log Z; exact without loops.

    Parameters
    ----------
    apart : array of shape (n_edges, 2)
        Chunklets that must not share a component; they hang together.
    evidence : array of shape (n_chunklets, M)
        The log-density of each chunklet in each component.
    posterior : array of shape (n_chunklets, M)
        Filled in, in the rows of these chunklets.
    """
    n_edges, members = len(apart), np.unique(apart)
    sender = np.concatenate([apart[:, 0], apart[:, 1]])
    receiver = np.concatenate([apart[:, 1], apart[:, 0]])
    # a message and its answer are n_edges apart
    messages = np.zeros((2 * n_edges, evidence.shape[1]))
    belief = evidence.copy()
    has_loops = n_edges >= len(members)
    damping = SETTINGS.damping if has_loops else 0.0
    # in a tree, news passes each chunklet once
    n_sweeps = _max_sweeps(messages.size) if has_loops else len(members)
    _sweep(sender, receiver, messages, belief, damping, n_sweeps, SETTINGS.tol)
    return float(_conclude(members, apart, messages, belief, posterior))


def approximate_permanent(evidence: Array) -> tuple[Array, float]:
    """Return the posteriors of chunklets that are all mutually apart, and log Z.

    Parameters
    ----------
    evidence : array of shape (n_chunklets, M)
        The log-density of each chunklet in each component.
    """
    is_square = evidence.shape[0] == evidence.shape[1]
    log_s = -np.inf if is_square else 0.0
    beta = np.zeros(evidence.shape)
    belief = evidence - np.logaddexp.reduce(evidence, axis=1, keepdims=True)
    for _ in range(_max_sweeps(evidence.size)):
        before = belief
        alpha = evidence - _log_sum_others((evidence + beta).T).T
        change = (1.0 - SETTINGS.damping) * (-np.logaddexp(_log_sum_others(alpha), log_s) - beta)
        # where there are as many components as chunklets, only differences count
        beta = beta + (change - change.mean() if is_square else change)
        rows = np.logaddexp.reduce(evidence + beta, axis=1)
        belief = evidence + beta - rows[:, None]
        # beliefs and not messages, which grow without limit where beliefs are certain
        if np.abs(np.exp(belief) - np.exp(before)).max() <= SETTINGS.tol:
            break
    alpha = evidence - _log_sum_others((evidence + beta).T).T
    columns = np.logaddexp(np.logaddexp.reduce(alpha, axis=0), log_s)
    log_Z = rows.sum() + columns.sum() - np.logaddexp(0.0, alpha + beta).sum()
    return np.exp(belief), float(log_Z)


def _max_sweeps(size: int) -> int:
    return int(np.clip(SETTINGS.max_work // max(size, 1), 5, SETTINGS.max_sweeps))


def _log_sum_others(values: Array) -> Array:
    """Return log Σ_{b ≠ a} exp(values_b) in each column, without a difference of nearly equal numbers."""
    best = values.argmax(axis=0)
    columns = np.arange(values.shape[1])
    largest = values[best, columns]
    total = np.exp(values - largest).sum(axis=0)
    rest = values.copy()
    rest[best, columns] = -np.inf
    with np.errstate(divide="ignore"):
        sums: Array = largest + np.log(np.maximum(total - np.exp(values - largest), 0.0))
        sums[best, columns] = np.logaddexp.reduce(rest, axis=0)
    return sums


@njit(cache=True, nogil=True)
def _log_sum(values: Array) -> float:
    largest = values.max()
    return largest + np.log(np.sum(np.exp(values - largest)))


@njit(cache=True, nogil=True)
def _log_sum_of_others(values: Array, sums: Array) -> None:
    """Put log Σ_{i ≠ j} exp(values_i) into sums_j, without a difference of nearly equal numbers."""
    best = values.argmax()
    total = np.sum(np.exp(values - values[best]))
    for j in range(len(values)):
        sums[j] = values[best] + np.log(total - np.exp(values[j] - values[best])) if j != best else -np.inf
    second = -np.inf
    for j in range(len(values)):
        if j != best and values[j] > second:
            second = values[j]
    rest = 0.0
    for j in range(len(values)):
        if j != best:
            rest += np.exp(values[j] - second)
    sums[best] = second + np.log(rest)


@njit(cache=True, nogil=True)
def _sweep(
    sender: Index,
    receiver: Index,
    messages: Array,
    belief: Array,
    damping: float,
    max_sweeps: int,
    tol: float,
) -> None:
    """Send every message anew, and again until none changes: log Σ_{i ≠ j} b_i of each sender's beliefs b."""
    n_edges, n_components = len(sender) // 2, messages.shape[1]
    cavity, share = np.empty(n_components), np.empty(n_components)
    for _ in range(max_sweeps):
        furthest = 0.0
        for e in range(2 * n_edges):
            answer = e + n_edges if e < n_edges else e - n_edges
            best, second = 0, -np.inf  # which is the largest, and how large the next one is
            for j in range(n_components):
                cavity[j] = belief[sender[e], j] - messages[answer, j]
                if cavity[j] > cavity[best]:
                    second, best = cavity[best], j
                elif j != best and cavity[j] > second:
                    second = cavity[j]
            total, rest = 0.0, 0.0
            for j in range(n_components):
                share[j] = np.exp(cavity[j] - cavity[best])
                total += share[j]
                if j != best:  # by itself: next to the largest, the others may be lost
                    rest += np.exp(cavity[j] - second)
            for j in range(n_components):
                news = np.log((total - share[j]) / total)
                if j == best:
                    news = second - cavity[best] + np.log(rest / total)
                change = (1.0 - damping) * (news - messages[e, j])
                belief[receiver[e], j] += change
                messages[e, j] += change
                furthest = max(furthest, abs(change))
        if furthest <= tol:
            break


@njit(cache=True, nogil=True)
def _conclude(members: Index, apart: Index, messages: Array, belief: Array, posterior: Array) -> float:
    total, n_edges = 0.0, len(apart)
    for a in members:
        size = _log_sum(belief[a])
        posterior[a] = np.exp(belief[a] - size)
        total += size
    others = np.empty(messages.shape[1])
    for e in range(n_edges):
        first = belief[apart[e, 0]] - messages[e + n_edges]
        second = belief[apart[e, 1]] - messages[e]
        first -= _log_sum(first)
        second -= _log_sum(second)
        _log_sum_of_others(second, others)
        total -= _log_sum(first + others)  # log Σ_j b(j) (1 − b'(j))
    return total
