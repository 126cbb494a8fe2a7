"""Samples with features of mean zero and variance one, and the way back to the features as given."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array

CONSTANT = 1e-12  # of a column's largest value: a smaller spread is rounding, and no Gaussian could fit it


class Standardized(NamedTuple):
    """Standardised rows without the constant columns, and how they were made."""

    rows: Array  # (n, number of columns that vary)
    centre: Array  # (d,)
    spread: Array  # (d,), zero for constant columns

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Return which columns are not constant."""
        varying: NDArray[np.bool_] = self.spread > 0.0
        return varying

    def place(self, points: Array) -> Array:
        """Return points (…, columns that vary) in the columns as they were given."""
        placed = np.broadcast_to(self.centre, (*points.shape[:-1], len(self.centre))).copy()
        placed[..., self.varies] += points * self.spread[self.varies]
        return placed

    def stretch(self, factors: Array, diagonal: bool) -> Array:
        """Return factors P of inverse covariances for the given columns; zero for constant ones."""
        spread, d = self.spread[self.varies], len(self.spread)
        if diagonal:
            stretched = np.zeros((*factors.shape[:-1], d))
            stretched[..., self.varies] = factors / spread
            return stretched
        stretched = np.zeros((*factors.shape[:-2], d, d))
        stretched[..., np.ix_(self.varies, self.varies)[0], np.ix_(self.varies, self.varies)[1]] = (
            factors / spread[:, None]
        )
        return stretched


def standardize_rows(X: Array, more: Array | None) -> Standardized:
    """Return all rows, `more` below X, standardised; raise ValueError if they are all equal."""
    rows = X.copy() if more is None else np.vstack([X, more])
    centre = rows.mean(axis=0)
    size = np.abs(rows).max(axis=0)
    rows -= centre
    spread = np.sqrt(np.mean(rows**2, axis=0))
    spread[spread <= CONSTANT * size] = 0.0
    if not np.any(spread):
        raise ValueError("all rows are equal: no kernel can distinguish them")
    varies = spread > 0.0
    return Standardized(rows[:, varies] / spread[varies], centre, spread)
