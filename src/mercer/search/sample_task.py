"""A search whose candidates are judged by what they say of held-out samples: of their classes, or numbers."""

import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from mercer._typing import Array, Index
from mercer.limits import one_thread
from mercer.machines import KernelRegressor, KernelSVC
from mercer.machines.machine import learn
from mercer.search.candidates import Candidate, kernel_of
from mercer.search.race import Outcome
from mercer.search.scoring import ACCURACY, Scoring
from mercer.search.task import ONE_THREAD, Attempt, Fitted, Folds, Plan, Sample, Task, try_settings
from mercer.solvers.libsvm import without_last_digits

FEW_ROWS = 1000  # of so many none is spared: with fewer, a comparison would say little
TESTED = 1000  # of a fold, at most, where samples to learn from are fewer than there are
OF_THE_MACHINE = ("C", "class_weight")  # settings that a learned kernel does not depend on


class SharedKernel(NamedTuple):
    """A learned kernel that several settings use, and how long it took to learn."""

    kernel: Any
    seconds: float


@dataclass(frozen=True)
class SampleTask(Task):
    """Samples with their targets, and perhaps some without.

    Parameters
    ----------
    X : array of shape (n, d)
        The samples.
    y : array of shape (n,)
        Their targets.
    unlabelled : array of shape (m, d) or None
        More samples.
    groups : array of shape (n,) or None
        What no fold tears apart.
    sample_weight : array of shape (n,) or None
        How much each sample counts, to those that are fitted and in their scores.
    scoring : Scoring
        What candidates are judged by.
    """

    X: Array
    y: NDArray[Any]
    unlabelled: Array | None = None
    groups: NDArray[Any] | None = None
    sample_weight: Array | None = None
    scoring: Scoring = ACCURACY
    _scaled: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False, kw_only=True)

    @property
    def weights(self) -> Array:
        """Return how much each sample counts."""
        return np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight

    @abstractmethod
    def split(self, cv: Any, seed: int) -> Folds:
        """Return training and test samples: as a splitter says, or so many folds."""

    @abstractmethod
    def draw(self, rows: Index, n: int, seed: int) -> Index:
        """Return some n of these samples, at random, in ascending order."""

    @abstractmethod
    def every(self, train: Index, step: int) -> Index:
        """Return every k-th of these samples."""

    @abstractmethod
    def can_learn(self, train: Index) -> bool:
        """Return whether there is something to learn from these samples."""

    @abstractmethod
    def judge(self, fitted: Any, new: Array, test: Index) -> tuple[Array, float]:
        """Return losses and what was said of the test samples, (n_test, 1 + n_values), and the seconds."""

    @property
    @abstractmethod
    def truth(self) -> Any:
        """Return the targets, in the units of a blend."""

    @property
    @abstractmethod
    def n_values(self) -> int:
        """Return how many values there are of what is said of a sample."""

    def list_candidates(self, given: Any, seed: int) -> list[Candidate]:
        """Return the candidates, if they take weights where there are some."""
        candidates = super().list_candidates(given, seed)
        for one in candidates:
            if self.sample_weight is not None and not has_fit_parameter(one.estimator, "sample_weight"):
                raise TypeError(f"candidate {one.name!r} takes no sample_weight: leave out one or the other")
        return candidates

    def plan(self, cv: Any, max_rows: int, seed: int) -> Plan:
        """Return folds of at most `max_rows` samples.

        The others could be learned from, but for those of the groups that a fold tests, and those that a
        splitter keeps from it.
        """
        every = np.arange(len(self.y))
        if max_rows >= len(self.y):
            return Plan(self, self.split(cv, seed))
        rows = self.draw(every, max_rows, seed)
        if isinstance(cv, int) and self.groups is None:
            folds = [(rows[train], rows[test]) for train, test in self._rows(rows).split(cv, seed)]
            return Plan(self, folds, [np.setdiff1d(every, test) for _, test in folds])
        whole = self.split(cv, seed)
        return Plan(self, self._keep(whole, rows) or whole, [train for train, _ in whole])

    def evaluate(
        self, candidate: Candidate, settings: Sequence[dict[str, Any]], train: Index, test: Index
    ) -> Outcome:
        """Fit each setting to the training samples and score what it says of the test samples.

        Scaling is part of it. Settings that share a learner and differ in C alone learn the kernel once. The
        values of a test sample are its loss and then what was said.
        """
        weight = {} if self.sample_weight is None else {"sample_weight": self.sample_weight[train]}
        X, new, more = self._scale(train, test, weight.get("sample_weight"))
        y = self.y[train]
        shared: dict[str, SharedKernel] = {}

        def attempt(setting: dict[str, Any]) -> Attempt:
            estimator, saved = _with_kernel(candidate, setting, X, y, more, shared)
            start = time.perf_counter()
            with without_last_digits():
                fitted = _fit(estimator, X, y, more, weight)
            seconds = saved + time.perf_counter() - start
            values, predicting = self.judge(fitted, new, test)
            return Attempt(values, seconds, predicting)

        with one_thread(self.size(train) <= ONE_THREAD):
            return try_settings(settings, len(test), attempt, 1 + self.n_values)

    def _scale(
        self, train: Index, test: Index, weight: Array | None
    ) -> tuple[Array, Array, dict[str, Array]]:
        """Return training and test samples, scaled, and those without labels; kept for the next candidate."""
        kept = self._scaled.get("last")
        if kept is None or kept[0] is not train or kept[1] is not test:
            scaler = self.fit_scaler(self.X[train], weight)
            more = {} if self.unlabelled is None else {"unlabelled": scaler.transform(self.unlabelled)}
            kept = (train, test, scaler.transform(self.X[train]), scaler.transform(self.X[test]), more)
            self._scaled["last"] = kept
        return kept[2], kept[3], kept[4]

    def sample(self, train: Index, test: Index, n: int) -> Sample:
        """Return some n training samples, and a quarter as many to test.

        Of samples without labels there are no more than n either.
        """
        some, few = self.every(train, max(1, len(train) // n)), self._spare(n)
        return Sample(few, some, test[: max(1, n // 4)], self.size(train) / few.size(some))

    def size(self, train: Index) -> int:
        """Return how many samples a fit sees."""
        return len(train) + self.n_unlabelled

    def thin(self, folds: Folds, share: float) -> tuple[Self, Folds, float]:
        """Return a share of the samples to learn from, and of those without labels; all if they are few.

        It is a share of the samples that are in the folds. Of these, a thousand in each fold are tested if
        there are as many: that takes little time, and fewer would not tell candidates apart.
        """
        task = self._spare(max(int(share * self.n_unlabelled), FEW_ROWS))
        rows = _rows_of(folds)
        n_wanted, n_kept = max(int(share * len(rows)), FEW_ROWS), len(rows)
        if n_wanted < len(rows):
            thinned = self._keep(folds, self.draw(rows, n_wanted, 0))
            if thinned:
                tests = [self.draw(test, TESTED, 0) if len(test) > TESTED else test for _, test in folds]
                folds = [(train, test) for (train, _), test in zip(thinned, tests, strict=True)]
                n_kept = n_wanted
        return task, folds, (n_kept + task.n_unlabelled) / (len(rows) + self.n_unlabelled)

    def part(self, share: float, seed: int) -> Self:
        """Return a share of all samples; but of few samples all."""
        if share >= 1.0:
            return self
        n = max(FEW_ROWS, int(share * len(self.X)))
        some = self._rows(self.draw(np.arange(len(self.y)), n, seed))
        return some._spare(max(FEW_ROWS, int(share * self.n_unlabelled)))

    def fit(self, candidate: Candidate, setting: dict[str, Any]) -> Fitted:
        """Fit a scaler and a candidate to all samples."""
        scaler = self.fit_scaler(self.X, self.sample_weight)
        more = {} if self.unlabelled is None else {"unlabelled": scaler.transform(self.unlabelled)}
        weight = {} if self.sample_weight is None else {"sample_weight": self.sample_weight}
        Z = scaler.transform(self.X)
        with one_thread(self.n_rows <= ONE_THREAD):
            fitted = _fit(_set(candidate, setting), Z, self.y, more, weight)
        return Fitted(scaler, fitted, kernel_of(fitted, Z))

    def some_of(self, train: Index, n: int) -> Index:
        """Return some n training samples."""
        return train if n >= len(train) else self.draw(train, n, 0)

    def usable(self, folds: Folds, why: str) -> Folds:
        """Return the folds that have something to test, and something to learn from."""
        usable = [(train, test) for train, test in folds if len(test) and self.can_learn(train)]
        if not usable:
            raise ValueError(f"{len(self.y)} samples are too few to hold some out: those left are {why}")
        return usable

    def _keep(self, folds: Folds, rows: Index) -> Folds:
        """Return folds of some of the samples; none if one of them has nothing to learn or to test."""
        kept = np.zeros(len(self.y), dtype=bool)
        kept[rows] = True
        thinned = [(train[kept[train]], test[kept[test]]) for train, test in folds]
        usable = all(len(test) and self.can_learn(train) for train, test in thinned)
        return thinned if usable else []

    def _rows(self, some: Index) -> Self:
        given = {"groups": self.groups, "sample_weight": self.sample_weight}
        parts: dict[str, Any] = {name: value[some] for name, value in given.items() if value is not None}
        return replace(self, X=self.X[some], y=self.y[some], **parts)

    def _spare(self, n: int) -> Self:
        """Return the task with at most n of the samples without labels: every k-th."""
        if self.unlabelled is None or self.n_unlabelled <= n:
            return self
        return replace(self, unlabelled=self.unlabelled[:: -(-self.n_unlabelled // max(n, 1))])


def _rows_of(folds: Folds) -> Index:
    """Return the samples that are in some folds."""
    rows: Index = np.unique(np.concatenate([part for fold in folds for part in fold]))
    return rows


def can_predict(estimator: Any) -> bool:
    """Return whether a user's candidate is what a search can fit and ask."""
    return hasattr(estimator, "fit") and hasattr(estimator, "predict")


def takes_unlabelled(estimator: Any) -> bool:
    """Whether a candidate learns from samples without targets."""
    return isinstance(estimator, KernelSVC | KernelRegressor) and hasattr(estimator.learner, "fit")


def _set(candidate: Candidate, setting: dict[str, Any]) -> Any:
    return clone(candidate.estimator).set_params(**setting)


def _fit(
    estimator: Any, X: Array, y: NDArray[Any], more: Mapping[str, Array], weight: Mapping[str, Array]
) -> Any:
    return estimator.fit(X, y, **(more if takes_unlabelled(estimator) else {}), **weight)


def _with_kernel(
    candidate: Candidate,
    setting: dict[str, Any],
    X: Array,
    y: NDArray[Any],
    more: Mapping[str, Array],
    shared: dict[str, SharedKernel],
) -> tuple[Any, float]:
    """Return the estimator, with a learned kernel in the learner's place if only the machine is to be set.

    Without a C of its own (None) a machine asks its learner for one: then the learner stays.
    """
    estimator = _set(candidate, setting)
    if setting.get("C") is None or not takes_unlabelled(estimator):
        return estimator, 0.0
    key = joblib.hash({name: value for name, value in setting.items() if name not in OF_THE_MACHINE})
    if key not in shared:
        start = time.perf_counter()
        kernel = learn(estimator, X, y, dict(more)).kernel_
        shared[key] = SharedKernel(kernel, time.perf_counter() - start)
    return estimator.set_params(learner=shared[key].kernel), shared[key].seconds
