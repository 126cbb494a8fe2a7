"""All perceptrons at once: the machines of the perceptron kernel, exact or by slices [LL05, V]."""

from dataclasses import dataclass
from typing import Any

from mercer._typing import Array
from mercer.kernels import Perceptron
from mercer.machines.classifier import Classifier
from mercer.machines.machine import NamedMachine
from mercer.machines.problems import How
from mercer.machines.regressor import Regressor


@dataclass(kw_only=True, eq=False, repr=False)
class PerceptronMachine(NamedMachine):
    """What the machines of the perceptron kernel share: it, and how to compute with it."""

    method: str = "auto"
    n_directions: int | None = None
    max_bins: int | None = 64
    n_landmarks: int | None = None

    _methods = ("auto", "gram", "sliced", "landmarks")

    def _kernels(self, X: Array, y: Any, weight: Array, given: dict[str, Any]) -> list[Any]:
        return [Perceptron()]

    def _how(self) -> How:
        return How(self.method, self.n_landmarks, self.max_bins, self.n_directions)


@dataclass(kw_only=True, eq=False, repr=False)
class PerceptronSVC(Classifier, PerceptronMachine):
    r"""The soft-margin SVM over all perceptrons [LL05, Definition 3 and (P2)].

    The perceptron kernel :math:`\Delta_P - \|x - x'\|_2` is the inner product of what infinitely many linear
    threshold units say about two samples: the SVM is a neural network with one infinitely wide hidden layer.
    It works about as well as the Gaussian kernel and has no width to tune.

    Exact, it needs the Gram matrix; LIBSVM minimises the hinge. By slices, it needs none: for a unit vector θ
    drawn at random, :math:`\|z\|_2 = c_D \, E|\theta^\top z|`, so that the kernel is the average of stump
    kernels on projections, and the solver of `StumpSVC` trains it on `n_directions` of them.

    Parameters
    ----------
    C : float or "cv", default=1.0
        The penalty of margin violations. Features in [−1, 1] need values of about 2⁻¹⁰ to 2³ [LL05, VI]. "cv"
        is the best of `Cs` by cross-validation.
    method : {"auto", "gram", "sliced", "landmarks"}, default="auto"
        "gram" needs 16 n² bytes (n = 3000: 0.14 GB, n = 20 000: 6.4 GB) and says so before it starts if the
        machine has less. "sliced" needs some n × n_directions bytes. "landmarks": samples drawn at random
        stand for all. "auto" takes the Gram matrix up to 3000 samples, and with the hinge up to 15 000 where
        slices take longer: if they are at most 4 n_directions for each class but one.
    n_directions : int or None, default=None
        Number of projections of "sliced"; None takes 16 for each feature.
    max_bins : int or None, default=64
        Number of bins of each projection, as in `StumpSVC`; for "sliced" alone.
    n_landmarks : int or None, default=None
        Number of landmarks of "landmarks", as in `KernelSVC`.
    max_iter : int or None, default=None
        Maximum number of iterations: of LIBSVM, which None leaves without limit, or Newton steps, 1000.
    random_state : int, RandomState or None, default=None
        Random seed of the directions, of landmarks, and of the samples that choose C.
    loss, Cs, cv, scoring, tol, class_weight, multi_class, n_jobs
        As in `StumpSVC`.

    Attributes
    ----------
    classes_, intercept_, support_, dual_coef_, objective_, residual_, n_iter_, C_, edge_, Cs_, scores_
        As in `StumpSVC`.
    method_ : str
        How it was computed.

    Examples
    --------
    >>> from mercer import PerceptronSVC
    >>> from mercer.datasets import threenorm
    >>> X, y = threenorm(300, random_state=0)
    >>> model = PerceptronSVC(C=0.125).fit(X, y)
    >>> X_new, y_new = threenorm(1000, random_state=1)
    >>> model.score(X_new, y_new) > 0.8
    True
    """


@dataclass(kw_only=True, eq=False, repr=False)
class PerceptronRegressor(Regressor, PerceptronMachine):
    r"""Regression with the perceptron kernel [LL05, Definition 3].

    The perceptron kernel :math:`\Delta_P - \|x - x'\|_2` is the inner product of what infinitely many linear
    threshold units say about two samples: the machine is a neural network with one infinitely wide hidden
    layer. Unlike that of stumps it sees how features act together, and it has no width to tune.

    Exact, it needs the Gram matrix: with the squared error it is the thin-plate-like spline of the kernel
    −‖x − x'‖₂. By slices, it needs none: the kernel is the average of stump kernels on projections, and the
    solver of `StumpRegressor` fits `n_directions` of them.

    Parameters
    ----------
    C : float or "cv", default=1.0
        The weight of the losses against the penalty. Standardised features need values of about 2⁻⁸ to 2¹⁰.
        "cv" is the best of `Cs` by cross-validation.
    method, n_directions, max_bins, n_landmarks
        As in `PerceptronSVC`. "auto" takes the Gram matrix, of O(n³) time, up to 3000 samples.
    random_state : int, RandomState or None, default=None
        Random seed of the folds, the directions and the landmarks.
    loss, quantile, epsilon, Cs, cv, scoring, tol, max_iter, n_jobs
        As in `StumpRegressor`.

    Attributes
    ----------
    intercept_, objective_, residual_, n_iter_, C_, edge_, Cs_, scores_, unseen_
        As in `StumpRegressor`.
    method_ : str
        How it was computed.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import PerceptronRegressor
    >>> X, y = make_friedman1(500, n_features=5, random_state=0)
    >>> model = PerceptronRegressor(C=64.0).fit(X, y)
    >>> X_new, y_new = make_friedman1(500, n_features=5, random_state=1)
    >>> model.score(X_new, y_new) > 0.9
    True
    """
