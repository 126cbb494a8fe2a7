"""One candidate on one fold: what it predicts for rows that it has not seen, setting by setting."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from mercer._typing import Array, Index
from mercer.search.candidates import Candidate
from mercer.search.folds import thin_by_class
from mercer.search.task import Attempt, Outcome, Sample, try_settings
from mercer.svm import KernelSVC

FEW_ROWS = 1000  # of so many none is spared: with fewer, a comparison would say little


class SharedKernel(NamedTuple):
    """A learned kernel that several settings use, and how long it took to learn."""

    kernel: Any
    seconds: float


class Rows(NamedTuple):
    """What is searched on."""

    X: Array
    y: NDArray[Any]
    unlabelled: Array | None

    @property
    def n_unlabelled(self) -> int:
        """Return how many rows have no labels."""
        return 0 if self.unlabelled is None else len(self.unlabelled)

    @property
    def n_rows(self) -> int:
        """Return how many rows there are, of either kind."""
        return len(self.X) + self.n_unlabelled

    def evaluate(
        self, candidate: Candidate, settings: Sequence[dict[str, Any]], train: Index, test: Index
    ) -> Outcome:
        """Fit each setting to the training rows and compare its predictions with the test rows' classes.

        Scaling is part of it. Settings that share a learner and differ in C alone learn the kernel once.
        """
        scaler = StandardScaler().fit(_all_rows(self, train))
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
        """Return some n training rows, of all classes: every k-th of each; and a quarter as many to test.

        Of rows without labels there are no more than n either.
        """
        step = max(1, len(train) // n)
        of_classes = [train[self.y[train] == label][::step] for label in np.unique(self.y[train])]
        some, few = np.concatenate(of_classes), self._spare(n)
        return Sample(few, some, test[: max(1, n // 4)], self.size(train) / few.size(some))

    def size(self, train: Index) -> int:
        """Return how many rows a fit sees."""
        return len(train) + self.n_unlabelled

    def thin(
        self, folds: Sequence[tuple[Index, Index]], share: float
    ) -> tuple["Rows", Sequence[tuple[Index, Index]], float]:
        """Return a share of the rows of each class, and of those without labels; but of few rows all."""
        task = self._spare(max(int(share * self.n_unlabelled), FEW_ROWS))
        n_wanted = max(int(share * len(self.X)), FEW_ROWS)
        kept = np.ones(len(self.X), dtype=bool)
        if n_wanted < len(self.X):
            kept[:] = False
            kept[thin_by_class(self.y, n_wanted, 0)] = True
            thinned = [(train[kept[train]], test[kept[test]]) for train, test in folds]
            if all(len(test) and len(np.unique(self.y[train])) > 1 for train, test in thinned):
                folds = thinned
            else:
                kept[:] = True
        return task, folds, (kept.sum() + task.n_unlabelled) / self.n_rows

    def part(self, share: float, seed: int, least: int = FEW_ROWS) -> "Rows":
        """Return a share of all rows, of each class as many as of all; of either kind some at least."""
        if share >= 1.0:
            return self
        some = thin_by_class(self.y, max(least, int(share * len(self.X))), seed)
        return Rows(self.X[some], self.y[some], self.unlabelled)._spare(
            max(least, int(share * self.n_unlabelled))
        )

    def _spare(self, n: int) -> "Rows":
        """Return the rows, with n of those without labels at most: every k-th."""
        if self.unlabelled is None or self.n_unlabelled <= n:
            return self
        return self._replace(unlabelled=self.unlabelled[:: -(-self.n_unlabelled // max(n, 1))])


def refit(candidate: Candidate, setting: dict[str, Any], rows: Rows) -> tuple[StandardScaler, Any]:
    """Fit a scaler and the candidate to all rows."""
    scaler = StandardScaler().fit(_all_rows(rows, np.arange(len(rows.X))))
    more = {} if rows.unlabelled is None else {"unlabelled": scaler.transform(rows.unlabelled)}
    return scaler, _fit(_set(candidate, setting), scaler.transform(rows.X), rows.y, more)


def takes_unlabelled(estimator: Any) -> bool:
    """Whether a classifier learns from rows without labels."""
    return isinstance(estimator, KernelSVC) and hasattr(estimator.learner, "fit")


def _all_rows(rows: Rows, train: Index) -> Array:
    return rows.X[train] if rows.unlabelled is None else np.vstack([rows.X[train], rows.unlabelled])


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
