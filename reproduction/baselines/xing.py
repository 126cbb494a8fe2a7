"""The convex metric learning of Xing et al. [2003] with a full matrix, to which [KT03] compares itself."""

import warnings
from typing import Any, NamedTuple, final

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from mercer._typing import Array
from mercer.kernels import Projected
from mercer.learners.base import KernelLearner, TrainingData
from mercer.learners.neighbours import guess_dissimilar
from mercer.limits import check_memory
from mercer.pairs import Pairs
from mercer.parameters import check_count, check_positive
from mercer.scikit import CallbackContext
from reproduction.baselines.rca import RANK_TOL, check_ridge, standardizing_directions


@final
class XingMetric(KernelLearner):
    r"""The metric that moves dissimilar rows apart while similar ones stay together [Xing et al. 2003].

    .. math:: \max_{A \succeq 0} \sum_D \sqrt{(x_i - x_j)^\top A (x_i - x_j)}
              \quad\text{s.t.}\quad \sum_S (x_i - x_j)^\top A (x_i - x_j)
              + \rho \frac{N_S}{N_D} \sum_D (x_i - x_j)^\top A (x_i - x_j) \le 1,

    over the pairs of similar (S) and dissimilar (D) rows; the kernel is :math:`x^\top A x'`. The published
    problem has no ridge, ρ = 0. It is unbounded if dissimilar rows differ in a direction in which no similar
    ones do, which is common with few pairs: hence the ridge. The learned metric does not depend on the scale
    of the features, and directions in which no two rows of a pair differ are left out.

    An iteration takes O(N_D r²) for r directions, some dozens are usual; the pairs take O(N_D r) memory,
    which for labels is O(n² r).

    Parameters
    ----------
    ridge : float, default=1e-3
        ρ. Zero is the published problem.
    tol : float, default=1e-6
        How far the sum of distances may be below its maximum, as a share of it.
    max_iter : int, default=1000
        Maximum number of iterations.
    random_state : int, RandomState instance or None, default=None
        Random seed of the dissimilar pairs that have to be guessed.

    Attributes
    ----------
    kernel_ : Projected
        The learned kernel.
    objective_ : float
        The sum of the distances of dissimilar pairs.
    gap_ : float
        A bound on how far that is below the maximum.
    n_iter_ : int
        Number of iterations.
    classes_ : array of shape (n_classes,)
        The labels, if it was fitted to labels.

    Notes
    -----
    With similar pairs alone, dissimilar ones are guessed as `IdealizedKernel` does it: five per row, among
    pairs that the similar ones do not connect. `unlabelled` rows are among those that are drawn.

    Departures from the paper: the ridge; and the algorithm. Published is gradient ascent with alternating
    projections, which is slow and, on badly scaled features, may stop far from the maximum. Here the
    constraint is turned into a sphere, on which a power iteration goes up to the same maximum; it ends with a
    proof of how near it is (`maximize_distances`).

    References
    ----------
    E. P. Xing, A. Y. Ng, M. I. Jordan, S. Russell. Distance metric learning, with application to clustering
    with side-information. NIPS 2002.

    Examples
    --------
    >>> from reproduction.baselines import XingMetric
    >>> from mercer.datasets import one_relevant
    >>> X, y = one_relevant(random_state=0)
    >>> weight = abs(XingMetric().fit(X, y).kernel_.coef).sum(axis=1)
    >>> int(weight.argmax())
    0
    """

    def __init__(
        self, *, ridge: float = 1e-3, tol: float = 1e-6, max_iter: int = 1000, random_state: Any = None
    ) -> None:
        self.ridge = ridge
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _learn(self, known: TrainingData, context: CallbackContext) -> None:
        check_ridge(self.ridge)
        check_positive(self.tol, "tol")
        check_count(self.max_iter, "max_iter")
        X = known.X if known.unlabelled is None else np.vstack([known.X, known.unlabelled])
        pairs = self._pairs(known, len(X))
        W = standardizing_directions(X[pairs.rows()])
        size = len(pairs.similar) + len(pairs.dissimilar)
        check_memory(4 * 8 * size * W.shape[1], f"{size} pairs", "Give fewer pairs, or fewer rows.")
        similar, dissimilar = (
            (X[rows[:, 0]] - X[rows[:, 1]]) @ W for rows in (pairs.similar, pairs.dissimilar)
        )
        R = self._spherical_directions(similar, dissimilar)
        solution = maximize_distances(dissimilar @ R, tol=self.tol, max_iter=self.max_iter)
        self.objective_, self.gap_, self.n_iter_ = solution.value, solution.gap, solution.n_iter
        if solution.gap > self.tol * solution.value:
            warnings.warn(
                f"stopped after {solution.n_iter} iterations, at most {solution.gap:.1e} below the maximum "
                f"of {solution.value:.1e}: increase max_iter or tol",
                ConvergenceWarning,
                stacklevel=4,
            )
        self.kernel_ = Projected(W @ R @ solution.L)

    def _pairs(self, known: TrainingData, n_rows: int) -> Pairs:
        if known.label is not None:
            n = len(known.label)
            check_memory(4 * 8 * n**2, f"All pairs of {n} rows", "Give fewer rows, or pairs.")
        pairs = known.pairs if known.label is None else Pairs.from_labels(known.label)
        assert pairs is not None
        similar = pairs.similar[pairs.similar[:, 0] != pairs.similar[:, 1]]
        if not len(similar):
            raise ValueError("no two different rows are known to be similar: list some similar pairs")
        if len(pairs.dissimilar):
            return Pairs(similar, pairs.dissimilar)
        return Pairs(similar, guess_dissimilar(n_rows, similar, check_random_state(self.random_state)))

    def _spherical_directions(self, similar: Array, dissimilar: Array) -> Array:
        """Return R such that A = R B Rᵀ fulfils the constraint just if the trace of B is at most 1."""
        M = similar.T @ similar
        M += self.ridge * len(similar) / len(dissimilar) * (dissimilar.T @ dissimilar)
        values, Q = np.linalg.eigh(M)
        kept = values > RANK_TOL * values[-1]
        if np.abs(dissimilar @ Q[:, ~kept]).max(initial=0.0) > np.sqrt(RANK_TOL) * np.abs(dissimilar).max():
            raise ValueError(
                "dissimilar rows differ in directions in which no similar ones do, so that without a ridge "
                "their distance has no bound. Set ridge, or give more similar pairs"
            )
        R: Array = Q[:, kept] / np.sqrt(values[kept])
        return R


