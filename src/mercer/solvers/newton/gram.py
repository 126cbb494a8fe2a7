r"""Rows with their Gram matrix: the solver for any kernel, and for few rows of the stump kernel.

A function is f = K a with one coefficient for each row. A Newton step solves its system by Cholesky. K need
be positive semi-definite among coefficients of sum zero alone, as minus a distance is: it is centred,
K_ij − m_i − m_j, which the intercept makes up for. K may be a tensor, of double precision.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.spatial.distance import cdist

from mercer.array_api import is_of_numpy
from mercer.solvers.newton.driver import Solution, solve_path
from mercer.solvers.newton.losses import Loss
from mercer.solvers.newton.products import CodedColumns
from mercer.solvers.newton.rows import DualRows, Look, Point

FEW_ROWS = 500  # up to these a Gram matrix is the fastest way, and more digits cost little:
MORE_DIGITS = 1e-6  # the tolerance is this share of what is asked for
ROUNDING = 1e-14  # of the diagonal: what keeps a matrix of repeated rows positive definite, …
MORE_ROUNDING = 1e3  # … and by what it grows where that is not enough


class GramMatrix(NamedTuple):
    """A positive semi-definite Gram matrix, with the products that `DualRows` asks for."""

    K: Any

    @classmethod
    def of_stumps(cls, columns: CodedColumns) -> "GramMatrix":
        """Return the stump kernel as other rows have it, 2 Σ_d min(x_id, x_jd) with the least x zero."""
        X = columns.samples() - columns.value[:, 0]
        total, K = X.sum(axis=1), cdist(X, X, "cityblock")
        return cls(np.subtract(total[:, None] + total, K, out=K))

    def product(self, v: Any) -> Any:
        """Return K v."""
        return self.K @ v

    def product_at(self, v: Any, rows: Any) -> Any:
        """Return K v at some rows."""
        return self.product(v)[rows]

    def among(self, rows: Any) -> Any:
        """Return the matrix of some rows: a copy."""
        return among(self.K, rows)


@dataclass(frozen=True)
class GramRows(DualRows):
    """Rows with their `GramMatrix`, in memory or on a device."""

    @classmethod
    def of(cls, columns: GramMatrix, y: Any, weight: Any) -> Self:
        """Prepare the rows."""
        K = columns.K
        diagonal = max(float(K.diagonal().mean()) - float(K.mean()), 0.0)
        return cls(columns, y, weight, diagonal)

    def select(self, rows: Any) -> GramMatrix:
        """Return the matrix of some rows."""
        return GramMatrix(self.columns.among(rows))

    def newton_step(self, seen: Look, floor: float) -> Point:
        """Return the step to the minimum if the curvature stays."""
        J, step, bias = seen.near, 1.0 * seen.away.coef, 0.0
        if len(J) > 0:
            right = self.xp.stack([seen.away.value[J], 0.0 * self.y[J] + 1.0], axis=1)
            x, ones = self._solve(J, 1.0 / seen.curvature, right).T
            bias = float((seen.mass - x.sum()) / ones.sum())
            step[J] -= x + bias * ones
        return self.at(step, bias)

    def _solve(self, J: Any, ridge: Any, right: Any) -> Any:
        """Return (K_JJ + ridge)⁻¹ right; where rounding leaves no Cholesky factor, the ridge grows."""
        extra = ROUNDING
        while True:
            A = self.columns.among(J)
            A.reshape(-1)[:: len(J) + 1] += ridge + extra * self.diagonal
            if is_of_numpy(A):
                factor, failed = dpotrf(A.T, overwrite_a=1, clean=0)
            else:
                factor, failed = import_module("torch").linalg.cholesky_ex(A)
            if not failed or extra > 1.0:
                break
            extra *= MORE_ROUNDING
        if is_of_numpy(A):
            return dpotrs(factor, right)[0]
        return import_module("torch").cholesky_solve(right, factor)


def among(K: Any, rows: Any) -> Any:
    """Return the entries of a matrix among some rows: a copy."""
    if not is_of_numpy(K):
        return K[rows][:, rows].clone()
    return K.copy() if len(rows) == len(K) else K[np.ix_(rows, rows)]


def centre(K: Any) -> tuple[Any, Any]:
    """Return K_ij − m_i − m_j and m, in K's memory: coefficients of sum zero see no difference."""
    means = K.mean(1) - 0.5 * K.mean()
    K -= means[:, None]
    K -= means[None, :]
    return K, means


def solve_on_gram(
    K: Any, means: Any, y: Any, weight: Any, Cs: Sequence[float], loss: Loss, **options: Any
) -> Iterator[Solution]:
    """Minimise ½ aᵀK a + Σ_i ℓ_i((K a)_i + b) with penalties C × weight_i, for each C in ascending order.

    K and its means are those of `centre`; the bias of a solution is for K as it was before. `options` are
    those of `newton.solve`.
    """
    if len(y) <= FEW_ROWS:
        options["tol"] = MORE_DIGITS * options.get("tol", 1e-3)
    for solution in solve_path(GramRows.of(GramMatrix(K), y, weight), Cs, loss, **options):
        yield solution._replace(bias=solution.bias - float(means @ solution.function.coef))
