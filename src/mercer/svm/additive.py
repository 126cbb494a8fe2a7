"""An SVM with the stump kernel is an additive model: f(x) = Σ_d g_d(x_d) + b, each g_d piecewise linear."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array, Index
from mercer.array_api import is_of_numpy, like, namespace, zeros_like_rows
from mercer.compiled import njit
from mercer.solvers.additive_ridge import solve_ridge_path
from mercer.solvers.kernel_svm import FEW_ROWS, MORE_DIGITS, GramMatrix, GramRows
from mercer.solvers.stump_svm import (
    HINGE,
    CodedColumns,
    ExactRows,
    Solution,
    SquaredError,
    TableRows,
    add_up_by_code,
    bin_columns,
    choose_knots,
    code_columns,
    integrate,
    solve_path,
    sort_rows,
)
from mercer.svm.dual import TwoClassSVM

TABLE_ROWS = 4  # a table is the better representation from this many rows for each of its numbers
FEW_VALUES = 2000  # up to this number of values of a feature, all of them become knots
ON_DEVICE = "mercer.solvers.stump_svm.torch_rows"  # where tensors are; loads torch
MAX_STEPS = 1000  # the default maximum number of Newton steps, …
RIDGE_STEPS = 10_000  # … and of conjugate gradients for squared errors, each a pass over the rows
FEW_CELLS = 2**16  # of samples up to which predictions take milliseconds, and need not import numba
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
        xp = namespace(X)
        lowest = xp.min(X, axis=0)
        with np.errstate(over="ignore"):
            scale = float((xp.max(X, axis=0) - lowest).mean())
        if not np.isfinite(scale) or 0.0 < scale < 1e-290:
            raise ValueError(
                f"The features have a mean range of {scale:g}, too large or too small to compute with: scale "
                "them, e.g. with mercer.ClippedScaler."
            )
        return cls(lowest, scale or 1.0)

    def convert(self, X: Array) -> Array:
        """Return the rows in these units."""
        X = X - self.offset
        X /= self.scale
        return X


class AdditiveFunction(NamedTuple):
    """f(x) = Σ_d g_d(x_d) + intercept. Row d of `knots` (in `units`) and `values` is g_d."""

    knots: Array
    values: Array
    intercept: float
    units: Units

    def __call__(self, X: Array) -> Array:
        """Return f for each row of X. O(D log k) per row, whatever the number of support vectors."""
        evaluate = _evaluate_tensor
        if is_of_numpy(X):
            evaluate = _evaluate_few if X.size <= FEW_CELLS else _evaluate
        return evaluate(self.knots, self.values, self.units.convert(X)) + self.intercept

    def __sklearn_array_api_convert__(self, convert: Any) -> "AdditiveFunction":
        """Return the function with its arrays converted."""
        units = self.units._replace(offset=convert(self.units.offset))
        return AdditiveFunction(convert(self.knots), convert(self.values), self.intercept, units)

    def shapes(self) -> list[ShapeFunction]:
        """Return one shape function per feature, without repeated knots and knots where nothing bends."""
        knots = self.knots * self.units.scale + self.units.offset[:, None]
        return [_simplify(knots[d, :], self.values[d, :]) for d in range(len(knots))]


class TrainingRows(NamedTuple):
    """The rows of one two-class problem, ready for any number of fits with other C."""

    columns: CodedColumns
    units: Units

    @classmethod
    def prepare(
        cls, X: Array, max_bins: int | None, random_state: int | None, directions: Array | None = None
    ) -> "TrainingRows":
        """Sort the features, or the projections to some directions; or put them into at most max_bins bins.

        A tensor stays where it is, and is never projected as a whole. Its units are those of the rows that
        choose the bins.
        """
        if max_bins is None or is_of_numpy(X):
            X = X if directions is None else X @ directions
            units = Units.of(X)
            if max_bins is None:
                code, value = code_columns(X)
                return cls(CodedColumns(code, np.ascontiguousarray(units.convert(value.T).T)), units)
            sample = units.convert(_sample_rows(X, random_state))
            knots = [choose_knots(column, int(max_bins)) for column in sample.T]
            return cls(bin_columns(X, knots, units.convert), units)

        def project(rows: Any) -> Any:
            return rows.double() if directions is None else rows.double() @ directions

        engine, sample = import_module(ON_DEVICE), project(_sample_rows(X, random_state))
        units = Units.of(sample)
        knots = engine.choose_knots(units.convert(sample), int(max_bins))
        code = engine.bin_tensor(X, knots, lambda rows: units.convert(project(rows)))
        return cls(CodedColumns(code, knots), units)


def fit_path(
    rows: TrainingRows,
    y: Array,
    weight: Array,
    Cs: Sequence[float],
    loss: Any = HINGE,
    *,
    max_iter: int | None = None,
    **options: Any,
) -> Iterator[TwoClassSVM]:
    """Fit the machine for each C in ascending order, with C_i = C × weight_i."""
    options["max_iter"] = max_iter or MAX_STEPS
    bound, columns = rows.units.scale * weight, rows.columns
    if loss is HINGE:
        bound = _reachable(y, bound)
    engine = _choose_engine(columns)
    if loss is not HINGE and len(y) <= FEW_ROWS and is_of_numpy(columns.code):
        rows_of_gram = GramRows.of(GramMatrix.of_stumps(columns), y, bound)
        engine, options = GramRows, {**options, "tol": MORE_DIGITS * options.get("tol", 1e-3)}
        solutions = solve_path(rows_of_gram, Cs, loss, **options)
    elif engine is TableRows and isinstance(loss, SquaredError):
        options["max_iter"] = max_iter or RIDGE_STEPS
        solutions = solve_ridge_path(columns, y, bound, Cs, **options)
    else:
        solutions = solve_path(engine.of(columns, y, bound), Cs, loss, **options)
    for solution in solutions:
        coef = solution.function.coef
        knots, values = (columns.value, coef) if issubclass(engine, TableRows) else _bends(columns, coef)
        yield finish(knots, values, rows.units, solution)


def _choose_engine(columns: CodedColumns) -> Any:
    if not is_of_numpy(columns.code):
        return import_module(ON_DEVICE).TorchRows
    return TableRows if columns.code.shape[1] >= TABLE_ROWS * columns.value.size else ExactRows


def _reachable(y: Array, bound: Array) -> Array:
    """Lower the bounds that the other class could not balance: they would only spoil the scale.

    A little more than what can be reached: right there, rounding stops a row before the others are at theirs.
    """
    return cap_bounds(y > 0, bound, bound[y > 0].sum(), bound[y < 0].sum())


def cap_bounds(is_positive: Any, bound: Any, positive: Any, negative: Any) -> Any:
    """Return bounds at most a little above what the other class has in all."""
    xp = namespace(bound)
    return xp.minimum(bound, (1.0 + 1e-9) * xp.where(is_positive, negative, positive))


def finish(knots: Array, values: Array, units: Units, solution: Solution) -> TwoClassSVM:
    """Return the machine of some shape functions in the units of the data."""
    means = values.mean(axis=1)
    function = AdditiveFunction(knots, values - means[:, None], solution.bias + float(means.sum()), units)
    return TwoClassSVM(
        function,
        function.intercept,
        solution.coef / units.scale,
        solution.objective / units.scale,
        solution.n_iter,
        solution.residual,
    )


def _bends(columns: CodedColumns, coef: Array) -> tuple[Array, Array]:
    """Return the values at which each g_d bends, ascending, and g_d there, zero at the first of all values.

    Those are the values of the support vectors, or simply all values (the bins) if there are few.
    """
    n_values, support = columns.value.shape[1], np.flatnonzero(coef)
    if n_values <= max(len(support), FEW_VALUES):
        return columns.value, integrate(columns.value, add_up_by_code(columns.code, coef, n_values))
    if len(support) == 0:
        return columns.value[:, :1], np.zeros((len(columns.value), 1))
    knots, values = np.empty((2, len(columns.code), len(support)))
    coef = coef[support]
    for d in range(len(knots)):  # one by one: together they would take as much memory as the rest of a fit
        order, ordered = sort_rows(columns.code[d : d + 1, support], columns.value[d : d + 1])
        knots[d], values[d] = ordered[0, 1:], integrate(ordered[:, 1:], coef[order])[0]
    return knots, values


def choose_rows(n_rows: int, seed: int | None) -> Index:
    """Return the rows on which bins are chosen, ascending; of many, without a list of all."""
    if n_rows <= ROWS_FOR_KNOTS:
        return np.arange(n_rows)
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(n_rows, ROWS_FOR_KNOTS, replace=False, shuffle=False))


def _sample_rows(X: Array, seed: int | None) -> Array:
    return X if len(X) <= ROWS_FOR_KNOTS else X[like(X, choose_rows(len(X), seed))]


def _simplify(knots: Array, values: Array) -> ShapeFunction:
    xp = namespace(knots)
    first = knots[:1] == knots[:1]
    keep = xp.concat([first, knots[1:] > knots[:-1]])
    k, v = knots[keep], values[keep]
    if len(k) > 2:
        slope = (v[1:] - v[:-1]) / (k[1:] - k[:-1])
        bends = xp.concat([first, slope[1:] != slope[:-1], first])
        k, v = k[bends], v[bends]
    return ShapeFunction(k, v)


def _evaluate_tensor(knots: Any, values: Any, X: Any) -> Any:
    """Return Σ_d g_d(x_d) for each row, where X is."""
    xp, out, last = namespace(X), zeros_like_rows(X, len(X)), knots.shape[1] - 1
    for d in range(len(knots)):
        x, g = knots[d, :], values[d, :]
        t = xp.clip(xp.astype(X[:, d], xp.float64), x[0], x[-1])
        right = xp.clip(xp.searchsorted(x, t, side="right"), min(1, last), last)
        left = xp.clip(right - 1, 0, last)
        gap = xp.take(x, right) - xp.take(x, left)
        share = (t - xp.take(x, left)) / xp.where(gap > 0.0, gap, 1.0)
        out += xp.take(g, left) + share * (xp.take(g, right) - xp.take(g, left))
    return out


def _evaluate_few(knots: Array, values: Array, X: Array) -> Array:
    out = np.zeros(len(X))
    for t, x, g in zip(X.T, knots, values, strict=True):
        out += np.interp(t, x, g)
    return out


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
