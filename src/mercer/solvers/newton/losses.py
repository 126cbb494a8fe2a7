r"""Convex losses of one row's decision value: values that the solver calls, and knows none by name.

The solver needs three things of a loss ℓ(f): minus its derivative c, which is the row's dual coefficient; its
second derivative; and the row's term −ℓ*(−c) of the dual objective. A loss with corners is the largest of
lines, :math:`\max_{l \le c \le u} c (y - f) - \varepsilon |c|`, with a proximal term
:math:`-(c - \hat c)^2 / 2\sigma` around a centre ĉ that rounds it. Its dual term is that without rounding,
c y − ε|c|: the duality gap counts what this costs. Arrays may be of NumPy or torch: `xp` is their namespace.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.compiled import njit

WIDTH = 0.3  # corners are rounded over this at first: wider takes more centres, narrower more Newton steps
LEAST_CURVATURE = 1e-10  # its inverse must be a number; a Newton step need not be exact
MOST_EXPONENT = 50.0  # a step too far must not overflow: it is shortened anyway
NO_CENTERS = np.empty(0)


class Target(NamedTuple):
    """What the losses of some rows are about."""

    y: Any  # ±1, or a number
    C: Any  # the penalty of each row
    sigma: Any = None  # of a loss with corners, σ at a stiffness of 1, …
    lower: Any = None  # … the bounds of the coefficients, …
    upper: Any = None
    center: Any = NO_CENTERS  # … and ĉ; none is zero


class Response(NamedTuple):
    """How rows respond to their decision values f."""

    coef: Any  # c = −ℓ′(f) of each row
    curvature: Any  # ℓ″(f) of each row
    mass: Any  # Σc, of several classes at once one each
    loss: float  # Σℓ(f), without rounding
    dual: float  # −Σℓ*(−c)
    proximal: float = 0.0  # Σ (c − ĉ)² / 2σ


class Loss:
    """A loss: this one has two derivatives, needs no rounding, and its dual term is ℓ + c f (Fenchel)."""

    smooth = True
    quadratic = False  # the curvature is the same everywhere: a Newton step from all rows is the last

    def terms(self, xp: Any, f: Any, y: Any, C: Any) -> tuple[Any, Any, Any]:
        """Return ℓ, −ℓ′ and ℓ″ of each row."""
        raise NotImplementedError

    def target(self, xp: Any, y: Any, C: Any, typical: float) -> Target:
        """Return what the losses are about; `typical` is the largest σ, if they have corners."""
        return Target(y, C)

    def respond(self, xp: Any, f: Any, rows: Target, stiffness: float) -> Response:
        """Return how the rows respond to the decision values f."""
        loss, coef, curvature = self.terms(xp, f, rows.y, rows.C)
        mass, total, linear = (float(v.sum(dtype=xp.float64)) for v in (coef, loss, coef * f))
        return Response(coef, curvature, mass, total, total + linear)

    def slopes(self, xp: Any, f: Any, df: Any, rows: Target, stiffness: float, shares: Array) -> Array:
        """Return Σ_i c_i Δf_i at some shares of a step from f."""
        coefs = (self.respond(xp, f + float(s) * df, rows, stiffness).coef for s in shares)
        return np.array([float((coef * df).sum(dtype=xp.float64)) for coef in coefs])


@dataclass(frozen=True)
class CorneredLoss(Loss):
    """A loss with corners, C max(up · (e − ε), −down · (e + ε), 0) for e = y − f."""

    up: float = 1.0
    down: float = 1.0
    epsilon: float = 0.0
    smooth = False

    def target(self, xp: Any, y: Any, C: Any, typical: float) -> Target:
        """Return what the losses are about, with σ_i = min(C_i / width, typical)."""
        return Target(y, C, xp.clip(C / WIDTH, None, typical), *self.bounds(xp, y, C))

    def bounds(self, xp: Any, y: Any, C: Any) -> tuple[Any, Any]:
        """Return the bounds of each row's coefficient."""
        return -self.down * C, self.up * C

    def respond(self, xp: Any, f: Any, rows: Target, stiffness: float) -> Response:
        """Return how the rows respond to the decision values f."""
        epsilon = self.epsilon
        if xp is np:
            c, curvature = np.empty(len(f)), np.empty(len(f))
            sums = respond_at_corners(f, tuple(rows), stiffness, epsilon, c, curvature)
            return Response(c, curvature, *sums)
        y, _, sigma, lower, upper, center = rows
        sigma, e, center = stiffness * sigma, y - f, center if len(center) > 0 else 0.0
        c = center + sigma * e
        c = xp.clip(xp.sign(c) * xp.clip(xp.abs(c) - sigma * epsilon, 0.0, None), lower, upper)
        curved = (c > lower) & (c < upper) & ((c != 0.0) | (epsilon == 0.0))
        loss = xp.clip(xp.maximum(upper * (e - epsilon), lower * (e + epsilon)), 0.0, None)
        terms = (c, loss, c * y - epsilon * xp.abs(c), 0.5 * (c - center) ** 2 / sigma)
        return Response(c, sigma * curved, *(float(v.sum(dtype=xp.float64)) for v in terms))

    def slopes(self, xp: Any, f: Any, df: Any, rows: Target, stiffness: float, shares: Array) -> Array:
        """Return Σ_i c_i Δf_i at some shares of a step from f."""
        if xp is not np:
            return super().slopes(xp, f, df, rows, stiffness, shares)
        out = np.empty(len(shares))
        find_slopes_at_corners(f, df, tuple(rows), stiffness, self.epsilon, shares, out)
        return out


