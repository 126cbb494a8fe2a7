"""An SVM with the stump kernel is an additive model: f(x) = Σ_d g_d(x_d) + b, each g_d piecewise linear."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from mercer.solvers.columns import CodedColumns, bin_columns, choose_knots, code_columns, select_rows
from mercer.solvers.svm_dual import SVMSolution, solve_path, solve_svm
from mercer.svm.base import Fit

Array = NDArray[np.float64]

SAMPLE_FROM = 200_000  # rows from which on a fit starts from that of a sample
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

    columns: CodedColumns
    scale: float  # by which the features were divided: brings the kernel to order one, whatever their units

    @classmethod
    def prepare(cls, X: Array, max_bins: int | None, random_state: Any) -> "TrainingRows":
        """Sort the features, or put them into at most max_bins bins."""
        with np.errstate(over="ignore"):
            scale = float(np.ptp(X, axis=0).mean())
        if not np.isfinite(scale):
            raise ValueError("The range of a feature overflows: scale the features, e.g. with MinMaxScaler.")
        if scale == 0.0:
            scale = 1.0
        X = X / scale
        if max_bins is None:
            return cls(code_columns(X), scale)
        sample = _sample_rows(X, check_random_state(random_state))
        return cls(bin_columns(X, [choose_knots(column, max_bins) for column in sample.T]), scale)


def fit_path(
    rows: TrainingRows, y: Array, weight: Array, Cs: Sequence[float], **options: Any
) -> Iterator[Fit]:
    """Fit the SVM for each C in ascending order, with C_i = C × weight_i."""
    bound = rows.scale * weight
    start = start_from_sample(rows.columns, y, Cs[0] * bound)
    for solution in solve_path(rows.columns, y, bound, Cs, start=start, **options):
        yield _finish(rows, y, solution)


def start_from_sample(columns: CodedColumns, y: Array, C: Array) -> Array | None:
    """Solve for one row in ten, each counting for ten, and return coefficients with its decision function.

    For many rows this is a better start than zero, at a tenth of the price. It changes the way, not the
    minimum.
    """
    if len(y) < SAMPLE_FROM:
        return None
    rows = np.sort(np.random.default_rng(0).choice(len(y), len(y) // 10, replace=False))
    if np.all(y[rows] > 0) or np.all(y[rows] < 0):
        return None
    part, y_part, C_part = select_rows(columns, rows), y[rows], 10 * C[rows]
    further = start_from_sample(part, y_part, C_part)
    coef = np.zeros(len(y))
    coef[rows] = solve_svm(part, y_part, C_part, start=further, tol=1e-2).coef
    return coef


def _finish(rows: TrainingRows, y: Array, solution: SVMSolution) -> Fit:
    coef = solution.coef / rows.scale
    objective = (0.5 * solution.coef @ solution.value - y @ solution.coef) / rows.scale
    knots, mass = _bends(rows.columns, solution.coef)
    values = _integrate(knots, mass)
    means = values.mean(axis=1)
    function = AdditiveFunction(
        knots * rows.scale, values - means[:, None], solution.intercept + float(means.sum())
    )
    return Fit(function, function.intercept, coef, float(objective), solution.n_iter, solution.residual)


def _bends(columns: CodedColumns, coef: Array) -> tuple[Array, Array]:
    """Return the values at which each g_d bends, ascending, and the coefficients there.

    Those are the values of the support vectors, or all of them (the bins) if there are fewer.
    """
    D, n_values = columns.value.shape
    support = np.flatnonzero(coef)
    if n_values <= len(support):
        mass = [np.bincount(code, weights=coef, minlength=n_values) for code in columns.code]
        return columns.value, np.stack(mass)
    if len(support) == 0:
        return columns.value[:, :1], np.zeros((D, 1))
    code = columns.code[:, support]
    order = np.argsort(code, axis=1, kind="stable")
    return np.take_along_axis(columns.value, np.take_along_axis(code, order, 1).astype(np.intp), 1), coef[
        support
    ][order]


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
