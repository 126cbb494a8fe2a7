"""Training samples with their classes: checked, labelled and weighed where they are."""

from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from mercer._typing import Array, Index
from mercer.array_api import detached, is_of_numpy, is_tensor, like, namespace, to_numpy
from mercer.machines.places import check_few
from mercer.scikit import check_sample_weight
from mercer.shown import shown
from mercer.validation import check_rows


class LabelledSamples(NamedTuple):
    """Checked training samples: C_i = C × weight_i."""

    X: Array
    y: NDArray[Any]
    label: Index  # positions in `classes_`; −1 for a class of no weight
    weight: Array
    sample_weight: Array | None  # as given

    def select(self, rows: Index) -> "LabelledSamples":
        """Return some of the rows, without a copy if these are all of them."""
        rows, xp, n = like(self.label, rows), namespace(self.label), len(self.X)
        if len(rows) == n and bool(xp.all(rows == xp.arange(n, device=rows.device))):
            return self
        given = None if self.sample_weight is None else self.sample_weight[rows]
        return LabelledSamples(self.X[rows], self.y[rows], self.label[rows], self.weight[rows], given)

    @property
    def given(self) -> Array:
        """Return what was given as weights, of those that count."""
        xp = namespace(self.weight)
        counts: Array = xp.astype(self.weight > 0, xp.float64)
        return counts if self.sample_weight is None else counts * self.sample_weight

    def counted(self) -> tuple["LabelledSamples", Index]:
        """Return those of positive weight, and which they are."""
        (rows,) = namespace(self.weight).nonzero(self.weight > 0)
        return self.select(rows), rows

    def in_memory(self, estimator: Any) -> "LabelledSamples":
        """Return the samples, and make the classes, NumPy arrays, for solvers that have no other."""
        check_few(self.X)
        estimator.classes_ = to_numpy(estimator.classes_)
        return LabelledSamples._make(None if part is None else to_numpy(part) for part in self)


def check_samples(
    estimator: Any, X: Any, y: Any, sample_weight: Any, class_weight: Any = None
) -> LabelledSamples:
    """Check what `fit` was given, and set the `classes_` of the estimator: those of positive weight."""
    if is_tensor(X):
        return _check_tensors(estimator, X, y, sample_weight, class_weight)
    X, y = check_rows(estimator, X, y)
    y = to_numpy(y)
    _check_labels(y)
    given = None
    if sample_weight is not None:
        given = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    weight = np.ones(len(X)) if given is None else given
    if class_weight is not None:
        weight = weight * compute_sample_weight(class_weight, y)
    estimator.classes_ = classes = np.unique(y[weight > 0])
    check_two_classes(estimator, classes)
    label = np.searchsorted(classes, y)
    label[classes.take(label, mode="clip") != y] = -1
    return LabelledSamples(X, y, label, weight, given)


def check_two_classes(estimator: Any, classes: NDArray[Any]) -> None:
    """Refuse fewer than two classes."""
    if len(classes) < 2:
        there = f"only one class: {shown(repr(classes.tolist()[0]))}" if len(classes) == 1 else "no class"
        raise ValueError(
            f"{type(estimator).__name__} needs at least two classes among the samples of positive weight, "
            f"but there is {there}."
        )


def _check_labels(y: NDArray[Any]) -> None:
    """Let scikit-learn check the labels, where it may object: its check takes as long as a small fit."""
    if y.dtype.kind in "biu" and len(np.unique(y)) <= len(y) // 2:  # many look like numbers
        return
    check_classification_targets(y)


def _check_tensors(estimator: Any, X: Any, y: Any, sample_weight: Any, class_weight: Any) -> LabelledSamples:
    X, y = check_rows(estimator, X, y)
    check_classification_targets(y)
    xp = namespace(X)
    classes, label = _encode(X, y)
    given, weight = None, xp.ones_like(label, dtype=xp.float64)
    if sample_weight is not None:
        listed = not hasattr(sample_weight, "__dlpack__") and not isinstance(sample_weight, Number)
        given = np.asarray(sample_weight) if listed else detached(sample_weight)
        given = check_sample_weight(given, X, dtype=xp.float64, ensure_non_negative=True)
        weight = given
    if class_weight is not None:
        weight = weight * like(X, _weigh_classes(class_weight, classes, label))[label]
    counts = [bool(xp.any(weight[label == k] > 0)) for k in range(len(classes))]
    estimator.classes_ = classes = classes[like(classes, np.flatnonzero(counts))]
    check_two_classes(estimator, classes)
    if not all(counts):
        label = like(X, np.where(counts, np.cumsum(counts) - 1, -1))[label]
    return LabelledSamples(X, y, label, weight, given)


def _encode(X: Any, y: Any) -> tuple[Any, Any]:
    """Return the classes, ascending, and each label's place among them, on the device of X."""
    if is_of_numpy(y) and y.dtype.kind not in "biuf":  # texts, which only NumPy has
        classes, label = np.unique(y, return_inverse=True)
        return classes, like(X, label)
    xp, y = namespace(X), like(X, y)
    number = xp.astype(y, xp.uint8) if y.dtype == xp.bool else y
    return xp.unique_values(y), xp.searchsorted(xp.unique_values(number), number)


def _weigh_classes(class_weight: Any, classes: Any, label: Any) -> Array:
    if isinstance(class_weight, str) and class_weight == "balanced":
        sizes = np.array([int(namespace(label).count_nonzero(label == k)) for k in range(len(classes))])
        return label.shape[0] / (len(classes) * sizes)
    weights: Array = compute_sample_weight(class_weight, to_numpy(classes))
    return weights
