r"""The regularised risk as a function of the kernel's weights [OSW02, (6), (18)].

With :math:`\beta' = C \beta` and :math:`a = \alpha / C` the least regularised risk of an SVM with the kernel
:math:`\sum_i \beta_i K_i` is

.. math:: \phi(\beta') = \frac1m \max_{0 \le a \le 1,\; y^\top a = 0} \Bigl[ 1^\top a
          - \tfrac12 \sum_i \beta'_i\, (a \circ y)^\top K_i (a \circ y) \Bigr],

a maximum of functions that are linear in β': it is convex (Corollary 8), and each feasible a gives a plane
below it. The SVM that is solved at β' gives the plane that touches there; its primal value is an upper bound
of φ.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.solvers.superkernel.cutting_planes import Penalty, Plane, Planes, minimize_by_planes
from mercer.solvers.superkernel.grams.dense import Grams
from mercer.solvers.superkernel.svm import balance, solve_dense_svm

MANY = 600  # rows, of which a quarter is worth a look first
ROUGH = 1e-3  # the relative gap of that look
TINY = 1e-300


class TwoClasses(NamedTuple):
    """Rows of two classes, −1 and 1."""

    rows: NDArray[np.intp]
    y: Array


class KernelRisk:
    """φ of several problems of two classes, the mean over all their rows."""

    def __init__(self, grams: Grams, problems: Sequence[TwoClasses]) -> None:
        self.grams, self.problems = grams, list(problems)
        self.n_rows = sum(len(problem.rows) for problem in self.problems)
        self.coef = [balance(problem.y) for problem in self.problems]  # a ∘ y; each SVM starts from the last
        self.is_hard = [False] * len(self.problems)

    def ask(self, beta: Array, tol: float) -> Plane:
        """Solve the SVMs for K(β) up to a relative gap, and return the plane that touches there."""
        K = self.grams.combine(beta)
        value, offset, slope = 0.0, 0.0, np.zeros(self.grams.n_terms)
        for place, (rows, y) in enumerate(self.problems):
            part = K if len(rows) == len(K) else K[np.ix_(rows, rows)]
            found = solve_dense_svm(part, y, self.coef[place], tol, self.is_hard[place])
            self.coef[place], self.is_hard[place] = found.coef, found.is_hard
            v = np.zeros(self.grams.n_rows)
            v[rows] = found.coef
            value += found.primal
            offset += float(found.coef @ y)
            slope -= 0.5 * np.maximum(self.grams.quadratics(v), 0.0)  # below zero by rounding errors alone
        return Plane(value / self.n_rows, offset / self.n_rows, slope / self.n_rows)


def minimize_risk(
    grams: Grams,
    label: NDArray[np.intp],
    penalty: Penalty,
    *,
    tol: float,
    max_iter: int,
    progress: Callable[[int], bool] | None = None,
) -> Planes:
    """Return the weights β' ≥ 0 that minimise φ(β') plus the penalty, for the classes of `label`.

    Where rows are many, the search starts from the weights that are best for a quarter of them.
    """
    if len(label) >= MANY:
        rows = thin(label)
        found = minimize_risk(grams.take(rows), label[rows], penalty, tol=max(tol, ROUGH), max_iter=max_iter)
        start = found.beta
    else:
        start = first_guess(grams, penalty)
    risk = KernelRisk(grams, split_classes(label))
    return minimize_by_planes(risk.ask, penalty, start, tol=tol, max_iter=max_iter, progress=progress)


def first_guess(grams: Grams, penalty: Penalty) -> Array:
    """Return weights that make rows of mean squared length one, or shorter ones if that costs too much."""
    beta = 1.0 / np.sqrt(penalty.diagonal)
    affordable = float(np.sqrt(0.5 / penalty.value(beta)))  # β = 0 costs one at most
    return beta * min(1.0 / max(float(beta @ grams.spreads()), TINY), affordable)


def split_classes(label: NDArray[np.intp]) -> list[TwoClasses]:
    """Return the problems of all pairs of classes."""
    problems = []
    for a, b in combinations(np.unique(label), 2):
        rows = np.flatnonzero((label == a) | (label == b))
        problems.append(TwoClasses(rows, np.where(label[rows] == b, 1.0, -1.0)))
    return problems


def thin(label: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return every fourth row of each class."""
    return np.sort(np.concatenate([np.flatnonzero(label == k)[::4] for k in np.unique(label)]))
