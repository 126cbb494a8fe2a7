r"""A preconditioner for the SVM's Newton systems: the same system with few values per feature.

Conjugate gradients for :math:`(K + \operatorname{diag}(\rho)) x + b = r`, :math:`\sum_i x_i = 0` take as many
steps as K has large eigenvalues of different size, and those belong to functions that vary slowly along one
feature. Such functions hardly change if each value moves to that of a coarse bin. With K of the bins,
S = diag(1/(ρ + δ)) and δ the mean diagonal of what the bins leave out, the system is a smoothing problem

.. math:: \min_{g, b} \; \tfrac14 \sum_d \int g_d'(t)^2\,dt + \tfrac12 \sum_i S_{ii} (r_i - f_i)^2, \qquad
          f_i = \sum_d g_d(x_{id}) + b, \quad x = S (r - f),

in the few numbers g_d at the bins: a dense matrix that is factored once, at O(m D² + (q D)³) for q bins.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from mercer._typing import Array
from mercer.compiled import njit
from mercer.solvers.stump_svm.products import Codes, look_up, sum_by_code

MOST_UNKNOWNS = 320  # of the coarse problem …
ROWS_AN_UNKNOWN = 8  # … and at least so many rows for each
BINS = (4, 6, 8, 12, 16, 24, 32)  # of a feature; with fewer it would leave out too much to be worth it
VALUES_FOR_BINS = 20_000  # of a feature
REMAINDER = 3.0  # δ, in mean distances from a value to its bin's …
LEAST_REMAINDER = 1e-8  # … and at least this share of the mean diagonal of K
LEAST_PIVOT = 1e-13  # of the diagonal, added to it: an unknown may be determined by the others
TINY = 1e-150


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
        unknown = dpotrs(self.factor, unknown, overwrite_b=1)[0]
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

        Without it, about √(m κ / (ρ D)) steps are needed, κ being the mean diagonal of K: the root of the
        largest eigenvalue over the ridge. It saves more than half of that time, since it needs a fifth of the
        steps and each costs twice as much. What its set-up costs is counted in products with K.
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
    Σ √(rows × gap) make the largest of them least. Equal values share a bin.
    """
    gap, so_far = np.diff(value), np.cumsum(count)[:-1]
    before = np.maximum.accumulate(np.where(gap > 0.0, so_far, 0.0))
    rows = so_far - np.append(0.0, before)[: len(gap)]  # since the last value that was another
    share = np.append(0.0, np.cumsum(np.sqrt(rows * gap)))
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
