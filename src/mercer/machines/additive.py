"""Rows of the stump kernel, whose machine is additive: f(x) = Σ_d g_d(x_d) + b, each g_d piecewise linear."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array, Index
from mercer.array_api import is_of_numpy, like, namespace, to_numpy
from mercer.machines.extent import with_digits
from mercer.machines.functions import AdditiveFunction, Units
from mercer.machines.problems import MAX_STEPS
from mercer.solvers.newton import (
    FEW_ROWS,
    HINGE,
    MORE_DIGITS,
    CodedColumns,
    GramMatrix,
    GramRows,
    Loss,
    SortedRows,
    TableRows,
    add_up_by_code,
    bin_columns,
    choose_knots,
    code_columns,
    integrate,
    solve_path,
    sort_rows,
)

TABLE_ROWS = 4  # a table is the better representation from this many rows for each of its numbers
FEW_VALUES = 2000  # up to this number of values of a feature, all of them become knots
ON_DEVICE = "mercer.solvers.newton.torch_tables"  # where tensors are; loads torch
ROWS_FOR_KNOTS = 200_000  # bins are chosen on a sample of at most these: more change no bin by a percent


class AdditiveFit(NamedTuple):
    """One fitted problem: its function, and the dual solution behind it."""

    function: AdditiveFunction
    coef: Array  # c of the rows
    objective: float  # of the dual problem, at the minimum
    n_iter: int
    residual: float


class TrainingRows(NamedTuple):
    """The rows of one problem, ready for any number of fits with other C."""

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
            X = to_numpy(X if directions is None else X @ directions)  # exact problems are of NumPy
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
    loss: Loss = HINGE,
    *,
    max_iter: int | None = None,
    **options: Any,
) -> Iterator[AdditiveFit]:
    """Fit the machine for each C in ascending order, with C_i = C × weight_i."""
    options["max_iter"] = max_iter or MAX_STEPS
    bound, columns = rows.units.scale * weight, rows.columns
    if loss is HINGE:
        bound = reachable(y, bound)
    Cs = with_digits(Cs, [bound], len(columns.value))  # features, of mean range one
    kind = _choose_rows(columns)
    if loss is not HINGE and len(y) <= FEW_ROWS and is_of_numpy(columns.code):
        few = GramRows.of(GramMatrix.of_stumps(columns), y, bound)
        kind, options = GramRows, {**options, "tol": MORE_DIGITS * options.get("tol", 1e-3)}
        solutions = solve_path(few, Cs, loss, **options)
    else:
        solutions = solve_path(kind.of(columns, y, bound), Cs, loss, **options)
    for solution in solutions:
        coef = solution.function.coef
        knots, values = (columns.value, coef) if issubclass(kind, TableRows) else _bends(columns, coef)
        yield finish(knots, values, rows.units, *solution[1:])


def _choose_rows(columns: CodedColumns) -> Any:
    if not is_of_numpy(columns.code):
        return import_module(ON_DEVICE).TorchTableRows
    return TableRows if columns.code.shape[1] >= TABLE_ROWS * columns.value.size else SortedRows


def reachable(y: Array, bound: Array) -> Array:
    """Lower the bounds that the other class could not balance: they would only spoil the scale.

    A little more than what can be reached: right there, rounding stops a row before the others are at theirs.
    """
    return cap_bounds(y > 0, bound, bound[y > 0].sum(), bound[y < 0].sum())


def cap_bounds(is_positive: Any, bound: Any, positive: Any, negative: Any) -> Any:
    """Return bounds at most a little above what the other class has in all."""
    xp = namespace(bound)
    return xp.minimum(bound, (1.0 + 1e-9) * xp.where(is_positive, negative, positive))


def finish(
    knots: Array,
    values: Array,
    units: Units,
    bias: float,
    coef: Array,
    objective: float,
    residual: float,
    n_iter: int,
) -> AdditiveFit:
    """Return the machine of some shape functions in the units of the data; the rest is as in `Solution`."""
    means = values.mean(axis=1)
    function = AdditiveFunction(knots, values - means[:, None], bias + float(means.sum()), units)
    return AdditiveFit(function, coef / units.scale, objective / units.scale, n_iter, residual)


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


def mean_distance(X: Array, weight: Array) -> float:
    """Return the mean of ‖x − x'‖₁ of two rows: what the stump kernel spreads them by. O(n D log n)."""
    xp, order = namespace(X), namespace(X).argsort(X, axis=0)
    share = xp.cumulative_sum(weight[order], axis=0)[:-1] / weight.sum()
    values = xp.take_along_axis(X, order, axis=0)
    return float((2.0 * share * (1.0 - share) * (values[1:] - values[:-1])).sum())


def choose_rows(n_rows: int, seed: int | None) -> Index:
    """Return the rows on which bins are chosen, ascending; of many, without a list of all."""
    if n_rows <= ROWS_FOR_KNOTS:
        return np.arange(n_rows)
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(n_rows, ROWS_FOR_KNOTS, replace=False, shuffle=False))


def _sample_rows(X: Array, seed: int | None) -> Array:
    return X if len(X) <= ROWS_FOR_KNOTS else X[like(X, choose_rows(len(X), seed))]
