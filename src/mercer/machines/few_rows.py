"""Few samples: LIBSVM solves all two-class problems at once, on one Gram matrix of the stump kernel."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array, Index
from mercer.compiled import njit
from mercer.kernels.metrics import city_block
from mercer.machines.additive import AdditiveFit, TrainingRows, fit_path
from mercer.machines.functions import AdditiveFunction, Units
from mercer.solvers.libsvm import SHARE, FlatSolutions, TwoClassProblem, complete, solve_by_libsvm
from mercer.solvers.newton import code_columns

LIBSVM_ROWS = 600  # of a class: up to these LIBSVM is the fastest for the hinge, then Newton steps
MANY_CLASSES_ROWS = 250  # of a class, where there are more than MOST_ROWS in all
MOST_ROWS = 3000
LARGE_C = 0.1
LIBSVM_STEPS = 20_000  # after these, or so many for each row, it may go on for hours: Newton steps are faster
STEPS_OF_A_ROW = 20


def fit_by_libsvm(
    X: Array, max_bins: int | None, seed: int, problems: Any, Cs: Sequence[float], options: Any
) -> Iterator[list[AdditiveFit]]:
    """Fit the SVMs of all two-class problems of few rows, for each C.

    What LIBSVM does not solve in some steps, for a C that is large, the Newton solver does.
    """
    if max_bins is None:
        units = Units.of(X)
        X = units.convert(X)
    else:
        binned, units = TrainingRows.prepare(X, max_bins, seed)
        X = binned.samples()
    order, tol, max_iter = np.arange(len(X)), options.tol, options.max_iter
    parts = [TwoClassProblem(order if p.rows is None else p.rows, p.y) for p in problems.each]
    if len(parts[0].y) < len(order):  # class by class, the rows of a problem are side by side
        order = problems.label.argsort(kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    label, bound = problems.label[order], units.scale * problems.weight[order]
    placed = [TwoClassProblem(place[part], y) for part, y in parts]
    columns = np.ascontiguousarray(X[order].T)
    K = -city_block(X[order], X[order])
    shaping = Shaping(columns, columns.argsort(axis=1), columns.sum(axis=0), units)
    steps = max(LIBSVM_STEPS, STEPS_OF_A_ROW * len(order)) if max_iter is None else max_iter
    for C in Cs:
        found = solve_by_libsvm(
            K, label, C * bound, problems.scheme, tol=SHARE * tol, max_iter=steps, warn=False
        )
        done = complete(K, found, placed, C * bound)
        fits = shaping.finish(done)
        if max_iter is None:
            for p in np.flatnonzero(done.residual > tol).tolist():
                part, y = parts[p]
                few = TrainingRows(code_columns(X[part]), units)
                (fits[p],) = fit_path(few, y, problems.weight[part], [C], tol=tol)
        yield fits


def are_few(n_rows: int, n_classes: int, Cs: Sequence[float]) -> bool:
    """Return whether LIBSVM is the fastest for so many rows, and its Gram matrix small.

    Of more rows, Newton steps are faster along a path of C, and of two classes for a small one.
    """
    if n_rows <= MANY_CLASSES_ROWS * n_classes:
        return True
    large = len(Cs) == 1 and (n_classes > 2 or Cs[0] >= LARGE_C)
    return large and n_rows <= min(LIBSVM_ROWS * n_classes, MOST_ROWS)


class Shaping(NamedTuple):
    """Samples from whose coefficients shape functions are made."""

    columns: Array
    order: Index  # ascending, of each column
    total: Array  # Σ_d x_d of each sample
    units: Units

    def finish(self, found: FlatSolutions) -> list[AdditiveFit]:
        """Return the machines of dual solutions, in the units of the data."""
        flat, coef, D = found.problems, found.coef, len(self.columns)
        support = np.flatnonzero(coef)
        support = support[flat.rows[support].argsort()]
        n_of_row = np.bincount(flat.rows[support], minlength=len(self.total))
        number, n_problems = flat.number[support], len(found.intercept)
        n_knots = np.maximum(np.bincount(number, minlength=n_problems), 1)
        first = np.append(0, np.cumsum(n_knots))
        knots, values, means = np.zeros(D * first[-1]), np.zeros(D * first[-1]), np.zeros(n_problems)
        shape_all(self.columns, self.order, n_of_row, number, coef[support], first, knots, values, means)
        # of K = 2 Σ min, as g_d has it
        shift = means - np.add.reduceat(self.total[flat.rows] * coef, flat.start[:-1])
        b, coef = (found.intercept + shift).tolist(), coef / self.units.scale
        ends = ((found.objective / self.units.scale), found.n_iter, found.residual)
        parts = zip(_cut(knots, first, D), _cut(values, first, D), b, flat.slices, strict=True)
        return [
            AdditiveFit(AdditiveFunction(x, g, shifted, self.units), coef[own], *end)
            for (x, g, shifted, own), *end in zip(parts, *(e.tolist() for e in ends), strict=True)
        ]


def _cut(tables: Array, first: Index, D: int) -> Iterator[Array]:
    """Yield the table of each problem, of D features."""
    start = (D * first).tolist()
    return (tables[a:b].reshape(D, -1) for a, b in pairwise(start))


@njit(cache=True, nogil=True)
def shape_all(
    columns: Array,
    order: Index,
    n_of_row: Index,
    number: Index,
    coef: Array,
    first: Index,
    knots: Array,
    values: Array,
    means: Array,
) -> None:
    """Fill in the shape functions of all problems: g_d has a knot at each coefficient that is not zero.

    Its slope is 2 Σ of the coefficients above. Coefficients, with the numbers of their problems, are in the
    order of the rows. Last, each g_d gets the mean zero; what the means were is added up.
    """
    (D, n), n_problems = columns.shape, len(first) - 1
    begin, total = np.zeros(n + 1, np.intp), np.zeros(n_problems)
    for i in range(n):
        begin[i + 1] = begin[i] + n_of_row[i]
    for k in range(len(coef)):
        total[number[k]] += coef[k]
    for d in range(D):
        above, g, n_done = total.copy(), np.zeros(n_problems), np.zeros(n_problems, np.intp)
        for i in order[d]:
            for k in range(begin[i], begin[i + 1]):
                p, x = number[k], columns[d, i]
                at = D * first[p] + d * (first[p + 1] - first[p]) + n_done[p]
                if n_done[p] > 0:
                    g[p] += 2.0 * above[p] * (x - knots[at - 1])
                knots[at], values[at] = x, g[p]
                above[p] -= coef[k]
                n_done[p] += 1
    for p in range(n_problems):
        for d in range(D):
            size = first[p + 1] - first[p]
            table = values[D * first[p] + d * size : D * first[p] + (d + 1) * size]
            mean = table.sum() / size
            table -= mean
            means[p] += mean
