r"""The Newton step of a table: its linear system, by conjugate gradients among the rows near a corner.

With t the coordinates in which the penalty is ‖t‖²/2, f = R t + b and W the curvature of the rows J, the step
ends where :math:`t^+ = R^\top c - R_J^\top x`, :math:`x = W \Delta f_J`: the coefficients of the rows after
it. So x solves, with the stump kernel's K_JJ for R_J R_Jᵀ,

.. math:: (K_{JJ} + W^{-1})\, x - \Delta b = R_J (R^\top c - t), \qquad \textstyle\sum x = \sum c.

Conjugate gradients take as many steps as K has large eigenvalues of different size, and those belong to
functions that vary slowly along one feature. Such functions hardly change if each value moves to that of a
coarse bin. With K of the bins, S = diag(1/(1/W + δ)) and δ the mean diagonal of what the bins leave out,
(K + S⁻¹) x + b = r is a smoothing problem in the few numbers g_d at the bins,

.. math:: \min_{g, b} \; \tfrac14 \sum_d \int g_d'(t)^2\,dt + \tfrac12 \sum_i S_{ii} (r_i - f_i)^2, \qquad
          f_i = \sum_d g_d(x_{id}) + b, \quad x = S (r - f):

a dense matrix that is factored once, at O(m D² + (q D)³) for q bins, and preconditions the steps.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import dtrsv
from scipy.linalg.lapack import dpotrf

from mercer._typing import Array
from mercer.compiled import njit
from mercer.solvers.newton.products import Codes, look_up, make_operator, sum_by_code

CG_TOL = 0.1  # weighted residual of the Newton system over the step's change of f; below 1 it is a descent
MOST_UNKNOWNS = 320  # of the coarse problem …
ROWS_AN_UNKNOWN = 8  # … and at least so many rows for each
BINS = (4, 6, 8, 12, 16, 24, 32)  # of a feature; with fewer it would leave out too much to be worth it
VALUES_FOR_BINS = 20_000  # of a feature
REMAINDER = 3.0  # δ, in mean distances from a value to its bin's …
LEAST_REMAINDER = 1e-8  # … and at least this share of the mean diagonal of K
LEAST_PIVOT = 1e-13  # of the diagonal, added to it: an unknown may be determined by the others
TINY = 1e-150


def solve_system(
    code: Codes, weight: Array, away: Array, mass: float, coarsening: "Coarsening", floor: float
) -> tuple[Array, float]:
    """Return x, for the right-hand side `away` and of sum `mass`, and Δb; f need not change below `floor`."""
    if len(weight) == 0:
        return weight, 0.0
    operator, ridge, shift = make_operator(code, coarsening.value), 1.0 / weight, mass / weight.sum()
    first = shift * weight  # of the right sum: what is left of x has sum zero
    coarse, r = coarsening.prepare(code, ridge), away - operator.product(first) - shift
    x, bias, _ = conjugate_gradients(operator, ridge, coarsening.diagonal, coarse, r, -shift, floor)
    return first + x, -bias


def conjugate_gradients(
    operator: Any, ridge: Array, diagonal: float, coarse: Any, r: Array, df: float, floor: float
) -> tuple[Array, float, int]:
    """Solve (K + ridge) x + b = r with Σx = 0; return x, b, and the number of steps.

    `df` is what the change of f would be at x = 0 if r were zero. The step is a descent as soon as the
    residual's norm, weighted by σ = 1/ridge, is below that of the change of f: it stops there, or where r is
    at most `floor`. The preconditioner is 1/(ridge + diagonal), for rows of very unequal σ, or where many
    steps are to be expected the coarse problem.
    """
    inverse, r = 1.0 / (ridge + diagonal), r.copy()
    x, z, p, q = np.zeros((4, len(r)))
    b, rz, n_steps = 0.0, 0.0, 0
    while n_steps < 2 * len(r) + 20:
        shift, new, largest, weighted, scale = move_and_look(p, q, rz, ridge, inverse, df, x, r, z)
        b += shift
        if largest <= floor or weighted <= CG_TOL * CG_TOL * scale:
            break
        if coarse is not None:
            z = coarse.apply(r)
            new = float(r @ z)
        p *= new / rz if rz > 0.0 else 0.0
        p += z
        rz = new
        q = operator.product(p)
        n_steps += 1
    return x, b, n_steps


class Bins(NamedTuple):
    """The values of each feature in a few bins, and how far rows are from these."""

    bin_of: Codes  # (D, n_values)
    value: Array  # (D, q), ascending
    distance: float  # the mean over the rows of Σ_d |x − bin's value|


class Preconditioner(NamedTuple):
    """The factored coarse problem."""

    code: Codes  # (D, m), each row's bin in each feature, of one byte
    scale: Array  # (m,), the diagonal of S
    factor: Array  # of Cholesky; unknowns: b, then each g_d, whose first value is zero

    def apply(self, r: Array) -> Array:
        """Solve the coarse problem for r and return x = S (r − f)."""
        z, unknown = self.scale * r, np.zeros(len(self.factor))
        tables = unknown[1:].reshape(len(self.code), -1)
        sum_by_code(self.code, z, tables)
        unknown[0], tables[:, 0] = z.sum(), 0.0
        # for one right-hand side, a third of the time of LAPACK's solver for many
        unknown = dtrsv(self.factor, dtrsv(self.factor, unknown, trans=1))
        f = np.full(len(r), unknown[0])
        look_up(self.code, unknown[1:].reshape(tables.shape), f)
        f *= self.scale
        z -= f
        return z


class Coarsening:
    """The bins of a problem: all its rows choose them, once, for the Newton steps of any penalty."""

    def __init__(self, value: Array, count: Callable[[int], Any], diagonal: float) -> None:
        self.value, self.count = value, count  # the ascending values, and the rows at those of a feature
        self.diagonal, self.bins = diagonal, cache(self.choose)  # the mean diagonal of K

    def prepare(self, code: Codes, ridge: Array) -> Preconditioner | None:
        """Factor the coarse problem of some rows, or return none where that costs more than it saves.

        It saves half of the steps, which are about the root of the largest eigenvalue over the ridge: a fifth
        are needed, of twice the cost. What its set-up costs is counted in products with K.
        """
        D, m = code.shape
        n_bins = max((q for q in BINS if D * (q - 1) <= min(MOST_UNKNOWNS, m // ROWS_AN_UNKNOWN)), default=0)
        steps = np.sqrt(m * self.diagonal / max(D * ridge.mean(), TINY))
        set_up = D + (D * n_bins) ** 3 / (16.0 * m * D)
        if n_bins == 0 or steps < 1.5 * set_up:
            return None
        bin_of, value, distance = self.bins(n_bins)
        scale = 1.0 / (ridge + max(REMAINDER * distance, LEAST_REMAINDER * self.diagonal))
        return factor_coarse_problem(np.array(list(map(np.take, bin_of, code))), value, scale)

    def choose(self, n_bins: int) -> Bins:
        """Choose the bins of each feature; of many values, on every so many of them."""
        D, n_values = self.value.shape
        apart, step = 0.0, -(-n_values // VALUES_FOR_BINS)
        bin_of, value = np.empty((D, n_values), np.uint8), np.empty((D, n_bins))
        for d in range(D):
            x, count = self.value[d, ::step], np.add.reduceat(self.count(d), np.arange(0, n_values, step))
            chosen, value[d] = choose_bins(x, count, n_bins)
            bin_of[d] = np.repeat(chosen, step)[:n_values]
            apart += float(count @ np.abs(x - value[d, chosen])) / float(count.sum())
        return Bins(bin_of, value, apart)


def choose_bins(value: Array, count: Array, n_bins: int) -> tuple[Array, Array]:
    """Put ascending values, each of some rows, into bins; return the bin of each, and the bins' means.

    The largest eigenvalue that a bin leaves out is about its rows times its width: bins of equal shares of
    Σ √(rows × gap) make the largest of them least. Values that are repeated, without rows, share a bin.
    """
    share = np.append(0.0, np.cumsum(np.sqrt(count[:-1] * np.diff(value))))
    wanted = np.minimum(n_bins * share / max(share[-1], TINY), n_bins - 1).astype(np.intp)
    bin_of = np.append(0, np.cumsum(np.diff(wanted) > 0))
    n_rows, moment = (np.bincount(bin_of, weight, n_bins) for weight in (count, count * value))
    filled = np.flatnonzero(n_rows)  # of bins without rows, the value does not matter
    return bin_of, np.interp(np.arange(n_bins), filled, moment[filled] / n_rows[filled])


def factor_coarse_problem(code: Codes, value: Array, scale: Array) -> Preconditioner:
    """Set up the coarse problem of rows in bins with the weights S = diag(scale), and factor it."""
    D, q = value.shape
    A = np.zeros((1 + D * q, 1 + D * q))  # its lower triangle
    add_pairs(code, q, scale, A)
    A[0, 0], A[1:, 0] = scale.sum(), np.diag(A)[1:]
    gap, place = np.diff(value, axis=1), 1 + np.arange(D * q).reshape(D, q)
    weight = np.where(gap > 0.0, 0.5 / np.where(gap > 0.0, gap, 1.0), 0.0)  # of the penalty ¼ Σ_d ∫ g_d'²
    left, right, first = place[:, :-1], place[:, 1:], place[:, 0]
    A[left, left] += weight
    A[right, right] += np.where(gap > 0.0, weight, 1.0)  # at bins without rows, any g will do
    A[right, left] -= weight
    A[first], A[:, first] = 0.0, 0.0
    A[first, first] = 1.0
    A[np.diag_indices_from(A)] *= 1.0 + LEAST_PIVOT
    return Preconditioner(code, scale, dpotrf(A.T, clean=0, overwrite_a=1)[0])


@njit(cache=True, nogil=True, fastmath=True)
def move_and_look(
    p: Array, q: Array, rz: float, ridge: Array, inverse: Array, df: float, x: Array, r: Array, z: Array
) -> tuple[float, float, float, float, float]:
    """Move x and r along p, where q = K p, and look at the residual r.

    Makes Σ r / (ridge + diagonal) zero, and puts r / (ridge + diagonal) into z. Returns the shift of r,
    Σ r z, the largest |r|, and the weighted squares of r and of the change of f; where K is singular along p,
    and there is nothing to solve for, zeros.
    """
    curvature, total, shift = 0.0, 0.0, 0.0
    for i in range(len(p)):
        q[i] += ridge[i] * p[i]
        curvature += p[i] * q[i]
        total += inverse[i]
    if rz > 0.0 and curvature <= 0.0:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    length = rz / curvature if rz > 0.0 else 0.0
    for i in range(len(r)):
        x[i] += length * p[i]
        r[i] -= length * q[i]
        shift += inverse[i] * r[i]
    shift /= total
    new, largest, weighted, scale = 0.0, 0.0, 0.0, 0.0
    for i in range(len(r)):
        r[i] -= shift
        z[i] = inverse[i] * r[i]
        new += r[i] * z[i]
        largest = max(largest, abs(r[i]))
        change = df - ridge[i] * x[i] - r[i]
        weighted += r[i] * r[i] / ridge[i]
        scale += change * change / ridge[i]
    return shift, new, largest, weighted, scale


@njit(cache=True, nogil=True, fastmath=True)
def add_pairs(code: Codes, q: int, scale: Array, A: Array) -> None:
    """Add the lower triangle of ΦᵀSΦ for the indicators Φ of all bins of all features, after b."""
    D, m = code.shape
    table = np.empty(q * q)
    for d in range(D):
        for e in range(d + 1):
            table[:] = 0.0
            for i in range(m):
                table[np.intp(code[d, i]) * q + code[e, i]] += scale[i]
            for k in range(q):
                for j in range(q):
                    A[1 + d * q + k, 1 + e * q + j] += table[k * q + j]
