"""A learned kernel, and a share of the plain one."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.callback import CallbackContext
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array
from mercer.kernels import Combination, Projected
from mercer.learners.base import KernelLearner, TrainingData
from mercer.learners.kernelboost import KernelBoost
from mercer.parameters import check_positive
from mercer.samples import check_rows

SOME_ROWS = 500  # on which the variance of a kernel is measured


class BlendedKernel(KernelLearner):
    r"""A learned kernel, and a share of the plain one.

    .. math:: k(x, x') = k_\text{learned}(x, x')
              + \sigma \frac{V_\text{learned}}{V_\text{plain}} \langle x, x' \rangle,

    where V is the variance of the samples in the space of a kernel, and σ the share. Few pairs say little,
    and a kernel that was learned from them may know nothing else: to `KernelBoost`, samples of one cluster
    look alike. The plain kernel orders what the learned one leaves equal. It depends on the scales of the
    features: standardise them. This is of none of the five papers.

    Parameters
    ----------
    learner : KernelLearner or None, default=None
        What learns. None: `KernelBoost` with its defaults.
    share : float, default=0.3
        σ. As it was on heart, pima and digits of USPS with 100 pairs of either kind: neighbours were
        better with more of the plain kernel, clusters as good up to here.

    Attributes
    ----------
    kernel_ : Combination
        The sum.
    learner_ : KernelLearner
        The fitted learner.
    classes_ : array of shape (n_classes,)
        The class labels, if it was fitted to labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import BlendedKernel, KernelBoost
    >>> X, y = load_iris(return_X_y=True)
    >>> blended = BlendedKernel(KernelBoost(n_rounds=2, random_state=0)).fit(X, y)
    >>> blended.transform(X).shape  # three components in two rounds, and four features
    (150, 10)
    """

    def __init__(self, learner: Any = None, *, share: float = 0.3) -> None:
        self.learner = learner
        self.share = share

    def transform(self, X: Any) -> Array:
        """Return the learner's features and the given ones, whose inner products are the kernel."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        return np.hstack([self.learner_.transform(X), np.sqrt(self.kernel_.weights[1]) * X])

    @property
    def _n_features_out(self) -> int:
        return int(self.learner_._n_features_out + self.n_features_in_)

    def _check_parameters(self) -> None:
        check_positive(self.share, "share")

    def _learn(self, known: TrainingData, context: CallbackContext) -> None:
        learner = KernelBoost() if self.learner is None else clone(self.learner)
        self.learner_ = learner.fit(known.X, known.label, pairs=known.pairs, unlabelled=known.unlabelled)
        some, plain = known.X[:: -(-len(known.X) // SOME_ROWS)], Projected(np.eye(known.X.shape[1]))
        weight = self.share * _variance(self.learner_.kernel_, some) / _variance(plain, some)
        self.kernel_ = Combination([self.learner_.kernel_, plain], np.array([1.0, weight]))


def _variance(kernel: sk_kernels.Kernel, X: Array) -> float:
    """Return the variance of samples in the space of a kernel, and a little more than zero in any case."""
    K = np.asarray(kernel(X, X))
    diagonal = float(np.trace(K)) / len(K)
    return max(diagonal - float(K.mean()), 1e-12 * abs(diagonal))
