r"""Rows with their Gram matrix: the same solver for any kernel, and for few rows of the stump kernel.

A function is f = K a with one coefficient for each row. A Newton step solves its system by Cholesky, where
engines without a Gram matrix need conjugate gradients. K need be positive semi-definite among coefficients of
sum zero alone, as minus a distance is: it is centred, K_ij − m_i − m_j, which the intercept makes up for.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist

from mercer._typing import Array, Index
from mercer.solvers.stump_svm.driver import Solution, solve_path
from mercer.solvers.stump_svm.products import CodedColumns
from mercer.solvers.stump_svm.rows import ExactRows, Look, Point

FEW_ROWS = 500  # up to these a Gram matrix is the fastest way, and more digits cost little:
MORE_DIGITS = 1e-6  # the tolerance is this share of what is asked for
ROUNDING = 1e-14  # of the diagonal: what keeps a matrix of repeated rows positive definite


class GramMatrix(NamedTuple):
    """A positive semi-definite Gram matrix, with the products that `ExactRows` asks for."""

    K: Array

    @classmethod
    def of_stumps(cls, columns: CodedColumns) -> "GramMatrix":
        """Return the stump kernel as other engines have it, 2 Σ_d min(x_id, x_jd) with the least x zero."""
        X = columns.samples() - columns.value[:, 0]
        total, K = X.sum(axis=1), cdist(X, X, "cityblock")
        return cls(np.subtract(total[:, None] + total, K, out=K))

    def product(self, v: Array) -> Array:
        """Return K v."""
        product: Array = self.K @ v
        return product

    def product_at(self, v: Array, rows: Index) -> Array:
        """Return K v at some rows."""
        return self.product(v)[rows]


class GramRows(ExactRows):
    """Rows in memory, with their Gram matrix."""

    @classmethod
    def of(cls, columns: Any, y: Array, weight: Array) -> Self:
        """Prepare the rows of a `GramMatrix`."""
        diagonal = max(float(np.trace(columns.K) / len(y) - columns.K.mean()), 0.0)
        return cls(columns, y, weight, diagonal)

    def newton_step(self, seen: Look, floor: float) -> Point:
        """Return the step to the minimum if the curvature stays."""
        J, step, bias = seen.near, seen.away.coef.copy(), 0.0
        if len(J) > 0:
            K: Array = self.columns.K
            A = K.copy() if len(J) == len(K) else K[np.ix_(J, J)]
            A.flat[:: len(J) + 1] += 1.0 / seen.curvature + ROUNDING * self.diagonal
            right = np.column_stack([seen.away.value[J], np.ones(len(J))])
            x, ones = cho_solve(cho_factor(A, lower=True, overwrite_a=True), right).T
            bias = float((seen.mass - x.sum()) / ones.sum())
            step[J] -= x + bias * ones
        return self.at(step, bias)


def solve_on_gram(
    K: Array, y: Array, weight: Array, Cs: Sequence[float], loss: Any, **options: Any
) -> Iterator[Solution]:
    """Minimise ½ aᵀK a + Σ_i ℓ_i((K a)_i + b) with penalties C × weight_i, for each C in ascending order.

    `options` are those of `stump_svm.solve`. The bias of a solution is for K as it is given.
    """
    if len(y) <= FEW_ROWS:
        options["tol"] = MORE_DIGITS * options.get("tol", 1e-3)
    means = K.mean(axis=1) - K.mean() / 2
    centred = K - means[:, None]
    centred -= means[None, :]
    for solution in solve_path(GramRows.of(GramMatrix(centred), y, weight), Cs, loss, **options):
        yield solution._replace(bias=solution.bias - float(means @ solution.function.coef))
