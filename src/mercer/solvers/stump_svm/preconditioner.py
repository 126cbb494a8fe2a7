r"""A preconditioner for the SVM's Newton systems: the same system with few values a feature.

Conjugate gradients for :math:`(K + \operatorname{diag}(\rho)) x + b = r`, :math:`\sum_i x_i = 0` take as many
steps as K has large eigenvalues of different size, and those belong to functions that vary slowly along one
feature. Such functions hardly change if each value moves to that of a coarse bin. With K of the bins,
S = diag(1/(ρ + δ)) and δ the mean diagonal of what the bins leave out, the system is a smoothing problem

.. math:: \min_{g, b} \; \tfrac14 \sum_d \int g_d'(t)^2\,dt + \tfrac12 \sum_i S_{ii} (r_i - f_i)^2, \qquad
          f_i = \sum_d g_d(x_{id}) + b, \quad x = S (r - f),

in the few numbers g_d at the bins: a dense matrix that is factored once, at O(m D² + (q D)³) for q bins.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.solvers.stump_svm.code_tables import look_up, sum_by_code
from mercer.solvers.stump_svm.operators import coarsen, n_features

MOST_UNKNOWNS = 320  # of the coarse problem …
ROWS_AN_UNKNOWN = 8  # … and at least so many rows for each
MOST_BINS, LEAST_BINS = 32, 4  # with fewer bins a feature it would leave out too much to be worth it
REMAINDER = 3.0  # δ, in mean distances from a value to its bin's …
LEAST_REMAINDER = 1e-8  # … and at least this share of the mean diagonal of K
LEAST_PIVOT = 1e-14  # an unknown whose pivot is this share of its diagonal is determined by the others
HUGE = 1e150


class CoarseColumns(NamedTuple):
    """Each row's bin in each feature, the ascending values of the bins, and how far rows are from them."""

    code: NDArray[np.uint8]  # (D, m)
    value: Array  # (D, q), the last one repeated
    distance: float  # the mean over the rows of Σ_d |x − bin's value|


class Preconditioner(NamedTuple):
    """The factored coarse problem."""

    code: NDArray[np.uint8]  # (D, m)
    scale: Array  # (m,), the diagonal of S
    factor: Array  # lower triangle; unknowns: b, then each g_d without its first value, which is zero


@njit(cache=True, nogil=True)
def choose_bins(value: Array, count: Array, bin_of: NDArray[np.uint8], bin_value: Array) -> float:
    """Put ascending values, each of so many rows, into bins; return Σ|x − bin's value| over the rows.

    The largest eigenvalue that a bin leaves out is about its rows times its width: bins of equal shares of
    Σ √(rows × gap) make the largest of them least.
    """
    share, total, rows = np.empty(len(value)), 0.0, 0.0
    for k in range(len(value)):
        share[k] = total
        rows += count[k]
        if k + 1 < len(value) and value[k + 1] > value[k]:
            total += np.sqrt(rows * (value[k + 1] - value[k]))
            rows = 0.0
    last, rows, moment = 0, 0.0, 0.0
    for k in range(len(value)):
        late = rows > 0.0 and value[k] > value[k - 1] and share[k] * len(bin_value) > (last + 1) * total
        if late and last + 1 < len(bin_value):
            bin_value[last] = moment / rows
            last, rows, moment = last + 1, 0.0, 0.0
        rows += count[k]
        moment += count[k] * value[k]
        bin_of[k] = last
    bin_value[last:] = moment / rows if rows > 0.0 else value[-1]
    distance = 0.0
    for k in range(len(value)):
        distance += count[k] * abs(value[k] - bin_value[bin_of[k]])
    return distance


