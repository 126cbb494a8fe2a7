"""The search among classifiers: candidates are scored by the classes they predict for held-out samples."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import joblib
import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.linalg import block_diag
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from mercer._typing import Array, Index
from mercer.search.bootstrap import draw_rows, judge_choice, standard_error
from mercer.search.candidates import REFERENCE, Candidate, as_candidates, default_candidates, kernel_of
from mercer.search.race import Outcome, Race
from mercer.search.result import ONE_STANDARD_ERROR, Z95, Difference, Measure, Metric
from mercer.search.selection_rule import Rule, choose, find_nearby
from mercer.search.task import Attempt, Fitted, Folds, Sample, Task, try_settings
from mercer.svm import KernelSVC

ERROR = Metric(
    key="error",
    name="error",
    meaning="the cross-validated share of samples that are predicted wrong",
    expectation="Expected error on new samples: {measure}",
    percent=True,
    greater_is_better=False,
)
FEW_ROWS = 1000  # of so many none is spared: with fewer, a comparison would say little
HOPELESS = 3.0  # standard errors behind the best: less would flatter those that stay, see `bootstrap`


class SharedKernel(NamedTuple):
    """A learned kernel that several settings use, and how long it took to learn."""

    kernel: Any
    seconds: float


@dataclass(frozen=True)
class LabelTask(Task):
    """Samples with their classes, and perhaps some without.

    Parameters
    ----------
    X : array of shape (n, d)
        The samples.
    y : array of shape (n,)
        Their classes.
    unlabelled : array of shape (m, d) or None
        More samples.
    """

    X: Array
    y: NDArray[Any]
    unlabelled: Array | None = None

    reference: ClassVar[str] = REFERENCE
    candidate_names: ClassVar[tuple[str, ...]] = tuple(one.name for one in default_candidates(1, 1, 0))

    def propose(self, seed: int) -> list[Candidate]:
        """Return all kernels of mercer, an RBF-SVM and a linear one."""
        n, d = self.X.shape
        return default_candidates(n, d, seed, unlabelled=self.unlabelled is not None)

    def check_candidates(self, given: Any) -> list[Candidate]:
        """Return a user's classifiers."""
        return as_candidates(given, "a classifier, or (classifier, grid)", _is_classifier)

    def at_most(self, n: int, seed: int) -> "LabelTask":
        """Return n labelled samples at most, drawn by class, and all that have no label."""
        if n >= len(self.X):
            return self
        return self._rows(draw_by_class(self.y, n, seed))

    def split(self, n_folds: int, seed: int) -> Folds:
        """Return training and test samples, stratified by class; fewer folds if a class has fewer samples.

        If a class has a single sample, folds are drawn without regard to classes.
        """
        y, fewest = self.y, int(np.unique(self.y, return_counts=True)[1].min())
        if fewest >= 2:
            splitter = StratifiedKFold(min(n_folds, fewest), shuffle=True, random_state=seed)
            return list(splitter.split(y, y))
        splits = KFold(min(n_folds, len(y)), shuffle=True, random_state=seed).split(y)
        folds = [(train, test) for train, test in splits if len(np.unique(y[train])) > 1]
        if not folds:
            raise ValueError(f"{len(y)} samples are too few to hold some out: those left are of one class")
        return folds

    def start_race(self, candidates: list[Candidate], folds: Folds, seed: int) -> "LabelRace":
        """Return the race of these candidates."""
        return LabelRace(candidates, len(self.X), seed)

    def evaluate(
        self, candidate: Candidate, settings: Sequence[dict[str, Any]], train: Index, test: Index
    ) -> Outcome:
        """Fit each setting to the training samples and compare its predictions with the test samples.

        Scaling is part of it. Settings that share a learner and differ in C alone learn the kernel once.
        """
        scaler = self.fit_scaler(self.X[train])
        X, y = scaler.transform(self.X[train]), self.y[train]
        new, truth = scaler.transform(self.X[test]), self.y[test]
        more = {} if self.unlabelled is None else {"unlabelled": scaler.transform(self.unlabelled)}
        shared: dict[str, SharedKernel] = {}

        def attempt(setting: dict[str, Any]) -> Attempt:
            estimator, saved = _with_kernel(candidate, setting, X, y, more, shared)
            start = time.perf_counter()
            fitted = _fit(estimator, X, y, more)
            middle = time.perf_counter()
            wrong = (fitted.predict(new) != truth).astype(np.float64)
            return Attempt(wrong, saved + middle - start, time.perf_counter() - middle)

        return try_settings(settings, len(test), attempt)

    def sample(self, train: Index, test: Index, n: int) -> Sample:
        """Return some n training samples, of all classes: every k-th of each; and a quarter as many to test.

        Of samples without labels there are no more than n either.
        """
        step = max(1, len(train) // n)
        of_classes = [train[self.y[train] == label][::step] for label in np.unique(self.y[train])]
        some, few = np.concatenate(of_classes), self._spare(n)
        return Sample(few, some, test[: max(1, n // 4)], self.size(train) / few.size(some))

    def size(self, train: Index) -> int:
        """Return how many samples a fit sees."""
        return len(train) + self.n_unlabelled

    def thin(self, folds: Folds, share: float) -> tuple["LabelTask", Folds, float]:
        """Return a share of the samples of each class, and of those without labels; all if they are few."""
        task = self._spare(max(int(share * self.n_unlabelled), FEW_ROWS))
        n_wanted = max(int(share * len(self.X)), FEW_ROWS)
        kept = np.ones(len(self.X), dtype=bool)
        if n_wanted < len(self.X):
            kept[:] = False
            kept[draw_by_class(self.y, n_wanted, 0)] = True
            thinned = [(train[kept[train]], test[kept[test]]) for train, test in folds]
            if all(len(test) and len(np.unique(self.y[train])) > 1 for train, test in thinned):
                folds = thinned
            else:
                kept[:] = True
        return task, folds, (kept.sum() + task.n_unlabelled) / self.n_rows

    def part(self, share: float, seed: int) -> "LabelTask":
        """Return a share of all samples, of each class as large a share as of all; but of few samples all."""
        if share >= 1.0:
            return self
        some = self._rows(draw_by_class(self.y, max(FEW_ROWS, int(share * len(self.X))), seed))
        return some._spare(max(FEW_ROWS, int(share * self.n_unlabelled)))

    def fit(self, candidate: Candidate, setting: dict[str, Any]) -> Fitted:
        """Fit a scaler and a classifier to all samples."""
        scaler = self.fit_scaler(self.X)
        more = {} if self.unlabelled is None else {"unlabelled": scaler.transform(self.unlabelled)}
        Z = scaler.transform(self.X)
        fitted = _fit(_set(candidate, setting), Z, self.y, more)
        return Fitted(scaler, fitted, kernel_of(fitted, Z))

    def _rows(self, some: Index) -> "LabelTask":
        return replace(self, X=self.X[some], y=self.y[some])

    def _spare(self, n: int) -> "LabelTask":
        """Return the task with at most n of the samples without labels: every k-th."""
        if self.unlabelled is None or self.n_unlabelled <= n:
            return self
        return replace(self, unlabelled=self.unlabelled[:: -(-self.n_unlabelled // max(n, 1))])


class LabelRace(Race):
    """A race that is scored by the classes of held-out samples."""

    metric = ERROR
    rule_name = ONE_STANDARD_ERROR

    def __init__(self, candidates: list[Candidate], n_rows: int, seed: int) -> None:
        super().__init__(candidates, REFERENCE)
        self.seed = seed
        self.wrong = np.full((n_rows, len(self.entries)), np.nan)
        grids = [find_nearby(candidate.settings(), candidate.grid) for candidate in candidates]
        nearby = block_diag(*grids)
        self.rule = Rule(
            np.array([entry.candidate for entry in self.entries], dtype=np.intp),
            nearby / nearby.sum(axis=1, keepdims=True),
        )

    def keep(self, test: Index, entries: Index, values: Array) -> None:
        """Keep which samples were classified wrongly."""
        self.wrong[np.ix_(test, entries)] = values

    def errors(self, entries: Index) -> Array:
        """Return the mean errors of entries over the samples that all of them were scored on."""
        means: Array = self._scored(entries).mean(axis=0)
        return means

    def choose(self, entries: Index) -> int:
        """Return the entry that the selection rule takes."""
        wrong = self._scored(entries)
        return int(entries[choose(wrong, self.rule.among(entries), np.ones((1, len(wrong))))[0]])

    def measure(self, candidate: int, entry: int) -> Measure:
        """Return the error of choosing among a candidate's settings."""
        return self._measure(self.finalists_of(candidate))

    def measure_selection(self) -> Measure:
        """Return the error of choosing among all finalists."""
        return self._measure(self.finalists())

    def compare(self, candidate: int, entry: int, reference: int) -> Difference:
        """Return how much more error a candidate has than the reference, on the samples of both."""
        mine, theirs = self.finalists_of(candidate), self.finalists_of(reference)
        if not len(theirs):
            return Difference()
        wrong = self._scored(np.concatenate([mine, theirs]))
        n = len(wrong)
        every, columns, errors = np.ones((1, n)), [], []
        for entries, values in ((mine, wrong[:, : len(mine)]), (theirs, wrong[:, len(mine) :])):
            rule = self.rule.among(entries)
            errors.append(float(judge_choice(values, draw_rows(n, self.seed), rule).mean()))
            columns.append(values[:, choose(values, rule, every)[0]])
        difference, paired = errors[0] - errors[1], columns[0] - columns[1]
        variance = max(float(np.var(paired)), 1.0 / n)  # as if they differed on one sample at least
        noise = Z95 * float(np.sqrt(variance / n * self.inflation))
        return Difference(difference, difference - noise, difference + noise)

    def drop_hopeless(self) -> None:
        """Take out settings that are far behind the best, on the samples that both have been scored on.

        The best setting of the reference, with which others are compared, stays.
        """
        running = np.flatnonzero(self.alive & (self.n_folds > 0))
        if len(running) < 2:
            return
        best = running[np.argmin(self.errors(running))]
        kept = None if self.reference is None else self.best_of(self.reference)
        for entry in running:
            if entry != kept and self._is_hopeless(int(entry), int(best)):
                self.drop(int(entry))

    def _is_hopeless(self, entry: int, best: int) -> bool:
        difference = self.wrong[:, entry] - self.wrong[:, best]
        difference = difference[np.isfinite(difference)]
        noise = np.sqrt(np.mean(difference**2) / max(len(difference), 1))
        return bool(difference.mean() > HOPELESS * noise + 1.0 / len(difference))

    def _scored(self, entries: Index) -> Array:
        """Return whether each of some entries was wrong, on the samples that all of them were scored on."""
        wrong = self.wrong[:, entries]
        scored: Array = wrong[np.isfinite(wrong).all(axis=1)]
        return scored

    def _measure(self, entries: Index) -> Measure:
        wrong = self._scored(entries)
        judged = judge_choice(wrong, draw_rows(len(wrong), self.seed), self.rule.among(entries))
        error, n_folds = float(judged.mean()), int(self.n_folds[entries].min())
        return Measure.of_share(self.metric, error, standard_error(error, len(wrong)), n_folds)


def draw_by_class(y: NDArray[Any], n: int, seed: int, least: int = 1) -> Index:
    """Return n samples at random, of each class as large a share as of all, but `least` of each (if it has).

    If these are more than `n` in all, there are more. (`train_test_split(stratify=y)` refuses classes of a
    single sample, and more classes than n.)
    """
    order = RandomState(seed).permutation(len(y))
    _, label, counts = np.unique(y[order], return_inverse=True, return_counts=True)
    by_class = np.argsort(label, kind="stable")
    place = np.empty(len(y))
    place[by_class] = np.arange(len(y)) - np.repeat(np.cumsum(counts) - counts, counts)
    # the k-th sample of a class of m comes after a share of (k − 1/2) / m of all samples; the first at once
    due = np.where(place < least, 0.0, (place + 0.5) / counts[label])
    n = max(n, int(np.minimum(counts, least).sum()))
    chosen: Index = np.sort(order[np.argsort(due, kind="stable")[:n]])
    return chosen


def _is_classifier(estimator: Any) -> bool:
    return hasattr(estimator, "fit") and hasattr(estimator, "predict")


def takes_unlabelled(estimator: Any) -> bool:
    """Whether a classifier learns from samples without labels."""
    return isinstance(estimator, KernelSVC) and hasattr(estimator.learner, "fit")


def _set(candidate: Candidate, setting: dict[str, Any]) -> Any:
    return clone(candidate.estimator).set_params(**setting)


def _fit(estimator: Any, X: Array, y: NDArray[Any], more: dict[str, Array]) -> Any:
    return estimator.fit(X, y, **(more if takes_unlabelled(estimator) else {}))


def _with_kernel(
    candidate: Candidate,
    setting: dict[str, Any],
    X: Array,
    y: NDArray[Any],
    more: dict[str, Array],
    shared: dict[str, SharedKernel],
) -> tuple[Any, float]:
    """Return the estimator, with its learner's kernel in the learner's place if C is all that is to be set.

    Without a C of its own (None) an SVM asks its learner for one: then the learner stays.
    """
    estimator = _set(candidate, setting)
    if setting.get("C") is None or not takes_unlabelled(estimator):
        return estimator, 0.0
    key = joblib.hash({name: value for name, value in setting.items() if name != "C"})
    if key not in shared:
        start = time.perf_counter()
        kernel = clone(estimator.learner).fit(X, y, **more).kernel_
        shared[key] = SharedKernel(kernel, time.perf_counter() - start)
    return estimator.set_params(learner=shared[key].kernel), shared[key].seconds
