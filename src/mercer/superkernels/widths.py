"""A family of Gaussian kernels for any data."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from sklearn.gaussian_process import kernels as sk_kernels

from mercer._typing import Array
from mercer.superkernels.base import Expansion, PairKernel
from mercer.superkernels.explicit import Columns, Explicit
from mercer.validation import some_rows

SOME_ROWS = 500  # of which the median distance is taken


@final
class Widths(PairKernel):
    r"""Gaussian kernels of several widths, on all features together and optionally on each [OSW02, (15)].

    .. math:: k_i(x, x') = \exp\Bigl(-\frac1{2 w_i^2} \sum_j \frac{(x_j - x'_j)^2}{s_j^2}\Bigr)

    The scale s_j of a feature is its standard deviation times a common factor, so that the median distance of
    two rows is one: the kernels do not depend on the units of the features. Each kernel is normalised as in
    `Explicit`, and so the widest is as good as linear.

    Parameters
    ----------
    widths : sequence of float, default=(0.25, 0.5, 1.0, 2.0, 4.0, 16.0)
        The widths w_i of kernels on all features together.
    feature_widths : sequence of float, default=()
        The widths of kernels on each feature alone, in standard deviations of the feature.
    """

    def __init__(
        self,
        widths: Sequence[float] = (0.25, 0.5, 1.0, 2.0, 4.0, 16.0),
        *,
        feature_widths: Sequence[float] = (),
    ) -> None:
        self.widths = widths
        self.feature_widths = feature_widths

    def fitted_to(self, X: Array) -> Explicit:
        """Return the kernels, for rows like these, as a superkernel."""
        widths, feature_widths = _check(self.widths, "widths"), _check(self.feature_widths, "feature_widths")
        if len(widths) + len(feature_widths) == 0:
            raise ValueError("widths and feature_widths are both empty: give one width or more")
        deviation = np.std(X, axis=0)
        size = np.max(np.abs(X), axis=0)
        varying = np.flatnonzero(deviation > 1e-12 * size)
        if len(varying) == 0:
            raise ValueError("all columns of X are constant: there is nothing to learn from")
        every = None if len(varying) == X.shape[1] else tuple(varying.tolist())
        scale = deviation[varying] * _median_distance(X[:, varying] / deviation[varying])
        kernels: list[sk_kernels.Kernel] = [sk_kernels.RBF(w * scale, "fixed") for w in widths]
        columns: list[Columns] = [every] * len(kernels)
        for j in varying.tolist():
            kernels += [sk_kernels.RBF(w * float(deviation[j]), "fixed") for w in feature_widths]
            columns += [(j,)] * len(feature_widths)
        return Explicit(kernels, columns=None if all(some is None for some in columns) else columns)

    def __call__(self, P: Any, Q: Any = None) -> Array:
        """Return the Gram matrix of pairs; the scales of features are taken from their rows."""
        rows = np.asarray(P, dtype=np.float64)
        return self.fitted_to(rows.reshape(-1, rows.shape[-1]))(P, Q)

    def expand(self, X: Array, others: Array, *, tol: float, max_rank: int, rng: RandomState) -> Expansion:
        """Return the kernels as terms."""
        return self.fitted_to(X).expand(X, others, tol=tol, max_rank=max_rank, rng=rng)


def _check(widths: Sequence[float], name: str) -> NDArray[np.float64]:
    numbers = np.asarray(list(widths), dtype=np.float64)
    if not np.all((numbers > 0) & np.isfinite(numbers)):
        raise ValueError(f"{name} must be positive numbers, got {widths!r}.")
    return numbers


def _median_distance(Z: Array) -> float:
    """Return the median distance of two rows, of some of them if they are many."""
    distance = pdist(Z[some_rows(len(Z), SOME_ROWS)])
    distance = distance[distance > 1e-6 * np.max(distance, initial=0.0)]  # less are rounding errors
    return float(np.median(distance)) if len(distance) else 1.0
