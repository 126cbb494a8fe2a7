r"""The regularised risk as a function of the kernel's weights, and two searches for its minimum [OSW02, §5].

With :math:`\beta' = C \beta` and :math:`a = \alpha / C` the least regularised risk (6) of an SVM with the
kernel :math:`\sum_i \beta_i K_i` is

.. math:: \phi(\beta') = \frac1m \max_{0 \le a \le 1,\; y^\top a = 0} \Bigl[ 1^\top a
          - \tfrac12 \sum_i \beta'_i\, (a \circ y)^\top K_i (a \circ y) \Bigr],

a maximum of functions that are linear in β': it is convex (Corollary 8), and each feasible a gives a plane
below it. The SVM that is solved at β' gives the plane that touches there; its primal value is an upper bound
of φ. `minimize_risk` minimises (18), φ plus the penalty, by cutting planes.

`alternate` is the paper's search: the SVM for a fixed kernel and the kernel for fixed coefficients c, in
turn. The latter solves (19) in β,

.. math:: \min_{\beta \ge 0, b} \frac1m \Bigl[ \sum_i \max\bigl(0, 1 - y_i (\textstyle\sum_t \beta_t (K_t c)_i
          + b)
          \bigr) + \tfrac12 \sum_t \beta_t\, c^\top K_t c \Bigr] + \tfrac12 \beta^\top M \beta .

Neither of the two steps can raise the objective, but where they stop need not be its minimum: the hinge has
kinks that neither can pass alone.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from mercer._typing import Array, Index
from mercer.solvers.superkernel.cutting_planes import Plane, minimize_by_planes, solve_master
from mercer.solvers.superkernel.grams import Grams
from mercer.solvers.superkernel.svm import balance, best_bias, solve_dense_svm
from mercer.solvers.superkernel.weights import TINY, KernelWeights, Penalty, Stopping, relative_gap


class RiskSettings(NamedTuple):
    """What steers the two searches, and what goes wrong without it."""

    many_rows: int = 600
    every: int = 4
    rough: float = 1e-3
    """From this many rows on, the search starts where every fourth row alone, up to this relative gap, leads.
    Else the first SVMs, which only show where not to look, are as slow as the last."""
    svm_tol: float = 0.01
    kernel_tol: float = 0.1
    """Of `tol`: how exactly the alternation solves each of its two steps. Rougher, and a turn that gains
    little is taken for the end."""
    kernel_planes: int = 300
    """Maximum number of planes in a kernel's step, far more than it needs: it ends whatever happens."""
    edge: float = 1e-12
    """Rows this near to the margin, as a share of the largest slack, are on it: rounding errors decide the
    sign of their slack, and the slope would miss what they may contribute."""


SETTINGS = RiskSettings()


class TwoClasses(NamedTuple):
    """Rows of two classes, −1 and 1."""

    rows: Index
    y: Array


class KernelRisk:
    """φ of several problems of two classes, the mean over all their rows."""

    def __init__(self, grams: Grams, problems: Sequence[TwoClasses]) -> None:
        self.grams, self.problems = grams, list(problems)
        self.n_rows = sum(len(problem.rows) for problem in self.problems)
        self.coef = [balance(problem.y) for problem in self.problems]  # a ∘ y; each SVM starts from the last
        self.is_hard = [False] * len(self.problems)
        self.K: Array | None = None  # the memory of the last K(β)

    def ask(self, beta: Array, tol: float) -> Plane:
        """Solve the SVMs for K(β) up to a relative gap, and return the plane that touches there."""
        K = self.K = self.grams.combine(beta, self.K)
        value, offset, slope = 0.0, 0.0, np.zeros(self.grams.n_terms)
        for place, (rows, y) in enumerate(self.problems):
            part = K if len(rows) == len(K) else K[np.ix_(rows, rows)]
            found = solve_dense_svm(part, y, self.coef[place], tol, self.is_hard[place])
            self.coef[place], self.is_hard[place] = found.coef, found.is_hard
            v = np.zeros(self.grams.n_rows)
            v[rows] = found.coef
            value += found.primal  # (6)
            offset += float(found.coef @ y)
            slope -= 0.5 * np.maximum(self.grams.quadratics(v), 0.0)  # Lemma 7; below zero by rounding alone
        return Plane(value / self.n_rows, offset / self.n_rows, slope / self.n_rows)


