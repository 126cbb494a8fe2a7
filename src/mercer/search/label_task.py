"""The search among classifiers: candidates are scored by what they say of held-out samples."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import joblib
import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.svm import SVC
from sklearn.utils.validation import has_fit_parameter

from mercer._typing import Array, Index
from mercer.search.candidates import REFERENCE, Candidate, as_candidates, default_candidates, kernel_of
from mercer.search.label_race import LabelRace
from mercer.search.race import Outcome
from mercer.search.scoring import ACCURACY, Judged, Scoring
from mercer.search.task import Attempt, Fitted, Folds, Plan, Sample, Task, try_settings
from mercer.svm import KernelSVC
from mercer.svm.base import SVMClassifier
from mercer.svm.libsvm import without_last_digits

FEW_ROWS = 1000  # of so many none is spared: with fewer, a comparison would say little
RARE = 0.5  # a class of less than this share of an equal one is rare
OF_THE_SVM = ("C", "class_weight")  # settings that a learned kernel does not depend on


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
    groups : array of shape (n,) or None
        What no fold tears apart.
    sample_weight : array of shape (n,) or None
        How much each sample counts, to those that are fitted and in their scores.
    scoring : Scoring
        What candidates are judged by.
    class_weight : "auto", "balanced", dict or None
        Of all candidates that have one; "auto" tries None and "balanced", where that may help the score.
    """

    X: Array
    y: NDArray[Any]
    unlabelled: Array | None = None
    groups: NDArray[Any] | None = None
    sample_weight: Array | None = None
    scoring: Scoring = ACCURACY
    class_weight: Any = None
    _scaled: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    reference: ClassVar[str] = REFERENCE
    candidate_names: ClassVar[tuple[str, ...]] = tuple(one.name for one in default_candidates(1, 1, 0))

    @cached_property
    def classes(self) -> NDArray[Any]:
        """Return the classes, sorted."""
        return np.unique(self.y)

    @cached_property
    def label(self) -> Index:
        """Return the class of each sample, as a position."""
        return np.searchsorted(self.classes, self.y)

    @property
    def n_classes(self) -> int:
        """Return how many classes there are."""
        return len(self.classes)

    @property
    def weights(self) -> Array:
        """Return how much each sample counts."""
        return np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight

    def propose(self, seed: int) -> list[Candidate]:
        """Return all kernels of mercer, an RBF-SVM and a linear one."""
        n, d = self.X.shape
        return default_candidates(n, d, seed, unlabelled=self.unlabelled is not None)

    def check_candidates(self, given: Any) -> list[Candidate]:
        """Return a user's classifiers."""
        return as_candidates(given, "a classifier, or (classifier, grid)", _is_classifier)

    def list_candidates(self, given: Any, seed: int) -> list[Candidate]:
        """Return the candidates, with the weights of classes that they are to have or to choose."""
        candidates = [self._weigh_classes(one) for one in super().list_candidates(given, seed)]
        for one in candidates:
            if self.sample_weight is not None and not has_fit_parameter(one.estimator, "sample_weight"):
                raise TypeError(f"candidate {one.name!r} takes no sample_weight: leave out one or the other")
        return candidates

    def _weigh_classes(self, candidate: Candidate) -> Candidate:
        """Return a candidate with the task's class weights, or with the choice among two."""
        if self.class_weight is None or "class_weight" in candidate.grid:
            return candidate
        if "class_weight" not in candidate.estimator.get_params():
            return candidate
        if self.class_weight != "auto":
            weighed = clone(candidate.estimator).set_params(class_weight=self.class_weight)
            return candidate._replace(estimator=weighed)
        rarest = np.bincount(self.label).min() * self.n_classes / len(self.y)
        if not self.scoring.balances or rarest >= RARE:
            return candidate
        return candidate._replace(grid={**candidate.grid, "class_weight": [None, "balanced"]})

    def plan(self, cv: Any, max_rows: int, seed: int) -> Plan:
        """Return folds of at most `max_rows` samples, drawn by class.

        The others could be learned from, but for those of the groups that a fold tests, and those that a
        splitter keeps from it.
        """
        if max_rows >= len(self.y):
            return Plan(self, self.split(cv, seed))
        rows = draw_by_class(self.y, max_rows, seed)
        if isinstance(cv, int) and self.groups is None:
            folds = [(rows[train], rows[test]) for train, test in self._rows(rows).split(cv, seed)]
            return Plan(self, folds, [np.setdiff1d(np.arange(len(self.y)), test) for _, test in folds])
        whole = self.split(cv, seed)
        return Plan(self, self._keep(whole, rows) or whole, [train for train, _ in whole])

    def split(self, cv: Any, seed: int) -> Folds:
        """Return training and test samples: as a splitter says, or so many folds, stratified by class.

        They are fewer if a class has fewer samples. If a class has a single sample, folds are drawn without
        regard to classes.
        """
        y = self.y
        if not isinstance(cv, int):
            rows, splitter = np.arange(len(y)), check_cv(cv, y, classifier=True)
            splits = splitter.split(self.X, y, self.groups)
            return _usable([(rows[train], rows[test]) for train, test in splits], y)
        if self.groups is not None:
            n_folds = min(cv, max(2, len(np.unique(self.groups))))
            by_group = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
            return _usable(list(by_group.split(y, y, self.groups)), y)
        fewest = int(np.bincount(self.label).min())
        if fewest >= 2:
            stratified = StratifiedKFold(min(cv, fewest), shuffle=True, random_state=seed)
            return list(stratified.split(y, y))
        return _usable(list(KFold(min(cv, len(y)), shuffle=True, random_state=seed).split(y)), y)

    def start_race(self, candidates: list[Candidate], folds: Folds, seed: int) -> LabelRace:
        """Return the race of these candidates, and of what takes no learning."""
        race = LabelRace([*candidates, self.majority()], self, folds, seed)
        race.baseline = len(candidates)
        return race

    def majority(self) -> Candidate:
        """Return what always says the most frequent class."""
        most = self.classes[np.argmax(np.bincount(self.label, self.weights))]
        return Candidate(f"always {_quote(most)}", DummyClassifier(), {}, growth=1.0)

    def evaluate(
        self, candidate: Candidate, settings: Sequence[dict[str, Any]], train: Index, test: Index
    ) -> Outcome:
        """Fit each setting to the training samples and score what it says of the test samples.

        Scaling is part of it. Settings that share a learner and differ in C alone learn the kernel once. The
        values of a test sample are its loss and then the decision values.
        """
        weight = {} if self.sample_weight is None else {"sample_weight": self.sample_weight[train]}
        X, new, more = self._scale(train, test, weight.get("sample_weight"))
        y, truth = self.y[train], self.y[test]
        shared: dict[str, SharedKernel] = {}

        def attempt(setting: dict[str, Any]) -> Attempt:
            estimator, saved = _with_kernel(candidate, setting, X, y, more, shared)
            start = time.perf_counter()
            with without_last_digits():
                fitted = _fit(estimator, X, y, more, weight)
            middle = time.perf_counter()
            said = decide(fitted, new, self.classes)
            seconds = time.perf_counter() - middle
            judged = Judged(
                self.label[test], *said, self.weights[test], self.n_classes, self.scoring.positive
            )
            losses = self.scoring.losses(judged, fitted, new, truth)
            return Attempt(np.column_stack([losses, judged.decisions]), saved + middle - start, seconds)

        return try_settings(settings, len(test), attempt, 2 if self.n_classes == 2 else 1 + self.n_classes)

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
        """Return a share of the samples of each class, and of those without labels; all if they are few.

        It is a share of the samples that are in the folds.
        """
        task = self._spare(max(int(share * self.n_unlabelled), FEW_ROWS))
        rows = _rows_of(folds)
        n_wanted, n_kept = max(int(share * len(rows)), FEW_ROWS), len(rows)
        if n_wanted < len(rows):
            thinned = self._keep(folds, rows[draw_by_class(self.y[rows], n_wanted, 0)])
            if thinned:
                folds, n_kept = thinned, n_wanted
        return task, folds, (n_kept + task.n_unlabelled) / (len(rows) + self.n_unlabelled)

    def part(self, share: float, seed: int) -> "LabelTask":
        """Return a share of all samples, of each class as large a share as of all; but of few samples all."""
        if share >= 1.0:
            return self
        some = self._rows(draw_by_class(self.y, max(FEW_ROWS, int(share * len(self.X))), seed))
        return some._spare(max(FEW_ROWS, int(share * self.n_unlabelled)))

    def fit(self, candidate: Candidate, setting: dict[str, Any]) -> Fitted:
        """Fit a scaler and a classifier to all samples."""
        scaler = self.fit_scaler(self.X, self.sample_weight)
        more = {} if self.unlabelled is None else {"unlabelled": scaler.transform(self.unlabelled)}
        weight = {} if self.sample_weight is None else {"sample_weight": self.sample_weight}
        Z = scaler.transform(self.X)
        fitted = _fit(_set(candidate, setting), Z, self.y, more, weight)
        return Fitted(scaler, fitted, kernel_of(fitted, Z))

    def some_of(self, train: Index, n: int) -> Index:
        """Return some n training samples, drawn by class."""
        return train if n >= len(train) else train[draw_by_class(self.y[train], n, 0)]

    def _keep(self, folds: Folds, rows: Index) -> Folds:
        """Return folds of some of the samples; none if one of them has nothing to learn or to test."""
        kept = np.zeros(len(self.y), dtype=bool)
        kept[rows] = True
        thinned = [(train[kept[train]], test[kept[test]]) for train, test in folds]
        usable = all(len(test) and len(np.unique(self.y[train])) > 1 for train, test in thinned)
        return thinned if usable else []

    def _rows(self, some: Index) -> "LabelTask":
        given = {"groups": self.groups, "sample_weight": self.sample_weight}
        parts: dict[str, Any] = {name: value[some] for name, value in given.items() if value is not None}
        return replace(self, X=self.X[some], y=self.y[some], **parts)

    def _spare(self, n: int) -> "LabelTask":
        """Return the task with at most n of the samples without labels: every k-th."""
        if self.unlabelled is None or self.n_unlabelled <= n:
            return self
        return replace(self, unlabelled=self.unlabelled[:: -(-self.n_unlabelled // max(n, 1))])


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


def decide(fitted: Any, X: Array, classes: NDArray[Any]) -> tuple[Index, Array]:
    """Return the classes of samples, as positions, and their decision values, one column per class.

    Of two classes there is one column. Who has no decision values says them by probabilities, or by 1 for a
    class and 0 for the others; a class that it has not seen comes last.
    """
    if isinstance(fitted, SVMClassifier):
        chosen, values = fitted._predict_with_values(X)
        return np.searchsorted(classes, chosen), _align(values, fitted.classes_, classes)
    if hasattr(fitted, "decision_function"):
        values = np.asarray(fitted.decision_function(X), dtype=np.float64)
    elif hasattr(fitted, "predict_proba"):
        chances = np.log(np.maximum(fitted.predict_proba(X), 1e-9))
        values = chances[:, 1] - chances[:, 0] if chances.shape[1] == 2 else chances
    else:
        predicted = np.searchsorted(classes, fitted.predict(X))
        hard = (predicted[:, None] == np.arange(len(classes))).astype(np.float64)
        return predicted, hard[:, 1:] - hard[:, :1] if len(classes) == 2 else hard
    chosen = fitted.classes_[_elected(values)] if _has_votes(fitted, values) else fitted.predict(X)
    return np.searchsorted(classes, chosen), _align(values, fitted.classes_, classes)


def decision_values(fitted: Any, X: Array, classes: NDArray[Any]) -> Array:
    """Return what `decide` does without the classes: there may be less to compute."""
    if not hasattr(fitted, "decision_function"):
        return decide(fitted, X, classes)[1]
    return _align(np.asarray(fitted.decision_function(X), dtype=np.float64), fitted.classes_, classes)


def _has_votes(fitted: Any, values: Array) -> bool:
    """Return whether decision values tell the prediction: then it need not be computed again.

    Of several classes they are votes and a part that is less than 1/3. Where that is exactly zero, nothing is
    decided, and LIBSVM's prediction may be another class.
    """
    if not isinstance(fitted, SVC) or fitted.break_ties or fitted.decision_function_shape != "ovr":
        return False
    return values.ndim == 1 or not np.any(values == np.round(values))


def _elected(values: Array) -> Index:
    """Return the later of two classes where the value is positive, or the first class of the most votes."""
    return (values > 0).astype(np.intp) if values.ndim == 1 else np.round(values).argmax(axis=1)


def _align(values: Array, seen: NDArray[Any], classes: NDArray[Any]) -> Array:
    """Return a column per class, also of those that were not in the training samples."""
    if len(classes) == 2:
        return values.reshape(len(values), -1)[:, -1:]
    if values.ndim == 1:
        values = np.column_stack([-values, values])
    if len(seen) == len(classes):
        return values
    everything = np.repeat(values.min(axis=1, keepdims=True) - 1.0, len(classes), axis=1)
    everything[:, np.searchsorted(classes, seen)] = values
    return everything


def _rows_of(folds: Folds) -> Index:
    """Return the samples that are in some folds."""
    rows: Index = np.unique(np.concatenate([part for fold in folds for part in fold]))
    return rows


def _usable(folds: Folds, y: NDArray[Any]) -> Folds:
    """Return the folds that have something to test, and two classes to learn from."""
    usable = [(train, test) for train, test in folds if len(test) and len(np.unique(y[train])) > 1]
    if not usable:
        raise ValueError(f"{len(y)} samples are too few to hold some out: those left are of one class")
    return usable


def _quote(label: Any) -> str:
    return repr(label.item() if isinstance(label, np.generic) else label)


def _is_classifier(estimator: Any) -> bool:
    return hasattr(estimator, "fit") and hasattr(estimator, "predict")


def takes_unlabelled(estimator: Any) -> bool:
    """Whether a classifier learns from samples without labels."""
    return isinstance(estimator, KernelSVC) and hasattr(estimator.learner, "fit")


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
    """Return the estimator, with its learner's kernel in the learner's place if only the SVM is to be set.

    Without a C of its own (None) an SVM asks its learner for one: then the learner stays.
    """
    estimator = _set(candidate, setting)
    if setting.get("C") is None or not takes_unlabelled(estimator):
        return estimator, 0.0
    key = joblib.hash({name: value for name, value in setting.items() if name not in OF_THE_SVM})
    if key not in shared:
        start = time.perf_counter()
        kernel = clone(estimator.learner).fit(X, y, **more).kernel_
        shared[key] = SharedKernel(kernel, time.perf_counter() - start)
    return estimator.set_params(learner=shared[key].kernel), shared[key].seconds