@njit(cache=True, nogil=True)
def prepare_coarse_problem(operator: Any, ridge: Array, diagonal: float) -> Preconditioner:
    """Set up the coarse problem and factor it, or return an empty one where that costs more than it saves.

    Without it, about √(m κ / (ρ D)) steps are needed, κ being the mean diagonal of K: the root of the largest
    eigenvalue over the ridge. It saves more than half of that time, since it needs a fifth of the steps and
    each costs twice as much. What its set-up costs is counted in products with K.
    """
    m, D = len(ridge), n_features(operator)
    n_bins = min(min(MOST_UNKNOWNS, m // ROWS_AN_UNKNOWN) // D + 1, MOST_BINS)
    n_unknowns = 1.0 + D * (n_bins - 1)
    steps = np.sqrt(m * diagonal / max(D * ridge.mean(), 1.0 / HUGE))
    set_up = D + 10.0 + n_unknowns * n_unknowns * n_unknowns / (16.0 * m * D)
    if n_bins < LEAST_BINS or steps < 1.5 * set_up:
        return Preconditioner(np.empty((0, 0), np.uint8), np.empty(0), np.empty((0, 0)))
    columns = coarsen(operator, n_bins)
    scale = 1.0 / (ridge + max(REMAINDER * columns.distance, LEAST_REMAINDER * diagonal))
    return factor_coarse_problem(columns, scale)


@njit(cache=True, nogil=True)
def factor_coarse_problem(columns: CoarseColumns, scale: Array) -> Preconditioner:
    """Set up the coarse problem of the weights S = diag(scale), and factor it."""
    D, q = columns.value.shape
    A = np.zeros((1 + D * (q - 1), 1 + D * (q - 1)))
    _add_rows(columns.code, q, scale, A)
    _add_penalty(columns.value, A)
    _factor(A)
    return Preconditioner(columns.code, scale, A)


@njit(cache=True, nogil=True, fastmath=True)
def _add_rows(code: NDArray[np.uint8], q: int, scale: Array, A: Array) -> None:
    """Add the lower triangle of ΦᵀSΦ for the indicators Φ of the unknowns."""
    D, m = code.shape
    A[0, 0] += scale.sum()
    table = np.empty(q * q)
    for d in range(D):
        for e in range(d + 1):
            table[:] = 0.0
            for i in range(m):
                table[np.intp(code[d, i]) * q + code[e, i]] += scale[i]
            for k in range(1, q):
                for j in range(1, q):
                    A[d * (q - 1) + k, e * (q - 1) + j] += table[k * q + j]
        for k in range(1, q):
            A[d * (q - 1) + k, 0] += table[k * q + k]  # the last table is that of d with itself


@njit(cache=True, nogil=True)
def _add_penalty(value: Array, A: Array) -> None:
    """Add the second derivative of ¼ Σ_d ∫ g_d'² to the lower triangle; bins without rows get g = 0."""
    D, q = value.shape
    for d in range(D):
        for k in range(1, q):
            i = d * (q - 1) + k
            gap = value[d, k] - value[d, k - 1]
            weight = 0.5 / gap if gap > 0.0 else 1.0
            A[i, i] += weight
            if k > 1 and gap > 0.0:
                A[i - 1, i - 1] += weight
                A[i, i - 1] -= weight


@njit(cache=True, nogil=True, fastmath=True)
def _factor(A: Array) -> None:
    """Replace the lower triangle by its Cholesky factor."""
    for i in range(len(A)):
        pivot = A[i, i]
        for j in range(i):
            entry = A[i, j]
            for k in range(j):
                entry -= A[i, k] * A[j, k]
            A[i, j] = entry / A[j, j]
            pivot -= A[i, j] * A[i, j]
        A[i, i] = np.sqrt(pivot) if pivot > LEAST_PIVOT * A[i, i] else HUGE


@njit(cache=True, nogil=True, fastmath=True)
def _solve(factor: Array, x: Array) -> None:
    """Solve in place with the factor and its transpose."""
    for i in range(len(x)):
        entry = x[i]
        for k in range(i):
            entry -= factor[i, k] * x[k]
        x[i] = entry / factor[i, i]
    for i in range(len(x) - 1, -1, -1):
        x[i] /= factor[i, i]
        entry = x[i]
        for k in range(i):
            x[k] -= entry * factor[i, k]


@njit(cache=True, nogil=True, fastmath=True)
def precondition(coarse: Preconditioner, r: Array, z: Array) -> None:
    """Solve the coarse problem for r and write x = S (r − f) into z."""
    D, m = coarse.code.shape
    width = (len(coarse.factor) - 1) // D
    unknown, tables = np.empty(len(coarse.factor)), np.zeros((4, width + 1))
    for i in range(m):
        z[i] = coarse.scale[i] * r[i]
    unknown[0] = z.sum()
    for d in range(0, D, 4):
        sum_by_code(coarse.code[d : d + 4], z, tables)
        for e in range(d, min(d + 4, D)):
            for k in range(1, width + 1):
                unknown[e * width + k] = tables[e - d, k]
    _solve(coarse.factor, unknown)
    f = np.full(m, unknown[0])
    for d in range(0, D, 4):
        for e in range(d, min(d + 4, D)):
            tables[e - d, 0] = 0.0
            for k in range(1, width + 1):
                tables[e - d, k] = unknown[e * width + k]
        look_up(coarse.code[d : d + 4], tables, f)
    for i in range(m):
        z[i] -= coarse.scale[i] * f[i]
