r"""Rows with their kernel values at landmarks by the thousand, f = k(·, Z) a: conjugate gradients [RCR17].

With :math:`T^\top T` the Gram matrix of the m landmarks Z, :math:`w = T a` has the penalty ½‖w‖², as if
:math:`\phi(x) = T^{-\top} k(Z, x)` were features. But n m numbers of those take O(n m²) to compute, and a
Newton step as long again. Here T is applied to vectors alone, and the Newton step,

.. math:: (I + \Phi^\top W \Phi)\, \Delta w + \Phi^\top W 1\, \Delta b = g, \qquad
          1^\top W \Phi\, \Delta w + 1^\top W 1\, \Delta b = \mu,

with W the curvature of the rows, is solved by conjugate gradients in passes of O(n m). Landmarks that were
drawn from the rows stand for them: :math:`I + \frac{\mathrm{tr}\, W}{m} T T^\top` preconditions, as in
Falkon.

Kernel values are centred at the landmarks, k(x, z) less the means over Z of both: the intercept takes up the
rest, and a kernel need be positive only for coefficients of sum zero. Many have single precision.

[RCR17] A. Rudi, L. Carratino, L. Rosasco. FALKON: an optimal large scale kernel method. NeurIPS 2017.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtrsv
from scipy.linalg.lapack import dlauum, dpotrf

from mercer._typing import Array, Index
from mercer.solvers.newton.rows import Look, Point, VectorRows

JITTER = 1e-8  # of the trace of the landmarks' Gram matrix, added to each number of its diagonal, …
DOUBLE_JITTER = 1e-13  # … and where kernel values have double precision
SINGLE = 3e7  # of the weights times the mean diagonal: for more, steps of single precision go astray
HARDER = 100.0  # so many times more, until there is a factor
BLOCK = 2**20  # kernel values of some rows that stay in the cache from a product to that with the transpose
SAME = 1.5  # a preconditioner will do for weights of up to so many times those that it was made for
STEP_TOL = 0.03  # of a Newton step: what is left of its right side
MOST_STEPS = 500  # of conjugate gradients


class Landmarks:
    """The factor T of the landmarks' Gram matrix, and what preconditions."""

    def __init__(self, K: Array, jitter: float = JITTER) -> None:
        """Factor a centred Gram matrix."""
        jitter *= float(np.trace(K))
        while True:
            A = np.array(K, order="F")
            A.flat[:: len(A) + 1] += jitter
            self.triangle, failed = dpotrf(A, overwrite_a=1, clean=1)
            if not failed:
                break
            jitter *= HARDER
        self.mean_diagonal = float(np.trace(K)) / len(K)
        self._made: tuple[float, Array] | None = None

    def expand(self, w: Array) -> Array:
        """Return a = T⁻¹ w, the coefficients of the landmarks."""
        a: Array = dtrsv(self.triangle, w)
        return a

    def reduce(self, v: Array) -> Array:
        """Return T⁻ᵀ v."""
        w: Array = dtrsv(self.triangle, v, trans=1)
        return w

    def preconditioner(self, total: float) -> Callable[[Array], Array]:
        """Return what solves I + (total / m) T Tᵀ."""
        if self._made is None or not 1.0 / SAME < total / self._made[0] < SAME:
            self._made = None  # its room is needed
            A, _ = dlauum(np.array(self.triangle, order="F"), overwrite_c=1)
            A *= total / len(A)
            A.flat[:: len(A) + 1] += 1.0
            self._made = total, dpotrf(A, overwrite_a=1)[0]
        factor = self._made[1]
        return lambda r: dtrsv(factor, dtrsv(factor, r, trans=1))


