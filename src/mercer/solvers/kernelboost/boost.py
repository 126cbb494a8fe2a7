r"""Boosting over pairs of rows: a sum of kernels, each of a mixture of Gaussians [HBW06, Algorithm 1].

Every pair of which nothing is known is multiplied by the same number in every round: all of them have *one*
weight. So the n × n weights W are a block for the rows that are in a chunklet, and a number: exactly, in
O(l²) time and memory for l such rows, however many others there are.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState

from mercer._typing import Array, Index
from mercer.array_api import like, take, to_numpy
from mercer.limits import one_thread
from mercer.solvers.kernelboost.chunklets import Chunklets, dissolve_chunklets, neighbour_graph
from mercer.solvers.kernelboost.em import MixtureProblem, effective_weights, fit_mixture, state_problem
from mercer.solvers.kernelboost.gaussians import Gaussians, log_joint, softmax_rows


class BoostSettings(NamedTuple):
    """What steers the booster, and what goes wrong without it."""

    one_thread_up_to: int = 200
    """Columns. Products are of blocks of rows: with fewer columns, threads wait longer than they work."""
    max_attempts: int = 5
    """Mixtures per round, until one has a positive edge. With one attempt, an unlucky start ends all;
    with no limit, data on which no mixture has an edge would never end it."""


SETTINGS = BoostSettings()


class WeakLearner(NamedTuple):
    """How the mixture of a round is fitted."""

    n_components: int  # M
    kind: str  # of covariance: "full", "tied" or "diag"
    nu: float  # the strength of the prior of the covariances
    n_starts: int
    max_iter: int
    tol: float


class Round(NamedTuple):
    """One kernel of the sum."""

    model: Gaussians  # Θ
    alpha: float
    edge: float  # r
    n_iter: int  # of EM
    error: float  # a bound on that of the posteriors under the constraints; 1 where there is none


class PairWeights(NamedTuple):
    """W, of sum one: the weights of all ordered pairs of n rows, a row and itself among them."""

    rows: Index  # the rows that are in a chunklet
    y: Array  # (l, l): 1 for similar rows (and a row and itself), −1 for dissimilar ones, 0 if unknown
    W: Array  # (l, l): the weights of their pairs
    rest: float  # the weight of every pair of which nothing is known
    n_rows: int

    @classmethod
    def uniform(cls, chunklets: Chunklets, n_rows: int) -> "PairWeights":
        """Return the weights before the first round."""
        y = chunklets.signs()[np.ix_(chunklets.number, chunklets.number)]
        each = 1.0 / float(n_rows) ** 2  # [HBW06] Algorithm 1, initialize: W¹ = 1/n²
        return cls(chunklets.rows, y, np.full(y.shape, each), each, n_rows)

    @property
    def n_known(self) -> int:
        """Return of how many ordered pairs it is known whether they are similar."""
        return int(np.count_nonzero(self.y))

    def edge(self, K_tilde: Array) -> float:
        """Return r of the values K̃ in [−1, 1] on the block, over the known pairs alone."""
        return float(np.sum(self.W * self.y * K_tilde))  # [HBW06] Algorithm 1, step 3

    def update(self, K_tilde: Array, alpha: float, decay: float) -> "PairWeights":
        """Return the weights of the next round: the known pairs by how wrong they are, the others by λ."""
        fade = np.exp(-decay * alpha)
        # [HBW06] Algorithm 1, step 5
        W = self.W * np.where(self.y == 0.0, fade, np.exp(-alpha * self.y * K_tilde))
        rest = self.rest * fade
        total = W.sum() + rest * (float(self.n_rows) ** 2 - W.size)
        return self._replace(W=W / total, rest=rest / total)  # [HBW06] Algorithm 1, step 6

    def of_rows(self) -> Array:
        """Return w_k = Σ_i W_ki for every row."""
        w = np.full(self.n_rows, self.rest * self.n_rows)
        # [HBW06] Algorithm 1, step 7
        w[self.rows] = self.W.sum(axis=1) + self.rest * (self.n_rows - len(self.rows))
        return w


def boost_mixtures(
    X: Array,
    chunklets: Chunklets,
    weak_learner: WeakLearner,
    rng: RandomState,
    *,
    n_rounds: int,
    decay: float,
    max_alpha: float,
    n_mutual: int | None = None,
    progress: Callable[[int], Any] | None = None,
) -> list[Round]:
    """Fit mixtures to rows whose weights follow the pairs that the mixtures before had wrong [HBW06].

    Parameters
    ----------
    X : array of shape (n, d)
        All rows, whether they are in a chunklet or not; an array, or a tensor on a device.
    chunklets : Chunklets
        What is known of rows.
    weak_learner : WeakLearner
        How to fit a mixture.
    rng : RandomState
        For the starts of EM.
    n_rounds : int
        T, the maximum number of rounds.
    decay : float
        λ: how much faster the weight of pairs falls of which nothing is known.
    max_alpha : float
        The largest α, in units of the known pairs' share of all pairs.
    n_mutual : int, optional
        Dissolve chunklets (Algorithm 2), along a graph of this number of mutual neighbours.
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
    problem = _state(X, chunklets, weak_learner)
    rounds: list[Round] = []
    with one_thread(X.shape[1] <= SETTINGS.one_thread_up_to):
        while len(rounds) < n_rounds:  # [HBW06] Algorithm 1: for t = 1, …, T
            if edges is not None:
                parts = dissolve_chunklets(chunklets, edges, weights.W)  # [HBW06] Algorithm 2
                problem = _state(X, parts, weak_learner)
            problem = problem._replace(weights=like(X, effective_weights(weights.of_rows())))
            found, K_tilde = _best_attempt(problem, weak_learner, weights, largest, rng)
            if found.alpha == 0.0:
                return rounds or [found]
            rounds.append(found)
            weights = weights.update(K_tilde, found.alpha, decay)  # steps 5 and 6
            if progress is not None and progress(len(rounds)):
                break
    return rounds


