"""Checks of parameters: each error names the parameter and its valid values."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np


def check_positive(value: Any, name: str) -> None:
    """Raise unless the parameter is a positive finite number."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    if not 0.0 < float(value) < np.inf:
        raise ValueError(f"{name} must be positive and finite, got {value!r}.")


def check_count(value: Any, name: str, least: int = 1, most: float = np.inf) -> None:
    """Raise unless the parameter is a whole number of at least `least`, and at most `most`."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, got {value!r}.")
    if int(value) < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}.")
    if int(value) > most:
        raise ValueError(f"{name} must be at most {most}, got {value!r}.")


def check_option(value: Any, name: str, options: Sequence[Any]) -> None:
    """Raise unless the parameter is one of the options, which are words, True, False or None."""
    value = bool(value) if isinstance(value, np.bool_) else value
    if not any(value is option or (isinstance(value, str) and value == option) for option in options):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}.")
