"""Kernels whose distances respect similar and dissimilar pairs [KT03]."""

import warnings
from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.utils import check_random_state

from mercer._typing import Array
from mercer.kernels import Projected
from mercer.learners.base import KernelLearner, TrainingData
from mercer.learners.base_kernel import Frame, check_base, frame_rows
from mercer.learners.neighbours import ChosenPairs, choose_from_labels, choose_from_pairs, distances
from mercer.limits import check_memory
from mercer.parameters import check_count, check_option, check_positive
from mercer.scikit import CallbackContext
from mercer.solvers.idealized import Differences, PairProblem, PairSolution, solve_pair_qp

BYTES_PER_PAIR = 400  # measured: while all pairs are listed and the program is solved


class IdealizedKernel(KernelLearner):
    r"""A linear map of a kernel's feature space that keeps similar rows near and moves others apart [KT03].

    .. math:: k(x, x') = \langle \phi(x), G\, \phi(x') \rangle, \qquad
              \tilde d^2(x, x') = (\phi(x) - \phi(x'))^\top G\, (\phi(x) - \phi(x')),

    where φ is the feature map of the base kernel and G = AAᵀ the positive semi-definite matrix that solves

    .. math:: \min_{G, \gamma \ge 0} \tfrac12 \|G\|^2 + \frac{C_S}{N_S} \sum_S \xi_{ij}
              + C_D \Bigl( -\nu\gamma + \frac1{N_D} \sum_D \xi_{ij} \Bigr)
              \quad\text{s.t.}\quad \tilde d_{ij}^2 \le d_{ij}^2 + \xi_{ij} \text{ in } S,\;
              \tilde d_{ij}^2 \ge d_{ij}^2 + \gamma - \xi_{ij} \text{ in } D,\; \xi \ge 0:

    similar pairs (S) come no farther apart, and dissimilar ones (D) move apart by γ, but for the slacks ξ. A
    share of at most ν of the dissimilar pairs is not moved that far (Proposition 3, if γ > 0).

    With N pairs and rank r (of the rows in the feature space) each of some 20 steps of the interior-point
    method takes O(N s²) for s = min(N, r²/2), and O(s² + N + nr) memory.

    Parameters
    ----------
    base : scikit-learn kernel or None, default=None
        The base kernel. None is the plain inner product.
    C_similar, C_dissimilar : float, default=1e3, 1e4
        The penalty :math:`C_S` for similar pairs that come farther apart, and :math:`C_D` for dissimilar
        ones that do not move apart, in units in which the mean squared distance of the pairs is one: a common
        factor of all features does not matter. Their relative scales do; scale them first.
    nu : float, default=0.1
        ν, in [0, 1): the share of dissimilar pairs that may fall short of γ.
    n_neighbors : int or None, default=5
        A pair is used if, for one of its rows, it is among this number of nearest pairs of its kind. None:
        all pairs, whatever the median. Listed pairs are thinned only if there are more than 2 `n_neighbors`
        per row.
    radius : {"auto", "median"}, float or None, default="auto"
        … and no farther apart than this distance (in the feature space), "median" being that of all pairs.
        None: any distance. "auto": the median if pairs follow from labels, any distance if they are listed.
    psd : {"exact", "clip"}, default="exact"
        "exact" solves the problem over PSD matrices. "clip" solves the paper's QP over all symmetric ones,
        and then sets negative eigenvalues to zero: that is not optimal, and it can fail.
    max_rank : int, default=100
        The rank r is at most this; of more directions, those that hold most of the rows are kept. The time
        grows like its fourth power, and 20 to 50 is often as good.
    tol : float, default=1e-6
        The duality gap that is asked for, as a share of the dual value or of ½‖G‖², whichever is larger.
    max_iter : int, default=200
        Maximum number of iterations.
    max_rows : int, default=4000
        With more rows, a sample of this size is used: drawn by class, at least ten of each, with all rows
        that `pairs` mention. Unlabelled rows are sampled likewise.
    random_state : int, RandomState instance or None, default=None
        Random seed, for the sample of rows, the sample that a median of very many distances is taken from,
        and dissimilar pairs that have to be guessed.

    Attributes
    ----------
    kernel_ : Projected
        The learned kernel.
    gamma_ : float
        γ, in the units of the rows' squared distances. Zero means that moving pairs apart cost more than it
        gained: then Proposition 3 says nothing, the kernel may be no better than the base kernel, and a
        warning says so.
    pairs_ : array of shape (n_pairs, 2)
        The pairs that were used, as row numbers (of `unlabelled` below X).
    dissimilar_ : boolean array of shape (n_pairs,)
        Which of them are dissimilar.
    pair_weights_ : array of shape (n_pairs,)
        α_ij of (11): G is the sum of α_ij (φ(x_i) − φ(x_j))(φ(x_i) − φ(x_j))ᵀ over dissimilar pairs less that
        over similar ones (with ``psd="exact"``: the PSD part of that).
    support_pairs_ : array of shape (n_support_pairs, 2)
        The pairs with α_ij > 0, up to rounding.
    error_pairs_ : array of shape (n_error_pairs, 2)
        The pairs with α_ij at its bound (C/N, in the units of C), which may fall short (Proposition 2).
    clipped_ : float
        With ``psd="clip"``, the negative eigenvalues that were set to zero, as a share of the sum of all
        absolute eigenvalues. Zero with ``psd="exact"``.
    objective_ : float
        The primal objective, in the units in which C is given (with ``psd="clip"`` that of the QP, before
        clipping, as are `gamma_` and `gap_`).
    gap_ : float
        How far that is above the dual objective.
    n_iter_ : int
        Number of iterations.
    sampled_rows_ : array of shape (n_sampled,) or None
        The rows of X that it learned from, if there were more than `max_rows`; None: all.
    sample_alignment_ : tuple of two floats, or None
        The centred alignment of the kernel with the labels, or numbers, of some of these rows, and of others:
        what they differ by is what the sample cost. None: it learned from all rows, or from pairs.
    classes_ : array of shape (n_classes,)
        The labels, if it was fitted to labels.

    Notes
    -----
    With similar pairs alone, dissimilar ones are guessed: five times as many as there are rows, drawn
    uniformly among pairs that the similar ones do not connect. `unlabelled` rows are among those drawn.

    Pairs are row numbers of the X of this very `fit`: cross-validation, which passes on parts of X, does not
    renumber them.

    Departures from the paper:

    - The QP (14)–(16) does not ask for a PSD matrix, and its solution seldom is one. ``psd="exact"`` does.
    - :math:`C_S`, :math:`C_D` and ν are not given. Here C is in units of the pairs' mean squared distance.
    - Where no dissimilar (or no similar) pair is within the median distance, as between well separated
      classes of unequal size, the nearest ones of that kind are taken at any distance.
    - The radius is a part of the heuristic for abundant pairs (3.2.5), and the paper has it for listed ones,
      too, if there are many of either kind. Here a listed pair is no less a judgement for being far apart:
      ``radius="median"`` is the paper's rule. Where there are at most 2 `n_neighbors` per row, all are used.
    - Of more than `max_rank` directions of the feature space, the kernel is zero along the others.
    - γ is the ν-quantile of the dissimilar pairs' gains, and not the mean over pairs with 0 < α < C/N, of
      which there may be none.

    References
    ----------
    [KT03] J. T. Kwok, I. W. Tsang. Learning with idealized kernels. ICML 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mercer import IdealizedKernel
    >>> X, y = load_wine(return_X_y=True)
    >>> plain = make_pipeline(StandardScaler(), KNeighborsClassifier(1))
    >>> learned = make_pipeline(StandardScaler(), IdealizedKernel(), KNeighborsClassifier(1))
    >>> bool(cross_val_score(learned, X, y).mean() > cross_val_score(plain, X, y).mean())
    True
    """

    def __init__(
        self,
        base: sk_kernels.Kernel | None = None,
        *,
        C_similar: float = 1e3,
        C_dissimilar: float = 1e4,
        nu: float = 0.1,
        n_neighbors: int | None = 5,
        radius: str | float | None = "auto",
        psd: str = "exact",
        max_rank: int = 100,
        tol: float = 1e-6,
        max_iter: int = 200,
        max_rows: int = 4000,
        random_state: Any = None,
    ) -> None:
        self.base = base
        self.C_similar = C_similar
        self.C_dissimilar = C_dissimilar
        self.nu = nu
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.psd = psd
        self.max_rank = max_rank
        self.tol = tol
        self.max_iter = max_iter
        self.max_rows = max_rows
        self.random_state = random_state

    def _learn(self, known: TrainingData, context: CallbackContext) -> None:
        self._check_memory(known)
        X = known.X if known.unlabelled is None else np.vstack([known.X, known.unlabelled])
        if self.base is None:
            X = X - np.median(X, axis=0)  # only differences count, and far from zero those lose digits
        frame = frame_rows(X, self.base, self.max_rank)
        Z = _centre(frame.coordinates)
        chosen = self._choose(known, Z)
        scale = float(np.sqrt(np.mean(distances(Z, chosen.rows) ** 2)))
        if scale == 0.0:
            raise ValueError(
                "all chosen pairs have distance zero: take another base kernel, or more pairs (increase "
                "n_neighbors and radius, or set them to None)"
            )
        problem = PairProblem(
            Differences(Z / scale, *chosen.rows.T),
            chosen.dissimilar,
            C_similar=float(self.C_similar),
            C_dissimilar=float(self.C_dissimilar),
            nu=float(self.nu),
            psd=self.psd == "exact",
        )
        solution = solve_pair_qp(
            problem,
            tol=self.tol,
            max_iter=self.max_iter,
            progress=self._report_steps(context, "newton step"),
        )
        self._warn(solution)
        self._keep(frame, chosen, solution, scale)
        if known.rows is not None:
            for name in ("pairs_", "support_pairs_", "error_pairs_"):
                setattr(self, name, known.rows[getattr(self, name)])

    def _check_parameters(self) -> None:
        check_base(self.base)
        for name in ("C_similar", "C_dissimilar", "tol"):
            check_positive(getattr(self, name), name)
        for name in ("C_similar", "C_dissimilar"):
            if not 1e-30 <= getattr(self, name) <= 1e30:  # squares of it are computed
                raise ValueError(f"{name} must be between 1e-30 and 1e30, got {getattr(self, name)!r}.")
        if not isinstance(self.nu, Real) or not 0.0 <= self.nu <= 1.0 - 1e-9:
            raise ValueError(f"nu must be a number in [0, 1), got {self.nu!r}.")
        if self.n_neighbors is not None:
            check_count(self.n_neighbors, "n_neighbors")
        if isinstance(self.radius, str):
            check_option(self.radius, "radius", ("auto", "median"))
        elif self.radius is not None:
            check_positive(self.radius, "radius")
        check_option(self.psd, "psd", ("exact", "clip"))
        check_count(self.max_rank, "max_rank")
        check_count(self.max_iter, "max_iter")

    def _choose(self, known: TrainingData, Z: Array) -> ChosenPairs:
        """Choose the pairs by their distances in the feature space."""
        rng = check_random_state(self.random_state)
        if known.label is not None:
            labelled = Z[: len(known.X)]
            chosen = choose_from_labels(labelled, known.label, self.n_neighbors, self.radius, rng)
        else:
            assert known.pairs is not None
            chosen = choose_from_pairs(Z, known.pairs, self.n_neighbors, self.radius, rng)
        if not np.any(chosen.dissimilar):
            raise ValueError(
                "no dissimilar pair is left to learn from: none is within the radius. Increase radius, or "
                "set it to None"
            )
        size = Z.shape[1] * (Z.shape[1] + 1) // 2
        check_memory(8 * 8 * size**2, f"A step with {size} unknowns", "Lower max_rank.")
        return chosen

    def _check_memory(self, known: TrainingData) -> None:
        """Count all pairs of labelled rows, where all are used, before they are written down."""
        if known.label is None or self.n_neighbors is not None:
            return
        n_pairs = len(known.X) * (len(known.X) - 1) // 2
        check_memory(BYTES_PER_PAIR * n_pairs, f"To use all {n_pairs} pairs", "Set n_neighbors, such as 5.")

    def _warn(self, solution: PairSolution) -> None:
        if not solution.relative_gap <= self.tol:
            advice = ""  # a callback has stopped it
            if solution.stalled:
                advice = ": rounding errors prevent a smaller one. Scale the features, or increase tol"
            elif solution.n_iter == self.max_iter:
                advice = ": increase max_iter or tol"
            warnings.warn(
                f"stopped after {solution.n_iter} iterations at a relative duality gap of "
                f"{solution.relative_gap:.1e} (tol={self.tol:g}){advice}",
                ConvergenceWarning,
                stacklevel=5,
            )
        elif solution.gamma <= 1e-6:  # in units of the pairs' mean squared distance
            warnings.warn(
                "γ is zero: at these penalties dissimilar pairs do not move apart, and the kernel may be no "
                "better than the base kernel. Scale the features (StandardScaler) if they are not; else "
                "increase C_similar and C_dissimilar by powers of ten, or their ratio",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _keep(self, frame: Frame, chosen: ChosenPairs, solution: PairSolution, scale: float) -> None:
        values, V = np.linalg.eigh(solution.G)
        kept = values > 1e-12 * max(values[-1], 0.0)
        A = V[:, kept][:, ::-1] * np.sqrt(values[kept][::-1])
        self.kernel_ = Projected(frame.expand(A), frame.base, frame.landmarks)
        self.clipped_ = float(np.maximum(-values, 0.0).sum() / np.abs(values).sum())
        if self.psd == "exact":
            self.clipped_ = 0.0
        self.gamma_ = solution.gamma * scale**2
        self.pairs_, self.dissimilar_ = chosen
        self.pair_weights_ = solution.alpha / scale**2
        self.support_pairs_ = chosen.rows[solution.at_bound != -1]
        self.error_pairs_ = chosen.rows[solution.at_bound == 1]
        self.objective_, self.gap_ = solution.primal, solution.gap
        self.n_iter_ = solution.n_iter


def _centre(Z: Array) -> Array:
    """Shift the rows to their median: only differences count, and far from zero those are rounding errors."""
    centre = np.median(Z, axis=0)
    with np.errstate(over="ignore"):
        spread, size = float(np.max(np.abs(Z - centre), initial=0.0)), float(np.max(np.abs(Z), initial=0.0))
    if spread <= 8 * np.finfo(np.float64).eps * size:
        raise ValueError(
            "all rows are the same for the base kernel: it does not tell them apart. Take another one"
        )
    if not 1e-140 < spread < 1e140:
        raise ValueError(f"the base kernel puts rows {spread:.1g} apart, whose squares are lost: scale it")
    return Z - centre
