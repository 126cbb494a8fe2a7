"""Targets that are numbers. Who has something else is told what to do."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from mercer._typing import Array

LEAST_SQUARE = 1e-290  # a smaller one is, divided by some million samples, no number of full precision


def check_target(y: Any) -> Array:
    """Return the target as finite numbers, of one dimension or two; say what to do where it is not."""
    values = np.asarray(y)
    if values.dtype.kind in "Mm":
        raise ValueError(
            "The target holds dates or times, a regressor needs numbers: convert them, for example to days "
            "since the first."
        )
    if values.dtype.kind in "OUS":
        values = _convert_objects(values)
    Y: Array = check_array(values, ensure_2d=False, dtype=np.float64, input_name="y")
    with np.errstate(over="ignore"):
        if Y.ndim > 2:
            raise ValueError(
                f"The target has {Y.ndim} dimensions, but needs one, or two for several targets."
            )
        if Y.size and not np.isfinite(np.ptp(Y) ** 2 * len(Y)):
            raise ValueError("The target is too large to compute with: divide it by its standard deviation.")
    range_of = np.ptp(Y, axis=0)
    if np.any((range_of > 0.0) & (range_of**2 < LEAST_SQUARE)):
        raise ValueError("The target is too small to compute with: divide it by its standard deviation.")
    return Y


def _convert_objects(values: NDArray[Any]) -> Array:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        wrong = next(value for value in values.astype(object).ravel() if not _is_number(value))
        raise ValueError(
            f"The target holds {wrong!r}, a regressor needs numbers: for classes use a classifier such as "
            "StumpSVC, dates convert to days since the first."
        ) from None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
