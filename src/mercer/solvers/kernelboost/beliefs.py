r"""Approximate inference where chunklets must not share components: belief propagation.

Each chunklet a tells each b that it is apart from where it will not be:

.. math:: m_{a \to b}(j) = 1 - b_{a \setminus b}(j), \qquad
          b_{a \setminus b}(j) \propto p_a(j) \prod_{c \ne b} m_{c \to a}(j),

until nobody has news; the posterior of a is :math:`p_a(j) \prod_c m_{c \to a}(j)`, normalised. It is exact on
trees. Where there are loops it is an approximation: what a chunklet has said comes back to it as news. The
sum over all allowed assignments is then the Bethe approximation,

.. math:: \log Z \approx \sum_a \log \sum_j p_a(j) \prod_c m_{c \to a}(j)
          - \sum_{\{a, b\}} \log \Bigl( 1 - \sum_j b_{a \setminus b}(j)\, b_{b \setminus a}(j) \Bigr).

All of it is in logarithms: the evidence of a chunklet of many rows is thousands of nats.
"""

from typing import NamedTuple

import numpy as np

from mercer._typing import Array, Index
from mercer.compiled import njit


class BeliefSettings(NamedTuple):
    """What steers belief propagation, and what goes wrong without it."""

    max_sweeps: int = 200
    """Over all messages. Where there are loops, they need not converge at all."""
    tol: float = 1e-10
    """The largest change of a message's logarithm at which it ends. EM compares likelihoods: errors in them
    would look like steps that lower the objective."""
    damping: float = 0.5
    """The share of the old message that is kept where there are loops. Without it, messages may oscillate."""


SETTINGS = BeliefSettings()


def propagate_beliefs(apart: Index, evidence: Array, posterior: Array, has_loops: bool) -> float:
    """Put the posteriors of connected chunklets into `posterior`, and return log Z; exact without loops.

    Parameters
    ----------
    apart : array of shape (n_edges, 2)
        Chunklets that must not share a component; they hang together.
    evidence : array of shape (n_chunklets, M)
        The log-density of each chunklet in each component.
    posterior : array of shape (n_chunklets, M)
        Filled in, in the rows of these chunklets.
    has_loops : bool
        Whether the graph is no tree.
    """
    n_edges = len(apart)
    sender = np.concatenate([apart[:, 0], apart[:, 1]])
    receiver = np.concatenate([apart[:, 1], apart[:, 0]])
    # a message and its answer are n_edges apart
    messages = np.zeros((2 * n_edges, evidence.shape[1]))
    belief = evidence.copy()
    damping = SETTINGS.damping if has_loops else 0.0
    _sweep(sender, receiver, messages, belief, damping, SETTINGS.max_sweeps, SETTINGS.tol)
    members = np.unique(apart)
    return float(_conclude(members, apart, messages, belief, posterior))


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
    n_edges, n_components = len(sender) // 2, messages.shape[1]
    cavity, news = np.empty(n_components), np.empty(n_components)
    for _ in range(max_sweeps):
        largest = 0.0
        for e in range(2 * n_edges):
            answer = e + n_edges if e < n_edges else e - n_edges
            cavity[:] = belief[sender[e]] - messages[answer]
            cavity -= _log_sum(cavity)
            _log_sum_of_others(cavity, news)
            for j in range(n_components):
                change = (1.0 - damping) * (news[j] - messages[e, j])
                belief[receiver[e], j] += change
                messages[e, j] += change
                largest = max(largest, abs(change))
        if largest <= tol:
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
