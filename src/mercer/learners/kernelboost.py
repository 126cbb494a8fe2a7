"""Kernels from few labels and many unlabelled samples, by boosting mixtures of Gaussians [HBW06]."""

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array, Flags
from mercer.array_api import is_of_numpy, is_of_torch, like, namespace, to_numpy
from mercer.kernels import Mixture
from mercer.learners.base import KernelLearner, TrainingData
from mercer.limits import check_memory
from mercer.metrics import alignment, ideal_kernel
from mercer.parameters import check_count, check_option, check_positive
from mercer.scikit import CallbackContext
from mercer.solvers.kernelboost import (
    KINDS,
    Chunklets,
    CollapseError,
    ContradictionError,
    Round,
    TooFewComponentsError,
    WeakLearner,
    boost_mixtures,
    chunk_labels,
    chunk_pairs,
    color_greedily,
)
from mercer.validation import check_rows

CONSTANT = 1e-12  # of a column's largest value: a smaller spread is rounding, and no Gaussian could fit it

EXACT = 1e-6  # an error of posteriors that no later step notices


class KernelBoost(KernelLearner):
    r"""A sum of kernels, each the probability that two samples share a component of a mixture [HBW06].

    .. math:: k(x, x') = \sum_{t=1}^T \alpha_t \sum_{j=1}^M p_t(j | x)\, p_t(j | x'), \tag{1, 4}

    where :math:`p_t(j | x)` is the posterior of component j in the Gaussian mixture of round t. Each mixture
    is fitted by EM to all samples, labelled or not, under the constraints that samples known to be similar
    share a component and samples known to be dissimilar do not (3). All pairs of samples have weights, which
    boosting shifts to the pairs that are still wrong; the weight of pairs of which nothing is known decays, λ
    times as fast as that of a pair that is right. The kernel is positive semi-definite by construction, and
    its features (6) are :math:`\sqrt{\alpha_t}\, p_t(j | x)`.

    An EM iteration takes O(n M d²) for n samples, and there are at most n_rounds × (5 n_starts + max_iter):
    all starts take five, and the best goes on. (A round without a positive edge is tried five times.) What
    the constraints add to an iteration is limited: tens of milliseconds, however many classes or pairs there
    are. The weights take O(l²) time per round, and memory, for l samples in pairs; unlabelled samples enter
    linearly.

    Parameters
    ----------
    n_rounds : int, default=30
        Maximum number of rounds T. It stops earlier when no mixture gets more of the weight right than wrong.
    n_components : int or None, default=None
        Number of components M of each mixture. None: the number of classes; for pairs, the number that a
        greedy colouring needs to keep dissimilar samples apart, and at least two. Use more if classes consist
        of several clusters (with ``dissolve=True``). One component gives a constant kernel.
    covariance_type : {"full", "tied", "diag"}, default="full"
        A covariance matrix per component, one for all components, or diagonal ones.
    decay : float, default=10.0
        λ, the paper's value.
    dissolve : bool, default=False
        Whether to split sets of similar samples where the pairs are right already (Algorithm 2): for classes
        that one Gaussian does not describe.
    n_mutual : int, default=12
        With `dissolve`: similar samples are neighbours if each is among the `n_mutual` nearest of the other.
    normalize : bool, default=True
        Whether the α sum to one in the kernel, so that k(x, x) ≤ 1, and nearly one where the mixtures are
        certain; then the same penalty C suits an SVM on any data. False: as in the paper, where they sum to
        about T (l/n)², 0.02 for few labels.
    max_alpha : float, default=5.0
        No α is larger than this times the fraction of known pairs among all pairs; see the notes.
    prior_strength : float or None, default=None
        ν₀: each covariance is estimated as if ν₀ more samples had been seen, with the variances of all
        samples and no correlations. None: the number of features plus one.
    n_starts : int, default=4
        Number of random starts of EM per round, of which the best fit is kept: by likelihood, and by how well
        it respects the constraints of itself.
    max_iter : int, default=30
        Maximum number of EM iterations per start.
    tol : float, default=1e-3
        EM has converged when the log-likelihood per sample changes by less.
    max_rows : int, default=4000
        With more rows, a sample of this size is used: drawn by class, at least ten of each, with all rows
        that `pairs` mention. Unlabelled rows are all used.
    random_state : int, RandomState instance or None, default=None
        Random seed of the sample of rows and of the starts.

    Attributes
    ----------
    kernel_ : Mixture
        The learned kernel.
    alphas_ : array of shape (T,)
        α of each round, before normalisation.
    edges_ : array of shape (T,)
        r of each round: the weight of the known pairs that are right, minus that of those that are wrong.
    n_rounds_ : int
        Number of rounds, T.
    n_components_ : int
        M.
    n_iter_ : int
        Number of EM iterations in the longest round, from the start that was kept.
    exact_ : bool
        Whether the posteriors under constraints that the mixtures were fitted to are exact, up to 1e-6.
    posterior_error_ : float
        A bound on the error of any of them; 1 where none is known. See the notes.
    sampled_rows_ : array of shape (n_sampled,) or None
        The rows of X that it learned from, if there were more than `max_rows`; None: all.
    sample_alignment_ : tuple of two floats, or None
        The centred alignment of the kernel with the labels, or numbers, of some of these rows, and of others:
        what they differ by is what the sample cost. None: it learned from all rows, or from pairs.
    classes_ : array of shape (n_classes,)
        The class labels, if it was fitted to labels.

    Notes
    -----
    The features are standardised over all samples, labelled or not, and the mixtures are then transformed
    back to the features as given: the kernel does not depend on their scales. Constant features are ignored.
    With more than about a hundred features, take principal components first, as the paper does. Tensors are
    computed with where they are, under scikit-learn's array API convention.

    Positive constraints are exact. So are negative ones where the sums over all allowed assignments are small
    enough (classes, up to about ten components; and most lists of pairs). Elsewhere those dissimilar pairs
    are left out of the sums that the densities keep apart anyway, with a bound on the error, which is
    next to nothing as a rule. Where that does not do, because many classes overlap, or because there are
    hardly enough components to keep dissimilar samples apart, belief propagation is used, which may be far
    off: then `posterior_error_` is 1, `exact_` is false, and a warning says so. Pairs that follow from listed
    ones count as listed.

    Where the text leaves things open, or where this departs from it:

    - Z of (3), which depends on the mixture's weights, is left out: EM climbs p(X, Ω), not p(X | Ω).
    - Weights of samples count in the M-step alone, and are scaled to sum to the effective sample size: late
      rounds put nearly all of the weight on few samples, where the prior of the covariances (not in the
      paper) matters most.
    - Initial means are drawn as in k-means++ by weight, a set of similar samples being one point. The best of
      `n_starts` fits is kept: one alone merges two classes too often, and so does the most likely one.
    - r → 1 makes α infinite. It is clipped at artanh(1 − 1/N) for N known pairs, and by `max_alpha`: once the
      weight of unlabelled samples has decayed, r grows by a factor n²/N, and these rounds would outweigh
      those that have seen them.
    - Where r ≤ 0, other starts are tried, five in all. If that is in round one, the best mixture is kept,
      with a warning: the kernel is never empty.
    - The comparison of Algorithm 2 has a tolerance; before round one all weights are equal.
    - The numerator of (4) should have j for k, and (6) sums to M.
    - DistBoost's weak hypothesis is not an option: it is no kernel.

    References
    ----------
    [HBW06] T. Hertz, A. Bar-Hillel, D. Weinshall. Learning a kernel function for classification with small
    training samples. ICML 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from mercer import KernelBoost, KernelSVC
    >>> X, y = load_wine(return_X_y=True)
    >>> few = np.random.default_rng(0).permutation(178)[:18]
    >>> others = np.setdiff1d(np.arange(178), few)
    >>> model = KernelSVC(KernelBoost(n_rounds=10, random_state=0), C=300.0)
    >>> model = model.fit(X[few], y[few], unlabelled=X[others])
    >>> bool(model.score(X[others], y[others]) > 0.9)
    True
    """

    _takes_all_unlabelled = True

    def __init__(
        self,
        *,
        n_rounds: int = 30,
        n_components: int | None = None,
        covariance_type: str = "full",
        decay: float = 10.0,
        dissolve: bool = False,
        n_mutual: int = 12,
        normalize: bool = True,
        max_alpha: float = 5.0,
        prior_strength: float | None = None,
        n_starts: int = 4,
        max_iter: int = 30,
        tol: float = 1e-3,
        max_rows: int = 4000,
        random_state: Any = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.decay = decay
        self.dissolve = dissolve
        self.n_mutual = n_mutual
        self.normalize = normalize
        self.max_alpha = max_alpha
        self.prior_strength = prior_strength
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.tol = tol
        self.max_rows = max_rows
        self.random_state = random_state

    def kernel_after(self, n_rounds: int) -> Mixture:
        """Return the kernel after the first `n_rounds` rounds, its own α normalised. It shares its arrays."""
        check_is_fitted(self)
        check_count(n_rounds, "n_rounds")
        if n_rounds > self.n_rounds_:
            raise ValueError(f"n_rounds must be at most {self.n_rounds_}, the number of rounds of the fit")
        alpha, whole = self._coefficients(n_rounds), self.kernel_
        return Mixture(alpha, whole.offsets[:n_rounds], whole.means[:n_rounds], whole.factors[:n_rounds])

    def staged_kernels(self) -> Iterator[Mixture]:
        """Return the kernels after one round, two rounds, and so on."""
        check_is_fitted(self)
        return (self.kernel_after(t + 1) for t in range(self.n_rounds_))

    def kernel_for(self, X: Any, y: Any) -> Mixture:
        """Return the truncated kernel that is best aligned with some labels [HBW06, Section 2.4].

        Of the kernels after 1, …, T rounds, the first one of the largest alignment with the matrix that is 1
        for samples of one class and −1 for others: yyᵀ for two classes.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Samples, such as the training samples of two of the classes.
        y : array-like of shape (n,)
            Their classes.
        """
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False)
        label = column_or_1d(to_numpy(y) if is_of_torch(y) else y)
        if len(label) != len(rows):
            raise ValueError(f"X has {len(rows)} rows, y has {len(label)}: they must be the same")
        target = 2.0 * ideal_kernel(label) - 1.0
        F = to_numpy(self.kernel_.transform(rows)).reshape(len(rows), self.n_rounds_, self.n_components_)
        K, scores = np.zeros((len(rows), len(rows))), []
        for t in range(self.n_rounds_):
            K += F[:, t] @ F[:, t].T
            scores.append(alignment(K, target))
        return self.kernel_after(int(np.argmax(scores)) + 1)

    def _learn(self, known: TrainingData, context: CallbackContext) -> None:
        chunklets = _chunklets(known)
        if is_of_numpy(known.X):
            self._check_memory(known, len(chunklets.rows))
        standard = standardize_rows(known.X, known.unlabelled)
        self.n_components_ = self._count_components(chunklets)
        rounds = self._boost(standard.rows, chunklets, context)
        if rounds[0].alpha == 0.0:
            if self.n_components_ > 1:  # one component is constant, as it should be
                warnings.warn(
                    "no mixture distinguishes similar from dissimilar samples better than chance; the kernel "
                    "is that of the best one. Check the labels or pairs, or try dissolve=True",
                    ConvergenceWarning,
                    stacklevel=4,
                )
            rounds = [rounds[0]._replace(alpha=1.0)]
        self._keep(standard, rounds)
        for name in ("alphas_", "edges_", "classes_"):
            if hasattr(self, name):
                setattr(self, name, like(known.X, getattr(self, name)))
        if self.posterior_error_ >= 1.0:
            n_unknown = sum(r.error >= 1.0 for r in rounds)
            warnings.warn(
                f"in {n_unknown} of {len(rounds)} rounds, the posteriors under the dissimilar samples are "
                "approximations that may be far off. Judge the kernel by held-out data, or increase "
                "n_components",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _boost(self, Z: Array, chunklets: Chunklets, context: CallbackContext) -> list[Round]:
        """Run the booster, and say what to do where it cannot go on."""
        try:
            return boost_mixtures(
                Z,
                chunklets,
                self._weak_learner(Z.shape[1]),
                check_random_state(self.random_state),
                n_rounds=self.n_rounds,
                decay=float(self.decay),
                max_alpha=float(self.max_alpha),
                n_mutual=int(self.n_mutual) if self.dissolve else None,
                progress=self._report_steps(context, "round"),
            )
        except TooFewComponentsError as error:
            raise ValueError(f"{error}. Increase n_components") from error
        except CollapseError as error:
            raise ValueError(f"{error}. Increase prior_strength") from error

    def _check_parameters(self) -> None:
        for name in ("n_rounds", "n_mutual", "n_starts", "max_iter"):
            check_count(getattr(self, name), name)
        if self.n_components is not None:
            check_count(self.n_components, "n_components")
        check_option(self.covariance_type, "covariance_type", KINDS)
        for name in ("decay", "max_alpha", "tol"):
            check_positive(getattr(self, name), name)
        if self.prior_strength is not None:
            check_positive(self.prior_strength, "prior_strength")
        for name in ("dissolve", "normalize"):
            check_option(getattr(self, name), name, (True, False))

    def _most_steps(self) -> int:
        return int(self.n_rounds)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    def _check_memory(self, known: TrainingData, n_known: int) -> None:
        """Count the large arrays: of the pairs, of the rows, and the covariances of all rounds."""
        d, M = known.X.shape[1], self.n_components or 10
        n = len(known.X) + (0 if known.unlabelled is None else len(known.unlabelled))
        cells = 8 * n_known**2 + 4 * n * (d + M)
        cells += 2 * self.n_rounds * M * d * (1 if self.covariance_type == "diag" else d)
        advice = "Lower max_rows, take principal components first, or set covariance_type='diag'."
        check_memory(8 * cells, f"KernelBoost on {n} rows of {d} columns", advice)

    def _count_components(self, chunklets: Chunklets) -> int:
        if self.n_components is not None:
            return int(self.n_components)
        return max(2, int(color_greedily(chunklets).max(initial=0)) + 1)

    def _weak_learner(self, n_features: int) -> WeakLearner:
        strength = n_features + 1.0 if self.prior_strength is None else float(self.prior_strength)
        return WeakLearner(
            self.n_components_,
            self.covariance_type,
            strength,  # as if rows of covariance I had been seen: these are standardised
            int(self.n_starts),
            int(self.max_iter),
            float(self.tol),
        )

    def _coefficients(self, n_rounds: int) -> Array:
        alpha: Array = to_numpy(self.alphas_[:n_rounds])
        return alpha / alpha.sum() if self.normalize else alpha

    def _keep(self, standard: "Standardized", rounds: list[Round]) -> None:
        self.alphas_ = np.array([r.alpha for r in rounds])
        self.edges_ = np.array([r.edge for r in rounds])
        self.n_iter_ = max(r.n_iter for r in rounds)
        self.n_rounds_ = len(rounds)
        self.posterior_error_ = max(r.error for r in rounds)
        self.exact_ = self.posterior_error_ <= EXACT
        self.kernel_ = Mixture(
            self._coefficients(len(rounds)),
            np.stack([r.model.offsets for r in rounds]),
            standard.place(np.stack([r.model.means for r in rounds])),
            standard.stretch(np.stack([r.model.factors for r in rounds]), self.covariance_type == "diag"),
        )


def _chunklets(known: TrainingData) -> Chunklets:
    if known.label is not None:
        return chunk_labels(known.label)
    assert known.pairs is not None
    if len(known.pairs.dissimilar) == 0:
        raise ValueError("all pairs are similar, which one component explains: give dissimilar pairs as well")
    try:
        return chunk_pairs(known.pairs, len(known.X))
    except ContradictionError as error:
        raise ValueError(f"{error}. Drop one of these pairs") from error


class Standardized(NamedTuple):
    """Standardised rows without the constant columns, and how they were made."""

    rows: Array  # (n, number of columns that vary)
    centre: Array  # (d,)
    spread: Array  # (d,), zero for constant columns

    @property
    def varies(self) -> Flags:
        """Return which columns are not constant."""
        varying: Flags = self.spread > 0.0
        return varying

    def place(self, points: Array) -> Array:
        """Return points (…, columns that vary) in the columns as they were given."""
        placed = np.broadcast_to(self.centre, (*points.shape[:-1], len(self.centre))).copy()
        placed[..., self.varies] += points * self.spread[self.varies]
        return placed

    def stretch(self, factors: Array, diagonal: bool) -> Array:
        """Return factors P of inverse covariances for the given columns; zero for constant ones."""
        spread, d = self.spread[self.varies], len(self.spread)
        if diagonal:
            stretched = np.zeros((*factors.shape[:-1], d))
            stretched[..., self.varies] = factors / spread
            return stretched
        stretched = np.zeros((*factors.shape[:-2], d, d))
        stretched[..., np.ix_(self.varies, self.varies)[0], np.ix_(self.varies, self.varies)[1]] = (
            factors / spread[:, None]
        )
        return stretched


def standardize_rows(X: Array, more: Array | None) -> Standardized:
    """Return all rows, `more` below X, standardised; raise ValueError if they are all equal."""
    xp = namespace(X)
    rows = xp.astype(X if more is None else xp.concat([X, more]), xp.float64)  # a copy
    centre = xp.mean(rows, axis=0)
    size = to_numpy(xp.max(xp.abs(rows), axis=0))
    rows -= centre
    spread = to_numpy(xp.sqrt(xp.mean(rows**2, axis=0)))
    spread[spread <= CONSTANT * size] = 0.0
    if not np.any(spread):
        raise ValueError("all rows are equal: no kernel can distinguish them")
    varies = spread > 0.0
    rows = rows[:, like(rows, varies)] / like(rows, spread[varies])
    return Standardized(rows, to_numpy(centre), spread)
