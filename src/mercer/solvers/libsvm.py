"""Few rows and the hinge: all two-class SVMs by one call of LIBSVM, and the last digits of its solutions."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite

from mercer._typing import Array, Flags, Index
from mercer.compiled import njit

SHARE = 0.9  # of the tolerance, for LIBSVM: it computes in single precision
CACHE = 500  # MB of LIBSVM's cache; it holds what was read from the Gram matrix
# kernel values that LIBSVM computes come again if C_i is large; else filling more memory costs a fifth more
EASY, EASY_CACHE = 3.0, 200
STEPS, STEPS_OF_A_ROW = 300_000, 100  # after so many it is looked whether LIBSVM goes round in circles
MOST_STEPS = 2**31 - 1  # that LIBSVM can count
MOST_GAUSSIAN_STEPS = 10_000_000  # without a limit it may go round in circles for ever
PROGRESS = 1e-7  # of the objective: less, in twice as many steps again, is a circle
LESS_ACCURATE = (10.0, 100.0)  # times the tolerance, which it is then given
# free rows up to which the last digits, whose cost is cubic, take a fraction of LIBSVM's time
POLISH_ROWS = 150
RIDGE = 1e-11  # of the mean kernel value, which keeps a system of repeated rows regular
HUGE = 1e300
FEW_PROBLEMS = 3  # up to so few, NumPy does without compiling: a first small fit shall not wait for that


class TwoClassProblem(NamedTuple):
    """Rows of a data set with labels −1 and +1."""

    rows: Index
    y: Array


_polishes = ContextVar("polishes", default=True)


@contextmanager
def without_last_digits() -> Iterator[None]:
    """Leave LIBSVM's solutions as they are: to compare many settings, its own tolerance is enough."""
    token = _polishes.set(False)
    try:
        yield
    finally:
        _polishes.reset(token)


def polishes() -> bool:
    """Return whether solutions shall have their last digits."""
    return _polishes.get()


class GramSVMs(NamedTuple):
    """Two-class SVMs f(x) = Σ_i coef_i k(x, x_i) + intercept, one column or entry for each problem."""

    coef: Array  # (n_rows, n_problems)
    intercept: Array
    n_iter: Index

    def __call__(self, K: Array) -> Array:
        """Return the decision values of rows, given their kernel values with those of the fit."""
        values: Array = K @ self.coef
        return values + self.intercept


def solve_by_libsvm(
    K: Array,
    label: Index,
    C: Array,
    scheme: str,
    *,
    tol: float,
    max_iter: int | None,
    warn: bool = True,
) -> GramSVMs:
    """Solve the SVMs of labels 0, 1, …, all of which must be there, for a penalty C of each row.

    One against one it is a single call, for which LIBSVM takes the rows of two classes out of the Gram matrix
    by itself. Problems and signs are those of `mercer.machines.multiclass`.
    """
    assert_all_finite(K)
    n_classes, options = int(label.max()) + 1, (tol, max_iter or -1, warn)
    if n_classes == 2 or scheme == "ovo":
        return _call_libsvm(K, label, C, *options)
    each = [_call_libsvm(K, label == k, C, *options) for k in range(n_classes)]
    return GramSVMs(*(np.concatenate(parts, axis=-1) for parts in zip(*each, strict=True)))


def solve_gaussian(
    X: Array, label: Index, C: Array, scheme: str, *, tol: float, max_iter: int | None
) -> GramSVMs:
    """Solve the SVMs with the kernel exp(−‖x − x'‖² / 2): LIBSVM computes its rows as it needs them."""
    most = max_iter if max_iter and max_iter > 0 else MOST_GAUSSIAN_STEPS
    n_classes = int(label.max()) + 1
    labels = [label] if n_classes == 2 or scheme == "ovo" else [label == k for k in range(n_classes)]
    kernel = {"kernel": "rbf", "gamma": 0.5, "cache_size": EASY_CACHE if C.max() <= EASY else CACHE}
    each = [_try_libsvm(X, one, C, tol, most, **kernel) for one in labels]
    if any(stopped for _, stopped in each):
        warn_of_steps(f"stopped after {most} iterations")
    return GramSVMs(
        *(np.concatenate(parts, axis=-1) for parts in zip(*(one for one, _ in each), strict=True))
    )


