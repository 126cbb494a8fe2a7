r"""The stump kernel's machine for squared errors, of rows in bins: one linear system for a table.

.. math:: \min_{g, b} \tfrac14 \sum_d \sum_k \frac{(g_{d,k+1} - g_{d,k})^2}{u_{d,k+1} - u_{d,k}}
          + \tfrac C2 \sum_i w_i (y_i - f_i)^2, \qquad f_i = \sum_d g_d[\mathrm{code}_{id}] + b.

A constant may move from g_d to b: let the weighted mean of each g_d be zero, as b makes that of the errors.
Then (P / C + N + E) g = Φᵀ w (y − ȳ), with P of the penalty, tridiagonal; N the weights at each value; and E
the weights of pairs of values of two features, less those of independent ones. A product with it is a pass
over the rows. Conjugate gradients need few: their preconditioner has P and N as they are, and E as if the
features were independent inside coarse bins. Such an E is of low rank, for Woodbury's formula.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve_banded, cholesky_banded

from mercer._typing import Array, Index
from mercer.limits import one_thread
from mercer.solvers.stump_svm import CodedColumns, Point, Solution, add_up_by_code
from mercer.solvers.stump_svm.driver import SETTINGS
from mercer.solvers.stump_svm.newton import add_pairs
from mercer.solvers.stump_svm.products import look_up
from mercer.solvers.stump_svm.rows import thin

MOST_BINS = 16  # of a feature, in the preconditioner, …
MOST_UNKNOWNS = 640  # … and of all
ROWS_AN_UNKNOWN = 128  # that tell how features depend on each other, …
PASSES = 4  # … for the time of at most so many passes over all rows
LEAST_APART = 1e-6  # of features that depend on each other completely
LEAST_PIVOT = 1e-13
DIGITS = 1e-13
TINY = 1e-300


class Coarse(NamedTuple):
    """What the preconditioner knows of E: about V S Vᵀ, from some of the rows."""

    place: Index  # (D, B): the coarse bin of each value, counted through all features
    V: Array  # (D, B): the only number of each row of V, at its place
    S: Array

    def spread(self, t: Array) -> Array:
        """Return V t."""
        return self.V * t[self.place]

    def add_up(self, x: Array) -> Array:
        """Return Vᵀ x."""
        return np.asarray(np.bincount(self.place.ravel(), (self.V * x).ravel(), len(self.S)), np.float64)


def coarsen(code: NDArray[Any], weight: Array, count: Array) -> Coarse:
    """Put the values of each feature into bins of equal weight, and add up pairs of bins.

    S is E of the bins over the roots of their weights, in a sample of the rows: with ones on its diagonal it
    has no negative eigenvalue, nor has the preconditioner.
    """
    D, total = len(count), count[0].sum()
    q = min(MOST_UNKNOWNS // D, MOST_BINS)
    if q < 2:
        return Coarse(np.zeros(count.shape, np.intp), np.zeros(count.shape), np.zeros((1, 1)))
    bin_of = np.minimum(q * (count.cumsum(axis=1) - 0.5 * count) / total, q - 1).astype(np.uint8)
    place = bin_of + q * np.arange(D)[:, None]
    n_rows = min(ROWS_AN_UNKNOWN * D * q, 2 * PASSES * len(weight) // D)
    rows = thin(np.arange(len(weight)), max(1, len(weight) // n_rows))
    some, coarse = weight[rows], np.array(list(map(np.take, bin_of, np.take(code, rows, axis=1))))
    pairs = np.zeros((1 + D * q, 1 + D * q))
    add_pairs(coarse, q, some, pairs)
    S = pairs[1:, 1:]
    mass = np.diag(S).copy()
    S -= np.outer(mass, mass) / some.sum()
    for d in range(D):
        S[d * q : (d + 1) * q, d * q :] = 0.0  # a feature with itself; and add_pairs fills the lower triangle
    root = np.sqrt(np.where(mass > 0.0, mass, np.inf))
    S = (1.0 - LEAST_APART) * (S + S.T) / np.outer(root, root)
    held = np.bincount(place.ravel(), count.ravel(), D * q)
    return Coarse(place, count / np.sqrt(np.where(held > 0.0, held, np.inf))[place], S)


class Preconditioner:
    """P / C + N + V S Vᵀ, factored."""

    def __init__(self, penalty: Array, count: Array, coarse: Coarse) -> None:
        self.coarse = coarse
        between = np.append(penalty, np.zeros((len(count), 1)), axis=1)
        diagonal = count + between
        diagonal[:, 1:] += penalty
        diagonal = np.where(diagonal > 0.0, diagonal, 1.0) * (1.0 + LEAST_PIVOT)
        self.factor = cholesky_banded(np.array([diagonal.ravel(), -between.ravel()]), lower=True)
        size, q = len(coarse.S), len(coarse.S) // len(count)
        G = np.zeros((size, size))  # Vᵀ (P / C + N)⁻¹ V, of one bin of each feature at a time
        for k in range(q):
            found = coarse.add_up(self.solve_apart(coarse.spread((np.arange(size) % q == k).astype(float))))
            for d in range(len(count)):
                G[d * q : (d + 1) * q, d * q + k] = found[d * q : (d + 1) * q]
        self.inner = np.linalg.solve(np.eye(size) + coarse.S @ G, coarse.S)

    def solve_apart(self, r: Array) -> Array:
        """Return (P / C + N)⁻¹ r."""
        return cho_solve_banded((self.factor, True), r.ravel(), check_finite=False).reshape(r.shape)

    def apply(self, r: Array) -> Array:
        """Solve the system."""
        z = self.solve_apart(r)
        return z - self.solve_apart(self.coarse.spread(self.inner @ self.coarse.add_up(z)))


class System:
    """The rows of a problem, for any C."""

    def __init__(self, columns: CodedColumns, y: Array, weight: Array) -> None:
        self.columns, self.weight, self.total = columns, weight, float(weight.sum())
        self.gap = np.diff(columns.value, axis=1)
        self.count = self.scatter(np.ones_like(y))
        self.mean = float(weight @ y) / self.total
        self.error = y - self.mean
        self.rounding = DIGITS**2 * float(weight @ y**2)  # an error of this size has no digits
        self.wanted = self.scatter(self.error)
        self.coarse = coarsen(columns.code, weight, self.count)

    def scatter(self, v: Array) -> Array:
        """Return Σ w v of the rows at each value of each feature."""
        return add_up_by_code(self.columns.code, self.weight * v, self.columns.value.shape[1])

    def gather(self, g: Array) -> Array:
        """Return Σ_d g_d at each row, less the mean."""
        f = np.zeros(len(self.weight))
        look_up(self.columns.code, g, f)
        f -= self.weight @ f / self.total
        return f

    def gauge(self, g: Array) -> Array:
        """Return what the means of the g_d add to the gradient: so they become zero."""
        return self.count * ((self.count * g).sum(axis=1, keepdims=True) / self.total)

    def lack(self, r: Array) -> float:
        """Return the duality gap at a gradient r of the function alone, over C²."""
        return float((r.cumsum(axis=1)[:, :-1] ** 2 * self.gap).sum())


def solve_ridge_path(
    columns: CodedColumns,
    y: Array,
    weight: Array,
    Cs: Sequence[float],
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
) -> Iterator[Solution]:
    """Solve for each C, each from the solution before it; the duality gap at the end is that of `solve`."""
    with one_thread(True):
        system = System(columns, y, weight)
    g = np.zeros_like(columns.value)
    for C in Cs:
        with one_thread(True):
            problem = Problem(system, float(C), g)
            n_iter = problem.solve(tol, max_iter)
            g, solution = problem.g, problem.solution(n_iter)
        yield solution


class Problem:
    """A problem with its C, and where conjugate gradients are: a table, its values at rows, a gradient."""

    def __init__(self, system: System, C: float, g: Array) -> None:
        self.system, self.C = system, C
        gap = system.gap
        self.penalty = np.where(gap > 0.0, 0.5 / C / np.where(gap > 0.0, gap, 1.0), 0.0)
        self.preconditioner = Preconditioner(self.penalty, system.count, system.coarse)
        self.g, self.f = g.copy(), system.gather(g)
        self.r = system.wanted - self.product(g, self.f)

    def product(self, g: Array, f: Array) -> Array:
        """Return the system's matrix times g, whose values at the rows are f."""
        out, force = self.system.scatter(f) + self.system.gauge(g), self.penalty * np.diff(g, axis=1)
        out[:, 1:] += force
        out[:, :-1] -= force
        return out

    def solve(self, tol: float, max_iter: int) -> int:
        """Go on until the duality gap is small enough; return the number of steps."""
        p, last = np.zeros_like(self.g), 1.0
        for n_iter in range(max_iter):
            if not self.measure(self.r)[1] > tol:  # or it is no number
                return n_iter
            z = self.preconditioner.apply(self.r)
            rz = float((self.r * z).sum())
            p = z + rz / last * p
            f = self.system.gather(p)
            q, last = self.product(p, f), rz
            curvature = float((p * q).sum())
            if curvature <= 0.0:  # all rounding
                return n_iter
            length = rz / curvature
            self.g += length * p
            self.f += length * f
            self.r -= length * q
        return max_iter

    def measure(self, r: Array) -> tuple[float, float, float]:
        """Return the primal objective, what is to be at most tol, and the duality gap; r is the gradient."""
        penalty = self.C * float((self.penalty * np.diff(self.g, axis=1) ** 2).sum())
        loss = 0.5 * self.C * float(self.system.weight @ (self.system.error - self.f) ** 2)
        primal, gap = 0.5 * penalty + loss, self.C**2 * self.system.lack(r + self.system.gauge(self.g))
        scale = max(min(primal, penalty), SETTINGS.least_penalty * primal)
        wanted = max(
            SETTINGS.gap_tol * scale, SETTINGS.least_gap * primal, self.C * self.system.rounding, TINY
        )
        return primal, gap / wanted, gap

    def solution(self, n_iter: int) -> Solution:
        """Return where it is, with tables that are zero at the first value, and constant beyond the last."""
        system, g = self.system, self.g
        primal, residual, gap = self.measure(system.wanted - self.product(g, self.f))
        last = (system.gap > 0.0).sum(axis=1, keepdims=True)
        table = np.take_along_axis(g, np.minimum(np.arange(g.shape[1]), last), axis=1) - g[:, :1]
        bias = system.mean - float((system.count * table).sum()) / system.total
        function = Point(table, self.f + (system.mean - bias))
        coef = self.C * system.weight * (system.error - self.f)
        residual = residual if np.isfinite(residual) else np.inf
        return Solution(function, bias, coef, gap - primal, residual, n_iter)
