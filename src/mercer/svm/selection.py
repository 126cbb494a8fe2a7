"""The choice of C by cross-validation along warm-started paths."""

from collections.abc import Iterator, Sequence
from copy import copy
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.callback import CallbackContext, with_callbacks
from sklearn.utils._array_api import _average
from sklearn.utils.validation import check_consistent_length

from mercer._typing import Array, Flags, Index
from mercer.array_api import is_of_torch, like, namespace, take, to_numpy
from mercer.svm.base import Samples
from mercer.svm.dual import DualSVC, TwoClassSVM, run_in_threads
from mercer.svm.multiclass import TwoClassProblem, choose_classes
from mercer.svm.tensors import follow


def make_grid(Cs: int | ArrayLike, low: int = -17, high: int = 3) -> Array:
    """Return ascending C: those given, or that number of them from 2^low to 2^high in equal ratios.

    The default is that of [LL05, VI], 2⁻¹⁷ to 2³.
    """
    if isinstance(Cs, bool):
        raise TypeError(f"Cs must be a number of values, or the values of C; got {Cs}.")
    if isinstance(Cs, Integral):
        if Cs < 1:
            raise ValueError(f"Cs={Cs}: give at least one value of C, or the number of values.")
        return np.logspace(low, high, int(Cs), base=2.0)
    grid = np.unique(np.asarray(Cs, dtype=np.float64))
    if grid.size == 0:
        raise ValueError("Cs is empty: give at least one value of C, or the number of values.")
    if not (np.all(np.isfinite(grid)) and grid[0] > 0):
        raise ValueError(f"Every C must be positive and finite, got {Cs!r}.")
    return grid


class ChoosesC:
    """What estimators share that choose `C_` from the values `Cs_`."""

    C_: float
    Cs_: Array

    @property
    def edge_(self) -> str | None:
        """The end of the values that `C_` is at, "lower" or "upper"; there, further values may be better."""
        ends = {float(self.Cs_[0]): "lower", float(self.Cs_[-1]): "upper"}
        return ends.get(self.C_) if len(self.Cs_) > 1 else None


def split_folds(
    cv: Any,
    samples: Samples,
    classes: NDArray[Any],
    among: Flags | None = None,
    groups: ArrayLike | None = None,
) -> list[tuple[Index, Index]]:
    """Return the rows of each fold that count; each class must be in every training part.

    Rows of no weight do not count, nor do others than those `among` which to stay.
    """
    from sklearn.model_selection import check_cv  # to predict, it need not be imported

    check_consistent_length(samples.X, groups)
    rows, label = np.arange(len(samples.X)), to_numpy(samples.label)  # splitters are for NumPy alone
    groups = to_numpy(groups) if is_of_torch(groups) else groups
    counts = to_numpy(samples.weight > 0)
    counts = counts if among is None else among & counts
    folds = []
    splitter = check_cv(cv, label, classifier=True)
    for k, fold in enumerate(splitter.split(samples.X, label, groups)):
        train, test = (part[counts[part]] for part in (rows[np.asarray(f)] for f in fold))
        missing = np.setdiff1d(np.arange(len(classes)), label[train])
        if len(missing) > 0:
            raise ValueError(
                f"The training part of fold {k} holds no row of class {classes[missing[0]]}. Use "
                "stratified folds (an integer cv), fewer folds, or more rows of that class."
            )
        if len(test) == 0:
            raise ValueError(f"Fold {k} holds no test row of positive weight.")
        folds.append((like(samples.label, train), like(samples.label, test)))
    return folds


def check_score(score: Any, scoring: Any, n_tested: int) -> float:
    """Return the score of a fold; raise if it is none, as of a fold that tests too few samples for it."""
    if np.isnan(score):
        raise ValueError(
            f"scoring={scoring!r} gives no number for a fold that tests {n_tested} sample(s). Use fewer "
            "folds (cv=5), or another scoring."
        )
    return float(score)


