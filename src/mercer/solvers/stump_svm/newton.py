r"""The Newton step of a table: its linear system, by conjugate gradients among the rows near a corner.

With t the coordinates in which the penalty is ‖t‖²/2, f = R t + b and W the curvature of the rows J, the step
ends where :math:`t^+ = R^\top c - R_J^\top x`, :math:`x = W \Delta f_J`: the coefficients of the rows after
it. So x solves

.. math:: (W^{-1} + R_J R_J^\top)\, x - \Delta b = R_J (R^\top c - t), \qquad \textstyle\sum x = \sum c,

in which R_J R_Jᵀ is the stump kernel's K_JJ, and R t, Rᵀ c are a table looked up and a table of sums.
"""

from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.compiled import njit
from mercer.solvers.stump_svm.preconditioner import Coarsening
from mercer.solvers.stump_svm.products import Codes, make_operator

CG_TOL = 0.1  # weighted residual of the Newton system over the step's change of f; below 1 it is a descent


def solve_system(
    code: Codes, weight: Array, away: Array, mass: float, coarsening: Coarsening, floor: float
) -> tuple[Array, float]:
    """Return x, for the right-hand side `away` and of sum `mass`, and Δb; f need not change below `floor`."""
    if len(weight) == 0:
        return weight, 0.0
    operator, ridge, shift = make_operator(code, coarsening.value), 1.0 / weight, mass / weight.sum()
    first = shift * weight  # of the right sum: what is left of x has sum zero
    coarse, r = coarsening.prepare(code, ridge), away - operator.product(first) - shift
    x, bias, _ = conjugate_gradients(operator, ridge, coarsening.diagonal, coarse, r, -shift, floor)
    return first + x, -bias


def conjugate_gradients(
    operator: Any, ridge: Array, diagonal: float, coarse: Any, r: Array, df: float, floor: float
) -> tuple[Array, float, int]:
    """Solve (K + ridge) x + b = r with Σx = 0; return x, b, and the number of steps.

    `df` is what the change of f would be at x = 0 if r were zero. The step is a descent as soon as the
    residual's norm, weighted by σ = 1/ridge, is below that of the change of f: it stops there, or where r is
    at most `floor`. The preconditioner is 1/(ridge + diagonal), for rows of very unequal σ, or where many
    steps are to be expected the coarse problem (`stump_svm.preconditioner`).
    """
    inverse, r = 1.0 / (ridge + diagonal), r.copy()
    x, z, p, q = np.zeros((4, len(r)))
    b, rz, n_steps = 0.0, 0.0, 0
    while n_steps < 2 * len(r) + 20:
        shift, new, largest, weighted, scale = move_and_look(p, q, rz, ridge, inverse, df, x, r, z)
        b += shift
        if largest <= floor or weighted <= CG_TOL * CG_TOL * scale:
            break
        if coarse is not None:
            z = coarse.apply(r)
            new = float(r @ z)
        p *= new / rz if rz > 0.0 else 0.0
        p += z
        rz = new
        q = operator.product(p)
        n_steps += 1
    return x, b, n_steps


@njit(cache=True, nogil=True, fastmath=True)
def move_and_look(
    p: Array, q: Array, rz: float, ridge: Array, inverse: Array, df: float, x: Array, r: Array, z: Array
) -> tuple[float, float, float, float, float]:
    """Move x and r along p, where q = K p, and look at the residual r.

    Makes Σ r / (ridge + diagonal) zero, and puts r / (ridge + diagonal) into z. Returns the shift of r,
    Σ r z, the largest |r|, and the weighted squares of r and of the change of f; where K is singular along p,
    and there is nothing to solve for, zeros.
    """
    curvature, total, shift = 0.0, 0.0, 0.0
    for i in range(len(p)):
        q[i] += ridge[i] * p[i]
        curvature += p[i] * q[i]
        total += inverse[i]
    if rz > 0.0 and curvature <= 0.0:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    length = rz / curvature if rz > 0.0 else 0.0
    for i in range(len(r)):
        x[i] += length * p[i]
        r[i] -= length * q[i]
        shift += inverse[i] * r[i]
    shift /= total
    new, largest, weighted, scale = 0.0, 0.0, 0.0, 0.0
    for i in range(len(r)):
        r[i] -= shift
        z[i] = inverse[i] * r[i]
        new += r[i] * z[i]
        largest = max(largest, abs(r[i]))
        change = df - ridge[i] * x[i] - r[i]
        weighted += r[i] * r[i] / ridge[i]
        scale += change * change / ridge[i]
    return shift, new, largest, weighted, scale
