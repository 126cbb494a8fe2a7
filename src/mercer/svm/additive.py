"""An SVM with the stump kernel is an additive model: f(x) = Σ_d g_d(x_d) + b, each g_d piecewise linear."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from mercer.solvers.columns import BinnedColumns, SortedColumns, bin_columns, choose_knots, sort_columns
from mercer.solvers.svm_dual import SVMSolution, solve_path
from mercer.svm.base import Fit

Array = NDArray[np.float64]

ROWS_FOR_KNOTS = (
    200_000  # bins are chosen on a sample of at most so many rows: more change no bin by a percent
)


class ShapeFunction(NamedTuple):
    """A piecewise linear function of one feature: linear between the knots, constant beyond them."""

    knots: Array
    values: Array


class AdditiveFunction(NamedTuple):
    """f(x) = Σ_d g_d(x_d) + intercept. Row d of `knots` and `values` is g_d; knots may repeat."""

    knots: Array
    values: Array
    intercept: float

    def __call__(self, X: Array) -> Array:
        """Return f for each row of X. O(D log k) a row, whatever the number of support vectors."""
        return _evaluate(self.knots, self.values, np.ascontiguousarray(X, dtype=np.float64)) + self.intercept

    def shapes(self) -> list[ShapeFunction]:
        """Return one shape function a feature, without repeated knots and knots where nothing bends."""
        return [_simplify(k, v) for k, v in zip(self.knots, self.values, strict=True)]


class TrainingRows(NamedTuple):
    """The rows of one two-class problem, ready for any number of fits with other C."""

    X: Array
    knots: Array | None  # the bins' values, one row a feature; None where every value counts
    columns: SortedColumns | BinnedColumns  # of X / scale
    scale: float  # brings the kernel to order one, whatever the units of the features

    @classmethod
    def prepare(cls, X: Array, max_bins: int | None, random_state: Any) -> "TrainingRows":
        """Sort the features, or put them into at most max_bins bins."""
        with np.errstate(over="ignore"):
            scale = float(np.ptp(X, axis=0).mean())
        if not np.isfinite(scale):
            raise ValueError("The range of a feature overflows: scale the features, e.g. with MinMaxScaler.")
        if scale == 0.0:
            scale = 1.0
        if max_bins is None:
            return cls(X, None, sort_columns(X / scale), scale)
        sample = _sample_rows(X, check_random_state(random_state))
        knots = [choose_knots(column, max_bins) for column in sample.T]
        width = max(len(k) for k in knots)
        table = np.stack([np.pad(k, (0, width - len(k)), mode="edge") for k in knots])
        columns = bin_columns(X, knots)
        return cls(X, table, columns._replace(gap=columns.gap / scale), scale)


def fit_path(
    rows: TrainingRows, y: Array, weight: Array, Cs: Sequence[float], **options: Any
) -> Iterator[Fit]:
    """Fit the SVM for each C in ascending order, with C_i = C × weight_i."""
    for solution in solve_path(rows.columns, y, rows.scale * weight, Cs, **options):
        yield _finish(rows, y, solution)


def _finish(rows: TrainingRows, y: Array, solution: SVMSolution) -> Fit:
    coef = solution.coef / rows.scale
    objective = (0.5 * solution.coef @ solution.value - y @ solution.coef) / rows.scale
    if rows.knots is None or isinstance(rows.columns, SortedColumns):
        knots, mass = _support_knots(rows.X[coef != 0], coef[coef != 0])
    else:
        knots, mass = rows.knots, _bin_mass(rows.columns.code, coef, rows.knots.shape[1])
    values = _integrate(knots, mass)
    means = values.mean(axis=1)
    function = AdditiveFunction(knots, values - means[:, None], solution.intercept + means.sum())
    return Fit(function, function.intercept, coef, float(objective), solution.n_iter, solution.residual)


def _support_knots(support: Array, coef: Array) -> tuple[Array, Array]:
    """Return each feature's values of the support vectors in ascending order, and their coefficients."""
    if len(coef) == 0:
        return np.zeros((support.shape[1], 1)), np.zeros((support.shape[1], 1))
    order = np.argsort(support, axis=0, kind="stable")
    return np.take_along_axis(support, order, axis=0).T.copy(), coef[order].T


def _bin_mass(code: NDArray[Any], coef: Array, n_bins: int) -> Array:
    """Return the sum of the coefficients in each bin, one row a feature."""
    return np.stack([np.bincount(c, weights=coef, minlength=n_bins) for c in code])


def _integrate(knots: Array, mass: Array) -> Array:
    """Return g_d(t) = −Σ_j c_j |t − x_jd| at the knots, up to a constant: zero at the first.

    Since Σc = 0, the slope between two neighbours is −2 times the sum of the coefficients to the left.
    """
    values = np.zeros_like(knots)
    np.cumsum(-2.0 * np.cumsum(mass, axis=1)[:, :-1] * np.diff(knots, axis=1), axis=1, out=values[:, 1:])
    return values


def _sample_rows(X: Array, rng: np.random.RandomState) -> Array:
    if len(X) <= ROWS_FOR_KNOTS:
        return X
    return X[np.sort(rng.choice(len(X), ROWS_FOR_KNOTS, replace=False))]


def _simplify(knots: Array, values: Array) -> ShapeFunction:
    keep = np.append(True, np.diff(knots) > 0)
    k, v = knots[keep], values[keep]
    if len(k) > 2:
        slope = np.diff(v) / np.diff(k)
        bends = np.concatenate([[True], slope[1:] != slope[:-1], [True]])
        k, v = k[bends], v[bends]
    return ShapeFunction(k, v)


@njit(cache=True, nogil=True)
def _evaluate(knots: Array, values: Array, X: Array) -> Array:
    D, k = knots.shape
    out = np.zeros(len(X))
    for d in range(D):
        x, g = knots[d], values[d]
        for i in range(len(X)):
            t = X[i, d]
            j = np.searchsorted(x, t, side="right")
            if j == 0:
                out[i] += g[0]
            elif j == k:
                out[i] += g[k - 1]
            else:
                out[i] += g[j - 1] + (g[j] - g[j - 1]) * ((t - x[j - 1]) / (x[j] - x[j - 1]))
    return out
