r"""The Newton step of a table: its linear system, by conjugate gradients among the rows near a corner.

With t the coordinates in which the penalty is ‖t‖²/2, f = R t + b and W the curvature of the rows J, the step
ends where :math:`t^+ = R^\top c - R_J^\top x`, :math:`x = W \Delta f_J`: the coefficients of the rows after
it. So x solves

.. math:: (W^{-1} + R_J R_J^\top)\, x - \Delta b = R_J (R^\top c - t), \qquad \textstyle\sum x = \sum c,

in which R_J R_Jᵀ is the stump kernel's K_JJ, and R t, Rᵀ c are a table looked up and a table of sums.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.compiled import njit
from mercer.solvers.stump_svm.preconditioner import Coarsening, Preconditioner
from mercer.solvers.stump_svm.products import make_operator, sum_by_code

CG_TOL = 0.1  # weighted residual of the Newton system over the step's change of f; below 1 it is a descent


def solve_system(
    code: NDArray[Any],
    coarsening: Coarsening,
    weight: Array,
    first: Array,
    away: Array,
    diagonal: float,
    floor: float,
) -> tuple[Array, float]:
    """Return what is left of x − `first`, which has the sum that x must have, and Δb.

    `away` is the right-hand side less K_JJ `first`. The conjugate gradients run among vectors of sum zero;
    below `floor`, changes of f do not count.
    """
    if len(weight) == 0:
        return away, 0.0
    ridge = 1.0 / weight
    df = -first * ridge
    operator = make_operator(code, coarsening.value)
    coarse = coarsening.prepare(code, ridge, diagonal)
    most = 2 * len(df) + 20
    x, bias, _ = conjugate_gradients(operator, ridge, diagonal, coarse, away + df, df, floor, most)
    return x, -bias


def add_up_by_code(code: NDArray[Any], v: Array, n_values: int) -> Array:
    """Return Σv of the rows at each value of each feature."""
    out = np.zeros((len(code), n_values))
    sum_by_code(code, v, out)
    return out


def conjugate_gradients(
    operator: Any,
    ridge: Array,
    diagonal: float,
    coarse: Preconditioner | None,
    r: Array,
    df: Array,
    floor: float,
    max_steps: int,
) -> tuple[Array, float, bool]:
    """Solve (K + ridge) x + b = r with Σx = 0; return x, b, and whether that was enough steps.

    `df` is what the change of f would be at x = 0 if r were zero. The step is a descent as soon as the
    residual's norm, weighted by σ = 1/ridge, is below that of the change of f: it stops there, or where r is
    at most `floor`; with an empty `df`, there alone. The preconditioner is 1/(ridge + diagonal), for rows of
    very unequal σ, or where many steps are to be expected the coarse problem (`stump_svm.preconditioner`).
    """
    inverse = 1.0 / (ridge + diagonal)
    total, x, z, r = float(inverse.sum()), np.zeros(len(r)), np.empty(len(r)), r.copy()
    b, rz, p, q = 0.0, 0.0, np.zeros(len(r)), np.zeros(len(r))
    for _ in range(max_steps):
        curved, shift, new, largest, weighted, scale = move_and_look(
            p, q, rz, ridge, inverse, total, df, x, r, z
        )
        if not curved:
            break  # K is singular along p: there is nothing to solve for
        b += shift
        if largest <= floor or (len(df) > 0 and weighted <= CG_TOL * CG_TOL * scale):
            return x, b, True
        if coarse is not None:
            z = coarse.apply(r)
            new = float(r @ z)
        p *= new / rz if rz > 0.0 else 0.0
        p += z
        rz = new
        q = operator.product(p)
    return x, b, False


@njit(cache=True, nogil=True, fastmath=True)
def move_and_look(
    p: Array,
    q: Array,
    rz: float,
    ridge: Array,
    inverse: Array,
    total: float,
    df: Array,
    x: Array,
    r: Array,
    z: Array,
) -> tuple[bool, float, float, float, float, float]:
    """Move x and r along p, where q = K p, and look at the residual r.

    Makes Σ r / (ridge + diagonal) zero, and puts r / (ridge + diagonal) into z. Returns whether there is a
    curvature along p, the shift of r, Σ r z, the largest |r|, and the weighted squares of r and of the change
    of f.
    """
    curvature = 0.0
    for i in range(len(p)):
        q[i] += ridge[i] * p[i]
        curvature += p[i] * q[i]
    if rz > 0.0 and curvature <= 0.0:
        return False, 0.0, 0.0, 0.0, 0.0, 0.0
    length, shift = rz / curvature if rz > 0.0 else 0.0, 0.0
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
        if len(df) > 0:
            change = df[i] - ridge[i] * x[i] - r[i]
            weighted += r[i] * r[i] / ridge[i]
            scale += change * change / ridge[i]
    return True, shift, new, largest, weighted, scale
