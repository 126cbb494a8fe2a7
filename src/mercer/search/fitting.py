"""Fits of a candidate: to a part of the samples, to be judged by the others, and to all of them."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.pipeline import Pipeline

from mercer._typing import Array, Index
from mercer.kernels import Rescaled
from mercer.limits import one_thread
from mercer.machines import KernelRegressor, KernelSVC
from mercer.machines.kernel import learn
from mercer.preprocessing.scaling import ClippedScaler
from mercer.search.candidates import Candidate, kernel_of
from mercer.solvers.libsvm import without_last_digits

ONE_THREAD = 1500  # samples up to which threads of matrix products wait more than they work
OF_THE_MACHINE = ("C", "class_weight")  # settings that a learned kernel does not depend on
# errors whose message is a sentence; of others, the name of the class says more than the message
TELLING = (ValueError, MemoryError, RuntimeError, ArithmeticError, np.linalg.LinAlgError)


class Judge(Protocol):
    """A task, as far as an evaluation knows it."""

    def fit(
        self, candidate: Candidate, setting: Mapping[str, Any], train: Any, shared: Any = None
    ) -> "Fitted":
        """Fit a setting to what there is to learn from."""

    def say(self, fitted: "Fitted", test: Any) -> Array:
        """Return what a fit says of what was held out."""

    def losses(self, values: Array, test: Any) -> Array:
        """Return what these values cost."""


class Fitted(NamedTuple):
    """A candidate that is fitted: what scales samples, and what was learned of scaled ones."""

    scaler: ClippedScaler
    estimator: Any  # None: the plain metric, which has nothing to fit
    kernel: sk_kernels.Kernel | None  # of scaled samples; None: it has none that is known

    @property
    def pipeline(self) -> Pipeline:
        """Return the scaler and the estimator as one."""
        if self.estimator is None:
            return Pipeline([("scale", self.scaler)])
        role = "svm" if hasattr(self.estimator, "predict") else "kernel"
        role = "regressor" if is_regressor(self.estimator) else role
        return Pipeline([("scale", self.scaler), (role, self.estimator)])

    @property
    def unscaled_kernel(self) -> Rescaled | None:
        """Return the kernel of samples as they are."""
        if self.kernel is None:
            return None
        scaler = self.scaler
        return Rescaled(self.kernel, scaler.mean_, scaler.scale_, scaler.low_, scaler.high_)


class Outcome(NamedTuple):
    """What came of a candidate's settings on one fold."""

    values: list[Array | None]  # what each setting said of the test part; None: it failed
    losses: list[Array | None]
    fit_seconds: Array  # each with the time that its kernel took, be it shared or not
    predict_seconds: Array
    seconds: float  # of all together
    failures: dict[int, str]  # why a setting has no values


def evaluate(
    task: Judge,
    candidate: Candidate,
    settings: Sequence[dict[str, Any]],
    train: Any,
    test: Any,
    now: Callable[[], float],
) -> Outcome:
    """Fit each setting to one part, and judge what it says of another; go on if one fails."""
    n = len(settings)
    values, losses = [None] * n, [None] * n  # type: tuple[list[Array | None], list[Array | None]]
    fit_seconds, predict_seconds, failures = np.zeros(n), np.zeros(n), dict[int, str]()
    shared: dict[str, tuple[Any, float]] = {}
    begin = now()
    with warnings.catch_warnings(), without_last_digits():
        warnings.simplefilter("ignore")  # of settings that do not suit the data: their scores tell
        for k, setting in enumerate(settings):
            try:
                start = now()
                before = sum(seconds for _, seconds in shared.values())
                fitted = task.fit(candidate, setting, train, _Kernels(shared, now))
                middle, learned = now(), sum(seconds for _, seconds in shared.values())
                said = task.say(fitted, test)
                predict_seconds[k] = now() - middle
                fit_seconds[k] = middle - start + (learned if learned == before else 0.0)
                losses[k], values[k] = task.losses(said, test), said
            except Exception as error:  # a user's estimator may raise anything: the others go on
                failures[k] = reason(error)
    return Outcome(values, losses, fit_seconds, predict_seconds, now() - begin, failures)


class _Kernels(NamedTuple):
    """Learned kernels that several settings use, and what tells how long they took to learn."""

    known: dict[str, tuple[Any, float]]
    now: Callable[[], float]


class Scaled(NamedTuple):
    """Samples as candidates take them, and those of which nothing is known, if there are any."""

    scaler: ClippedScaler
    Z: Array
    more: dict[str, Array]

    @classmethod
    def of(cls, X: Array, unlabelled: Array | None, weight: Array | None) -> "Scaled":
        """Fit a scaler to some samples, and scale them."""
        scaler = fit_scaler(X, unlabelled, weight)
        more = {} if unlabelled is None else {"unlabelled": scaler.transform(unlabelled)}
        return cls(scaler, scaler.transform(X), more)


def fit_samples(
    candidate: Candidate,
    setting: Mapping[str, Any],
    scaled: Scaled,
    y: NDArray[Any],
    weight: Array | None,
    kernels: _Kernels | None = None,
) -> Fitted:
    """Fit a candidate to scaled samples and their targets."""
    scaler, Z, more = scaled
    estimator = clone(candidate.estimator).set_params(**setting)
    if len(Z) <= candidate.gram_rows and getattr(estimator, "method", None) == "landmarks":
        estimator.set_params(method="gram")
    if kernels is not None and setting.get("C") is not None and takes_unlabelled(estimator):
        estimator.set_params(learner=_shared_kernel(estimator, setting, Z, y, more, kernels))
    given: dict[str, Any] = dict(more) if takes_unlabelled(estimator) else {}
    if weight is not None:
        given["sample_weight"] = weight
    with one_thread(len(Z) + sum(map(len, more.values())) <= ONE_THREAD):
        fitted = estimator.fit(Z, y, **given)
    return Fitted(scaler, fitted, kernel_of(fitted, Z))


def fit_scaler(X: Array, unlabelled: Array | None, weight: Array | None = None) -> ClippedScaler:
    """Return a scaler for some samples, of some weight, and all of which nothing is known."""
    if unlabelled is not None:
        weight = None if weight is None else np.append(weight, np.ones(len(unlabelled)))
        X = np.vstack([X, unlabelled])
    return ClippedScaler().fit(X, sample_weight=weight)


def _shared_kernel(
    estimator: Any, setting: Mapping[str, Any], Z: Array, y: Index, more: dict[str, Array], kernels: _Kernels
) -> Any:
    """Return the learned kernel of a setting, which others that differ in C alone have, too.

    Without a C of its own (None) a machine asks its learner for one: then the learner stays.
    """
    key = joblib.hash({name: value for name, value in setting.items() if name not in OF_THE_MACHINE})
    if key not in kernels.known:
        start = kernels.now()
        kernel = learn(estimator, Z, y, more).kernel_
        kernels.known[key] = kernel, kernels.now() - start
    return kernels.known[key][0]


def takes_unlabelled(estimator: Any) -> bool:
    """Whether a candidate learns from samples without targets."""
    return isinstance(estimator, KernelSVC | KernelRegressor) and hasattr(estimator.learner, "fit")


def reason(error: Exception) -> str:
    """Return what went wrong, in a sentence if the error has one."""
    name = type(error).__name__
    if not str(error):
        return name
    return str(error) if isinstance(error, TELLING) else f"{name}: {error}"
