r"""A preconditioner for the SVM's Newton systems: the same system with few values per feature.

Conjugate gradients for :math:`(K + \operatorname{diag}(\rho)) x + b = r`, :math:`\sum_i x_i = 0` take as many
steps as K has large eigenvalues of different size, and those belong to functions that vary slowly along one
feature. Such functions hardly change if each value moves to that of a coarse bin. With K of the bins,
S = diag(1/(ρ + δ)) and δ the mean diagonal of what the bins leave out, the system is a smoothing problem

.. math:: \min_{g, b} \; \tfrac14 \sum_d \int g_d'(t)^2\,dt + \tfrac12 \sum_i S_{ii} (r_i - f_i)^2, \qquad
          f_i = \sum_d g_d(x_{id}) + b, \quad x = S (r - f),

in the few numbers g_d at the bins: a dense matrix that is factored once, at O(m D² + (q D)³) for q bins.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from mercer._typing import Array
from mercer.compiled import njit
from mercer.solvers.stump_svm.products import CodedColumns, SortedColumns, look_up, sum_by_code

MOST_UNKNOWNS = 320  # of the coarse problem …
ROWS_AN_UNKNOWN = 8  # … and at least so many rows for each
MOST_BINS, LEAST_BINS = 32, 4  # with fewer bins a feature it would leave out too much to be worth it
REMAINDER = 3.0  # δ, in mean distances from a value to its bin's …
LEAST_REMAINDER = 1e-8  # … and at least this share of the mean diagonal of K
LEAST_PIVOT = 1e-13  # of the diagonal, added to it: an unknown may be determined by the others
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
    factor: Array  # of Cholesky; unknowns: b, then each g_d without its first value, which is zero

    def apply(self, r: Array) -> Array:
        """Solve the coarse problem for r and return x = S (r − f)."""
        D, width = len(self.code), (len(self.factor) - 1) // len(self.code)
        tables, unknown, z = np.zeros((D, width + 1)), np.empty(len(self.factor)), self.scale * r
        sum_by_code(self.code, z, tables)
        unknown[0], unknown[1:] = z.sum(), tables[:, 1:].ravel()
        unknown = dpotrs(self.factor, unknown, lower=1, overwrite_b=1)[0]
        tables[:, 0], tables[:, 1:] = 0.0, unknown[1:].reshape(D, width)
        f = np.full(len(r), unknown[0])
        look_up(self.code, tables, f)
        f *= self.scale
        z -= f
        return z


def prepare_coarse_problem(
    operator: CodedColumns | SortedColumns, ridge: Array, diagonal: float
) -> Preconditioner | None:
    """Set up the coarse problem and factor it, or return none where that costs more than it saves.

    Without it, about √(m κ / (ρ D)) steps are needed, κ being the mean diagonal of K: the root of the largest
    eigenvalue over the ridge. It saves more than half of that time, since it needs a fifth of the steps and
    each costs twice as much. What its set-up costs is counted in products with K.
    """
    m, D = len(ridge), len(operator[0])
    n_bins = min(min(MOST_UNKNOWNS, m // ROWS_AN_UNKNOWN) // D + 1, MOST_BINS)
    n_unknowns = 1.0 + D * (n_bins - 1)
    steps = np.sqrt(m * diagonal / max(D * ridge.mean(), 1.0 / HUGE))
    set_up = D + 10.0 + n_unknowns**3 / (16.0 * m * D)
    if n_bins < LEAST_BINS or steps < 1.5 * set_up:
        return None
    columns = coarsen(operator, n_bins)
    scale = 1.0 / (ridge + max(REMAINDER * columns.distance, LEAST_REMAINDER * diagonal))
    return factor_coarse_problem(columns, scale)


def coarsen(operator: CodedColumns | SortedColumns, n_bins: int) -> CoarseColumns:
    """Put the values of each feature into bins."""
    D, m = operator[0].shape
    if isinstance(operator, CodedColumns):
        count = np.zeros(operator.value.shape)
        sum_by_code(operator.code, np.ones(m), count)
        bin_of, value, apart = choose_bins(operator.value, count, n_bins)
        code = np.take_along_axis(bin_of, operator.code.astype(np.intp), axis=1)
    else:
        place = np.zeros((D, m))
        np.cumsum(operator.gap[:, :-1], axis=1, out=place[:, 1:])
        bin_of, value, apart = choose_bins(place, np.ones((D, m)), n_bins)
        code = np.empty((D, m), np.uint8)
        np.put_along_axis(code, operator.order.astype(np.intp), bin_of, axis=1)
    return CoarseColumns(code, value, apart / m)


def choose_bins(value: Array, count: Array, n_bins: int) -> tuple[NDArray[np.uint8], Array, float]:
    """Put each feature's ascending values, each of some rows, into bins.

    The largest eigenvalue that a bin leaves out is about its rows times its width: bins of equal shares of
    Σ √(rows × gap) make the largest of them least. Equal values share a bin.

    Returns
    -------
    bin_of : array of shape (D, n_values)
        The bin of each value.
    bin_value : array of shape (D, n_bins)
        The mean of each bin, the last one repeated.
    apart : float
        Σ|x − bin's value| over all rows and features.
    """
    D, gap = len(value), np.diff(value, axis=1)
    so_far = np.cumsum(count, axis=1)[:, :-1]
    before = np.maximum.accumulate(np.where(gap > 0.0, so_far, 0.0), axis=1)
    rows = so_far - np.pad(before[:, :-1], ((0, 0), (1, 0)))  # since the last value that was another
    share = np.cumsum(np.sqrt(rows * gap), axis=1)
    wanted = np.zeros(value.shape, np.intp)
    total = np.maximum(share[:, -1:], 1.0 / HUGE) if share.shape[1] else np.ones((D, 1))
    wanted[:, 1:] = np.minimum(n_bins * share / total, n_bins - 1)
    bin_of = np.zeros(value.shape, np.intp)
    np.cumsum(np.diff(wanted, axis=1) > 0, axis=1, out=bin_of[:, 1:])
    place = (np.arange(D)[:, None] * n_bins + bin_of).ravel()
    n_rows = np.bincount(place, count.ravel(), minlength=D * n_bins)
    moment = np.bincount(place, (count * value).ravel(), minlength=D * n_bins)
    mean = (moment / np.maximum(n_rows, 1.0 / HUGE)).reshape(D, n_bins)
    empty = (n_rows == 0.0).reshape(D, n_bins)
    for d in np.flatnonzero(empty.any(axis=1)):  # of bins without rows, the value does not matter
        mean[d] = np.interp(np.arange(n_bins), np.flatnonzero(~empty[d]), mean[d, ~empty[d]])
    apart = float((count * np.abs(value - mean.ravel()[place].reshape(value.shape))).sum())
    return bin_of.astype(np.uint8), mean, apart


def factor_coarse_problem(columns: CoarseColumns, scale: Array) -> Preconditioner:
    """Set up the coarse problem of the weights S = diag(scale), and factor it."""
    D, q = columns.value.shape
    pairs = np.zeros((D * q, D * q))
    add_pairs(columns.code, q, scale, pairs)
    kept = np.delete(np.arange(D * q), np.arange(0, D * q, q))
    A = np.empty((1 + D * (q - 1), 1 + D * (q - 1)))
    A[0, 0], A[1:, 1:] = scale.sum(), pairs[np.ix_(kept, kept)]
    A[1:, 0] = np.diag(pairs)[kept]
    _add_penalty(columns.value, A)
    A[np.diag_indices_from(A)] *= 1.0 + LEAST_PIVOT
    return Preconditioner(columns.code, scale, dpotrf(A, lower=1, clean=0)[0])


@njit(cache=True, nogil=True, fastmath=True)
def add_pairs(code: NDArray[np.uint8], q: int, scale: Array, pairs: Array) -> None:
    """Add the lower triangle of ΦᵀSΦ for the indicators Φ of all bins of all features."""
    D, m = code.shape
    table = np.empty(q * q)
    for d in range(D):
        for e in range(d + 1):
            table[:] = 0.0
            for i in range(m):
                table[np.intp(code[d, i]) * q + code[e, i]] += scale[i]
            for k in range(q):
                for j in range(q):
                    pairs[d * q + k, e * q + j] += table[k * q + j]


def _add_penalty(value: Array, A: Array) -> None:
    """Add the second derivative of ¼ Σ_d ∫ g_d'² to the lower triangle; bins without rows get g = 0."""
    D, q = value.shape
    gap = np.diff(value, axis=1)
    weight = np.where(gap > 0.0, 0.5 / np.where(gap > 0.0, gap, 1.0), 1.0)
    place = 1 + np.arange(D * (q - 1)).reshape(D, q - 1)
    A[place, place] += weight
    before, here = place[:, :-1], place[:, 1:]
    inner = np.where(gap[:, 1:] > 0.0, weight[:, 1:], 0.0)
    A[before, before] += inner
    A[here, before] -= inner