class FarthestApart(NamedTuple):
    """A factor L of B = L Lᵀ, the sum of distances, a bound on what is missing to the maximum, the steps."""

    L: Array
    value: float
    gap: float
    n_iter: int


def maximize_distances(E: Array, *, tol: float, max_iter: int) -> FarthestApart:
    r"""Maximise the sum of distances over matrices B = L Lᵀ of trace one.

    .. math:: \max_B g(B) = \sum_e \sqrt{e^\top B e}
              \quad\text{s.t.}\quad B \succeq 0,\; \operatorname{tr} B = 1

    over the rows e of E. As a function of L it is convex, :math:`\sum \|L^\top e\|`, so that stepping to the
    maximum of its tangent on the sphere :math:`\|L\| = 1` never goes down:

    .. math:: L \leftarrow G L / \|G L\|, \qquad G = \sum_e e e^\top / \|L^\top e\|.

    As a function of B it is concave, with the gradient G/2 and ⟨G/2, B⟩ = g/2, so that no B is better than g
    by more than :math:`(\lambda_{\max}(G) - g) / 2`, the gap. Starting with full rank, it goes to zero.
    """
    E = E[np.any(E != 0.0, axis=1)]  # rows that are equal stay so in every metric
    if not len(E):
        raise ValueError("the rows of every dissimilar pair are equal: there is nothing to move apart")
    L, value, gap = np.eye(E.shape[1]), 0.0, np.inf
    for step in range(max_iter + 1):
        L /= np.linalg.norm(L)
        distance = np.linalg.norm(E @ L, axis=1)
        G = (E / distance[:, None]).T @ E
        value = float(distance.sum())
        gap = max(0.0, float(np.linalg.eigvalsh(G)[-1] - value) / 2)
        if gap <= tol * value or step == max_iter:
            break
        L = G @ L
    return FarthestApart(L, value, gap, step)
