"""Training samples with numbers: checked and standardised, and back."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length

from mercer._typing import Array, Index
from mercer.array_api import apply, is_of_torch, like, take, to_numpy
from mercer.machines.places import check_few
from mercer.machines.problems import Problem, Problems
from mercer.scikit import check_sample_weight
from mercer.validation import check_rows, check_target


class NumberSamples(NamedTuple):
    """Checked training samples: C_i = C × weight_i. X may be a tensor; targets and weights are of NumPy."""

    X: Array
    Y: Array  # (n, n_targets)
    weight: Array

    def select(self, rows: Index) -> "NumberSamples":
        """Return some of the rows."""
        if len(rows) == len(self.X) and np.array_equal(rows, np.arange(len(rows))):
            return self
        return NumberSamples(take(self.X, rows), self.Y[rows], self.weight[rows])

    @property
    def given(self) -> Array:
        """Return the weights."""
        return self.weight

    def counted(self) -> tuple["NumberSamples", Index]:
        """Return those of positive weight, and which they are."""
        rows = np.flatnonzero(self.weight > 0)
        return self.select(rows), rows

    def in_memory(self, estimator: Any) -> "NumberSamples":
        """Return the samples as NumPy arrays, for solvers that have no other."""
        check_few(self.X)
        return self._replace(X=to_numpy(self.X))

    def spread(self) -> Array:
        """Return the standard deviation of each target."""
        mean = np.average(self.Y, axis=0, weights=self.weight)
        spread: Array = np.sqrt(np.average((self.Y - mean) ** 2, axis=0, weights=self.weight))
        return spread


class TargetScaling(NamedTuple):
    """Targets are offset + scale × f, so that C does not depend on their units; of counts, log-means are.

    Poisson's loss of counts y, C (exp f − y f), is that of y / ȳ for f less log ȳ, with C ȳ in place of C:
    the same problem, and numbers of order one.
    """

    offset: Array  # of each target
    scale: Array
    is_log: bool

    @classmethod
    def of(cls, samples: NumberSamples, is_log: bool) -> "TargetScaling":
        """Return the scaling of some samples: mean and standard deviation, or log-mean and one."""
        mean = np.average(samples.Y, axis=0, weights=samples.weight)
        constant = np.ptp(samples.Y, axis=0) == 0.0  # exactly, where a mean has rounding errors
        mean = np.where(constant, samples.Y[0], mean)
        return cls.from_moments(mean, np.where(constant, 0.0, samples.spread()), is_log)

    @classmethod
    def from_moments(cls, mean: Array, spread: Array, is_log: bool) -> "TargetScaling":
        """Return the scaling by mean and standard deviation, zero for constant targets; or by log-mean."""
        if is_log and not np.all(mean > 0):
            raise ValueError(
                "loss='poisson' needs targets that are not all zero, in the training part of every fold too."
            )
        if is_log:
            return cls(np.log(mean), np.ones(len(mean)), is_log)
        return cls(mean, np.where(spread > 0.0, spread, 1.0), is_log)

    def pose(self, samples: NumberSamples) -> Problems:
        """Return the problems of all targets."""
        columns = enumerate(samples.Y.T)
        return Problems([Problem(None, *self.convert(y, samples.weight, k)) for k, y in columns])

    def convert(self, y: Array, weight: Array, k: int = 0) -> tuple[Array, Array]:
        """Return the standardised values of target k, and what multiplies C for each sample."""
        if self.is_log:
            mean = float(np.exp(self.offset[k]))
            return y / mean, weight * mean
        return (y - self.offset[k]) / self.scale[k], weight

    def predict(self, f: Array) -> Array:
        """Return the predictions of standardised values, one column per target."""
        values: Array = like(f, self.offset) + like(f, self.scale) * f
        return apply("exp", values) if self.is_log else values


def check_numbers(
    estimator: Any, X: Any, y: Any, sample_weight: ArrayLike | None, is_log: bool
) -> NumberSamples:
    """Check what `fit` was given."""
    X = check_rows(estimator, X)
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    Y = check_target(to_numpy(y) if is_of_torch(y) else y)
    if is_log and np.any(Y < 0):
        raise ValueError(f"loss='poisson' needs counts, or other targets of at least 0, got {Y.min():g}.")
    _warn_of_two_values(Y)
    check_consistent_length(X, Y)
    estimator._one_target = Y.ndim == 1
    if is_of_torch(sample_weight):
        sample_weight = to_numpy(sample_weight)
    weight = check_sample_weight(sample_weight, Y, dtype=np.float64, ensure_non_negative=True)
    return NumberSamples(X, Y.reshape(len(Y), -1), weight)


def _warn_of_two_values(Y: Array) -> None:
    if Y.ndim == 1 and len(Y) > 2:
        low, high = Y.min(), Y.max()
        if low < high and np.all((low == Y) | (high == Y)):
            warnings.warn(
                f"The target has two values, {low:g} and {high:g}: if these are classes, use a classifier "
                "such as StumpSVC.",
                UserWarning,
                stacklevel=5,
            )
