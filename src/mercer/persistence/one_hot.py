"""One-hot encoders of scikit-learn whose attributes fit together.

SciPy writes a one wherever an encoder says, without a look at how many columns there are: of attributes that
do not fit together, it writes beyond the end of its array.
"""

from typing import Any

import numpy as np
from sklearn.preprocessing import OneHotEncoder

from mercer.persistence.errors import ModelFileError


def check_encoder(encoder: OneHotEncoder) -> None:
    """Refuse a fitted encoder unless each category has its place among the columns."""
    attributes = vars(encoder)
    if not any(name.endswith("_") for name in attributes):
        return  # not fitted
    categories = attributes.get("categories_")
    _require(isinstance(categories, list) and all(map(_are_categories, categories)), "categories_")
    n = len(categories)
    _require(attributes.get("n_features_in_") == n, "n_features_in_")
    mappings = _mappings(attributes, [len(each) for each in categories])
    grouped = [
        len(each) if mapping is None else int(mapping.max()) + 1
        for each, mapping in zip(categories, mappings, strict=True)
    ]
    dropped = attributes.get("_drop_idx_after_grouping")
    dropped = [None] * n if dropped is None else list(dropped)
    _require(
        len(dropped) == n
        and all(k is None or _is_below(k, width) for k, width in zip(dropped, grouped, strict=True)),
        "_drop_idx_after_grouping",
    )
    widths = [width - (k is not None) for k, width in zip(dropped, grouped, strict=True)]
    _require(attributes.get("_n_features_outs") == widths, "_n_features_outs")


def _are_categories(values: Any) -> bool:
    """Return whether they are as `fit` leaves them: numbers ascending, for they are found by bisection."""
    if not isinstance(values, np.ndarray) or values.ndim != 1 or not len(values):
        return False
    if values.dtype.kind == "f" and np.isnan(values[-1]):
        values = values[:-1]
    return values.dtype.kind in "OUS" or (
        values.dtype.kind in "biuf" and bool(np.all(values[:-1] < values[1:]))
    )


def _mappings(attributes: dict[str, Any], n_categories: list[int]) -> list[Any]:
    """Return where the categories of each column go, if rare ones share a place; None if they do not."""
    enabled = attributes.get("_infrequent_enabled")
    _require(isinstance(enabled, bool), "_infrequent_enabled")
    if not enabled:
        return [None] * len(n_categories)
    rare, mappings = attributes.get("_infrequent_indices"), attributes.get("_default_to_infrequent_mappings")
    _require(isinstance(rare, list) and len(rare) == len(n_categories), "_infrequent_indices")
    _require(
        isinstance(mappings, list) and len(mappings) == len(n_categories), "_default_to_infrequent_mappings"
    )
    for some, mapping, n in zip(rare, mappings, n_categories, strict=True):  # type: ignore[arg-type]
        _require((some is None) == (mapping is None), "_infrequent_indices")
        if mapping is not None:
            _require(_are_places(some, n), "_infrequent_indices")
            _require(_are_places(mapping, n) and len(mapping) == n, "_default_to_infrequent_mappings")
    return mappings  # type: ignore[return-value]


def _are_places(values: Any, n: int) -> bool:
    is_list = (
        isinstance(values, np.ndarray) and values.dtype.kind in "iu" and values.ndim == 1 and len(values) > 0
    )
    return is_list and bool(values.min() >= 0 and values.max() < n)


def _is_below(value: Any, n: int) -> bool:
    return isinstance(value, int | np.integer) and bool(0 <= value < n)


def _require(fits: bool, name: str) -> None:
    if not fits:
        raise ModelFileError(f"{name} of a one-hot encoder in it does not fit the other attributes")
