r"""Rows with a few features whose inner products are the kernel: f = Φ w, for losses of any number of rows.

The penalty is ½‖w‖². A Newton step solves a system in the features, O(n p²) for p of them. The features may
be those of landmarks (Nyström's approximation).
"""

from typing import Any, NamedTuple, Self, cast

import numpy as np
from scipy.linalg import solve

from mercer._typing import Array
from mercer.solvers.stump_svm.rows import Look, Point, Rows


class FeatureMatrix(NamedTuple):
    """Features of rows."""

    F: Array  # (n, p)


class FeatureRows(Rows):
    """Rows in memory, with their features. The coefficients of a function are w."""

    @classmethod
    def of(cls, columns: Any, y: Array, weight: Array) -> Self:
        """Prepare the rows of a `FeatureMatrix`."""
        return cls(columns, y, weight, float(columns.F.var(axis=0).sum()))

    @property
    def features(self) -> Array:
        """Return Φ."""
        return cast(Array, self.columns.F)

    def zero(self) -> Point:
        """Return the function that is zero."""
        return Point(np.zeros(self.features.shape[1]), np.zeros(self.n_rows))

    def inner(self, a: Point, b: Point) -> float:
        """Return the inner product of two functions."""
        return float(a.coef @ b.coef)

    def look(self, point: Point, stiffness: float, every: int, last: Look | None = None) -> Look:
        """Return the sums at a point."""
        r = self.respond(point, stiffness)
        J, away = np.flatnonzero(r.curvature), self.features.T @ r.coef - point.coef
        return Look(Point(away, self.features @ away), *r[2:], len(J), J, r.curvature[J])

    def newton_step(self, seen: Look, floor: float) -> Point:
        """Return the step to the minimum if the curvature stays."""
        if len(seen.near) == 0:
            away: Point = seen.away
            return away
        near = self.features if len(seen.near) == self.n_rows else self.features[seen.near]
        G = np.column_stack([near, np.ones(len(near))]) * np.sqrt(seen.curvature)[:, None]
        H = G.T @ G
        H.flat[: -1 : len(H) + 1] += 1.0  # the intercept has no penalty
        step = solve(H, np.append(seen.away.coef, seen.mass), assume_a="pos", overwrite_a=True)
        return Point(step[:-1], self.features @ step[:-1], float(step[-1]))
