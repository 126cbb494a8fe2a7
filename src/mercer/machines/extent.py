"""Sizes that can be computed with: beyond, squares and inverses of features and penalties are no numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.array_api import namespace, to_numpy

FARTHEST, NEAREST = 1e50, 1e-50  # values of a feature, and how little they may differ
STRONGEST, WEAKEST = 1e60, 1e-60  # penalties C_i
MOST_DIGITS = 1e13  # of C_i times the kernel's size: with more, a fit would be of rounding errors


def check_extent(X: Any, weight: Any, Cs: Any) -> None:
    """Raise unless samples, and C times the weights of those that count, have sizes to compute with."""
    xp = namespace(X)
    largest = float(xp.max(xp.abs(X)))
    if largest > FARTHEST:
        raise ValueError(
            f"features are as large as {largest:.0e}, too large to compute with: scale the features, for "
            "example with mercer.ClippedScaler."
        )
    extent: Array = to_numpy(xp.max(X, axis=0) - xp.min(X, axis=0))
    if np.any((extent > 0.0) & (extent < NEAREST)):
        raise ValueError(
            f"the values of a feature differ by {extent[extent > 0.0].min():.0e} at most, too little to "
            "compute with: scale the features, for example with mercer.ClippedScaler."
        )
    _check_penalties(weight, np.asarray(Cs, dtype=np.float64))


def _check_penalties(weight: Array, Cs: Array) -> None:
    counted = weight[weight > 0.0]
    with np.errstate(over="ignore"):
        low, high = Cs.min() * float(counted.min()), Cs.max() * float(counted.max())
    if low < WEAKEST or high > STRONGEST:
        raise ValueError(
            f"C times the weights of the samples is between {low:.0e} and {high:.0e}, too small or too large "
            f"to compute with: divide sample_weight by its mean, and keep both between {WEAKEST:.0e} and "
            f"{STRONGEST:.0e}."
        )


def with_digits(Cs: Sequence[float], weights: Sequence[Array], size: Any) -> list[float]:
    """Return each C, or the largest that a kernel of this size leaves digits for."""
    strongest = max(float(weight.max()) for weight in weights) * float(size)
    most = MOST_DIGITS / strongest if strongest > 0.0 else np.inf
    return [min(float(C), most) for C in Cs]
