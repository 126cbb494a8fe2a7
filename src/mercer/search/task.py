"""What a search is given: samples with labels, or with pairs. A task knows its folds and its fits.

A new kind of target is one new file: a `Task`, and a `Race` that keeps its scores, as in `label_task`.
"""

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import is_regressor
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.pipeline import Pipeline

from mercer._typing import Array
from mercer.kernels import Rescaled
from mercer.preprocessing.scaling import ClippedScaler
from mercer.search.candidates import Candidate, are_names, pick
from mercer.search.compilation import compiling
from mercer.search.race import Outcome, Race

ONE_THREAD = 1500  # samples up to which threads of matrix products wait more than they work
Folds = Sequence[tuple[Any, Any]]

# errors whose message is a sentence; of others, the name of the class says more than the message
TELLING = (ValueError, MemoryError, RuntimeError, ArithmeticError, np.linalg.LinAlgError)


class Attempt(NamedTuple):
    """What came of one setting."""

    values: Array  # of each test sample or test pair, as the race keeps them
    fit_seconds: float
    predict_seconds: float


class Plan(NamedTuple):
    """What candidates are compared on."""

    task: "Task"
    folds: Folds  # what to learn from and what to be scored on
    whole: Sequence[Any] | None = None  # for each fold all that could be learned from, if that is more


class Sample(NamedTuple):
    """A few of the samples, to time a candidate on."""

    task: "Task"
    train: Any
    test: Any
    times: float  # how many times as many there are in all


class Fitted(NamedTuple):
    """A candidate fitted to everything that a task holds."""

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


class Task(ABC):
    """What candidates are tried on, and how they are scored."""

    X: Array
    unlabelled: Array | None
    reference: ClassVar[str]  # the candidate that the others are compared with
    candidate_names: ClassVar[tuple[str, ...]]  # of the candidates that it proposes

    @property
    def n_unlabelled(self) -> int:
        """Return the number of samples of which nothing is known."""
        return 0 if self.unlabelled is None else len(self.unlabelled)

    @property
    def n_rows(self) -> int:
        """Return the number of samples, whatever is known of them."""
        return len(self.X) + self.n_unlabelled

    @abstractmethod
    def propose(self, seed: int) -> list[Candidate]:
        """Return the candidates that suit the task, those first that are preferred among equals."""

    @abstractmethod
    def check_candidates(self, given: Any) -> list[Candidate]:
        """Return the candidates that a user names, with their estimators."""

    @abstractmethod
    def plan(self, cv: Any, max_rows: int, seed: int) -> Plan:
        """Return the samples of the comparison, and its folds."""

    @abstractmethod
    def start_race(self, candidates: list[Candidate], folds: Folds, seed: int) -> Race:
        """Return the race of these candidates over these folds."""

    @abstractmethod
    def evaluate(
        self, candidate: Candidate, settings: Sequence[dict[str, Any]], train: Any, test: Any
    ) -> Outcome:
        """Fit each setting to one part and score it on another."""

    @abstractmethod
    def size(self, train: Any) -> int:
        """Return how much there is to learn from."""

    @abstractmethod
    def sample(self, train: Any, test: Any, n: int) -> Sample:
        """Return some n of what there is to learn from."""

    def some_of(self, train: Any, n: int) -> Any:
        """Return some n of what there is to learn from; by default all of it."""
        return train

    @abstractmethod
    def thin(self, folds: Folds, share: float) -> tuple["Task", Folds, float]:
        """Return a share of the samples or more, their folds, and the share that it is."""

    @abstractmethod
    def part(self, share: float, seed: int) -> Self:
        """Return a share of the samples or more, to fit the winner to."""

    @abstractmethod
    def fit(self, candidate: Candidate, setting: dict[str, Any]) -> Fitted:
        """Fit a scaler and a candidate to everything."""

    def fit_scaler(self, X: Array, weight: Array | None = None) -> ClippedScaler:
        """Return a scaler for some samples, of some weight, and all of which nothing is known."""
        if self.unlabelled is not None:
            weight = None if weight is None else np.append(weight, np.ones(len(self.unlabelled)))
            X = np.vstack([X, self.unlabelled])
        return ClippedScaler().fit(X, sample_weight=weight)

    def list_candidates(self, given: Any, seed: int) -> list[Candidate]:
        """Return the candidates to compare: those proposed, some of these by name, or the user's own."""
        if given is not None and not are_names(given):
            return self.check_candidates(given)
        proposed = self.propose(seed)
        return [one for one in proposed if not one.on_request] if given is None else pick(given, proposed)


def try_settings(
    settings: Sequence[dict[str, Any]],
    n_test: int,
    attempt: Callable[[dict[str, Any]], Attempt],
    n_values: int | None = None,
) -> Outcome:
    """Try each setting, and go on if one fails. There are `n_values` for each test sample; None is one.

    The time that is spent on compiling does not count: it comes once, whoever is first.
    """
    shape = (n_test, len(settings)) if n_values is None else (n_test, len(settings), n_values)
    values = np.full(shape, np.nan)
    fit_seconds, predict_seconds = np.zeros(len(settings)), np.zeros(len(settings))
    failures: dict[int, str] = {}
    begin = time.perf_counter()
    with warnings.catch_warnings(), compiling() as spent:
        warnings.simplefilter("ignore")  # of settings that do not suit the data: their scores tell
        for k, setting in enumerate(settings):
            before = spent.seconds
            try:
                values[:, k], fit_seconds[k], predict_seconds[k] = attempt(setting)
            except Exception as error:  # a user's classifier may raise anything: the others go on
                failures[k] = reason(error)
            fit_seconds[k] = max(fit_seconds[k] - (spent.seconds - before), 0.0)
    seconds = max(time.perf_counter() - begin - spent.seconds, 0.0)
    return Outcome(values, fit_seconds, predict_seconds, seconds, failures, spent.seconds)


def reason(error: Exception) -> str:
    """Return what went wrong, in a sentence if the error has one."""
    name = type(error).__name__
    if not str(error):
        return name
    return str(error) if isinstance(error, TELLING) else f"{name}: {error}"