class _Found(NamedTuple):
    support: Index  # class by class
    n_support: Index
    coef: Array  # (n_classes − 1, n_support): of a support vector against each other class
    intercept: Array
    n_iter: Index


def _call_libsvm(K: Array, label: Index, C: Array, tol: float, max_iter: int, warn: bool) -> GramSVMs:
    """Call LIBSVM as `sklearn.svm.SVC` does, whose checks and conversions take longer than a small fit.

    It computes in single precision. Where samples of two classes are equal but for digits beyond that, it may
    take one step forth and one back for ever. So if nobody set a limit, it is stopped after many steps, and
    then after three times as many: if these came to nothing, it is given a larger tolerance, which takes it
    a few steps.
    """
    most = max_iter if max_iter > 0 else max(STEPS, STEPS_OF_A_ROW * len(K))
    found, stopped = _try_libsvm(K, label, C, tol, most)
    circles = False
    while stopped and max_iter <= 0 and not circles:
        before, most = _objective(K, found), min(3 * most, MOST_STEPS)
        found, stopped = _try_libsvm(K, label, C, tol, most)
        gain = before - _objective(K, found)
        circles = stopped and (not gain > PROGRESS * abs(before) or most == MOST_STEPS)  # or no number
    for times in LESS_ACCURATE if circles else ():
        found, stopped = _try_libsvm(K, label, C, times * tol, most)
        if not stopped:
            break
    if warn and (stopped or circles):
        what = f"stopped after {most} iterations" if stopped else f"has a tolerance of {times * tol:.0e}"
        warn_of_steps(what)
    return found


def warn_of_steps(what: str) -> None:
    """Warn that LIBSVM was stopped, or was less accurate than asked for."""
    warnings.warn(
        f"LIBSVM {what}. Scale the features, or set a larger max_iter.", ConvergenceWarning, stacklevel=4
    )


def _objective(K: Array, found: GramSVMs) -> float:
    """Return the sum of the dual objectives ½ cᵀKc − Σ|c| of all problems."""
    return float(0.5 * np.sum(found.coef * (K @ found.coef)) - np.abs(found.coef).sum())


def _try_libsvm(
    X: Array, label: Index, C: Array, tol: float, max_iter: int, **kernel: Any
) -> tuple[GramSVMs, bool]:
    """Return what LIBSVM has found, and whether it was stopped before that was accurate."""
    from sklearn.svm import _libsvm  # to predict, it need not be imported

    _libsvm.set_verbosity_wrap(0)
    options = {"kernel": "precomputed", "cache_size": CACHE, "tol": tol, "max_iter": max_iter, **kernel}
    support, _, n_support, coef, intercept, _, _, stopped, n_iter = _libsvm.fit(
        X, label.astype(np.float64), sample_weight=C, **options
    )
    found = _Found(support, n_support, coef, intercept, n_iter)
    machines = _of_two_classes(found, len(X)) if len(n_support) == 2 else _of_class_pairs(found, len(X))
    return machines, bool(stopped)


def _of_two_classes(found: _Found, n: int) -> GramSVMs:
    """Its decisions are positive for the earlier class, ours for the later."""
    coef = np.zeros((n, 1))
    coef[found.support, 0] = -found.coef[0]
    return GramSVMs(coef, -found.intercept, found.n_iter)


def _of_class_pairs(found: _Found, n: int) -> GramSVMs:
    """Take the problems apart: each support vector has a coefficient against each other class."""
    n_classes = len(found.n_support)
    n_pairs, number = n_classes * (n_classes - 1) // 2, _pair_numbers(n_classes)
    own = np.repeat(np.arange(n_classes), found.n_support)
    coef = np.zeros((n, n_pairs))
    coef[found.support, number[:, own]] = -found.coef
    return GramSVMs(coef, -found.intercept, found.n_iter)


