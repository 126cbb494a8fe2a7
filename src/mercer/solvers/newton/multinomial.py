r"""Several classes at once, by the multinomial log-loss: one function f_k for each class.

.. math:: \min_{W, b} \tfrac12 \|W\|^2
          + \sum_i C_i \Big( \log \sum_k \exp f_{ik} - f_{i y_i} \Big), \qquad f_i = W^\top \phi(x_i) + b.

The classes meet in every row, so that this is one problem: a function of as many values for each row, with
as many intercepts. Newton steps are solved by conjugate gradients, whose product is two passes over the
features: O(n p) for each class. Where all rows are equally curved, the system is diagonal along the principal
axes of the features, but for what couples the classes: so a diagonal matrix along these is the
preconditioner, and few steps are enough.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from mercer.array_api import namespace
from mercer.solvers.newton.driver import Solution, solve_path
from mercer.solvers.newton.features import MANY
from mercer.solvers.newton.losses import Loss, Response, Target
from mercer.solvers.newton.rows import Look, Point, VectorRows

BLOCK = 4096  # rows whose products are added up in double precision
LEAST_SIZE = 1e-12  # of an eigenvalue, as a share of the largest: less is rounding errors
MOST_PRODUCTS = 200  # of a Newton step
CG_TOL = 0.2  # of the gradient's norm that a Newton step leaves
TINY = 1e-300


class Axes(NamedTuple):
    """Features, and their principal axes: along these, their products with each other are zero."""

    F: Any  # (n, p)
    size: Any  # Σ_i φ_i² along each axis
    turn: Any = None  # (p, p), an axis in each column; none if these are the features
    of_rows: Any = None  # of a Gram matrix, what makes coefficients of rows of a vector of features

    @classmethod
    def of_features(cls, F: Any) -> "Axes":
        """Find the axes of features."""
        xp = namespace(F)
        blocks = (xp.astype(F[k : k + BLOCK], xp.float64, copy=False) for k in range(0, len(F), BLOCK))
        size, turn = xp.linalg.eigh(sum(block.T @ block for block in blocks))
        return cls(F, xp.clip(size, 0.0, None), turn)

    @classmethod
    def of_gram(cls, K: Any, single: bool = False) -> "Axes":
        """Return features of the rows of a Gram matrix, of single precision if that will do."""
        xp = namespace(K)
        size, U = xp.linalg.eigh(K)
        kept = size > LEAST_SIZE * xp.max(size)
        size, U = size[kept], U[:, kept]
        F = U * xp.sqrt(size)
        return cls(xp.astype(F, xp.float32) if single else F, size, None, U / xp.sqrt(size))

    def divide(self, r: Any, scale: Any) -> Any:
        """Return r, divided by a scale along each axis."""
        return r / scale if self.turn is None else self.turn @ ((self.turn.T @ r) / scale)


class SoftmaxLoss(Loss):
    """C (log Σ_k exp f_k − f_y); y has a one in the column of the class."""

    def respond(self, xp: Any, f: Any, rows: Target, stiffness: float) -> Response:
        """Return how the rows respond; their probabilities stand for the curvature."""
        top = xp.max(f, axis=1, keepdims=True)
        e = xp.exp(f - top)
        total = xp.sum(e, axis=1, keepdims=True)
        P = e / total
        loss = float((rows.C * (top + xp.log(total) - xp.sum(rows.y * f, axis=1, keepdims=True))).sum())
        coef = rows.C * (rows.y - P)
        return Response(coef, P, coef.sum(0), loss, loss + float((coef * f).sum()))


@dataclass(frozen=True)
class SoftmaxRows(VectorRows):
    """Rows with the `Axes` of their features; y and the coefficients of a function have a column a class."""

    sample_from = sys.maxsize

    @property
    def one_thread(self) -> bool:
        """Return whether more threads would wait more than work."""
        return bool(self.columns.F.shape[1] < MANY)

    def moments(self) -> Any:
        """Return nothing: a smooth loss needs to know no diagonal."""

    def measured(self, moments: Any, n_rows: int) -> Self:
        """Return the rows."""
        return self

    def gather(self, columns: Any, coef: Any) -> Any:
        """Return Φ W."""
        return self._multiply(columns.F, coef)

    def scatter(self, columns: Any, v: Any) -> Any:
        """Return Φᵀ v."""
        return self._multiply(columns.F.T, v)

    def _multiply(self, F: Any, v: Any) -> Any:
        xp = self.xp
        return xp.astype(F @ xp.astype(v, F.dtype, copy=False), v.dtype, copy=False)

    def represent(self, sums: Any) -> Any:
        """Return W of the function whose coefficients have these sums: they are it."""
        return sums

    def select(self, rows: Any) -> Axes:
        """Return the features of some rows."""
        axes: Axes = self.columns._replace(F=self.columns.F[rows])
        return axes

    def zero(self) -> Point:
        """Return the function that is zero."""
        shape, like = (self.columns.F.shape[1], self.y.shape[1]), self.y
        return Point(self.xp.zeros(shape, dtype=like.dtype, device=like.device), 0.0 * like, 0.0 * like[0])

    def inner(self, a: Point, b: Point) -> float:
        """Return the inner product of two functions."""
        return float((a.coef * b.coef).sum())

    def look(self, point: Point, stiffness: float, every: int, last: Look | None = None) -> Look:
        """Return the sums at a point, where every row is curved."""
        r = self.respond(point, stiffness)
        away = self.away(point, self.scatter(self.columns, r.coef))
        return Look(away, *r[2:], self.n_rows, None, r.curvature)

    def newton_step(self, seen: Look, floor: float) -> Point:
        """Solve the Newton system by conjugate gradients, up to a share of the gradient."""
        xp, axes, P, C = self.xp, self.columns, seen.curvature, self.target.C
        curvature = xp.sum(C * P * (1.0 - P), axis=0)
        scale, flat = 1.0 + axes.size[:, None] * (curvature / self.n_rows), curvature + TINY
        r, s = seen.away.coef, seen.mass
        V, v = 0.0 * r, 0.0 * s
        z, t = axes.divide(r, scale), s / flat
        p, q, rz = z, t, float((r * z).sum() + (s * t).sum())
        first = rz
        for _ in range(MOST_PRODUCTS):
            if rz <= CG_TOL**2 * first or rz <= 0.0:
                break
            D = self.gather(axes, p) + q
            D = C * P * (D - xp.sum(P * D, axis=1, keepdims=True))
            Hp, Hq = p + self.scatter(axes, D), xp.sum(D, axis=0)
            length = rz / float((p * Hp).sum() + (q * Hq).sum())
            V, v, r, s = V + length * p, v + length * q, r - length * Hp, s - length * Hq
            z, t = axes.divide(r, scale), s / flat
            last, rz = rz, float((r * z).sum() + (s * t).sum())
            p, q = z + (rz / last) * p, t + (rz / last) * q
        return self.at(V, v)


def solve_softmax_path(
    axes: Axes, label: Any, weight: Any, n_classes: int, Cs: Sequence[float], **options: Any
) -> Iterator[Solution]:
    """Minimise for penalties C × weight_i, for each C in ascending order; `options` are those of `solve`.

    The coefficients are W, (n_features, n_classes), or those of the rows of a Gram matrix.
    """
    xp = namespace(axes.F)
    Y = xp.astype(label[:, None] == xp.arange(n_classes, device=label.device), weight.dtype)
    for solution in solve_path(SoftmaxRows.of(axes, Y, weight[:, None]), Cs, SoftmaxLoss(), **options):
        W, b = solution.function.coef, solution.bias
        coef = W if axes.of_rows is None else axes.of_rows @ W
        yield solution._replace(coef=coef, bias=b - b.mean())  # a constant for all classes changes nothing
