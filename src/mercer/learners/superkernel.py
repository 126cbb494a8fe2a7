"""Kernels from the span of a superkernel, by a regularised quality functional [OSW02]."""

import warnings
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array
from mercer.kernels import Kernel
from mercer.learners.base import KernelLearner, TrainingData
from mercer.learners.base_kernel import psd_advice
from mercer.learners.neighbours import guess_dissimilar
from mercer.limits import check_memory
from mercer.pairs import Pairs
from mercer.parameters import check_count, check_positive
from mercer.scikit import CallbackContext
from mercer.solvers.cholesky import Factor, factor_gram
from mercer.solvers.superkernel import KernelWeights, Stopping
from mercer.superkernels import (
    Alignment,
    Expansion,
    PairKernel,
    QualityFunctional,
    Risk,
    SquaredRisk,
    Widths,
)
from mercer.validation import check_rows

BLOCK = 2**13  # rows whose coordinates are computed at a time
USUAL_QUALITY = {"labels": Risk(), "numbers": SquaredRisk(), "pairs": Alignment()}


class Superkernel(KernelLearner):
    r"""A kernel from the span of a superkernel, the best by a regularised quality functional [OSW02].

    .. math:: k(x, x') = \sum_i \beta_i\, \underline{k}(\underline{x}_i, (x, x')), \quad \beta \ge 0, \qquad
              \min_\beta Q_{\mathrm{emp}}[k] + \tfrac12 \lambda_s \|k\|^2 .

    By default it is the kernel with which an SVM has the least regularised risk,

    .. math:: Q_{\mathrm{emp}} = \min_f \frac1m \sum_i \max(0, 1 - y_i f(x_i)) + \frac{\lambda}{2} \|f\|^2,
              \qquad \lambda = \frac1{C m}, \quad \|k\|^2 = \beta^\top \underline{K} \beta

    (f has a free intercept). Q is convex in β, and cutting planes reach its minimum with one SVM each, some
    five to fifteen of them; the gap that is reported is a true bound.

    For m rows and r terms a plane costs O(m² r) and an SVM. Memory is O(m²) for the superkernels of power
    series; for lists of kernels it is r m² numbers up to 2 GB, and beyond that they are computed anew for
    each plane.

    Parameters
    ----------
    superkernel : PairKernel or None, default=None
        Whose span is searched, one of `mercer.superkernels`. None is ``Widths()``: Gaussian kernels of six
        widths, normalised, on features of any scale.
    quality : QualityFunctional or None, default=None
        Q, one of `mercer.superkernels`: ``Risk(C=100.0)``, the regularised risk (6) of an SVM with this C;
        ``SquaredRisk()``, that of ridge regression, for numbers; ``Alignment()``, how far the kernel is from
        the ideal one, centred, whose best multiple aligns best (3); or ``Posterior(noise=1.0)``, the negative
        log posterior (7), at O(m³) per step. None is ``Risk()`` for classes, ``SquaredRisk()`` for numbers.
    penalty : float or None, default=None
        λ_s. With `Risk` only λ_s / C² matters. None is the paper's 10⁻⁴ for power series; for lists of
        kernels 0.3 C² with `Risk`, 10 C² with `SquaredRisk`, and 10⁻² with the others. It acts as 1/C²
        does: search powers of ten.
    rank_tol : float, default=1e-5
        For power series: pairs are added until no entry of the superkernel matrix is further off, as a share
        of the largest.
    max_rank : int, default=100
        The maximum number of pairs.
    tol : float, default=1e-4
        The relative duality gap that is asked for.
    max_iter : int, default=200
        The maximum number of iterations: planes, turns of the alternation, or steps of L-BFGS-B.
    max_rows : int, default=4000
        With more rows, a sample of this size is used: drawn by class, at least ten of each, with all rows
        that `pairs` mention. Unlabelled rows are sampled likewise.
    random_state : int, RandomState instance or None, default=None
        Random seed, for the sample of rows, the rows whose pairs `ARD` expands in and dissimilar pairs that
        are guessed.

    Attributes
    ----------
    kernel_ : Series or Combination
        The learned kernel, of the terms with β > 0.
    beta_ : array of shape (n_terms,)
        The β of all terms.
    superkernel_ : PairKernel
        The superkernel, with what it takes from the data.
    objective_ : array of shape (n_iter,)
        The least regularised quality so far, after each iteration.
    gap_ : float
        How far the last one is above the minimum over β at most, as a share of it; infinite for `Posterior`,
        which is not convex. (For power series the β are those of the chosen pairs.)
    n_iter_ : int
        The number of iterations.
    sampled_rows_ : array of shape (n_sampled,) or None
        The rows of X that it learned from, if there were more than `max_rows`; None: all.
    sample_alignment_ : tuple of two floats, or None
        The centred alignment of the kernel with the labels, or numbers, of some of these rows, and of others:
        what they differ by is what the sample cost. None: it learned from all rows, or from pairs.
    classes_ : array of shape (n_classes,)
        The labels, if it was fitted to labels.

    Notes
    -----
    More than two classes share one kernel; the quality functionals say how. From pairs instead of labels,
    `Alignment` fits the kernel's values on them to 1 and −1 (dissimilar ones are guessed if there are none);
    the others need labels. From numbers, ``fit(X, target=y)``, `SquaredRisk` and `Alignment` learn:
    ``KernelRegressor(Superkernel())``. `unlabelled` rows give pairs to expand in, for power series.

    `transform` gives coordinates in the span of the rows of `fit` (of the sample), since the kernel has no
    features of its own: exact for pairs of rows of which one was there.

    With the Gaussian harmonic superkernel the minimum uses a single term, that of the diagonal pairs, or two
    that are one to an SVM with an intercept: only a scale is learned, which is to say C. That is why the
    default is a list of widths.

    Departures from the paper:

    - Cutting planes instead of the alternation, which stalls (``Risk(solver="alternation")``).
    - The width of (14), read literally, makes all kernels constant. `GaussianHarmonic` has 2ℓ² = 100 D, for
      features in [0, 1].
    - (6) with the squared error, for numbers: the paper states it for any loss and computes with the hinge.
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

    Numbers:

    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import KernelRegressor
    >>> X, y = make_friedman1(300, n_features=5, random_state=0)
    >>> model = KernelRegressor(Superkernel()).fit(X, y)
    >>> bool(model.score(*make_friedman1(300, n_features=5, random_state=1)) > 0.95)
    True
    """

    _takes_numbers = True

    def __init__(
        self,
        superkernel: PairKernel | None = None,
        *,
        quality: QualityFunctional | None = None,
        penalty: float | None = None,
        rank_tol: float = 1e-5,
        max_rank: int = 100,
        tol: float = 1e-4,
        max_iter: int = 200,
        max_rows: int = 4000,
        random_state: Any = None,
    ) -> None:
        self.superkernel = superkernel
        self.quality = quality
        self.penalty = penalty
        self.rank_tol = rank_tol
        self.max_rank = max_rank
        self.tol = tol
        self.max_iter = max_iter
        self.max_rows = max_rows
        self.random_state = random_state

    def transform(self, X: Any) -> Array:
        """Return coordinates of rows in the span of those of `fit`, whose inner products are the kernel."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        return self.span_.transform(X)

    @property
    def svm_C(self) -> float:  # noqa: N802  (C is the field's letter)
        """The C of the SVM that the kernel is learned for; 1 if it is learned for none."""
        return self._functional.svm_C

    @property
    def _functional(self) -> QualityFunctional:
        return Risk() if self.quality is None else self.quality

    @property
    def _n_features_out(self) -> int:
        return len(self.span_.factor.landmarks)

    def _check_parameters(self) -> None:
        if self.superkernel is not None and not isinstance(self.superkernel, PairKernel):
            raise TypeError(
                f"superkernel must be one of mercer.superkernels or None, got {self.superkernel!r}. To "
                "search among kernels of yours, give Explicit([k1, k2, …])."
            )
        if not isinstance(self._functional, QualityFunctional):
            raise TypeError(
                f"quality must be a quality functional or None, got {self.quality!r}. Write "
                "quality=Risk(C=100.0), SquaredRisk(), Alignment() or Posterior(); they are in "
                "mercer.superkernels."
            )
        self._functional.check()
        for name in ("tol", "rank_tol"):
            check_positive(getattr(self, name), name)
        if self.penalty is not None:
            check_positive(self.penalty, "penalty")
        check_count(self.max_rank, "max_rank")
        check_count(self.max_iter, "max_iter")

    def _learn(self, known: TrainingData, context: CallbackContext) -> None:
        quality = self._functional_for(known)
        n = len(known.X)
        check_memory(4 * 8 * n**2, f"The kernel of {n} rows", "Lower max_rows, or list fewer pairs.")
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
        with psd_advice("a sum of these kernels"):
            found = self._minimize(quality, terms, known, context)
        self._keep(quality, known, terms, found)

    def _functional_for(self, known: TrainingData) -> QualityFunctional:
        """Return the quality functional; raise if it cannot learn from what is known."""
        kind = next(kind for kind, values in _kinds(known).items() if values is not None)
        usual = USUAL_QUALITY[kind]
        quality = usual if self.quality is None and kind == "numbers" else self._functional
        if kind not in quality.learns_from:
            what = " or ".join(quality.learns_from)
            raise ValueError(f"{quality!r} learns from {what}, not from {kind}: set quality={usual!r}")
        return quality

    def _minimize(
        self, quality: QualityFunctional, terms: Expansion, known: TrainingData, context: CallbackContext
    ) -> KernelWeights:
        penalty = quality.default_penalty(terms) if self.penalty is None else float(self.penalty)
        stopping = Stopping(float(self.tol), self.max_iter, self._report_steps(context, "step"))
        if known.label is not None:
            return quality.minimize(terms, known.label, penalty, stopping)
        if known.target is not None:
            if np.ptp(known.target, axis=0).max() == 0.0:
                raise ValueError("the target is constant: there is nothing to learn from")
            Y = StandardScaler().fit_transform(known.target)
            return quality.minimize_on_numbers(terms, Y, penalty, stopping)
        assert known.pairs is not None
        return quality.minimize_on_pairs(terms, self._complete(known.pairs, len(known.X)), penalty, stopping)

    def _complete(self, pairs: Pairs, n_rows: int) -> Pairs:
        """Return pairs of both kinds; where there are no dissimilar ones, they are guessed."""
        if not len(pairs.similar):
            raise ValueError("there are no similar pairs: list some, or give labels")
        if len(pairs.dissimilar):
            return pairs
        guessed = guess_dissimilar(n_rows, pairs.similar, check_random_state(self.random_state))
        return Pairs(pairs.similar, guessed)

    def _keep(
        self, quality: QualityFunctional, known: TrainingData, terms: Expansion, found: KernelWeights
    ) -> None:
        if not np.any(found.beta > 0):
            raise ValueError(
                f"the best kernel found is zero: by {quality!r}, these kernels are no better than none at "
                f"all. {quality.advice}"
            )
        self.beta_, self.objective_, self.gap_ = found.beta, found.history, found.gap
        self.n_iter_ = found.n_iter
        if found.is_cut_off:
            how_far = f" at a relative gap of {found.gap:.1e}" if np.isfinite(found.gap) else ""
            warnings.warn(
                f"stopped after {self.max_iter} iterations{how_far}: increase max_iter, or tol",
                ConvergenceWarning,
                stacklevel=5,
            )
        self.kernel_ = terms.kernel(self.beta_)  # Corollary 6
        self.span_ = SpanFeatures(self.kernel_, known.X.copy())


def _kinds(known: TrainingData) -> dict[str, Any]:
    return {"labels": known.label, "numbers": known.target, "pairs": known.pairs}


class SpanFeatures:
    """Coordinates in the span of some rows in the feature space of a kernel.

    For these rows themselves the inner products of the coordinates are the kernel; for two new rows they are
    what it is between their projections. The factor, O(n³) at worst, is computed when it is first needed.
    """

    def __init__(self, kernel: Kernel, rows: Array) -> None:
        self.kernel = kernel
        self.rows = rows

    @cached_property
    def factor(self) -> Factor:
        """The landmarks that span the rows, with their Cholesky factor."""
        with psd_advice("the learned kernel"):
            return factor_gram(self.kernel.gram(self.rows, self.rows))

    def transform(self, X: Array) -> Array:
        """Return the coordinates of rows, computed in blocks of these."""
        Z = self.rows[self.factor.landmarks]
        what = f"{len(Z)} coordinates of {len(X)} rows"
        check_memory(8 * len(X) * len(Z), what, "Transform fewer rows at a time.")
        coordinates = np.empty((len(X), len(Z)))
        for rows in gen_batches(len(X), BLOCK):
            coordinates[rows] = self.factor.coordinates(self.kernel.gram(X[rows], Z))
        return coordinates

    def __getstate__(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "rows": self.rows}
