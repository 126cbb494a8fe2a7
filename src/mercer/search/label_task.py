"""The search among classifiers: candidates are scored by what they say of held-out samples."""

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold, check_cv

from mercer._typing import Array, Index
from mercer.search.candidates import NAMES, REFERENCE, Candidate, as_candidates, default_candidates
from mercer.search.decisions import decide
from mercer.search.label_race import LabelRace
from mercer.search.sample_task import SampleTask, can_predict
from mercer.search.scoring import Judged
from mercer.search.task import Folds

ONE_CLASS = "of one class"  # what is said of samples too few to be split
RARE = 0.5  # a class of less than this share of an equal one is rare


@dataclass(frozen=True)
class LabelTask(SampleTask):
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

    class_weight: Any = None

    reference: ClassVar[str] = REFERENCE
    candidate_names: ClassVar[tuple[str, ...]] = NAMES

    @cached_property
    def classes(self) -> NDArray[Any]:
        """Return the classes, sorted."""
        return np.unique(self.y)

    @cached_property
    def label(self) -> Index:
        """Return the class of each sample, as a position."""
        return np.searchsorted(self.classes, self.y)

    @property
    def truth(self) -> Index:
        """Return the class of each sample, as a position."""
        return self.label

    @property
    def n_classes(self) -> int:
        """Return how many classes there are."""
        return len(self.classes)

    @property
    def n_values(self) -> int:
        """Return how many decision values a sample has."""
        return 1 if self.n_classes == 2 else self.n_classes

    def propose(self, seed: int) -> list[Candidate]:
        """Return all kernels of mercer, an RBF-SVM and a linear one."""
        n, d = self.X.shape
        return default_candidates(n, d, seed, unlabelled=self.unlabelled is not None)

    def check_candidates(self, given: Any) -> list[Candidate]:
        """Return a user's classifiers."""
        return as_candidates(given, "a classifier, or (classifier, grid)", _can_classify)

    def list_candidates(self, given: Any, seed: int) -> list[Candidate]:
        """Return the candidates, with the weights of classes that they are to have or to choose."""
        return [self._weigh_classes(one) for one in super().list_candidates(given, seed)]

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

    def split(self, cv: Any, seed: int) -> Folds:
        """Return training and test samples: as a splitter says, or so many folds, stratified by class.

        They are fewer if a class has fewer samples. If a class has a single sample, folds are drawn without
        regard to classes.
        """
        y = self.y
        if not isinstance(cv, int):
            rows, splitter = np.arange(len(y)), check_cv(cv, y, classifier=True)
            splits = splitter.split(self.X, y, self.groups)
            return self.usable([(rows[train], rows[test]) for train, test in splits], ONE_CLASS)
        if self.groups is not None:
            n_folds = min(cv, max(2, len(np.unique(self.groups))))
            by_group = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
            return self.usable(list(by_group.split(y, y, self.groups)), ONE_CLASS)
        fewest = int(np.bincount(self.label).min())
        if fewest >= 2:
            stratified = StratifiedKFold(min(cv, fewest), shuffle=True, random_state=seed)
            return list(stratified.split(y, y))
        return self.usable(list(KFold(min(cv, len(y)), shuffle=True, random_state=seed).split(y)), ONE_CLASS)

    def start_race(self, candidates: list[Candidate], folds: Folds, seed: int) -> LabelRace:
        """Return the race of these candidates, and of what takes no learning."""
        race = LabelRace([*candidates, self.majority()], self, folds, seed)
        race.baseline = len(candidates)
        return race

    def majority(self) -> Candidate:
        """Return what always says the most frequent class."""
        most = self.classes[np.argmax(np.bincount(self.label, self.weights))]
        return Candidate(f"always {_quote(most)}", DummyClassifier(), {}, growth=1.0)

    def draw(self, rows: Index, n: int, seed: int) -> Index:
        """Return some n of these samples, of each class as large a share as of all."""
        return rows[draw_by_class(self.y[rows], n, seed)]

    def every(self, train: Index, step: int) -> Index:
        """Return every k-th of each class."""
        of_classes = [train[self.y[train] == label][::step] for label in np.unique(self.y[train])]
        return np.concatenate(of_classes)

    def can_learn(self, train: Index) -> bool:
        """Return whether there are two classes."""
        return len(np.unique(self.y[train])) > 1

    def judge(self, fitted: Any, new: Array, test: Index) -> tuple[Array, float]:
        """Return losses and decision values of the test samples, and how long a classifier took for them."""
        start = time.perf_counter()
        said = decide(fitted, new, self.classes)
        seconds = time.perf_counter() - start
        judged = Judged(self.label[test], *said, self.weights[test], self.n_classes, self.scoring.positive)
        losses = self.scoring.losses(judged, fitted, new, self.y[test])
        return np.column_stack([losses, judged.decisions]), seconds


def _can_classify(estimator: Any) -> bool:
    return can_predict(estimator) and not is_regressor(estimator)


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


def _quote(label: Any) -> str:
    return repr(label.item() if isinstance(label, np.generic) else label)
