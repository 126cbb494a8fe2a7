"""What fitted classifiers of any kind say of samples, in one form, and which class is said then."""

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array, Index
from mercer.lazy import is_instance
from mercer.machines.classifier import Classifier
from mercer.machines.multiclass import score_classes

MARGIN = 2.0  # log odds are about so many times the decision value of an SVM
LEAST = 1e-9  # probability


class Decision(NamedTuple):
    """Which class is said: the one whose probability times its weight is largest."""

    weights: Array  # (n_classes,), of sum 1

    @classmethod
    def most_probable(cls, n_classes: int) -> "Decision":
        """Return the decision for the most probable class."""
        return cls(np.full(n_classes, 1.0 / n_classes))

    @classmethod
    def at(cls, threshold: float, positive: int) -> "Decision":
        """Return the decision for one of two classes where its probability is above a threshold."""
        weights = np.full(2, threshold)
        weights[positive] = 1.0 - threshold
        return cls(weights)

    @property
    def is_plain(self) -> bool:
        """Return whether it is for the most probable class."""
        return bool(np.ptp(self.weights) == 0.0)

    def threshold(self, positive: int) -> float:
        """Return above which probability one of two classes is said."""
        return float(1.0 - self.weights[positive])

    def choose(self, chances: Array) -> Index:
        """Return the classes of samples, as positions, from their probabilities."""
        chosen: Index = np.argmax(chances * self.weights, axis=1)
        return chosen


def decision_values(fitted: Any, X: Array, classes: NDArray[Any]) -> Array:
    """Return decision values of samples, one column per class; of two classes there is one column.

    Who has no decision values says them by the logarithms of probabilities, or by 1 for a class and 0 for the
    others; a class that it has not seen comes last. Of several classes, two-class problems are coupled: the
    value of a class is Σ log σ(m d) over its decisions d, m = 1 where these are log odds already.
    """
    seen = getattr(fitted, "classes_", classes)
    if len(seen) > 2 and (values := _pair_values(fitted, X)) is not None:
        return _align(values, seen, classes)
    if hasattr(fitted, "decision_function"):
        return _align(np.asarray(fitted.decision_function(X), dtype=np.float64), seen, classes)
    if hasattr(fitted, "predict_proba"):
        chances = np.log(np.maximum(fitted.predict_proba(X), LEAST))
        return _align(chances[:, 1] - chances[:, 0] if chances.shape[1] == 2 else chances, seen, classes)
    predicted = np.searchsorted(classes, fitted.predict(X))
    hard = (predicted[:, None] == np.arange(len(classes))).astype(np.float64)
    return hard[:, 1:] - hard[:, :1] if len(classes) == 2 else hard


def _pair_values(fitted: Any, X: Array) -> Array | None:
    """Return what two-class problems say of several classes, coupled; None if it is no such machine."""
    n_classes = len(fitted.classes_)
    if isinstance(fitted, Classifier):
        if fitted._is_log:
            return np.asarray(fitted.decision_function(X), dtype=np.float64)
        pairs = np.asarray(fitted._answer(X, lambda _, values: values, "decision_function"))
        return np.asarray(score_classes(MARGIN * pairs, n_classes, fitted._scheme, is_log=True))
    if is_instance(fitted, "sklearn.svm", "SVC"):
        one = copy(fitted)
        one.decision_function_shape = "ovo"  # positive for the earlier class of a pair
        return np.asarray(score_classes(-MARGIN * one.decision_function(X), n_classes, "ovo", is_log=True))
    return None


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
