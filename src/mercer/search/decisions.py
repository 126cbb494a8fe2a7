"""What fitted classifiers of any kind say of samples, in one form. To predict, no search need be imported."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array, Index
from mercer.lazy import is_instance
from mercer.machines.classifier import Classifier


def decide(fitted: Any, X: Array, classes: NDArray[Any]) -> tuple[Index, Array]:
    """Return the classes of samples, as positions, and their decision values, one column per class.

    Of two classes there is one column. Who has no decision values says them by probabilities, or by 1 for a
    class and 0 for the others; a class that it has not seen comes last.
    """
    if isinstance(fitted, Classifier):
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
    if (
        not is_instance(fitted, "sklearn.svm", "SVC")
        or fitted.break_ties
        or fitted.decision_function_shape != "ovr"
    ):
        return False
    return values.ndim == 1 or not np.any(values == np.round(values))


def _elected(values: Array) -> Index:
    """Return the first of two classes where the value is negative, or the first class of the most votes."""
    return (values >= 0).astype(np.intp) if values.ndim == 1 else np.round(values).argmax(axis=1)


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