def minimize_risk(grams: Grams, label: Index, penalty: Penalty, stopping: Stopping) -> KernelWeights:
    """Return the weights β' ≥ 0 that minimise φ(β') plus the penalty (18), for the classes of `label`.

    Where rows are many, the search starts from the weights that are best for a quarter of them.
    """
    if len(label) >= SETTINGS.many_rows:
        rows, rough = thin(label), Stopping(max(stopping.tol, SETTINGS.rough), stopping.max_iter)
        start = minimize_risk(grams.take(rows), label[rows], penalty, rough).beta
    else:
        start = first_guess(grams, penalty)
    risk = KernelRisk(grams, split_classes(label))
    # Corollary 8: convex, so that planes below it lead to the minimum
    return minimize_by_planes(risk.ask, penalty, start, stopping)


def first_guess(grams: Grams, penalty: Penalty) -> Array:
    """Return weights that make rows of mean squared length one, or shorter ones if that costs too much."""
    beta = 1.0 / np.sqrt(penalty.diagonal)
    affordable = float(np.sqrt(0.5 / penalty.value(beta)))  # β = 0 costs one at most
    return beta * min(1.0 / max(float(beta @ grams.spreads()), TINY), affordable)


def split_classes(label: Index) -> list[TwoClasses]:
    """Return the problems of all pairs of classes."""
    problems = []
    for a, b in combinations(np.unique(label), 2):
        rows = np.flatnonzero((label == a) | (label == b))
        problems.append(TwoClasses(rows, np.where(label[rows] == b, 1.0, -1.0)))
    return problems


def thin(label: Index) -> Index:
    """Return every fourth row of each class."""
    return np.sort(np.concatenate([np.flatnonzero(label == k)[:: SETTINGS.every] for k in np.unique(label)]))


def alternate(grams: Grams, label: Index, penalty: Penalty, stopping: Stopping) -> KernelWeights:
    """Return where the paper's alternation stops: when a turn gains less than its share of the objective.

    The bound is that of all SVMs on the way, as in the cutting planes, so that the gap is true.
    """
    tol, max_iter, progress = stopping
    risk = KernelRisk(grams, split_classes(label))
    beta = first_guess(grams, penalty)
    planes: list[Plane] = []
    history: list[float] = []
    while True:
        planes.append(risk.ask(beta, SETTINGS.svm_tol * tol))  # α for fixed β
        history.append(planes[-1].value + penalty.value(beta))  # (19)
        gained = history[-2] - history[-1] if len(history) > 1 else np.inf
        stopped = progress is not None and progress(len(planes))
        if gained <= tol * history[-1] or stopped or len(planes) == max_iter:
            break  # before β moves on: what is returned belongs together
        ask, exactly = KernelForCoefficients(risk).ask, SETTINGS.kernel_tol * tol
        # β for fixed α
        beta = minimize_by_planes(ask, penalty, beta, Stopping(exactly, SETTINGS.kernel_planes)).beta
    bound = max(solve_master(planes, penalty)[1], 0.0)
    cut_off = len(planes) == max_iter and not relative_gap(history[-1], bound) <= tol
    return KernelWeights(beta, history[-1], bound, np.array(history), len(history), cut_off)


class KernelForCoefficients:
    """The objective (19) as a function of β for fixed coefficients of the SVMs."""

    def __init__(self, risk: KernelRisk) -> None:
        self.n_rows = risk.n_rows
        self.parts = []
        for (rows, y), coef in zip(risk.problems, risk.coef, strict=True):
            v = np.zeros(risk.grams.n_rows)
            v[rows] = coef
            Z = risk.grams.apply(v)[:, rows]  # K_t c
            self.parts.append((y, Z, Z @ coef))

    def ask(self, beta: Array, tol: float) -> Plane:
        """Return the value at β, the best intercept taken, and the plane that touches there."""
        value, slope = 0.0, np.zeros(len(beta))
        for y, Z, quadratic in self.parts:
            f = beta @ Z
            slack = 1.0 - y * (f + best_bias(y, f))
            share = balanced_shares(y, slack)
            value += float(np.maximum(slack, 0.0).sum() + 0.5 * quadratic @ beta)  # (19), but for the penalty
            slope += 0.5 * quadratic - Z @ (share * y)
        value, slope = value / self.n_rows, slope / self.n_rows
        return Plane(value, value - float(slope @ beta), slope)


def balanced_shares(y: Array, slack: Array) -> Array:
    """Return 1 for rows inside the margin, 0 outside, between them at its edge so that Σ y share = 0."""
    share = (slack > 0).astype(np.float64)
    at_edge = np.abs(slack) <= SETTINGS.edge * max(1.0, float(np.max(np.abs(slack))))
    share[at_edge] = 0.0
    missing = -float(share @ y)
    for i in np.flatnonzero(at_edge & (y * missing > 0)):
        share[i] = min(1.0, abs(missing))
        missing -= y[i] * share[i]
        if missing == 0.0:
            break
    return share