class Hinge(CorneredLoss):
    """C max(0, 1 − y f) for y = ±1 [LL05, (P1)]."""

    def bounds(self, xp: Any, y: Any, C: Any) -> tuple[Any, Any]:
        """Return the box of (P2), in c = y λ."""
        return xp.clip(y, -1.0, 0.0) * C, xp.clip(y, 0.0, 1.0) * C


HINGE = Hinge()


class LogLoss(Loss):
    """C log(1 + exp(−y f)) for y = ±1."""

    def terms(self, xp: Any, f: Any, y: Any, C: Any) -> tuple[Any, Any, Any]:
        """Return ℓ, −ℓ′ and ℓ″ of each row."""
        m = y * f
        small = xp.exp(-xp.abs(m))
        wrong = xp.where(m > 0.0, small, 1.0) / (1.0 + small)  # the probability of the other class
        curvature = C * (wrong * (1.0 - wrong) + LEAST_CURVATURE)
        return C * (xp.clip(-m, 0.0, None) + xp.log1p(small)), C * y * wrong, curvature


class SquaredError(Loss):
    """C (y − f)² / 2."""

    quadratic = True

    def terms(self, xp: Any, f: Any, y: Any, C: Any) -> tuple[Any, Any, Any]:
        """Return ℓ, −ℓ′ and ℓ″ of each row."""
        return 0.5 * C * (y - f) ** 2, C * (y - f), C


class Poisson(Loss):
    """C (exp(f) − y f) for counts y: f is the logarithm of their mean."""

    def terms(self, xp: Any, f: Any, y: Any, C: Any) -> tuple[Any, Any, Any]:
        """Return ℓ, −ℓ′ and ℓ″ of each row."""
        mean = xp.exp(xp.clip(f, None, MOST_EXPONENT))
        return C * (mean - y * f), C * (y - mean), C * (mean + LEAST_CURVATURE)


@njit(cache=True, nogil=True, fastmath=True)
def respond_at_corners(
    f: Array, rows: tuple[Array, ...], stiffness: float, epsilon: float, coef: Array, curvature: Array
) -> tuple[float, float, float, float]:
    """Fill in the coefficients and the curvature of `CorneredLoss.respond`, and return its four sums."""
    y, _, soft, lower, upper, center = rows
    mass, loss, dual, proximal = 0.0, 0.0, 0.0, 0.0
    for i in range(len(f)):
        sigma, e = stiffness * soft[i], y[i] - f[i]
        before = center[i] if len(center) > 0 else 0.0
        c = before + sigma * e
        c = max(c - sigma * epsilon, 0.0) + min(c + sigma * epsilon, 0.0)
        c = min(max(c, lower[i]), upper[i])
        curved = (c > lower[i]) & (c < upper[i]) & ((c != 0.0) | (epsilon == 0.0))
        coef[i], curvature[i] = c, sigma if curved else 0.0
        mass += c
        loss += max(max(upper[i] * (e - epsilon), lower[i] * (e + epsilon)), 0.0)
        dual += c * y[i] - epsilon * abs(c)
        proximal += 0.5 * (c - before) * (c - before) / sigma
    return mass, loss, dual, proximal


@njit(cache=True, nogil=True, fastmath=True)
def find_slopes_at_corners(
    f: Array, df: Array, rows: tuple[Array, ...], stiffness: float, epsilon: float, shares: Array, out: Array
) -> None:
    """Put Σ_i c_i Δf_i at some shares of a step into `out`: `CorneredLoss.slopes`."""
    y, _, soft, lower, upper, center = rows
    for k in range(len(shares)):
        total = 0.0
        for i in range(len(f)):
            sigma = stiffness * soft[i]
            c = (center[i] if len(center) > 0 else 0.0) + sigma * (y[i] - f[i] - shares[k] * df[i])
            c = max(c - sigma * epsilon, 0.0) + min(c + sigma * epsilon, 0.0)
            total += min(max(c, lower[i]), upper[i]) * df[i]
        out[k] = total
