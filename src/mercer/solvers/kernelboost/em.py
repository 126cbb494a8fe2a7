r"""Mixtures of Gaussians fitted by EM to weighted rows, under constraints [HBW06, Section 2.2].

The components :math:`l_1, \dots, l_n` of the rows are hidden; Ω says that rows of a chunklet share one, and
that some chunklets do not. EM climbs the logarithm of

.. math:: p(X, \Omega | \Theta)
          = \sum_{L \text{ that respects } \Omega} \prod_i \pi_{l_i} G(x_i | \mu_{l_i}, \Sigma_{l_i}), \tag{3}

plus that of a prior of the covariances. Weights of rows count in the M-step alone, as if a row were there
more than once; the sum never falls where all rows that are constrained together weigh the same.
"""

from typing import NamedTuple

import numpy as np
from numpy.random import RandomState

from mercer._typing import Array
from mercer.array_api import like, namespace, to_numpy
from mercer.solvers.kernelboost.assignments import Assignments, infer_assignments, plan_assignments
from mercer.solvers.kernelboost.chunklets import Chunklets
from mercer.solvers.kernelboost.gaussians import (
    Gaussians,
    fit_gaussians,
    log_joint,
    log_prior,
    softmax_rows,
)

SHORT_RUN = 5
"""Steps of each of several starts, of which the best goes on. With one or two, all look alike."""


class MixtureProblem(NamedTuple):
    """What a mixture is to explain."""

    X: Array
    weights: Array  # of the rows, as multiplicities: see `effective_weights`
    plan: Assignments
    n_components: int
    kind: str  # of covariance: "full", "tied" or "diag"
    nu: float  # ν₀, the strength of the prior of the covariances


class Expectation(NamedTuple):
    """The E-step: which row belongs where, and how well the mixture explains it all."""

    shares: Array  # (n, M): posteriors under the constraints
    log_likelihood: float  # log p(X), of the weighted rows without the constraints
    log_compliance: float  # log p(Ω | X): zero where the mixture respects the constraints by itself
    error: float  # a bound on that of the shares; 1 where there is none


class MixtureFit(NamedTuple):
    """A fitted mixture."""

    model: Gaussians
    objective: float  # the weighted log p(X, Ω), and that of the prior
    log_compliance: float  # log p(Ω | X), which is a part of it
    score: float  # by which the best start is chosen, see `fit_mixture`
    n_iter: int
    error: float  # a bound on that of the shares that it was fitted to; 1 where there is none


def state_problem(
    X: Array,
    chunklets: Chunklets,
    n_components: int,
    *,
    kind: str = "full",
    nu: float = 0.0,
) -> MixtureProblem:
    """Return the problem, with weights of one; raise `TooFewComponentsError` if chunklets cannot be apart.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows.
    chunklets : Chunklets
        Which rows share components, and which do not.
    n_components : int
        M.
    kind : {"full", "tied", "diag"}, default="full"
        A covariance for each component, one for all, or diagonal ones.
    nu : float, default=0.0
        ν₀, the strength of the prior of the covariances. Without one a component may collapse.
    """
    plan = plan_assignments(chunklets, n_components)
    return MixtureProblem(X, like(X, np.ones(len(X))), plan, n_components, kind, nu)


def effective_weights(weights: Array) -> Array:
    """Return the weights, scaled to sum to the effective sample size (Σw)² / Σw².

    Where a few rows have nearly all of the weight, they count as those few, and the prior counts for more.
    """
    scaled = weights / weights.max()
    return scaled * (scaled.sum() / np.sum(scaled**2))


def expect(problem: MixtureProblem, model: Gaussians) -> Expectation:
    """Return the posteriors under the constraints: the E-step."""
    chunklets = problem.plan.chunklets
    shares = log_joint(problem.X, model)  # log π_l p(x | θ_l), the first product of [HBW06] (3)
    bound = like(shares, chunklets.rows)
    evidence = problem.plan.gather @ to_numpy(shares[bound])
    sums = softmax_rows(shares)
    found = infer_assignments(problem.plan, evidence)  # [HBW06] (3), summed over L
    shares[bound] = like(shares, found.posterior[chunklets.number])
    # rows that are constrained together have one likelihood: it counts with their mean weight
    unit, n_units = problem.plan.unit[chunklets.number], len(found.log_sums)
    weights, each = to_numpy(problem.weights[bound]), to_numpy(sums[bound])
    total, apart = np.bincount(unit, weights, n_units), np.bincount(unit, each, n_units)
    mean = total / np.maximum(np.bincount(unit, minlength=n_units), 1)
    log_likelihood = float(problem.weights @ sums) + float((mean[unit] - weights) @ each)
    return Expectation(shares, log_likelihood, float(mean @ (found.log_sums - apart)), found.error)


