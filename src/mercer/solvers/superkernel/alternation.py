r"""The paper's search: the SVM for a fixed kernel and the kernel for fixed coefficients, in turn [OSW02, §5].

For coefficients c of the SVM the kernel's weights solve

.. math:: \min_{\beta \ge 0, b} \frac1m \Bigl[ \sum_i \max\bigl(0, 1 - y_i (\textstyle\sum_t \beta_t (K_t c)_i
          + b)
          \bigr) + \tfrac12 \sum_t \beta_t\, c^\top K_t c \Bigr] + \tfrac12 \beta^\top M \beta .

Neither of the two steps can raise the objective, but where they stop need not be its minimum: the hinge has
kinks that neither can pass alone. `mercer.solvers.superkernel.risk` minimises over both at once.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.solvers.superkernel.cutting_planes import Penalty, Plane, Planes, minimize_by_planes, solve_master
from mercer.solvers.superkernel.grams.dense import Grams
from mercer.solvers.superkernel.risk import KernelRisk, first_guess, split_classes
from mercer.solvers.superkernel.svm import best_bias

INNER_PLANES = 300


def alternate(
    grams: Grams,
    label: NDArray[np.intp],
    penalty: Penalty,
    *,
    tol: float,
    max_iter: int,
    progress: Callable[[int], bool] | None = None,
) -> Planes:
    """Return where the alternation stops: when a turn gains less than `tol` of the objective.

    The bound is that of all SVMs on the way, as in the cutting planes, so that the gap is true.
    """
    risk = KernelRisk(grams, split_classes(label))
    beta = first_guess(grams, penalty)
    planes: list[Plane] = []
    history: list[float] = []
    while True:
        planes.append(risk.ask(beta, 0.01 * tol))
        history.append(planes[-1].value + penalty.value(beta))
        gained = history[-2] - history[-1] if len(history) > 1 else np.inf
        stopped = progress is not None and progress(len(planes))
        if gained <= tol * history[-1] or stopped or len(planes) == max_iter:
            break  # before β moves on: what is returned belongs together
        beta = minimize_by_planes(
            KernelForCoefficients(risk).ask, penalty, beta, tol=0.1 * tol, max_iter=INNER_PLANES
        ).beta
    return Planes(
        beta, history[-1], max(solve_master(planes, penalty)[1], 0.0), np.array(history), len(history)
    )


class KernelForCoefficients:
    """The objective as a function of β for fixed coefficients of the SVMs."""

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
            value += float(np.maximum(slack, 0.0).sum() + 0.5 * quadratic @ beta)
            slope += 0.5 * quadratic - Z @ (share * y)
        value, slope = value / self.n_rows, slope / self.n_rows
        return Plane(value, value - float(slope @ beta), slope)


def balanced_shares(y: Array, slack: Array) -> Array:
    """Return 1 for rows inside the margin, 0 outside, between them at its edge so that Σ y share = 0."""
    share = (slack > 0).astype(np.float64)
    at_edge = np.abs(slack) <= 1e-12 * max(1.0, float(np.max(np.abs(slack))))
    share[at_edge] = 0.0
    missing = -float(share @ y)
    for i in np.flatnonzero(at_edge & (y * missing > 0)):
        share[i] = min(1.0, abs(missing))
        missing -= y[i] * share[i]
        if missing == 0.0:
            break
    return share
