"""All two-class SVMs of one Gram matrix, by one call of LIBSVM, and the last digits of its solutions."""

import warnings
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.linalg import lstsq
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from mercer._typing import Array, Index
from mercer.limits import one_thread
from mercer.solvers.stump_svm import measure_violation
from mercer.svm.multiclass import TwoClassProblem

CACHE = 500  # MB of LIBSVM's cache; it holds what was read from the Gram matrix
POLISH_ROWS = 500  # free rows up to which the last digits cost less than LIBSVM did


class GramSVMs(NamedTuple):
    """Two-class SVMs f(x) = Σ_i coef_i k(x, x_i) + intercept, one column or entry for each problem."""

    coef: Array  # (n_rows, n_problems)
    intercept: Array
    n_iter: Index

    def __call__(self, K: Array) -> Array:
        """Return the decision values of rows, given their kernel values with those of the fit."""
        values: Array = K @ self.coef
        return values + self.intercept


class DualSolution(NamedTuple):
    """The solution of one two-class problem (P2) of [LL05]."""

    coef: Array  # y_i λ_i
    intercept: float
    objective: float
    residual: float


def solve_on_gram(
    K: Array, label: Index, C: Array, scheme: str, *, tol: float, max_iter: int | None
) -> GramSVMs:
    """Solve the SVMs of labels 0, 1, …, all of which must be there, for a penalty C of each row.

    One against one it is a single call, for which LIBSVM takes the rows of two classes out of the Gram matrix
    by itself. Problems and signs are those of `mercer.svm.multiclass`.
    """
    n_classes = int(label.max()) + 1
    svc = SVC(kernel="precomputed", tol=tol, max_iter=max_iter or -1, cache_size=CACHE, random_state=0)
    if n_classes == 2:
        return _of_two_classes(svc.fit(K, label, sample_weight=C), len(K))
    if scheme == "ovo":
        return _of_class_pairs(svc.fit(K, label, sample_weight=C), len(K))
    each = [_of_two_classes(svc.fit(K, label == k, sample_weight=C), len(K)) for k in range(n_classes)]
    return GramSVMs(*(np.concatenate(parts, axis=-1) for parts in zip(*each, strict=True)))


def _of_two_classes(svc: SVC, n: int) -> GramSVMs:
    coef = np.zeros((n, 1))
    coef[svc.support_, 0] = svc.dual_coef_[0]
    return GramSVMs(coef, svc.intercept_.copy(), svc.n_iter_.copy())


def _of_class_pairs(svc: SVC, n: int) -> GramSVMs:
    """Take the problems apart: LIBSVM keeps the coefficients of a support vector against each other class.

    Its decisions are positive for the earlier class, ours for the later.
    """
    ends = np.cumsum(svc.n_support_)
    places = [slice(end - size, end) for end, size in zip(ends, svc.n_support_, strict=True)]
    pairs = list(combinations(range(len(places)), 2))
    coef = np.zeros((n, len(pairs)))
    for k, (a, b) in enumerate(pairs):
        coef[svc.support_[places[a]], k] = -svc.dual_coef_[b - 1, places[a]]
        coef[svc.support_[places[b]], k] = -svc.dual_coef_[a, places[b]]
    return GramSVMs(coef, -svc.intercept_, svc.n_iter_.copy())


def solve_completely(
    K: Array,
    label: Index,
    problems: Sequence[TwoClassProblem],
    C: Array,
    scheme: str,
    *,
    tol: float,
    max_iter: int | None,
) -> list[tuple[DualSolution, int]]:
    """Solve the SVMs with all their digits; return for each the solution, of its own rows, and its steps."""
    with (
        warnings.catch_warnings(action="ignore", category=ConvergenceWarning),
        config_context(
            assume_finite=True, skip_parameter_validation=True
        ),  # they take longer than a small fit
    ):
        found = solve_on_gram(K, label, C, scheme, tol=tol, max_iter=max_iter)
    with one_thread():
        return [
            (finish_dual(_among(K, rows), y, found.coef[rows, p], C[rows]), int(found.n_iter[p]))
            for p, (rows, y) in enumerate(problems)
        ]


def _among(K: Array, rows: Index) -> Array:
    return K if len(rows) == len(K) else K[np.ix_(rows, rows)]


def finish_problems(
    K: Array, found: GramSVMs, problems: Sequence[TwoClassProblem], C: Array
) -> tuple[GramSVMs, Array, Array]:
    """Return the SVMs with all their digits, and the objective and the residual of each problem."""
    coef, ends = np.zeros_like(found.coef), []
    for p, (rows, y) in enumerate(problems):
        done = finish_dual(_among(K, rows), y, found.coef[rows, p], C[rows])
        coef[rows, p] = done.coef
        ends.append(done[1:])
    intercept, objective, residual = np.array(ends).T
    return GramSVMs(coef, intercept, found.n_iter), objective, residual


def finish_dual(K: Array, y: Array, coef: Array, bound: Array) -> DualSolution:
    """Return LIBSVM's solution of a two-class problem with the last digits, and how good it is."""
    lower, upper = np.minimum(y, 0) * bound, np.maximum(y, 0) * bound
    coef = _polish(K, y, coef, lower, upper)
    value = _product(K, coef)
    residual, intercept = measure_violation(coef, value, y, lower, upper)
    return DualSolution(coef, intercept, float(0.5 * coef @ value - y @ coef), residual)


def _polish(K: Array, y: Array, coef: Array, lower: Array, upper: Array) -> Array:
    """Solve K_FF c_F + b = (y − K c_B)_F, Σc = 0 for the free rows F: LIBSVM's solution with all its digits.

    Where that is no better, LIBSVM's tolerance hid the right rows, and its solution stays.
    """
    F = np.flatnonzero((lower < coef) & (coef < upper))
    if not 2 <= len(F) <= POLISH_ROWS:
        return coef
    system = np.ones((len(F) + 1, len(F) + 1))
    system[:-1, :-1], system[-1, -1] = K[np.ix_(F, F)], 0.0
    bound = np.flatnonzero((coef == lower) | (coef == upper))
    rest = y[F] - K[np.ix_(F, bound)] @ coef[bound]
    r = np.append(rest, -coef[bound].sum())
    try:
        solution = np.linalg.solve(system, r)[:-1]
    except np.linalg.LinAlgError:
        solution = lstsq(system, r)[0][:-1]
    polished = coef.copy()
    polished[F] = solution
    if np.any((solution < lower[F]) | (solution > upper[F])):
        return coef
    before, after = (measure_violation(c, _product(K, c), y, lower, upper)[0] for c in (coef, polished))
    return polished if after < before else coef


def _product(K: Array, coef: Array) -> Array:
    """Return K c, whose columns of coefficients zero are not read."""
    support = np.flatnonzero(coef)
    product: Array = K[:, support] @ coef[support] if 2 * len(support) < len(coef) else K @ coef
    return product