class LandmarkColumns:
    """Kernel values of rows at landmarks, (n, m) in single or double precision, or of some of these rows."""

    def __init__(self, base: NDArray[np.floating], landmarks: Landmarks, rows: Index | None = None) -> None:
        self.base, self.landmarks, self.rows = base, landmarks, rows

    @property
    def shape(self) -> tuple[int, int]:
        """Return the number of rows, and of landmarks."""
        return len(self.base if self.rows is None else self.rows), self.base.shape[1]

    def __getitem__(self, rows: Index) -> "LandmarkColumns":
        """Return the columns of some rows: what there is of all stays where it is."""
        return LandmarkColumns(self.base, self.landmarks, rows if self.rows is None else self.rows[rows])

    def blocks(self) -> Iterator[tuple[slice, NDArray[np.floating]]]:
        """Yield the values block by block."""
        n, m = self.shape
        size = max(1, BLOCK // m)
        for start in range(0, n, size):
            some = slice(start, start + size)
            yield some, self.base[some if self.rows is None else self.rows[some]]

    def multiply(self, w: Array) -> Array:
        """Return Φ w in double precision."""
        a, out = self.landmarks.expand(w), np.empty(self.shape[0])
        for some, K in self.blocks():
            out[some] = K.astype(np.float64, copy=False) @ a
        return out

    def add_up(self, v: Array) -> Array:
        """Return Φᵀ v in double precision: T⁻ᵀ magnifies rounding errors, and the gap shows them."""
        total = np.zeros(self.shape[1])
        for some, K in self.blocks():
            total += K.astype(np.float64, copy=False).T @ v[some]
        return self.landmarks.reduce(total)


class Step(NamedTuple):
    """What conjugate gradients have found."""

    w: Array
    bias: float
    residual: float  # what is left, as a share of the right side, in the preconditioner's norm
    n_iter: int


def solve_step(
    columns: LandmarkColumns,
    weight: Array,
    right: Array,
    mass: float,
    tol: float,
    max_iter: int = MOST_STEPS,
    start: Array | None = None,
) -> Step:
    """Solve the system of a Newton step, whose right side is g and μ, by conjugate gradients.

    The intercept is eliminated. Each step is one pass over the rows: a block of them is multiplied by a
    vector, and its transpose by what comes of it, while it is in the cache.
    """
    landmarks, total = columns.landmarks, float(weight.sum())
    mean = columns.add_up(weight) / total  # Φᵀ W 1 / 1ᵀ W 1

    will_do = columns.base.dtype == np.float32 and total * landmarks.mean_diagonal <= SINGLE
    kind: Any = np.float32 if will_do else np.float64

    def product(p: Array) -> Array:
        a, shift, out = landmarks.expand(p).astype(kind), float(mean @ p), np.zeros(len(p))
        for some, values in columns.blocks():
            K: NDArray[Any] = values.astype(kind, copy=False)
            out += K.T @ (weight[some] * ((K @ a) - shift)).astype(kind)
        return p + landmarks.reduce(out)

    precondition = landmarks.preconditioner(total)
    wanted = right - mass * mean
    goal = tol**2 * float(wanted @ precondition(wanted))
    w = np.zeros_like(right) if start is None else start.copy()
    r = wanted if start is None else wanted - product(w)
    z = precondition(r)
    p, left, n_iter = z, float(r @ z), 0
    while left > goal and n_iter < max_iter:
        q = product(p)
        length = left / float(p @ q)
        w += length * p
        r = r - length * q
        z = precondition(r)
        before, left, n_iter = left, float(r @ z), n_iter + 1
        p = z + (left / before) * p
    share = tol * np.sqrt(left / goal) if goal > 0.0 else 0.0
    return Step(w, (mass - total * float(mean @ w)) / total, float(share), n_iter)


def solve_squares(
    columns: LandmarkColumns,
    y: Array,
    weight: Array,
    *,
    tol: float,
    max_iter: int = MOST_STEPS,
    start: Array | None = None,
) -> Step:
    """Minimise ½‖w‖² + ½ Σ weight_i (y_i − f_i)²: one such system gives w and b."""
    centre = float(weight @ y / weight.sum())
    right = columns.add_up(weight * (y - centre))
    step = solve_step(columns, weight, right, 0.0, tol, max_iter, start)
    return step._replace(bias=step.bias + centre)


@dataclass(frozen=True)
class LandmarkRows(VectorRows):
    """Rows in memory, with kernel values at landmarks. The coefficients of a function are w."""

    @property
    def one_thread(self) -> bool:
        """Return whether more threads would wait more than work: of so many values they do not."""
        return False

    def moments(self) -> Any:
        """Return nothing: the landmarks know."""

    def measured(self, moments: Any, n_rows: int) -> Self:
        """Fill in the mean diagonal of the centred kernel."""
        return replace(self, diagonal=self.columns.landmarks.mean_diagonal)

    def gather(self, columns: Any, coef: Any) -> Any:
        """Return K T⁻¹ w."""
        values: Array = columns.multiply(coef)
        return values

    def scatter(self, columns: Any, v: Any) -> Any:
        """Return T⁻ᵀ Kᵀ v."""
        (rows,) = np.nonzero(v)
        few = 2 * len(rows) < len(v)
        return columns[rows].add_up(v[rows]) if few else columns.add_up(v)

    def represent(self, sums: Any) -> Any:
        """Return w of the function whose coefficients have these sums: they are it."""
        return sums

    def select(self, rows: Any) -> Any:
        """Return the columns of some rows."""
        return self.columns[rows]

    def zero(self) -> Point:
        """Return the function that is zero."""
        return Point(np.zeros(self.columns.shape[1]), 0.0 * self.y)

    def inner(self, a: Point, b: Point) -> float:
        """Return the inner product of two functions."""
        return float(a.coef @ b.coef)

    def newton_step(self, seen: Look, floor: float) -> Point:
        """Return the step to the minimum if the curvature stays, nearly: of inexact steps there are more."""
        if len(seen.curvature) == 0:
            return self.at(seen.away.coef, 0.0)
        step = solve_step(seen.near, seen.curvature, seen.away.coef, seen.mass, STEP_TOL)
        return self.at(step.w, step.bias)
