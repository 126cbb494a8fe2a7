r"""Several classes at once, by the multinomial log-loss: one function f_k for each class.

.. math:: \min_{W, b} \tfrac12 \|W\|^2
          + \sum_i C_i \Big( \log \sum_k \exp f_{ik} - f_{i y_i} \Big), \qquad f_i = W^\top \phi(x_i) + b.

The classes meet in every row, so that this is one problem, for which `newton.driver` has no place. Newton
steps are solved by conjugate gradients, whose product is two passes over the features: O(n p) for each class.
Where all rows are equally curved, the system is diagonal along the principal axes of the features, but for
what couples the classes: so a diagonal matrix along these is the preconditioner, and few steps are enough.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from mercer.array_api import namespace
from mercer.limits import one_thread
from mercer.solvers.newton.driver import SETTINGS
from mercer.solvers.newton.features import MANY
from mercer.solvers.newton.rows import SUM_TOL

BLOCK = 4096  # rows whose products are added up in double precision
LEAST_SIZE = 1e-12  # of an eigenvalue, as a share of the largest: less is rounding errors
MOST_PRODUCTS = 200  # of a Newton step
CG_TOL = 0.2  # of the gradient's norm that a Newton step leaves
MOST_HALVINGS = 30
DIGITS = 1e-14  # of an objective: smaller changes are rounding errors, and no reason to stop
SUFFICIENT = 1e-4  # share of the decrease that the slope promises
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


class Softmax(NamedTuple):
    """A minimiser."""

    coef: Any  # (n_features, n_classes), or (n_rows, n_classes) of a Gram matrix
    bias: Any  # (n_classes,)
    objective: float  # of the dual problem: its minimum
    residual: float  # at most `tol` if it converged
    n_iter: int


def solve_softmax_path(
    axes: Axes,
    label: Any,
    weight: Any,
    n_classes: int,
    Cs: Sequence[float],
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    progress: Callable[[int], bool] | None = None,
) -> Iterator[Softmax]:
    """Minimise for penalties C × weight_i, for each C in ascending order."""
    xp = namespace(axes.F)
    Y = xp.astype(label[:, None] == xp.arange(n_classes, device=label.device), weight.dtype)
    W, b = (
        xp.zeros(shape, dtype=weight.dtype, device=weight.device)
        for shape in ((axes.F.shape[1], n_classes), (n_classes,))
    )
    for C in Cs:
        with one_thread(axes.F.shape[1] < MANY):
            search = Search(axes, Y, C * weight, W, b)
            n_iter, stop, least, n_idle = 0, False, np.inf, 0
            while n_iter < max_iter and not stop and n_idle <= SETTINGS.patience:
                residual = search.residual()
                n_idle = 0 if residual < 0.99 * least else n_idle + 1
                least = min(least, residual)
                if residual <= tol or not search.advance():
                    break
                n_iter += 1
                stop = progress is not None and bool(progress(n_iter))
            W, b, solution = search.W, search.b, search.solution(n_iter)
        yield solution


class Search:
    """Newton steps."""

    def __init__(self, axes: Axes, Y: Any, C: Any, W: Any, b: Any) -> None:
        self.axes, self.Y, self.C, self.W, self.b = axes, Y, C[:, None], W, b
        self.xp = namespace(Y)
        self._look(self._values(W, b))

    def _values(self, W: Any, b: Any) -> Any:
        F = self.axes.F
        return self.xp.astype(F @ self.xp.astype(W, F.dtype, copy=False), self.Y.dtype, copy=False) + b

    def _add_up(self, v: Any) -> Any:
        F = self.axes.F
        return self.xp.astype(F.T @ self.xp.astype(v, F.dtype, copy=False), self.Y.dtype, copy=False)

    def _look(self, f: Any) -> None:
        """Compute the objective, the probabilities P and the gradient at the values f."""
        xp = self.xp
        self.f = f
        top = xp.max(f, axis=1, keepdims=True)
        e = xp.exp(f - top)
        total = xp.sum(e, axis=1, keepdims=True)
        self.P = e / total
        self.loss = float(xp.sum(self.C * (top + xp.log(total) - xp.sum(self.Y * f, axis=1, keepdims=True))))
        coef = self.C * (self.P - self.Y)
        self.gradient, self.mass = self.W + self._add_up(coef), xp.sum(coef, axis=0)
        self.rounding = SUM_TOL * float(xp.sum(xp.abs(coef)))
        self.square = float(xp.sum(self.W**2))

    def _gap(self) -> float:
        """Return the duality gap: the rows' coefficients are those of a dual solution but for their sums."""
        xp, mass = self.xp, self.xp.abs(self.mass)
        outside = (xp.abs(self.b) + 1.0) * xp.where(mass > self.rounding, mass, 0.0)
        return 0.5 * float(xp.sum(self.gradient**2)) + float(xp.sum(outside))

    def residual(self) -> float:
        """Return what is to be at most `tol`: ten times the relative duality gap."""
        primal = 0.5 * self.square + self.loss
        scale = max(min(primal, self.square), SETTINGS.least_penalty * primal, TINY)
        wanted = max(SETTINGS.gap_tol * scale, SETTINGS.least_gap * primal)
        return self._gap() / wanted

    def advance(self) -> bool:
        """Make a Newton step; return false if rounding leaves none."""
        V, v = self._newton_step()
        slope = float(self.xp.sum(self.gradient * V)) + float(self.xp.sum(self.mass * v))
        if not slope < 0.0:
            return False
        before, f, change = 0.5 * self.square + self.loss, self.f, self._values(V, v)
        W, b, share = self.W, self.b, 1.0
        for _ in range(MOST_HALVINGS):
            self.W, self.b = W + share * V, b + share * v
            self._look(f + share * change)
            if 0.5 * self.square + self.loss <= before + SUFFICIENT * share * slope + DIGITS * abs(before):
                return True
            share *= 0.5
        return False

    def _newton_step(self) -> tuple[Any, Any]:
        """Solve the Newton system by conjugate gradients, up to a share of the gradient."""
        xp, P, C = self.xp, self.P, self.C
        curvature = xp.sum(C * P * (1.0 - P), axis=0)
        scale = 1.0 + self.axes.size[:, None] * (curvature / xp.sum(xp.ones_like(C)))
        flat = curvature + TINY
        V, v = 0.0 * self.W, 0.0 * self.b
        r, s = -self.gradient, -self.mass
        z, t = self.axes.divide(r, scale), s / flat
        p, q, rz = z, t, float(xp.sum(r * z) + xp.sum(s * t))
        first = rz
        for _ in range(MOST_PRODUCTS):
            if rz <= CG_TOL**2 * first or rz <= 0.0:
                break
            D = self._values(p, q)
            D = C * P * (D - xp.sum(P * D, axis=1, keepdims=True))
            Hp, Hq = p + self._add_up(D), xp.sum(D, axis=0)
            length = rz / float(xp.sum(p * Hp) + xp.sum(q * Hq))
            V, v, r, s = V + length * p, v + length * q, r - length * Hp, s - length * Hq
            z, t = self.axes.divide(r, scale), s / flat
            last, rz = rz, float(xp.sum(r * z) + xp.sum(s * t))
            p, q = z + (rz / last) * p, t + (rz / last) * q
        return V, v

    def solution(self, n_iter: int) -> Softmax:
        """Return where the search is."""
        primal, residual = 0.5 * self.square + self.loss, self.residual()
        coef = self.W if self.axes.of_rows is None else self.axes.of_rows @ self.W
        bias = self.b - self.xp.sum(self.b) / len(self.b)  # a constant for all classes changes nothing
        return Softmax(
            coef, bias, self._gap() - primal, residual if np.isfinite(residual) else np.inf, n_iter
        )