class SelectedCSVC(ChoosesC, DualSVC):
    """A `DualSVC` whose C has the best cross-validated score. It has `Cs`, `cv` and `scoring`."""

    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Choose C by cross-validation, then fit the SVM to all samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; within ``sklearn.config_context(array_api_dispatch=True)`` also a tensor.
        y : array-like of shape (n_samples,)
            Their classes, two or more.
        sample_weight : array-like of shape (n_samples,), default=None
            What multiplies C for each sample. The scores are weighted alike, unless `scoring` is a callable.
            Samples of weight zero are left out.
        groups : array-like of shape (n_samples,), default=None
            What a splitter such as `sklearn.model_selection.GroupKFold` keeps together.
        """
        self.Cs_ = make_grid(self.Cs)
        samples = self._check_training(X, y, sample_weight)
        folds = split_folds(self.cv, samples, self.classes_, groups=groups)
        context = self._init_callback_context(max_subtasks=len(folds) + 1, sequential_subtasks=False)
        context.call_on_fit_task_begin(estimator=self)
        tasks = [
            context.subcontext("fold", task_id=k, max_subtasks=None, sequential_subtasks=False)
            for k in range(len(folds))
        ]
        together = self._fold_paths(samples, folds, list(self.Cs_))
        paths = [None] * len(folds) if together is None else together
        results = run_in_threads(
            self.n_jobs,
            [
                partial(self._score_fold, samples, train, test, task, path)
                for (train, test), task, path in zip(folds, tasks, paths, strict=True)
            ],
        )
        self.scores_ = np.array([scores for scores, _ in results])
        self._warn_unless_converged([fit for _, worst in results for fit in worst])
        self.C_ = float(self.Cs_[np.argmax(self.scores_.mean(axis=0))])  # the smallest of equals
        refit = context.subcontext("refit", task_id=len(folds), max_subtasks=None, sequential_subtasks=False)
        self._fit_problems(samples, self.C_, refit.call_on_fit_task_begin(estimator=self))
        refit.call_on_fit_task_end(estimator=self)
        follow(self, X)
        context.call_on_fit_task_end(estimator=self)
        return self

    def _score_fold(
        self,
        samples: Samples,
        train: Index,
        test: Index,
        task: CallbackContext,
        path: Iterator[Sequence[TwoClassSVM]] | None,
    ) -> tuple[list[float], list[TwoClassSVM]]:
        """Return the score on the test rows for each C, and the least converged fit of each."""
        task.call_on_fit_task_begin(estimator=self)
        if path is None:
            fold = samples.select(train)
            path = self._paths(fold, self._split(fold.label))
        held_out, scores, worst = samples.select(test), [], []
        for k, fits in enumerate(path):
            step = task.subcontext("C", task_id=k).call_on_fit_task_begin(estimator=self)
            scores.append(self._score(held_out, [fit.function for fit in fits]))
            worst.append(max(fits, key=lambda fit: fit.residual))
            step.call_on_fit_task_end(estimator=self)
        task.call_on_fit_task_end(estimator=self)
        return scores, worst

    def _paths(self, fold: Samples, problems: list[TwoClassProblem]) -> Iterator[Sequence[TwoClassSVM]]:
        """Solve every two-class problem for each C."""
        Cs = list(self.Cs_)
        together = self._paths_together(fold, problems, Cs)
        if together is not None:
            return together
        parts = [fold.select(problem.rows) for problem in problems]
        return zip(
            *(
                self._path(part.X, problem.y, part.weight, Cs, None)
                for part, problem in zip(parts, problems, strict=True)
            ),
            strict=True,
        )

    def _score(self, test: Samples, functions: list[Any]) -> float:
        """Return the score of a candidate on the test rows."""
        candidate = copy(self)
        candidate._functions = functions
        if self.scoring is None:  # as accuracy_score, without checking again what has been checked
            chosen = choose_classes(candidate._decisions(test.X), len(self.classes_), self._scheme)
            xp = namespace(chosen)
            return float(
                _average(xp.astype(chosen == test.label, xp.float64), weights=test.sample_weight, xp=xp)
            )
        from sklearn.metrics import check_scoring

        weighted = test.sample_weight is not None and not callable(self.scoring)
        options = {"sample_weight": test.sample_weight} if weighted else {}
        scorer = check_scoring(candidate, scoring=self.scoring)
        score = scorer(candidate, test.X, take(self.classes_, test.label), **options)
        return check_score(score, self.scoring, len(test.X))
