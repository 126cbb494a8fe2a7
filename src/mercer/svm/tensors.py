"""Training samples that are tensors: checked, labelled and weighed where they are.

Everything follows X, as in scikit-learn: labels and weights move to its device, and so do the fitted arrays.
"""

from numbers import Number
from typing import Any

import numpy as np
from sklearn.utils import compute_sample_weight
from sklearn.utils._array_api import _estimator_with_converted_arrays, check_same_namespace
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from mercer._typing import Array
from mercer.array_api import detached, is_of_numpy, is_tensor, like, namespace, to_numpy
from mercer.svm.base import Samples, check_two_classes
from mercer.validation import check_rows

MOST_EXACT = 100_000  # samples up to which an exact problem is solved by way of NumPy


def check_tensors(estimator: Any, X: Any, y: Any, sample_weight: Any, class_weight: Any) -> Samples:
    """Check what `fit` was given, and set the `classes_` of the estimator: those of positive weight."""
    X, y = check_rows(estimator, X, y)
    check_classification_targets(y)
    xp = namespace(X)
    classes, label = _encode(X, y)
    given, weight = None, xp.ones_like(label, dtype=xp.float64)
    if sample_weight is not None:
        listed = not hasattr(sample_weight, "__dlpack__") and not isinstance(sample_weight, Number)
        given = np.asarray(sample_weight) if listed else detached(sample_weight)
        given = _check_sample_weight(given, X, dtype=xp.float64, ensure_non_negative=True)
        weight = given
    if class_weight is not None:
        weight = weight * like(X, _weigh_classes(class_weight, classes, label))[label]
    counts = [bool(xp.any(weight[label == k] > 0)) for k in range(len(classes))]
    estimator.classes_ = classes = classes[like(classes, np.flatnonzero(counts))]
    check_two_classes(estimator, classes)
    if not all(counts):
        label = like(X, np.where(counts, np.cumsum(counts) - 1, -1))[label]
    return Samples(X, y, label, weight, given)


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


def check_place(estimator: Any, X: Any, method: str) -> None:
    """Raise unless X is where the fitted arrays of an estimator are, of which `_fitted_array` is one."""
    check_same_namespace(X, estimator, attribute="_fitted_array", method=method)
    if not is_of_numpy(estimator._fitted_array) and not is_tensor(X):
        raise ValueError(
            f"This {type(estimator).__name__} was fitted to tensors: call {method} within "
            "sklearn.config_context(array_api_dispatch=True), or move the model to NumPy by "
            "sklearn.utils._array_api.move_estimator_to(model, numpy, 'cpu')."
        )


def follow(estimator: Any, X: Any) -> None:
    """Move the fitted arrays of an estimator to where the samples are, if these are tensors."""
    if is_tensor(X):
        for name in vars(estimator).keys() - estimator.get_params(deep=False).keys():
            moved = _estimator_with_converted_arrays(getattr(estimator, name), lambda array: like(X, array))
            setattr(estimator, name, moved)


def check_few(X: Any) -> None:
    """Raise if tensors are too many to become NumPy arrays, which exact solvers need."""
    if len(X) > MOST_EXACT:
        raise ValueError(
            f"Exact problems are solved by NumPy, and {len(X)} samples on {X.device} are too many to move "
            "there unasked. Set max_bins, for example to 256, or give X.cpu().numpy()."
        )


def to_memory(estimator: Any, samples: Samples) -> Samples:
    """Return the samples, and make the classes, NumPy arrays, for the exact solvers, which have no other."""
    check_few(samples.X)
    estimator.classes_ = to_numpy(estimator.classes_)
    return Samples._make(None if part is None else to_numpy(part) for part in samples)
