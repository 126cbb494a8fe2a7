r"""The SVM's dual, two coefficients at a time [FCL05]: the way on from a start that is near.

Each step moves a pair of rows to the minimum of the objective along c_i + δ, c_j − δ,

.. math:: \delta = \min\Bigl(\frac{g_i - g_j}{2 D_{ij}},\; u_i - c_i,\; c_j - l_j\Bigr),
          \qquad g = y + D c,

where D is half of the squared distance in the kernel's space. Of the rows that may rise, i has the largest g;
of those that may fall, j has the largest gain (g_i − g_j)² / D_ij. A step costs O(n).

[FCL05] Fan, Chen, Lin: Working set selection using second order information for training support vector
machines. JMLR 6, 2005.
"""

from collections.abc import Callable

import numpy as np

from mercer._typing import Array, Flags
from mercer.compiled import deferred, njit

HUGE = 1e300  # stands for infinity in loops that the compiler may reorder
LEAST_DISTANCE = 1e-12  # equal rows of opposite classes count as so far apart: their pair can move


def _make_reduction(name: str) -> Callable[[float, float], float]:
    """Return LLVM's maximum or minimum. It knows how to reduce a whole loop to it, unlike Python's."""
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic
    def reduction(context, a, b):  # type: ignore[no-untyped-def]  # numba reads the signature
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            double = ir.DoubleType()
            function = builder.module.declare_intrinsic(
                name, [double], ir.FunctionType(double, [double, double])
            )
            return builder.call(function, arguments, fastmath=["fast"])

        return types.float64(types.float64, types.float64), generate

    return reduction


_larger = deferred(lambda: _make_reduction("llvm.maxnum"))
_smaller = deferred(lambda: _make_reduction("llvm.minnum"))


@njit(cache=True, nogil=True)
def descend(
    distance: Array, lower: Array, upper: Array, coef: Array, g: Array, tol: float, max_steps: int
) -> int:
    """Make steps until LIBSVM's residual is at most tol, at most so many, and return how many.

    `coef` is in the box and of sum zero, and g = y − K c up to a constant. Both are changed.
    """
    may_rise, may_fall, gain = coef < upper, coef > lower, np.empty(len(g))
    highest, lowest = _move(g, g, g, 0.0, may_rise, may_fall)
    for step in range(max_steps):
        if highest - lowest <= tol:
            return step
        i = _find(g, may_rise, highest)
        from_i = distance[i]
        j = _find(gain, may_fall, _weigh(g, may_fall, highest, from_i, gain))
        room_i, room_j = upper[i] - coef[i], coef[j] - lower[j]
        delta = min((g[i] - g[j]) / (2.0 * max(from_i[j], LEAST_DISTANCE)), room_i, room_j)
        coef[i] = upper[i] if delta == room_i else coef[i] + delta
        coef[j] = lower[j] if delta == room_j else coef[j] - delta
        may_rise[i], may_fall[i] = coef[i] < upper[i], True
        may_rise[j], may_fall[j] = True, coef[j] > lower[j]
        highest, lowest = _move(g, from_i, distance[j], delta, may_rise, may_fall)
    return max_steps


@njit(cache=True, nogil=True, fastmath=True)
def _move(
    g: Array, from_i: Array, from_j: Array, delta: float, may_rise: Flags, may_fall: Flags
) -> tuple[float, float]:
    """Change g; return its largest value among rows that may rise, its smallest among those that may fall."""
    highest, lowest = -HUGE, HUGE
    for k in range(len(g)):
        moved = g[k] + delta * (from_i[k] - from_j[k])
        g[k] = moved
        highest = _larger(highest, moved if may_rise[k] else -HUGE)
        lowest = _smaller(lowest, moved if may_fall[k] else HUGE)
    return highest, lowest


@njit(cache=True, nogil=True, fastmath=True)
def _weigh(g: Array, may_fall: Flags, highest: float, from_i: Array, gain: Array) -> float:
    """Fill in what the pair of i with each row would gain, and return the most."""
    most = -HUGE
    for k in range(len(g)):
        difference = max(highest - g[k], 0.0)
        gain[k] = difference * difference / max(from_i[k], LEAST_DISTANCE)
        most = _larger(most, gain[k] if may_fall[k] else -HUGE)
    return most


@njit(cache=True, nogil=True)
def _find(x: Array, allowed: Flags, wanted: float) -> int:
    """Return the first place of a number. There is no jump out of the loop: it takes many places at once."""
    place = len(x) - 1
    for k in range(len(x) - 1):
        place = min(place, k if (x[k] == wanted) & allowed[k] else len(x))
    return place
