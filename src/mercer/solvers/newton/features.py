r"""Rows with features whose inner products are the kernel, f = Φ w, or about the kernel: those of landmarks.

The penalty is ½‖w‖². A Newton step solves a system of p equations for p features, from the rows near a corner
or a sample of these: O(p³). A pass over n rows is O(n p). Features of many rows have single precision: what
they add up to has double precision. They may be tensors.
"""

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Self

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dposv

from mercer._typing import Array
from mercer.array_api import is_of_numpy
from mercer.solvers.newton.rows import Look, Point, VectorRows

SAMPLE = 16  # rows for each feature whose curvature a Newton step uses, if there are more, …
LEAST = 4096  # … and at least so many
MANY = 128  # features from which on a product with them is worth more than one thread
BLOCK = 4096  # rows of single precision that are added up before they count in double precision
RANK_TOL = 1e-7  # share of the largest eigenvalue of landmarks below which a direction is rounding errors
ROUNDING = 1e-14  # of the mean diagonal of a Newton system, added to it


@dataclass(frozen=True)
class FeatureRows(VectorRows):
    """Rows in memory or on a device, with their features (n, p). The coefficients of a function are w."""

    @property
    def one_thread(self) -> bool:
        """Return whether more threads would wait more than work."""
        return bool(self.columns.shape[1] < MANY and super().one_thread)

    @property
    def most_curved(self) -> int:
        """Return about how many rows a Newton step uses."""
        return max(SAMPLE * self.columns.shape[1], LEAST)

    def moments(self) -> Any:
        """Return Σφ and Σφ² of each feature."""
        one = 0.0 * self.y + 1.0
        return self.xp.stack([_add_up(self.columns, one), _add_up(self.columns, one, squared=True)])

    def measured(self, moments: Any, n_rows: int) -> Self:
        """Fill in the mean diagonal of the centred kernel."""
        mean, square = moments / n_rows
        return replace(self, diagonal=max(float((square - mean**2).sum()), 0.0))

    def gather(self, columns: Any, coef: Any) -> Any:
        """Return Φ w."""
        if columns.dtype == coef.dtype:
            return columns @ coef
        values = columns @ self.xp.astype(coef, columns.dtype)
        return self.xp.astype(values, coef.dtype)

    def scatter(self, columns: Any, v: Any) -> Any:
        """Return Φᵀ v."""
        (rows,) = self.xp.nonzero(v)
        few = 4 * len(rows) < len(v)  # most coefficients do not change in a step
        return _add_up(columns[rows], v[rows]) if few else _add_up(columns, v)

    def represent(self, sums: Any) -> Any:
        """Return w of the function whose coefficients have these sums: they are it."""
        return sums

    def select(self, rows: Any) -> Any:
        """Return the features of some rows."""
        return self.columns[rows]

    def zero(self) -> Point:
        """Return the function that is zero."""
        return Point(
            self.xp.zeros(self.columns.shape[1], dtype=self.y.dtype, device=self.y.device), 0.0 * self.y
        )

    def inner(self, a: Point, b: Point) -> float:
        """Return the inner product of two functions."""
        return float(a.coef @ b.coef)

    def newton_step(self, seen: Look, floor: float) -> Point:
        """Return the step to the minimum if the curvature stays."""
        xp, p = self.xp, self.columns.shape[1]
        if len(seen.curvature) == 0:
            return self.at(seen.away.coef, 0.0)
        H = xp.zeros((p + 1, p + 1), dtype=self.y.dtype, device=self.y.device)
        size = max(BLOCK, p)
        for start in range(0, len(seen.curvature), size):
            near = seen.near[start : start + size]
            root = xp.astype(xp.sqrt(seen.curvature[start : start + size])[:, None], near.dtype, copy=False)
            G = xp.concat([root * near, root], axis=1)
            H += G.T @ G  # of single precision if features are: a step needs no more
        H.reshape(-1)[: -1 : p + 2] += 1.0  # the intercept has no penalty
        H.reshape(-1)[:: p + 2] += ROUNDING * float(H.diagonal().mean())
        right = xp.concat(
            [seen.away.coef, xp.full((1,), seen.mass, dtype=self.y.dtype, device=self.y.device)]
        )
        step = _solve(H, right)
        return self.at(step[:-1], float(step[-1]))


def _solve(H: Any, right: Any) -> Any:
    if is_of_numpy(H):
        return dposv(H, right, overwrite_a=1)[1]
    torch = import_module("torch")
    return torch.cholesky_solve(right[:, None], torch.linalg.cholesky(H))[:, 0]


def _add_up(F: Any, v: Any, squared: bool = False) -> Any:
    """Return Σ_i v_i φ_i, or of squared features; of single precision, block by block."""
    if F.dtype == v.dtype:
        return (F**2 if squared else F).T @ v
    total = 0.0 * F[:1].sum(0) * v[:1].sum()  # zeros, in double precision
    for start in range(0, len(F), BLOCK):
        part, own = F[start : start + BLOCK], v[start : start + BLOCK]
        part = part**2 if squared else part
        total = total + part.T @ (own.astype(part.dtype) if is_of_numpy(v) else own.to(part.dtype))
    return total


def whiten_landmarks(K_zz: Array) -> Array:
    """Return U Λ^{−1/2} of the eigenvalues that are more than rounding errors: k(x, Z) times it is φ(x).

    A kernel that is positive only for coefficients of sum zero, as minus a distance is, is centred first.
    """
    size, U = eigh(K_zz)
    if size[0] < -RANK_TOL * size[-1]:
        mean = K_zz.mean(axis=0)
        size, U = eigh(K_zz - mean - mean[:, None] + mean.mean())
    kept = size > RANK_TOL * size[-1]
    whitened: Array = U[:, kept] / np.sqrt(size[kept])
    return whitened
