r"""The SVM's dual for few rows: two coefficients at a time [FCL05], with the distances of rows kept.

Each step moves a pair of rows to the minimum of the objective along c_i + δ, c_j − δ,

.. math:: \delta = \min\Bigl(\frac{g_i - g_j}{2 \|x_i - x_j\|_1},\; u_i - c_i,\; c_j - l_j\Bigr),
          \qquad g = y - K c, \quad K_{ij} = -\|x_i - x_j\|_1 .

Of the rows that may rise, i has the largest g; of those that may fall, j has the largest gain
(g_i − g_j)² / ‖x_i − x_j‖₁. A step costs O(n), and O(n D) for the distances from a row that is new to it. The
larger C, the more steps it takes: then `stump_svm.driver` goes on with Newton steps.

[FCL05] Fan, Chen, Lin: Working set selection using second order information for training support vector
machines. JMLR 6, 2005.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array, Flags
from mercer.compiled import deferred, njit
from mercer.solvers.stump_svm.products import CodedColumns
from mercer.solvers.stump_svm.proximal import HUGE, Point, Problem, Proximal, make_feasible, respond

MOST_ROWS = 1000  # of more, the distances take too much memory and time
LEAST_DISTANCE = 1e-12  # equal rows of opposite classes count as so far apart: their pair can move
STEEP = 100.0  # of the first guess, rows farther from the margin than 1 / STEEP are at a bound


class Distances(NamedTuple):
    """The rows, and the distances from some of them to all: a row is filled in when a step needs it."""

    X: Array  # (D, n)
    distance: Array  # (n, n)
    known: Flags  # (n,), whose distances are filled in


def prepare_distances(operator: Any, n_rows: int) -> Distances | None:
    """Return the rows with no distances yet; None if they are too many, or K is none of distances."""
    if n_rows > MOST_ROWS or not isinstance(operator, CodedColumns):
        return None
    X = np.take_along_axis(operator.value, operator.code.astype(np.intp), axis=1)
    return Distances(X, np.empty((n_rows, n_rows)), np.zeros(n_rows, dtype=np.bool_))


def guess_start(problem: Problem, coef: Array, value: Array) -> None:
    """Put the rows at the bounds at which a rough classifier sees them, if C is so small that most are there.

    The classifier is the difference of the classes' means, which is the SVM for C to zero. Where it puts too
    many rows at a bound, so that the objective has been lower on the way there, all coefficients are zero.
    """
    zero, width = np.zeros(len(coef)), problem.upper - problem.lower
    _, mean = respond(problem, Proximal(zero, width), zero, 0.0)
    f = problem.operator.product(mean)
    f *= min(_stretch(problem.y, mean, f), 1.0)
    spread = f.max() - f.min()
    steepness = STEEP / spread if 0.0 < spread < 1.0 else STEEP
    bias, response = respond(problem, Proximal(zero, steepness * width), f, 0.0)
    guess = make_feasible(problem, Point(response, problem.operator.product(response), bias))
    if _stretch(problem.y, guess.coef, guess.value) >= 1.0:
        coef[:], value[:] = guess.coef, guess.value
    else:
        coef[:], value[:] = 0.0, 0.0


def _stretch(y: Array, coef: Array, value: Array) -> float:
    """Return the multiple of c at which the objective is least, were there no box."""
    curvature = float(coef @ value)
    return float(y @ coef) / curvature if curvature > 0 else HUGE


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
    distances: Distances, lower: Array, upper: Array, coef: Array, g: Array, tol: float, max_steps: int
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
        from_i = _distances_from(distances, i)
        j = _find(gain, may_fall, _weigh(g, may_fall, highest, from_i, gain))
        room_i, room_j = upper[i] - coef[i], coef[j] - lower[j]
        delta = min((g[i] - g[j]) / (2.0 * max(from_i[j], LEAST_DISTANCE)), room_i, room_j)
        coef[i] = upper[i] if delta == room_i else coef[i] + delta
        coef[j] = lower[j] if delta == room_j else coef[j] - delta
        may_rise[i], may_fall[i] = coef[i] < upper[i], True
        may_rise[j], may_fall[j] = True, coef[j] > lower[j]
        highest, lowest = _move(g, from_i, _distances_from(distances, j), delta, may_rise, may_fall)
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


@njit(cache=True, nogil=True, fastmath=True)
def _distances_from(distances: Distances, i: int) -> Array:
    """Return the distances from a row to all, computing them the first time."""
    row = distances.distance[i]
    if not distances.known[i]:
        row[:] = 0.0
        for d in range(distances.X.shape[0]):
            x = distances.X[d]
            t = x[i]
            for k in range(len(row)):
                row[k] += abs(x[k] - t)
        distances.known[i] = True
    return row
