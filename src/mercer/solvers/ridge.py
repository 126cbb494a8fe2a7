r"""Squared errors in closed form: kernel ridge regression on a Gram matrix, and of the stump kernel in bins.

**On a Gram matrix**, for one penalty or for every one, with its leave-one-out errors:

.. math:: \min_{a, b} \tfrac12 a^\top K a + \tfrac C2 \sum_i w_i (y_i - (K a)_i - b)^2

With P the projection that takes the weighted mean away, and :math:`W^{1/2} P K P^\top W^{1/2} = U S U^\top`,
the fitted values are :math:`\bar y + W^{-1/2} H W^{1/2} (y - \bar y)` for the symmetric matrix
:math:`H = U \, \mathrm{diag}(s / (s + 1/C)) \, U^\top`, for all C alike. A fit without row i misses it by
:math:`(y_i - f_i) / (1 - H_{ii} - r_i^2)`, the other penalties and C being the same, where
:math:`r_i^2 = w_i / \sum w`. The matrix above does not see r, an eigenvector of eigenvalue zero: 1 − H has
:math:`r r^\top` in it, and for large C next to nothing else. Hence r gets the mean eigenvalue μ: then
:math:`1 - H_{ii} - r_i^2 = (A^{-1})_{ii} / C - r_i^2 / (\mu C + 1)` with A the matrix plus
:math:`\mu r r^\top` and 1/C, and both parts are small. For one C, a Cholesky factor of A will do, in a sixth
of the time.

**In bins**, one linear system for a table:

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
from scipy.linalg import cho_solve, cho_solve_banded, cholesky, cholesky_banded, eigh, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from mercer._typing import Array, Index
from mercer.limits import one_thread
from mercer.solvers.newton import CodedColumns, Point, Solution, add_up_by_code, thin
from mercer.solvers.newton.driver import SETTINGS
from mercer.solvers.newton.products import look_up
from mercer.solvers.newton.systems import add_pairs

LEAST_REST = 1e-12  # the least weight of the other rows, as a share of all
MOST_BINS = 16  # of a feature, in the preconditioner, …
MOST_UNKNOWNS = 640  # … and of all
ROWS_AN_UNKNOWN = 128  # that tell how features depend on each other, …
PASSES = 4  # … for the time of at most so many passes over all rows
LEAST_APART = 1e-6  # of features that depend on each other completely
LEAST_PIVOT = 1e-13
DIGITS = 1e-13
TINY = 1e-300


class RidgePath(NamedTuple):
    """The eigendecomposition, and the targets in its terms."""

    K: Array
    Y: Array
    weight: Array
    mean: Array  # of each target
    size: Array  # S, of r the mean
    U: Array
    diagonal: Array  # of the centred matrix
    mu: float

    @classmethod
    def of(cls, K: Array, Y: Array, weight: Array) -> "RidgePath":
        """Decompose a Gram matrix; K need be positive semi-definite among coefficients of sum zero alone."""
        A, diagonal, mu = _lifted(K, weight)
        size, U = eigh(A, overwrite_a=True)
        return cls(K, Y, weight, weight @ Y / weight.sum(), np.maximum(size, 0.0), U, diagonal, mu)

    def solve(self, C: float) -> tuple[Array, Array]:
        """Return a (n, n_targets), and y_i less what a fit without row i predicts, for one C."""
        root, share = np.sqrt(self.weight), self.weight / self.weight.sum()
        inner = self.U.T @ (root[:, None] * (self.Y - self.mean))
        coef = root[:, None] * (self.U @ (inner / (self.size[:, None] + 1.0 / C)))
        error = coef / (C * self.weight[:, None])  # y − f
        free = _freedom((self.U**2) @ (1.0 / (C * self.size + 1.0)), share, self.diagonal, self.mu, C)
        return coef, error / free[:, None]


def solve_ridge(K: Array, Y: Array, weight: Array, C: float) -> Array:
    """Return a (n, n_targets) of the minimiser for one C; the intercept is the weighted mean of Y − K a."""
    root, share = np.sqrt(weight)[:, None], weight / weight.sum()
    A, _, _ = _lifted(K, weight)
    A.flat[:: len(A) + 1] += 1.0 / C
    factor, failed = dpotrf(A.T, overwrite_a=1, clean=0)
    if failed:  # by rounding
        return RidgePath.of(K, Y, weight).solve(C)[0]
    return root * dpotrs(factor, root * (Y - share @ Y))[0]


def leave_one_out(K: Array, Y: Array, weight: Array, C: float) -> Array:
    """Return y_i less what a fit without row i predicts (n, n_targets), for one C."""
    root, share = np.sqrt(weight)[:, None], weight / weight.sum()
    A, diagonal, mu = _lifted(K, weight)
    A.flat[:: len(A) + 1] += 1.0 / C
    factor, failed = dpotrf(A.T, overwrite_a=1)
    if failed:
        return RidgePath.of(K, Y, weight).solve(C)[1]
    coef = root * dpotrs(factor, root * (Y - share @ Y))[0]
    free = _freedom(np.diag(dpotri(factor, overwrite_c=1)[0]) / C, share, diagonal, mu, C)
    return coef / (C * weight * free)[:, None]


def leave_one_out_of_features(F: Array, Y: Array, weight: Array, C: float) -> Array:
    """Return the same of p features in place of a kernel: O(n p²)."""
    share = weight / weight.sum()
    F = F - share @ F
    A = (F * weight[:, None]).T @ F
    A.flat[:: len(A) + 1] += 1.0 / C
    factor = cholesky(A, lower=True)
    error = Y - share @ Y
    error = error - F @ cho_solve((factor, True), F.T @ (weight[:, None] * error))
    leverage = weight * (solve_triangular(factor, F.T, lower=True) ** 2).sum(axis=0)
    return error / np.maximum(1.0 - leverage - share, LEAST_REST)[:, None]


def spread(K: Any, weight: Any) -> float:
    """Return the weighted mean squared distance of the rows from their mean in the feature space."""
    share = weight / weight.sum()
    return float(share @ K.diagonal() - share @ K @ share)


def _freedom(inverse: Array, share: Array, diagonal: Array, mu: float, C: float) -> Array:
    """Return 1 − H_ii − r_i² from the diagonal of A⁻¹ / C; not below what it is at least, by Jensen."""
    rest = np.maximum(1.0 - share, LEAST_REST)
    free: Array = np.maximum(inverse - share / (mu * C + 1.0), rest**2 / (C * diagonal + rest))
    return free


def _lifted(K: Array, weight: Array) -> tuple[Array, Array, float]:
    """Return W^½ P K Pᵀ W^½ + μ r rᵀ, the diagonal without μ r rᵀ, and μ."""
    A = _centred(K, weight)
    diagonal, root = np.maximum(np.diag(A), 0.0), np.sqrt(weight / weight.sum())
    mu = float(diagonal.mean())
    A += np.outer(mu * root, root)
    return A, diagonal, mu


def _centred(K: Array, weight: Array) -> Array:
    """Return W^½ P K Pᵀ W^½."""
    share, root = weight / weight.sum(), np.sqrt(weight)
    means = K @ share
    centred = K - means[:, None]
    centred += float(share @ means) - means
    centred *= root[:, None]
    centred *= root
    return centred


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


class TableSystem:
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


def solve_table_ridge_path(
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
        system = TableSystem(columns, y, weight)
    g = np.zeros_like(columns.value)
    for C in Cs:
        with one_thread(True):
            problem = TableProblem(system, float(C), g)
            n_iter = problem.solve(tol, max_iter)
            g, solution = problem.g, problem.solution(n_iter)
        yield solution


class TableProblem:
    """A problem with its C, and where conjugate gradients are: a table, its values at rows, a gradient."""

    def __init__(self, system: TableSystem, C: float, g: Array) -> None:
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