def maximize(problem: MixtureProblem, shares: Array) -> Gaussians:
    """Return the most likely mixture for given shares: the M-step."""
    return fit_gaussians(problem.X, shares * problem.weights[:, None], problem.kind, problem.nu)


def run_em(problem: MixtureProblem, model: Gaussians, *, max_iter: int, tol: float) -> MixtureFit:
    """Return where EM leads from a mixture.

    It ends where the objective changes by less than `tol` for a row of weight one.
    """
    before, size, error = -np.inf, float(problem.weights.sum()), 0.0
    for step in range(max_iter + 1):
        found = expect(problem, model)
        objective = found.log_likelihood + found.log_compliance + log_prior(model, problem.nu)
        if abs(objective - before) < tol * size or step == max_iter:
            break
        before, error = objective, found.error
        model = maximize(problem, found.shares)
    bound = float(problem.weights[like(problem.X, problem.plan.chunklets.rows)].sum())
    compliance = found.log_compliance / bound if bound > 0.0 else 0.0
    score = (objective - found.log_compliance) / size + compliance
    return MixtureFit(model, objective, found.log_compliance, score, step, max(error, found.error))


def fit_mixture(
    problem: MixtureProblem, rng: RandomState, *, n_starts: int = 1, max_iter: int = 100, tol: float = 1e-3
) -> MixtureFit:
    """Return the best of several fits, by likelihood *and* by how well the constraints are respected.

    The likelihood alone tends to divide a large class in two and to merge two others, against the constraints
    of a few labelled rows among many that are not. So `MixtureFit.score` takes the two per row: log p(X) of
    the average row, and log p(Ω | X) of the average row that is constrained. All starts take a few steps,
    which tell the good ones from the others; the best goes on.

    Parameters
    ----------
    problem : MixtureProblem
        The rows and constraints.
    rng : RandomState
        For the starts.
    n_starts : int, default=1
        Number of starts.
    max_iter : int, default=100
        Maximum number of steps from each start.
    tol : float, default=1e-3
        See `run_em`.
    """
    few = max_iter if n_starts == 1 else min(SHORT_RUN, max_iter)
    fits = (run_em(problem, draw_start(problem, rng), max_iter=few, tol=tol) for _ in range(max(1, n_starts)))
    best = max(fits, key=lambda fit: fit.score)
    if best.n_iter < few or few == max_iter:  # it has converged
        return best
    whole = run_em(problem, best.model, max_iter=max_iter - few, tol=tol)
    return whole._replace(n_iter=few + whole.n_iter)


def draw_start(problem: MixtureProblem, rng: RandomState) -> Gaussians:
    """Return a mixture to start from: seeds as in k-means++, and round components of one size.

    Seeds are rows, or the means of chunklets; each is drawn with a probability proportional to its weight and
    its squared distance to the seeds before it. (`sklearn.cluster.kmeans_plusplus` refuses more components
    than points, and takes four times as long for 300 rows.)
    """
    points, weights = _points(problem)
    xp, seeds = namespace(points), np.empty((problem.n_components, points.shape[1]))
    distance = xp.ones_like(weights)
    for j in range(problem.n_components):
        chance = xp.cumulative_sum(weights * distance)
        if not chance[-1] > 0.0:  # there are fewer different points than components
            chance = xp.cumulative_sum(weights)
        place = xp.searchsorted(chance, rng.uniform() * chance[-1:], side="right")
        chosen = points[min(int(place[0]), len(points) - 1)]
        seeds[j] = to_numpy(chosen)
        new = xp.sum((points - chosen) ** 2, axis=1)
        distance = xp.minimum(distance, new) if j else new
    d, nu = points.shape[1], problem.nu
    variance = float((weights @ distance / d + nu) / (weights.sum() + nu)) or 1.0
    shape = {"full": (problem.n_components, d, d), "tied": (1, d, d), "diag": (problem.n_components, d)}
    factors = np.broadcast_to(
        (np.ones(d) if problem.kind == "diag" else np.eye(d)) / np.sqrt(variance), shape[problem.kind]
    )
    return Gaussians(np.full(problem.n_components, 1 / problem.n_components), seeds, factors)


def _points(problem: MixtureProblem) -> tuple[Array, Array]:
    """Return the free rows and the means of the chunklets, and their weights."""
    X, w, gather = problem.X, problem.weights, problem.plan.gather
    bound = like(X, problem.plan.chunklets.rows)
    xp = namespace(X)
    free = xp.ones_like(w, dtype=xp.bool)
    free[bound] = False
    weights = to_numpy(w[bound])
    size = gather @ weights
    sums = gather @ (weights[:, None] * to_numpy(X[bound]))
    means = sums / np.where(size > 0.0, size, 1.0)[:, None]
    return xp.concat([like(X, means), X[free]]), xp.concat([like(X, size), w[free]])
