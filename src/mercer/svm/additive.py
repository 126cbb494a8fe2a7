"""An SVM with the stump kernel is an additive model: f(x) = Σ_d g_d(x_d) + b, each g_d piecewise linear."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from mercer._typing import Array
from mercer.compiled import njit
from mercer.solvers.stump_svm import (
    CodedColumns,
    SVMSolution,
    bin_columns,
    choose_knots,
    code_columns,
    select_rows,
    solve_path,
    solve_svm,
)
from mercer.svm.dual import TwoClassSVM

SAMPLE_FROM = 200_000  # rows from which on a fit starts from that of a sample
FEW_VALUES = 2000  # up to this number of values of a feature, all of them become knots
MAX_STEPS = 1000  # the default maximum number of Newton steps
ROWS_FOR_KNOTS = 200_000  # bins are chosen on a sample of at most these: more change no bin by a percent


class ShapeFunction(NamedTuple):
    """A piecewise linear function of one feature: linear between the knots, constant beyond them."""

    knots: Array
    values: Array


class Units(NamedTuple):
    """The units of the solver: features less their minimum, divided by their mean range.

    They bring the kernel to order one whatever the units of the data, and keep all digits of features that
    are far from zero.
    """

    offset: Array
    scale: float

    @classmethod
    def of(cls, X: Array) -> "Units":
        """Return the units of some rows."""
        lowest = X.min(axis=0)
        with np.errstate(over="ignore"):
            scale = float((X.max(axis=0) - lowest).mean())
        if not np.isfinite(scale) or 0.0 < scale < 1e-290:
            raise ValueError(
                f"The features have a mean range of {scale:g}, too large or too small to compute with: scale "
                "them, e.g. with mercer.ClippedScaler."
            )
        return cls(lowest, scale or 1.0)

    def convert(self, X: Array) -> Array:
        """Return the rows in these units."""
        return (X - self.offset) / self.scale


class AdditiveFunction(NamedTuple):
    """f(x) = Σ_d g_d(x_d) + intercept. Row d of `knots` (in `units`) and `values` is g_d."""

    knots: Array
    values: Array
    intercept: float
    units: Units

    def __call__(self, X: Array) -> Array:
        """Return f for each row of X. O(D log k) per row, whatever the number of support vectors."""
        return _evaluate(self.knots, self.values, self.units.convert(X)) + self.intercept

    def shapes(self) -> list[ShapeFunction]:
        """Return one shape function per feature, without repeated knots and knots where nothing bends."""
        knots = self.knots * self.units.scale + self.units.offset[:, None]
        return [_simplify(k, v) for k, v in zip(knots, self.values, strict=True)]


class TrainingRows(NamedTuple):
    """The rows of one two-class problem, ready for any number of fits with other C."""

    columns: CodedColumns
    units: Units

    @classmethod
    def prepare(cls, X: Array, max_bins: int | None, random_state: int | None) -> "TrainingRows":
        """Sort the features, or put them into at most max_bins bins."""
        units = Units.of(X)
        X = units.convert(X)
        if max_bins is None:
            return cls(code_columns(X), units)
        sample = _sample_rows(X, check_random_state(random_state))
        return cls(bin_columns(X, [choose_knots(column, int(max_bins)) for column in sample.T]), units)


def fit_path(
    rows: TrainingRows, y: Array, weight: Array, Cs: Sequence[float], **options: Any
) -> Iterator[TwoClassSVM]:
    """TwoClassSVM the SVM for each C in ascending order, with C_i = C × weight_i."""
    bound = rows.units.scale * weight
    start = start_from_sample(rows.columns, y, Cs[0] * bound)
    for solution in solve_path(rows.columns, y, bound, Cs, start=start, **options):
        yield _finish(rows, y, solution)


def start_from_sample(columns: CodedColumns, y: Array, C: Array) -> Array | None:
    """Solve for one row in ten, each counting for ten, and return coefficients with its decision function.

    For many rows this is a better start than zero, at a tenth of the cost. It changes the way, not the
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


def _finish(rows: TrainingRows, y: Array, solution: SVMSolution) -> TwoClassSVM:
    coef = solution.coef / rows.units.scale
    objective = (0.5 * solution.coef @ solution.value - y @ solution.coef) / rows.units.scale
    knots, values = _bends(rows.columns, solution.coef)
    intercept = solution.intercept + _integrate(knots, values)
    function = AdditiveFunction(knots, values, intercept, rows.units)
    return TwoClassSVM(
        function, function.intercept, coef, float(objective), solution.n_iter, solution.residual
    )


def _bends(columns: CodedColumns, coef: Array) -> tuple[Array, Array]:
    """Return the values at which each g_d bends, ascending, and the coefficients there.

    Those are the values of the support vectors, or simply all values (the bins) if there are few.
    """
    D, n_values = columns.value.shape
    support = np.flatnonzero(coef)
    if n_values <= max(len(support), FEW_VALUES):
        mass = np.zeros((D, n_values))
        _add_up(columns.code, coef, mass)
        return columns.value, mass
    if len(support) == 0:
        return columns.value[:, :1].copy(), np.zeros((D, 1))
    code = columns.code[:, support]
    order = np.argsort(code, axis=1, kind="stable")
    return np.take_along_axis(columns.value, np.take_along_axis(code, order, 1).astype(np.intp), 1), coef[
        support
    ][order]


@njit(cache=True, nogil=True)
def _add_up(code: NDArray[Any], coef: Array, mass: Array) -> None:
    for d in range(code.shape[0]):
        for i in range(code.shape[1]):
            mass[d, code[d, i]] += coef[i]


@njit(cache=True, nogil=True)
def _integrate(knots: Array, mass: Array) -> float:
    """Turn the coefficients at the knots into g_d(t) = −Σ_j c_j |t − x_jd| less its mean over the knots.

    Since Σc = 0, the slope between two neighbours is −2 times the sum of the coefficients to the left. The
    sum of the means is returned, for g_d that are zero at the first knot.
    """
    D, k = knots.shape
    total = 0.0
    for d in range(D):
        slope, height, mean = 0.0, 0.0, 0.0
        for j in range(k):
            slope -= 2.0 * mass[d, j]
            mass[d, j] = height
            mean += height / k
            if j + 1 < k:
                height += slope * (knots[d, j + 1] - knots[d, j])
        mass[d] -= mean
        total += mean
    return total


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
