"""Boosting over pairs of rows: a sum of kernels, each a mixture of Gaussians [HBW06, Algorithm 1]."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState

from mercer._typing import Array
from mercer.limits import one_thread
from mercer.solvers.kernelboost.chunklets import Chunklets
from mercer.solvers.kernelboost.em import Problem, effective_weights, fit_mixture, state_problem
from mercer.solvers.kernelboost.gaussians import Gaussians, Prior, log_joint, softmax_rows
from mercer.solvers.kernelboost.pair_weights import PairWeights, dissolve_chunklets, neighbour_graph

ONE_THREAD = (
    200  # columns: products are of blocks of rows, and up to so many threads wait more than they work
)
ATTEMPTS = 5  # at mixtures with a positive edge, before it stops


class Weak(NamedTuple):
    """How the mixture of a round is fitted."""

    n_components: int
    kind: str  # of covariance
    prior: Prior
    n_starts: int
    max_iter: int
    tol: float


class Round(NamedTuple):
    """One kernel of the sum."""

    model: Gaussians
    alpha: float
    edge: float  # r
    n_iter: int  # steps of EM
    is_exact: bool  # whether no posterior under the constraints was approximated


def boost_mixtures(
    X: Array,
    chunklets: Chunklets,
    weak: Weak,
    rng: RandomState,
    *,
    n_rounds: int,
    decay: float,
    max_alpha: float,
    n_mutual: int | None = None,
    progress: Callable[[int], Any] | None = None,
) -> list[Round]:
    """Fit mixtures to rows whose weights follow the pairs that the mixtures before had wrong.

    Parameters
    ----------
    X : array of shape (n, d)
        All rows, whether they are in a chunklet or not.
    chunklets : Chunklets
        What is known of rows.
    weak : Weak
        How to fit a mixture.
    rng : RandomState
        For the starts of EM.
    n_rounds : int
        The most rounds.
    decay : float
        λ: how much faster the weight of pairs falls of which nothing is known.
    max_alpha : float
        The largest α, in units of the known pairs' share of all pairs.
    n_mutual : int, optional
        Dissolve chunklets (Algorithm 2), along a graph of so many mutual neighbours.
    progress : callable, optional
        Called after each round with its number; if it returns true, that was the last one.

    Returns
    -------
    list of Round
        At least one; where no mixture has a positive edge, the best one with an α of zero.
    """
    weights = PairWeights.uniform(chunklets, len(X))
    edges = None if n_mutual is None else neighbour_graph(X, chunklets, n_mutual)
    largest = largest_alpha(weights, max_alpha)
    problem = _state(X, chunklets, weak)
    rounds: list[Round] = []
    with one_thread(X.shape[1] <= ONE_THREAD):
        while len(rounds) < n_rounds:
            if edges is not None:
                problem = _state(X, dissolve_chunklets(chunklets, edges, weights), weak)
            problem = problem._replace(weights=effective_weights(weights.of_rows()))
            found, hypothesis = _best_attempt(problem, weak, weights, largest, rng)
            if found.alpha == 0.0:
                return rounds or [found]
            rounds.append(found)
            weights = weights.update(hypothesis, found.alpha, decay)
            if progress is not None and progress(len(rounds)):
                break
    return rounds


def largest_alpha(weights: PairWeights, max_alpha: float) -> float:
    """Return where α is clipped, of weights before the first round.

    Where a mixture is right on all pairs, r = 1 and α is infinite: it is clipped at artanh(1 − 1/N) for N
    known pairs. And once unknown pairs have lost their weight, r is no longer limited to the share of the
    known ones: those rounds, which see labelled rows alone, must not drown the others.
    """
    known = weights.n_known
    return float(min(np.arctanh(1.0 - 1.0 / max(known, 2)), max_alpha * known / float(weights.n_rows) ** 2))


def weak_hypothesis(X: Array, model: Gaussians) -> Array:
    """Return K̃ = 2K − 1 on all pairs of rows, K from the posteriors *without* constraints (4)."""
    posterior = log_joint(X, model)
    softmax_rows(posterior)
    hypothesis: Array = 2.0 * (posterior @ posterior.T) - 1.0
    return hypothesis


def _state(X: Array, chunklets: Chunklets, weak: Weak) -> Problem:
    return state_problem(X, chunklets, weak.n_components, kind=weak.kind, prior=weak.prior)


def _best_attempt(
    problem: Problem, weak: Weak, weights: PairWeights, largest: float, rng: RandomState
) -> tuple[Round, Array]:
    """Return the first mixture with a positive edge, or the best one of several with an α of zero."""
    tried: list[tuple[Round, Array]] = []
    for _ in range(ATTEMPTS):
        fit = fit_mixture(problem, rng, n_starts=weak.n_starts, max_iter=weak.max_iter, tol=weak.tol)
        hypothesis = weak_hypothesis(problem.X[weights.rows], fit.model)
        r = weights.edge(hypothesis)
        alpha = float(np.clip(np.arctanh(np.clip(r, 0.0, np.tanh(largest))), 0.0, largest))
        tried.append((Round(fit.model, alpha, r, fit.n_iter, problem.plan.is_exact), hypothesis))
        if alpha > 0.0:
            return tried[-1]
    return max(tried, key=lambda attempt: attempt[0].edge)
