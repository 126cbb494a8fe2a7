r"""The Newton step of a table, by conjugate gradients among tables.

With W the curvature of the rows, the step (t, b) from g is the minimum of

.. math:: \tfrac14 \sum_d \sum_k \frac{(t_{d,k+1} - t_{d,k})^2}{u_{d,k+1} - u_{d,k}}
          + \tfrac12 \sum_i W_i f_i^2 - r^\top t - b \textstyle\sum_i c_i, \qquad
          f_i = \sum_d t_d[\mathrm{code}_{id}] + b,

where r is minus the gradient. A constant may move from t_d to b: let the weighted mean of each t_d be zero,
as b makes that of what is left. Then (P + N + E) t = r − N 1 Σc / ΣW, with P of the penalty, tridiagonal; N
the weights at each value; and E the weights of pairs of values of two features, less those of independent
ones. A product with it is a pass over the rows. Conjugate gradients need few: their preconditioner has P and
N as they are, and E as if the features were independent inside coarse bins. Such an E is of low rank, for
Woodbury's formula.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve_banded, cholesky_banded

from mercer._typing import Array, Index
from mercer.solvers.newton.products import CodedColumns, add_up_by_code, look_up
from mercer.solvers.newton.rows import thin
from mercer.solvers.newton.systems import add_pairs

MOST_STEPS = 500
MOST_BINS = 16  # of a feature, in the preconditioner, …
MOST_UNKNOWNS = 640  # … and of all
ROWS_AN_UNKNOWN = 128  # that tell how features depend on each other, …
PASSES = 4  # … for the time of at most so many passes over all rows
SAVED = 10  # products with the system that a preconditioner of more than single features is worth
LEAST_APART = 1e-6  # of features that depend on each other completely
LEAST_PIVOT = 1e-13


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


def coarsen(code: NDArray[Any], weight: Array, count: Array) -> Coarse | None:
    """Put the values of each feature into bins of equal weight, and add up pairs of bins, if that pays off.

    S is E of the bins over the roots of their weights, in a sample of the rows: with ones on its diagonal it
    has no negative eigenvalue, nor has the preconditioner.
    """
    D, total = len(count), count[0].sum()
    q = min(MOST_UNKNOWNS // D, MOST_BINS)
    if q < 2 or (D * q) ** 3 / 8 + 24 * q * count.size > SAVED * D * len(weight):
        return None
    bin_of = np.minimum(q * (count.cumsum(axis=1) - 0.5 * count) / total, q - 1).astype(np.uint8)
    place = bin_of + q * np.arange(D)[:, None]
    n_rows = min(ROWS_AN_UNKNOWN * D * q, max(2 * PASSES * len(weight) // D, 1))
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
    """P + N + V S Vᵀ, factored; or P + N alone."""

    def __init__(self, penalty: Array, count: Array, coarse: Coarse | None) -> None:
        self.coarse = coarse
        between = np.append(penalty, np.zeros((len(count), 1)), axis=1)
        diagonal = count + between
        diagonal[:, 1:] += penalty
        diagonal = np.where(diagonal > 0.0, diagonal, 1.0) * (1.0 + LEAST_PIVOT)
        self.factor = cholesky_banded(np.array([diagonal.ravel(), -between.ravel()]), lower=True)
        if coarse is None:
            return
        size, q = len(coarse.S), len(coarse.S) // len(count)
        G = np.zeros((size, size))  # Vᵀ (P + N)⁻¹ V, of one bin of each feature at a time
        for k in range(q):
            found = coarse.add_up(self.solve_apart(coarse.spread((np.arange(size) % q == k).astype(float))))
            for d in range(len(count)):
                G[d * q : (d + 1) * q, d * q + k] = found[d * q : (d + 1) * q]
        self.inner = np.linalg.solve(np.eye(size) + coarse.S @ G, coarse.S)

    def solve_apart(self, r: Array) -> Array:
        """Return (P + N)⁻¹ r."""
        return cho_solve_banded((self.factor, True), r.ravel(), check_finite=False).reshape(r.shape)

    def apply(self, r: Array) -> Array:
        """Solve the system."""
        z = self.solve_apart(r)
        if self.coarse is None:
            return z
        return z - self.solve_apart(self.coarse.spread(self.inner @ self.coarse.add_up(z)))


class TableSystem:
    """The system of some rows, given by their columns and curvature."""

    def __init__(self, columns: CodedColumns, weight: Array) -> None:
        self.columns, self.weight, self.total = columns, weight, float(weight.sum())
        self.gap = np.diff(columns.value, axis=1)
        self.penalty = np.where(self.gap > 0.0, 0.5 / np.where(self.gap > 0.0, self.gap, 1.0), 0.0)
        self.count = self.scatter(weight)
        self.preconditioner = Preconditioner(
            self.penalty, self.count, coarsen(columns.code, weight, self.count)
        )

    def scatter(self, v: Array) -> Array:
        """Return Σv of the rows at each value of each feature."""
        return add_up_by_code(self.columns.code, v, self.columns.value.shape[1])

    def apply_penalty(self, t: Array) -> Array:
        """Return P t."""
        force, out = self.penalty * np.diff(t, axis=1), np.zeros_like(t)
        out[:, 1:] += force
        out[:, :-1] -= force
        return out

    def gather(self, t: Array) -> Array:
        """Return Σ_d t_d at each row, less the mean."""
        f = np.zeros(len(self.weight))
        look_up(self.columns.code, t, f)
        return f - self.mean(f)

    def mean(self, f: Array) -> float:
        """Return the weighted mean."""
        return float(self.weight @ f) / self.total

    def product(self, t: Array) -> Array:
        """Return (P + N + E) t; what the means of the t_d add to it makes them zero."""
        gauge = self.count * ((self.count * t).sum(axis=1, keepdims=True) / self.total)
        out: Array = self.apply_penalty(t) + self.scatter(self.weight * self.gather(t)) + gauge
        return out

    def lack(self, r: Array) -> float:
        """Return the squared norm of a gradient r: twice the duality gap."""
        return 2.0 * float((r.cumsum(axis=1)[:, :-1] ** 2 * self.gap).sum())

    def solve(self, away: Array, mass: float, tol: float) -> tuple[Array, float]:
        """Return the step's table, zero at the first value, and b; minus the gradient is that of `away`."""
        r = self.apply_penalty(away) - (mass / self.total) * self.count
        r[:, 0] += mass
        t, p, last = np.zeros_like(r), np.zeros_like(r), 1.0
        wanted = tol**2 * self.lack(r)
        for _ in range(MOST_STEPS):
            z = self.preconditioner.apply(r)
            rz = float((r * z).sum())
            p = z + rz / last * p
            q, last = self.product(p), rz
            curvature = float((p * q).sum())
            if not curvature > 0.0:  # all rounding
                break
            t += (rz / curvature) * p
            r -= (rz / curvature) * q
            if not self.lack(r) > wanted:
                break
        last_value = (self.gap > 0.0).sum(axis=1, keepdims=True)  # beyond which there are copies of it
        t = np.take_along_axis(t, np.minimum(np.arange(t.shape[1]), last_value), axis=1) - t[:, :1]
        f = np.zeros(len(self.weight))
        look_up(self.columns.code, t, f)
        return t, mass / self.total - self.mean(f)
