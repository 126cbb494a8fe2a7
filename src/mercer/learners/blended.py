"""A learned kernel, and one that knows which samples are near."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.covariance import ledoit_wolf
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array
from mercer.kernels import Combination, Mapped
from mercer.learners.base import KernelLearner, TrainingData
from mercer.learners.kernelboost import KernelBoost
from mercer.learners.superkernel import SpanFeatures
from mercer.pairs import connected_sets
from mercer.parameters import check_option, check_positive
from mercer.scikit import CallbackContext
from mercer.validation import check_rows, some_rows

SOME_ROWS = 500  # on which the variance of a kernel is measured, and how near neighbours are
NEAR = 5  # the neighbour whose distance is the width
LEAST_VARIANCE = 1e-6  # of similar samples, of their mean variance: constant columns have none


class BlendedKernel(KernelLearner):
    r"""A learned kernel, and one that knows which samples are near.

    .. math:: k(x, x') = k_\text{learned}(x, x')
              + \sigma \frac{V_\text{learned}}{V_\text{near}} \exp(-d(x, x')^2 / r^2),

    where r is the median distance of a sample to its fifth nearest, V is the variance of the samples
    in the space of a kernel, and σ the share. Few pairs say little, and a kernel that was learned from them
    may know nothing else: to `KernelBoost`, samples of one cluster look alike, and a sample in the wrong one
    has all its neighbours there. The kernel of near samples orders what the learned one leaves equal. It is
    so narrow that clusters do not notice it: beyond the nearest, all samples are equally far. (An identity
    matrix adds the same to the objective of k-means whatever the clusters are.) It depends on the scales of
    the features: standardise them. This is of none of the five papers.

    With more learners, the learned kernel is the mean of theirs, all scaled to the variance of the first:
    kernels of clusters from different mixtures, for instance, which are wrong at different places.

    Parameters
    ----------
    learner : KernelLearner or None, default=None
        What learns. None: `KernelBoost` with its defaults.
    others : sequence of KernelLearner, default=()
        What else learns.
    metric : {"plain", "within"}, default="plain"
        The metric d. "plain": the Euclidean one. "within": :math:`d^2 = (x - x')^\top C^{-1} (x - x')`, where
        C is the covariance of similar samples around their means (relevant component analysis), shrunk
        towards a multiple of the identity as Ledoit and Wolf do: few pairs change the metric little. Then
        all learners learn twice, from the features and from :math:`C^{-1/2} x`, and :math:`\exp(-d^2 / m)`,
        m the median of d² over all pairs of samples, is also one of the learned kernels. Where nobody says
        which samples are similar, it is the plain metric.
    share : float, default=1.0
        σ. With 60 to 200 pairs of either kind of USPS, MNIST, texture, vehicle, heart, pima, spambase,
        thyroid and letter, neighbours were better up to here, and clusters as good as without it.
    max_rows : int, default=4000
        With more rows, a sample of this size is used: drawn by class, at least ten of each, with all rows
        that `pairs` mention. Unlabelled rows are sampled likewise.
    random_state : int, RandomState instance or None, default=None
        Random seed of the sample of rows.

    Attributes
    ----------
    kernel_ : Combination
        The sum.
    learner_ : KernelLearner
        The fitted learner.
    others_ : list of KernelLearner
        The other ones.
    within_ : list of KernelLearner
        All of them again, in the metric "within"; none in the plain one.
    within_map_ : array of shape (n_features, n_features) or None
        The A of :math:`C^{-1} = A A^\top`, if there is such a metric.
    radius_ : float
        r.
    near_ : SpanFeatures
        The features that the Gaussian kernels have: coordinates in the span of the samples of `fit`.
    sampled_rows_ : array of shape (n_sampled,) or None
        The rows of X that it learned from, if there were more than `max_rows`; None: all.
    sample_alignment_ : tuple of two floats, or None
        The centred alignment of the kernel with the labels, or numbers, of some of these rows, and of others:
        what they differ by is what the sample cost. None: it learned from all rows, or from pairs.
    classes_ : array of shape (n_classes,)
        The class labels, if it was fitted to labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import BlendedKernel, KernelBoost
    >>> X, y = load_iris(return_X_y=True)
    >>> blended = BlendedKernel(KernelBoost(n_rounds=2, random_state=0)).fit(X, y)
    >>> round(blended.radius_, 2)
    0.39
    """

    _takes_numbers = True

    def __init__(
        self,
        learner: Any = None,
        *,
        others: Sequence[Any] = (),
        metric: str = "plain",
        share: float = 1.0,
        max_rows: int = 4000,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.others = others
        self.metric = metric
        self.share = share
        self.max_rows = max_rows
        self.random_state = random_state

    def transform(self, X: Any) -> Array:
        """Return the learners' features, and coordinates in the span of the samples of `fit`.

        Their inner products are the kernel if one of two samples is of `fit`.
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        features = [one.transform(X) for one in (self.learner_, *self.others_)]
        if self.within_map_ is not None:
            features += [one.transform(X @ self.within_map_) for one in self.within_]
        weights = np.sqrt(self.kernel_.weights)
        return np.hstack([*(w * F for w, F in zip(weights, features, strict=False)), self.near_.transform(X)])

    @property
    def _n_features_out(self) -> int:
        learners = (self.learner_, *self.others_, *self.within_)
        return sum(one._n_features_out for one in learners) + len(self.near_.factor.landmarks)

    def _check_parameters(self) -> None:
        check_option(self.metric, "metric", ("plain", "within"))
        check_positive(self.share, "share")

    def _learn(self, known: TrainingData, context: CallbackContext) -> None:
        y = None if known.label is None else self.classes_[known.label]
        learners = [KernelBoost() if self.learner is None else self.learner, *self.others]
        self.learner_, *self.others_ = (_fit(one, known, y) for one in learners)
        every = known.X if known.unlabelled is None else np.vstack([known.X, known.unlabelled])
        learned = [one.kernel_ for one in (self.learner_, *self.others_)]
        some = every[some_rows(len(every), SOME_ROWS)]
        self.within_, A = list[Any](), within_map(known) if self.metric == "within" else None
        self.within_map_ = A
        if A is None:
            self.radius_ = _radius(every, some)
            gaussians = [_gaussian(self.radius_)]
        else:
            self.within_ = [_fit(one, mapped(known, A), y) for one in learners]
            learned += [Mapped(one.kernel_, A) for one in self.within_]
            self.radius_ = _radius(every @ A, some @ A)
            wide = np.median(pdist(some @ A)) or 1.0
            gaussians = [Mapped(_gaussian(width), A) for width in (wide, self.radius_)]
        kernels = [*learned, *gaussians]
        variances = np.array([_variance(kernel, some) for kernel in kernels])
        weights = np.full(len(kernels), 1.0 / (len(kernels) - 1))
        weights[-1] = self.share
        self.kernel_ = Combination(kernels, weights * variances[0] / variances)
        theirs = Combination(gaussians, self.kernel_.weights[len(learned) :])
        self.near_ = SpanFeatures(theirs, known.X.copy())


def within_map(known: TrainingData) -> Array | None:
    """Return the A of C⁻¹ = AAᵀ, for the shrunk covariance C of similar samples; None if none are known."""
    if known.label is not None:
        group = known.label
    elif known.pairs is not None:
        group = connected_sets(known.pairs.similar, len(known.X))
    else:
        return None
    size = np.bincount(group)
    several = size[group] > 1
    means = np.stack([np.bincount(group, column) for column in known.X.T], axis=1) / size[:, None]
    rows = (known.X - means[group])[several]
    if not np.any(rows):
        return None
    n_free = len(rows) - np.count_nonzero(size > 1)  # a mean takes one sample of each set
    C, _ = ledoit_wolf(rows * np.sqrt(len(rows) / n_free), assume_centered=True)
    values, V = np.linalg.eigh(C)
    A: Array = V / np.sqrt(np.maximum(values, LEAST_VARIANCE * values.mean()))
    return A


def mapped(known: TrainingData, A: Array) -> TrainingData:
    """Return what is known, with samples in another metric."""
    unlabelled = None if known.unlabelled is None else known.unlabelled @ A
    return known._replace(X=known.X @ A, unlabelled=unlabelled)


def _gaussian(width: float) -> sk_kernels.RBF:
    """Return exp(−d²/w²)."""
    return sk_kernels.RBF(width / np.sqrt(2.0), "fixed")


def _fit(learner: Any, known: TrainingData, y: NDArray[Any] | None) -> Any:
    given = {"target": known.target, "pairs": known.pairs, "unlabelled": known.unlabelled}
    return clone(learner).fit(known.X, y, **given)


def _radius(every: Array, some: Array) -> float:
    """Return the median distance to a near neighbour, of those that are not zero; 1 if all are."""
    n_near = min(NEAR + 1, len(every))  # a sample is its own neighbour
    distances = NearestNeighbors(n_neighbors=n_near).fit(every).kneighbors(some)[0][:, -1]
    distances = distances[distances > 0.0]
    return float(np.median(distances)) if len(distances) else 1.0


def _variance(kernel: sk_kernels.Kernel, X: Array) -> float:
    """Return the variance of samples in the space of a kernel, and a little more than zero in any case."""
    K = np.asarray(kernel(X, X))
    diagonal = float(np.trace(K)) / len(K)
    return max(diagonal - float(K.mean()), 1e-12 * abs(diagonal))
