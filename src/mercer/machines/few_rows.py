"""Few samples: LIBSVM solves all two-class problems at once, on one Gram matrix of the stump kernel."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from mercer._typing import Array
from mercer.machines.additive import AdditiveFit, TrainingRows, finish, fit_path
from mercer.machines.functions import Units
from mercer.solvers.libsvm import SHARE, FlatSolutions, TwoClassProblem, complete, solve_by_libsvm
from mercer.solvers.newton import code_columns, integrate

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
    K = -cdist(X[order], X[order], "cityblock")
    steps = max(LIBSVM_STEPS, STEPS_OF_A_ROW * len(order)) if max_iter is None else max_iter
    for C in Cs:
        found = solve_by_libsvm(
            K, label, C * bound, problems.scheme, tol=SHARE * tol, max_iter=steps, warn=False
        )
        done = complete(K, found, placed, C * bound)
        fits = _shape(columns, units, done)
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


def _shape(columns: Array, units: Units, found: FlatSolutions) -> list[AdditiveFit]:
    """Return the machines of dual solutions: g_d bends at each support vector."""
    flat, fits, total = found.problems, [], columns.sum(axis=0)
    parts = (found.intercept, found.objective, found.residual, found.n_iter)
    for own, b, *ends in zip(flat.slices, *(part.tolist() for part in parts), strict=True):
        coef, rows = found.coef[own], flat.rows[own]
        support = np.flatnonzero(coef)
        at = columns[:, rows[support if len(support) else slice(1)]]
        order = at.argsort(axis=1)
        knots = np.take_along_axis(at, order, axis=1)
        values = integrate(knots, coef[support][order]) if len(support) else 0.0 * knots
        b -= float(total[rows] @ coef)  # of K = 2 Σ min, as g_d has it
        fits.append(finish(knots, values, units, b, coef, *ends))
    return fits