def _best_attempt(
    problem: MixtureProblem, weak: WeakLearner, weights: PairWeights, largest: float, rng: RandomState
) -> tuple[Round, Array]:
    """Return the first mixture with a positive edge, or the best one of several with an α of zero."""
    tried: list[tuple[Round, Array]] = []
    for _ in range(SETTINGS.max_attempts):
        # [HBW06] Algorithm 1, step 1
        fit = fit_mixture(problem, rng, n_starts=weak.n_starts, max_iter=weak.max_iter, tol=weak.tol)
        K_tilde = weak_hypothesis(to_numpy(take(problem.X, weights.rows)), fit.model)  # step 2
        r = weights.edge(K_tilde)  # step 3
        alpha = choose_alpha(r, largest)  # step 4
        tried.append((Round(fit.model, alpha, r, fit.n_iter, fit.error), K_tilde))
        if alpha > 0.0:  # step 3: accept only if r > 0
            return tried[-1]
    return max(tried, key=lambda attempt: attempt[0].edge)


def weak_hypothesis(X: Array, model: Gaussians) -> Array:
    """Return K̃ on all pairs of rows, K from the posteriors *without* constraints."""
    posterior = log_joint(X, model)
    softmax_rows(posterior)
    K: Array = posterior @ posterior.T  # [HBW06] (4)
    return 2.0 * K - 1.0  # [HBW06] Algorithm 1, step 2


def choose_alpha(r: float, largest: float) -> float:
    """Return α = ½ ln((1 + r) / (1 − r)), which is artanh r, at least zero and at most `largest`."""
    r = float(np.clip(r, 0.0, np.tanh(largest)))  # where r = 1, α would be infinite
    return min(float(np.arctanh(r)), largest)  # [HBW06] Algorithm 1, step 4


def largest_alpha(weights: PairWeights, max_alpha: float) -> float:
    """Return where α is clipped, of weights before the first round.

    Where a mixture is right on all pairs, r = 1 and α is infinite: it is clipped at artanh(1 − 1/N) for N
    known pairs. And once unknown pairs have lost their weight, r is no longer limited to the share of the
    known ones: those rounds, which see labelled rows alone, must not outweigh the others.
    """
    N = weights.n_known
    return float(min(np.arctanh(1.0 - 1.0 / max(N, 2)), max_alpha * N / float(weights.n_rows) ** 2))


def _state(X: Array, chunklets: Chunklets, weak: WeakLearner) -> MixtureProblem:
    if weak.n_components == 1:  # all rows share it, whatever is known: no constraint could be respected
        chunklets = chunklets._replace(apart=chunklets.apart[:0])
    return state_problem(X, chunklets, weak.n_components, kind=weak.kind, nu=weak.nu)
