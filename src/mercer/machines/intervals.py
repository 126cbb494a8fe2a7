"""Prediction intervals from the errors of samples that a fit has not seen."""

import warnings
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array


class UnseenErrors(NamedTuple):
    """Errors of predictions for samples that were left out: y − ŷ, or of counts (y − ŷ) / √ŷ."""

    error: Array  # (n, n_targets)
    weight: Array  # (n,)
    is_log: bool

    @classmethod
    def of(cls, Y: Array, predicted: Array, weight: Array, is_log: bool) -> "UnseenErrors":
        """Return the errors of some predictions."""
        return cls((Y - predicted) / _spread(predicted, is_log), weight, is_log)

    def interval(self, predicted: Array, coverage: Any) -> tuple[Array, Array]:
        """Return ends between which about this share of new targets lies, as many beyond either.

        As in split conformal prediction the new target is one of n + 1 alike: the ends are the errors of
        rank ⌊(n + 1) α / 2⌋ from below and from above, or the outermost with a warning if there are too few.
        """
        n = len(self.error)
        level = (1.0 + float(coverage)) / 2 * (n + 1) / n
        if level > 1.0 + 1e-9:
            warnings.warn(
                f"Intervals of {100 * coverage:g} % need {int(np.ceil(2.0 / (1.0 - coverage) - 1.0 - 1e-6))} "
                f"samples that a fit has not seen, and there are {n}: these intervals cover less.",
                UserWarning,
                stacklevel=3,
            )
        level = min(level, 1.0)
        spread = _spread(predicted, self.is_log)
        low = predicted - spread * _quantile(-self.error, self.weight, level)
        high = predicted + spread * _quantile(self.error, self.weight, level)
        return (np.maximum(low, 0.0), np.maximum(high, 0.0)) if self.is_log else (low, high)


def check_coverage(coverage: Any) -> None:
    """Raise unless it is a share."""
    if not isinstance(coverage, Real) or isinstance(coverage, bool) or not 0.0 < float(coverage) < 1.0:
        raise ValueError(f"coverage must be a number between 0 and 1, got {coverage!r}.")


def _quantile(error: Array, weight: Array, level: float) -> Array:
    quantile: Array = np.quantile(error, level, axis=0, weights=weight, method="inverted_cdf")
    return quantile


def _spread(predicted: Array, is_log: bool) -> Any:
    return np.sqrt(np.maximum(predicted, np.finfo(np.float64).tiny)) if is_log else 1.0
