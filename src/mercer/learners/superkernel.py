"""Kernels from the span of a superkernel, by a regularised quality functional [OSW02]."""

import warnings
from typing import Any

import numpy as np
from numpy.random import RandomState
from sklearn.callback import CallbackContext
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._typing import Array
from mercer.learners.base import KernelLearner, TrainingData
from mercer.learners.neighbours import guess_dissimilar
from mercer.learners.span import Span
from mercer.limits import check_memory
from mercer.parameters import check_count, check_option, check_positive
from mercer.solvers.superkernel.alignment import (
    LeastSquares,
    compare_with_labels,
    compare_with_pairs,
    minimize_distance,
)
from mercer.solvers.superkernel.alternation import alternate
from mercer.solvers.superkernel.cutting_planes import Penalty, Planes
from mercer.solvers.superkernel.posterior import minimize_posterior
from mercer.solvers.superkernel.risk import minimize_risk
from mercer.superkernels import Expansion, PairKernel, Widths

NOISE = 1.0  # ε of the posterior, in the units of the logit


class Superkernel(KernelLearner):
    r"""A kernel from the span of a superkernel, the best by a regularised quality functional [OSW02].

    .. math:: k(x, x') = \sum_i \beta_i\, \underline{k}(\underline{x}_i, (x, x')), \quad \beta \ge 0, \qquad
              \min_\beta Q_{\mathrm{emp}}[k] + \tfrac12 \lambda_s \|k\|^2 .

    With ``quality="risk"`` it is the kernel with which an SVM has the least regularised risk,

    .. math:: Q_{\mathrm{emp}} = \min_f \frac1m \sum_i \max(0, 1 - y_i f(x_i)) + \frac{\lambda}{2} \|f\|^2,
              \qquad \lambda = \frac1{C m}, \quad \|k\|^2 = \beta^\top \underline{K} \beta

    (f has a free intercept). Q is convex in β, and cutting planes reach its minimum with one SVM each, some
    five to fifteen of them; the gap that is reported is a true bound.

    For m rows and r terms a plane costs O(m² r) and an SVM. Memory is O(m²) for the superkernels of power
    series, and r m² numbers up to 2 GB for lists of kernels, that are computed anew each time beyond.

    Parameters
    ----------
    superkernel : PairKernel or None, default=None
        Whose span is searched, one of `mercer.superkernels`. None is ``Widths()``: Gaussian kernels of six
        widths, normalised, on features of any scale.
    quality : {"risk", "alignment", "posterior"}, default="risk"
        Q: the regularised risk (6); how far the kernel is from the ideal one, centred, whose best multiple
        aligns best (3); or the negative log posterior (7), with noise of variance one, at O(m³) a step.
    C : float, default=100.0
        1 / (λ m), the C of the SVM, with "risk". `KernelSVC` without a C of its own then takes this one.
    penalty : float or None, default=None
        λ_s. With "risk" only λ_s / C² matters. None is the paper's 10⁻⁴ for power series; for lists of
        kernels 0.3 C² with "risk", and 10⁻² with the others. It acts as 1/C² does: search powers of ten.
    solver : {"planes", "alternation"}, default="planes"
        "alternation" is the paper's, for "risk": it stops short of the minimum.
    rank_tol : float, default=1e-5
        For power series: pairs are added until no entry of the superkernel matrix is further off, as a share
        of the largest.
    max_rank : int, default=100
        The most pairs.
    tol : float, default=1e-4
        The relative duality gap that is asked for.
    max_iter : int, default=200
        The most planes, or turns, or steps.
    random_state : int, RandomState instance or None, default=None
        For the rows whose pairs `ARD` expands in.

    Attributes
    ----------
    kernel_ : Series or Combination
        The learned kernel, of the terms with β > 0.
    beta_ : array of shape (n_terms,)
        The β of all terms.
    superkernel_ : PairKernel
        The superkernel, with what it takes from the data.
    objective_ : array of shape (n_iter,)
        The least regularised quality so far, after each step.
    gap_ : float
        How far the last one is above the minimum over β at most, as a share of it; infinite for "posterior",
        which is not convex. (For power series the β are those of the chosen pairs.)
    n_iter_ : int
        The steps.
    classes_ : array of shape (n_classes,)
        The labels, if it was fitted to labels.

    Notes
    -----
    More than two classes share one kernel: Q is then the mean over all pairs of classes, weighted by their
    numbers of rows (with "posterior", over each class against the rest). From pairs instead of labels,
    "alignment" fits the kernel's values on them to 1 and −1 (dissimilar ones are guessed if there are none);
    the others need labels. `unlabelled` rows give pairs to expand in, for power series.

    `transform` gives coordinates in the span of the rows of `fit`, since the kernel has no features of its
    own: exact for pairs of rows of which one was there.

    With the Gaussian harmonic superkernel the minimum uses a single term, that of the diagonal pairs, or two
    that are one to an SVM with an intercept: only a scale is learned, which is to say C. That is why the
    default is a list of widths.

    Departures from the paper:

    - Cutting planes instead of the alternation, which stalls.
    - The width of (14), read literally, makes all kernels constant. `GaussianHarmonic` has 2ℓ² = 100 D, for
      features in [0, 1].
    - Alignment knows no scale, and so (3) with a penalty has no minimiser: the distance to the ideal kernel
      stands for it, centred because an intercept makes the mean of a kernel void. (7) is unbounded below
      without noise.

    References
    ----------
    [OSW02] C. S. Ong, A. J. Smola, R. C. Williamson. Superkernels. NIPS 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from mercer import KernelSVC, Superkernel
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bool(cross_val_score(KernelSVC(Superkernel()), X, y).mean() > 0.96)
    True
    """

    def __init__(
        self,
        superkernel: PairKernel | None = None,
        *,
        quality: str = "risk",
        C: float = 100.0,
        penalty: float | None = None,
        solver: str = "planes",
        rank_tol: float = 1e-5,
        max_rank: int = 100,
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: Any = None,
    ) -> None:
        self.superkernel = superkernel
        self.quality = quality
        self.C = C
        self.penalty = penalty
        self.solver = solver
        self.rank_tol = rank_tol
        self.max_rank = max_rank
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def transform(self, X: Any) -> Array:
        """Return coordinates of rows in the span of those of `fit`, whose inner products are the kernel."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return self.span_.transform(X)

    @property
    def svm_price(self) -> float:
        """The C of the SVM that the kernel is learned for; 1 if it is learned for none."""
        return float(self.C) if self.quality == "risk" else 1.0

    @property
    def _n_features_out(self) -> int:
        return len(self.span_.factor.landmarks)

    def _check_parameters(self) -> None:
        if self.superkernel is not None and not isinstance(self.superkernel, PairKernel):
            raise TypeError(
                f"superkernel must be one of mercer.superkernels or None, got {self.superkernel!r}. To "
                "search among kernels of yours, give Explicit([k1, k2, …])."
            )
        check_option(self.quality, "quality", ("risk", "alignment", "posterior"))
        check_option(self.solver, "solver", ("planes", "alternation"))
        for name in ("C", "tol", "rank_tol"):
            check_positive(getattr(self, name), name)
        if not 1e-100 <= self.C <= 1e100:  # its square is computed
            raise ValueError(f"C must be between 1e-100 and 1e100, got {self.C!r}.")
        if self.penalty is not None:
            check_positive(self.penalty, "penalty")
        check_count(self.max_rank, "max_rank")
        check_count(self.max_iter, "max_iter")
        if self.solver == "alternation" and self.quality != "risk":
            raise ValueError(f"solver='alternation' is for quality='risk', not {self.quality!r}.")

    def _learn(self, known: TrainingData, context: CallbackContext) -> None:
        if known.label is None and self.quality != "alignment":
            raise ValueError(
                f"quality={self.quality!r} needs labels: give y instead of pairs, or set quality='alignment'"
            )
        n = len(known.X)
        check_memory(4 * 8 * n**2, f"The kernel of {n} rows", "Use fewer rows.")
        given = Widths() if self.superkernel is None else self.superkernel
        self.superkernel_ = given.fitted_to(known.X)
        others = known.X[:0] if known.unlabelled is None else known.unlabelled
        terms = self.superkernel_.expand(
            known.X,
            others,
            tol=float(self.rank_tol),
            max_rank=self.max_rank,
            rng=check_random_state(self.random_state),
        )
        found = self._search(terms, known, context)
        self._keep(known, terms, found)

    def _search(self, terms: Expansion, known: TrainingData, context: CallbackContext) -> Planes:
        """Return the best β; with the risk, C times it."""
        progress = self._report_steps(context, "step")
        strength = self._strength(terms)
        if self.quality == "alignment":
            rng = check_random_state(self.random_state)
            return minimize_distance(_compare(terms, known, rng), strength * terms.penalty, progress)
        assert known.label is not None
        if self.quality == "posterior":
            targets = [np.where(known.label == k, 1.0, -1.0) for k in np.unique(known.label)]
            return minimize_posterior(
                terms.grams,
                targets[1:] if len(targets) == 2 else targets,
                Penalty(strength * terms.penalty),
                noise=NOISE,
                tol=float(self.tol),
                max_iter=self.max_iter,
                progress=progress,
            )
        search = minimize_risk if self.solver == "planes" else alternate
        return search(
            terms.grams,
            known.label,
            Penalty(strength / float(self.C) ** 2 * terms.penalty),
            tol=float(self.tol),
            max_iter=self.max_iter,
            progress=progress,
        )

    def _strength(self, terms: Expansion) -> float:
        if self.penalty is not None:
            return float(self.penalty)
        if terms.penalty.ndim == 2:
            return 1e-4
        return 0.3 * float(self.C) ** 2 if self.quality == "risk" else 1e-2

    def _keep(self, known: TrainingData, terms: Expansion, found: Planes) -> None:
        self.beta_ = found.beta / self.C if self.quality == "risk" else found.beta
        if not np.any(self.beta_ > 0):
            raise ValueError(
                f"the best kernel found is zero: by quality={self.quality!r} these kernels tell no more than "
                "none at all. Take a superkernel of other kernels, or with labels quality='risk'"
            )
        self.objective_, self.gap_, self.n_iter_ = found.history, found.gap, found.n_iter
        if self.n_iter_ == self.max_iter and self.quality != "alignment" and not self.gap_ <= self.tol:
            how_far = "" if self.quality == "posterior" else f" at a relative gap of {self.gap_:.1e}"
            warnings.warn(
                f"stopped after {self.max_iter} steps{how_far}: increase max_iter, or tol",
                ConvergenceWarning,
                stacklevel=5,
            )
        self.kernel_ = terms.kernel(self.beta_)
        self.span_ = Span(self.kernel_, known.X.copy())


def _compare(terms: Expansion, known: TrainingData, rng: RandomState) -> LeastSquares:
    """Return the distance to the ideal kernel, or to 1 and −1 on pairs."""
    if known.label is not None:
        n_classes = int(known.label.max()) + 1
        same = known.label[:, None] == known.label[None, :]
        return compare_with_labels(terms.grams, np.where(same, 1.0, -1.0 / (n_classes - 1)))
    assert known.pairs is not None
    similar, dissimilar = known.pairs
    if not len(similar):
        raise ValueError("there are no similar pairs: list some, or give labels")
    if not len(dissimilar):
        dissimilar = guess_dissimilar(len(known.X), similar, rng)
    pairs = np.vstack([similar, dissimilar])
    target = np.repeat([1.0, -1.0], [len(similar), len(dissimilar)])
    values = np.stack([terms.grams.term(i)[tuple(pairs.T)] for i in range(terms.grams.n_terms)])
    return compare_with_pairs(values, target)
