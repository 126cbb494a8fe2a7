"""Features of unit variance, whatever a few wild values among them are."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._typing import Array
from mercer.parameters import check_positive
from mercer.scikit import check_sample_weight

LEAST_WIDTH = 1e-290  # between the fences: values that are nearer to each other have few digits left


class ClippedScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Standardise features whose outliers are first moved to Tukey's fences.

    .. math:: x \mapsto (\min(\max(x, l), h) - \mu) / s, \quad l = q_1 - r (q_3 - q_1),
        \; h = q_3 + r (q_3 - q_1)

    with the quartiles q₁ and q₃ of a feature. One 55 among values from 0 to 1 hardly changes what the others
    become; `MinMaxScaler` presses them together, `StandardScaler` nearly so. Where at least half of the
    values of a feature are the same (zeros, mostly), the quartiles are those of the others, and the fences do
    not exclude that value.

    Parameters
    ----------
    reach : float, default=1.5
        How far beyond the quartiles the fences are (r).

    Attributes
    ----------
    low_, high_ : array of shape (n_features,)
        The fences l and h.
    mean_, scale_ : array of shape (n_features,)
        Mean μ and standard deviation s of the clipped values; s is 1 where they are all the same.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ClippedScaler
    >>> X = np.append(np.linspace(0.0, 1.0, 99), 55.0)[:, None]
    >>> bool(np.abs(ClippedScaler().fit_transform(X)).max() < 4.0)
    True
    """

    def __init__(self, reach: float = 1.5) -> None:
        self.reach = reach

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the fences, and mean and standard deviation between them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : object
            Not used.
        sample_weight : array-like of shape (n_samples,), optional
            How much each sample counts: 2 is as the sample twice.
        """
        check_positive(self.reach, "reach")
        rows: Array = validate_data(self, X, dtype=np.float64)
        weight = check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        weight = weight / (weight.max() or 1.0)  # whose sums, and squares with it, are numbers
        fences = np.array([_fences(column, weight, self.reach) for column in rows.T])
        self.low_, self.high_ = fences.T.copy()
        with np.errstate(over="ignore"):
            width = self.high_ - self.low_
        if not np.all(np.isfinite(width)):
            raise ValueError(
                f"Values of feature {int(np.argmin(np.isfinite(width)))} are too far apart to compute with: "
                "divide them by a large number."
            )
        unit = np.where(width > LEAST_WIDTH, width, 1.0)
        standard = StandardScaler().fit(
            (np.clip(rows, self.low_, self.high_) - self.low_) / unit, sample_weight=weight
        )
        self.mean_ = self.low_ + unit * standard.mean_
        self.scale_ = np.where(width > LEAST_WIDTH, unit * standard.scale_, 1.0)
        return self

    def transform(self, X: Any) -> Array:
        """Return the samples clipped and standardised."""
        check_is_fitted(self)
        rows: Array = validate_data(self, X, dtype=np.float64, reset=False)
        return (np.clip(rows, self.low_, self.high_) - self.mean_) / self.scale_

    def inverse_transform(self, X: Any) -> Array:
        """Return standardised samples in the units of the data; what was clipped stays clipped."""
        check_is_fitted(self)
        return np.asarray(X, dtype=np.float64) * self.scale_ + self.mean_


def _fences(values: Array, weight: Array, reach: float) -> tuple[float, float]:
    first, middle, third = _quantiles(values, weight, [0.25, 0.5, 0.75])
    other = values != middle
    if 0.0 < weight[other].sum() <= 0.5 * weight.sum():
        first, third = _quantiles(values[other], weight[other], [0.25, 0.75])
    far = reach * (third - first)  # a float of Python: too large a one is infinite, without a warning
    return min(first - far, middle), max(third + far, middle)


def _quantiles(values: Array, weight: Array, shares: list[float]) -> list[float]:
    """Return the smallest values below which, themselves included, there are these shares of the weight."""
    found: list[float] = np.quantile(values, shares, weights=weight, method="inverted_cdf").tolist()
    return found
