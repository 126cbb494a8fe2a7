"""Support vector machines of scikit-learn whose arrays fit together.

libsvm takes the lengths of its arrays on trust: of those that do not fit, it reads beyond the end, and Python
crashes. What scikit-learn itself checks before a prediction (types and order of the arrays) is not enough.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.gaussian_process.kernels import Kernel

from mercer.persistence.errors import ModelFileError

if TYPE_CHECKING:
    from sklearn.svm._base import BaseLibSVM

KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")


def check_machine(machine: "BaseLibSVM") -> None:
    """Refuse a support vector machine whose arrays do not fit together."""
    attributes = vars(machine)
    kind = type(machine)
    _require(not any(name in dir(kind) for name in set(attributes) - set(machine.get_params())), "attributes")
    if not any(name.endswith("_") for name in attributes):
        return  # not fitted: without such an attribute, scikit-learn does not predict
    _require(attributes.get("_sparse") is False, "_sparse")
    n = _check_support(attributes, is_classifier(machine))
    _check_numbers(attributes, n, _count_classes(attributes, is_classifier(machine)))
    _check_inputs(attributes, n)


def _count_classes(attributes: Mapping[str, Any], has_classes: bool) -> int:
    """Return how many classes libsvm sees: two where there are none."""
    if not has_classes:
        return 2
    classes: Any = attributes.get("classes_")
    _require(isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > 1, "classes_")
    return len(classes)


def _check_support(attributes: Mapping[str, Any], has_classes: bool) -> int:
    """Check which rows support vectors are, and how many of each class, and return how many in all."""
    support = _array(attributes, "support_", np.int32, 1)
    counts = _array(attributes, "_n_support", np.int32, 1)
    _require(len(counts) == _count_classes(attributes, has_classes) and np.all(counts >= 0), "_n_support")
    total = counts.sum(dtype=np.int64) if has_classes else counts[0]
    _require(total == len(support), "_n_support")
    return len(support)


def _check_numbers(attributes: Mapping[str, Any], n: int, n_classes: int) -> None:
    """Check what the decisions are computed with: one for each two classes, from `n` support vectors."""
    n_decisions = n_classes * (n_classes - 1) // 2
    for name in ("_dual_coef_", "dual_coef_"):
        _require(_array(attributes, name, np.float64, 2).shape == (n_classes - 1, n), name)
    for name in ("_intercept_", "intercept_"):
        _require(len(_array(attributes, name, np.float64, 1)) == n_decisions, name)
    sizes = {len(_array(attributes, name, np.float64, 1)) for name in ("_probA", "_probB")}
    _require(sizes in ({0}, {n_decisions}), "_probA and _probB")


def _check_inputs(attributes: Mapping[str, Any], n: int) -> None:
    """Check the support vectors against the rows that are to come; of a kernel matrix, the columns."""
    kernel, vectors = attributes.get("kernel"), _array(attributes, "support_vectors_", np.float64, 2)
    shape: Any = attributes.get("shape_fit_")
    is_shape = isinstance(shape, tuple) and len(shape) == 2 and all(type(k) is int for k in shape)
    _require(is_shape, "shape_fit_")
    support = attributes["support_"]
    _require(np.all((support >= 0) & (support < shape[0])), "support_")
    if callable(kernel):
        _require(isinstance(kernel, Kernel), "kernel")  # which has a column for each row: nobody counts them
        rows = attributes.get("_BaseLibSVM__Xfit")
        _require(isinstance(rows, np.ndarray) and rows.shape == shape, "the training rows")
        return
    _require(isinstance(kernel, str) and kernel in KERNELS, "kernel")
    _require(type(attributes.get("n_features_in_")) is int, "n_features_in_")
    _require(attributes["n_features_in_"] == shape[1], "n_features_in_")
    if kernel == "precomputed":
        _require(shape[0] == shape[1], "shape_fit_")
    else:
        _require(vectors.shape == (n, shape[1]), "support_vectors_")


def _array(attributes: Mapping[str, Any], name: str, dtype: type, n_dims: int) -> np.ndarray:
    array: Any = attributes.get(name)
    _require(isinstance(array, np.ndarray) and array.dtype == dtype and array.dtype.isnative, name)
    _require(array.ndim == n_dims and array.flags.c_contiguous, name)
    return np.asarray(array)


def _require(fits: Any, name: str) -> None:
    if not fits:
        raise ModelFileError(
            f"{name} of a support vector machine in it does not fit the other attributes, and would crash "
            "Python"
        )