@lru_cache(maxsize=10)
def _pair_numbers(n_classes: int) -> Index:
    """Return the number of each class's problem against its first, second … other class, in its column."""
    number = np.zeros((n_classes, n_classes), dtype=np.intp)
    number[np.triu_indices(n_classes, 1)] = np.arange(n_classes * (n_classes - 1) // 2)
    number += number.T
    return np.array([np.delete(number[:, one], one) for one in range(n_classes)]).T


def complete(K: Array, found: GramSVMs, problems: Sequence[TwoClassProblem], C: Array) -> "FlatSolutions":
    """Return LIBSVM's solutions with their last digits, and how good they are."""
    flat = FlatProblems.of(problems)
    coef, reach = found.coef[flat.rows, flat.number], flat.y * C[flat.rows]
    value, lower, upper = np.zeros(len(coef)), np.minimum(reach, 0.0), np.maximum(reach, 0.0)
    few = len(problems) <= FEW_PROBLEMS
    multiply = multiply_few if few else multiply_by_problem
    multiply(K, flat.rows, flat.start, coef, value)
    residual, intercept = flat.measure_violations(coef, value, lower, upper)
    if polishes():
        polished, its_value, error = coef.copy(), value.copy(), flat.y - value
        free = (lower < coef) & (coef < upper)
        add_digits = polish_few if few else polish
        add_digits(K, flat.rows, flat.start, free, error, POLISH_ROWS, polished, its_value)
        after, b = flat.measure_violations(polished, its_value, lower, upper)
        outside = np.add.reduceat((polished < lower) | (polished > upper), flat.start[:-1]) > 0
        # where this is no better, LIBSVM's tolerance hid the right rows
        better = (after < residual) & ~outside
        residual, intercept = np.where(better, (after, b), (residual, intercept))
        of_row = better[flat.number]
        coef, value = np.where(of_row, (polished, its_value), (coef, value))
    objective = np.add.reduceat(coef * (0.5 * value - flat.y), flat.start[:-1])
    return FlatSolutions(flat, coef, intercept, objective, residual, found.n_iter)


class FlatProblems(NamedTuple):
    """The rows of all two-class problems, one problem after the other: so all are looked at together."""

    rows: Index
    number: Index  # of the problem
    start: Index  # of each problem, and the end of the last
    y: Array

    @classmethod
    def of(cls, problems: Sequence[TwoClassProblem]) -> "FlatProblems":
        """Put problems one after the other."""
        sizes = [len(problem.y) for problem in problems]
        rows, y = (np.concatenate(parts) for parts in zip(*problems, strict=True))
        return cls(rows, np.repeat(np.arange(len(sizes)), sizes), np.cumsum([0, *sizes]), y)

    @property
    def slices(self) -> list[slice]:
        """Return where each problem is."""
        start = self.start.tolist()
        return list(map(slice, start[:-1], start[1:]))

    def measure_violations(
        self, coef: Array, value: Array, lower: Array, upper: Array
    ) -> tuple[Array, Array]:
        """Return residual and intercept of each, as `newton.measure_violation` does for one of them."""
        g, begin, may_rise, may_fall = self.y - value, self.start[:-1], coef < upper, coef > lower
        rise = np.maximum.reduceat(np.where(may_rise, g, -HUGE), begin)
        fall = np.minimum.reduceat(np.where(may_fall, g, HUGE), begin)
        free = may_rise & may_fall
        n_free = np.add.reduceat(free, begin, dtype=np.float64)
        inside = np.add.reduceat(np.where(free, g, 0.0), begin) / np.maximum(n_free, 1.0)
        residual = np.where(np.isfinite(rise - fall), rise - fall, np.inf)
        return residual, np.where(n_free > 0.0, inside, 0.5 * (rise + fall))


class FlatSolutions(NamedTuple):
    """The solutions of all two-class problems; the coefficients one problem after the other."""

    problems: FlatProblems
    coef: Array
    intercept: Array
    objective: Array
    residual: Array
    n_iter: Index


@njit(cache=True, nogil=True)
def multiply_by_problem(K: Array, rows: Index, start: Index, coef: Array, out: Array) -> None:
    """Add K c to `out`, of each problem among its own rows."""
    for p in range(len(start) - 1):
        mine, values = rows[start[p] : start[p + 1]], out[start[p] : start[p + 1]]
        for j in range(len(mine)):
            c, line = coef[start[p] + j], K[mine[j]]
            if c != 0.0:
                for i in range(len(mine)):
                    values[i] += c * line[mine[i]]


@njit(cache=True, nogil=True, fastmath=True)
def polish(
    K: Array, rows: Index, start: Index, free: Flags, error: Array, most: int, coef: Array, value: Array
) -> None:
    """Add Δc to c and K Δc to `value`: K_FF Δc + b = (y − K c)_F, ΣΔc = −Σc for free rows F of each problem.

    The first of them gives way to the others, so that the sum is kept; K among these, as seen from it, is
    positive definite but for rows that are repeated, which a ridge keeps regular.
    """
    for p in range(len(start) - 1):
        begin, end = start[p], start[p + 1]
        F = begin + np.flatnonzero(free[begin:end])
        m = len(F) - 1
        if not 1 <= m < most:
            continue
        first, line, ridge = F[0], K[rows[F[0]]], 0.0
        for k in F:
            ridge += RIDGE * abs(line[rows[k]]) / len(F)
        if ridge == 0.0:  # rows that are all equal: there is nothing to move
            continue
        mass, corner = coef[begin:end].sum(), line[rows[first]] + ridge
        L, step = np.empty((m, m)), np.empty(m)
        regular = True
        for i in range(m):  # of Cholesky, and the right-hand side with it
            own, across = K[rows[F[i + 1]]], line[rows[F[i + 1]]]
            step[i] = error[F[i + 1]] - error[first] + mass * (across - corner)
            for j in range(i + 1):
                entry = own[rows[F[j + 1]]] - across - line[rows[F[j + 1]]] + corner
                for k in range(j):
                    entry -= L[i, k] * L[j, k]
                if j < i:
                    L[i, j] = entry / L[j, j]
                    step[i] -= L[i, j] * step[j]
                else:
                    entry += ridge
                    regular = regular and entry > 0.0
                    L[i, i] = np.sqrt(max(entry, ridge))
            step[i] /= L[i, i]
        if not regular:
            continue
        for i in range(m - 1, -1, -1):
            step[i] /= L[i, i]
            for j in range(i):
                step[j] -= L[i, j] * step[i]
        moved = -mass - step.sum()
        for i in range(-1, m):
            change = moved if i < 0 else step[i]
            own = K[rows[F[i + 1]]]
            coef[F[i + 1]] += change
            for j in range(begin, end):
                value[j] += change * own[rows[j]]


def multiply_few(K: Array, rows: Index, start: Index, coef: Array, out: Array) -> None:
    """Do as `multiply_by_problem` does, by NumPy."""
    for begin, end in pairwise(start.tolist()):
        mine, support = rows[begin:end], begin + np.flatnonzero(coef[begin:end])
        out[begin:end] += K[mine[:, None], rows[support]] @ coef[support]


def polish_few(
    K: Array, rows: Index, start: Index, free: Flags, error: Array, most: int, coef: Array, value: Array
) -> None:
    """Do as `polish` does, by LAPACK."""
    for begin, end in pairwise(start.tolist()):
        F = begin + np.flatnonzero(free[begin:end])
        if not 1 <= len(F) - 1 < most:
            continue
        own = K[rows[F][:, None], rows[F]]
        ridge, mass = RIDGE * np.abs(own[0]).mean(), coef[begin:end].sum()
        across, corner = own[0, 1:], own[0, 0] + ridge
        if ridge == 0.0:
            continue
        system = own[1:, 1:] - across[:, None] - across + corner
        system[np.diag_indices_from(system)] += ridge
        target = error[F[1:]] - error[F[0]] + mass * (across - corner)
        try:
            step = cho_solve(cho_factor(system, check_finite=False), target, check_finite=False)
        except LinAlgError:
            continue
        change = np.append(-mass - step.sum(), step)
        coef[F] += change
        value[begin:end] += K[rows[begin:end][:, None], rows[F]] @ change
