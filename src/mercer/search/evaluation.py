"""One candidate on one fold: what it predicts for rows that it has not seen, setting by setting."""

import time
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from mercer.search.candidates import Candidate
from mercer.svm import KernelSVC

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class Rows(NamedTuple):
    """What is searched on."""

    X: Array
    y: NDArray[Any]
    unlabelled: Array | None


class SharedKernel(NamedTuple):
    """A learned kernel that several settings use, and how long it took to learn."""

    kernel: Any
    seconds: float


class Outcome(NamedTuple):
    """What came of a candidate's settings on one fold."""

    wrong: Array  # (n_test, n_settings), 1 where the prediction is wrong
    fit_seconds: Array  # (n_settings,), each with the time that its kernel took, be it shared or not
    predict_seconds: Array
    seconds: float  # of all together
    failure: str | None = None


def evaluate(
    candidate: Candidate, settings: Sequence[dict[str, Any]], rows: Rows, train: Index, test: Index
) -> Outcome:
    """Fit each setting to the training rows and compare its predictions with the test rows' classes.

    Scaling is part of it. Settings that share a learner and differ in C alone learn the kernel once.
    """
    scaler = StandardScaler().fit(_all_rows(rows, train))
    X, y = scaler.transform(rows.X[train]), rows.y[train]
    new, truth = scaler.transform(rows.X[test]), rows.y[test]
    more = {} if rows.unlabelled is None else {"unlabelled": scaler.transform(rows.unlabelled)}
    wrong = np.ones((len(test), len(settings)))
    fit_seconds, predict_seconds = np.zeros(len(settings)), np.zeros(len(settings))
    shared: dict[str, SharedKernel] = {}
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of settings that do not suit the data: their errors tell
        for k, setting in enumerate(settings):
            try:
                estimator, saved = _with_kernel(candidate, setting, X, y, more, shared)
                start = time.perf_counter()
                fitted = _fit(estimator, X, y, more)
                middle = time.perf_counter()
                wrong[:, k] = fitted.predict(new) != truth
                fit_seconds[k], predict_seconds[k] = saved + middle - start, time.perf_counter() - middle
            except (ValueError, ArithmeticError, np.linalg.LinAlgError, MemoryError) as error:
                failure = f"{type(error).__name__}: {error}"
                return Outcome(wrong, fit_seconds, predict_seconds, time.perf_counter() - begin, failure)
    return Outcome(wrong, fit_seconds, predict_seconds, time.perf_counter() - begin)


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
