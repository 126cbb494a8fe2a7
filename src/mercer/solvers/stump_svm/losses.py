r"""Convex losses of one row's decision value: values that the solver calls, and knows none by name.

The solver needs three things of a loss ℓ(f): minus its derivative c, which is the row's dual coefficient; its
second derivative; and the row's term −ℓ*(−c) of the dual objective. A loss with corners is the largest of
lines, :math:`\ell(f) = \max_{l \le c \le u} c (y - f) - \varepsilon |c|`, and is rounded by a proximal term
:math:`-(c - \hat c)^2 / 2\sigma` around a centre ĉ, so that

.. math:: c = \operatorname{clip}(\operatorname{soft}_{\sigma\varepsilon}(\hat c + \sigma (y - f)),\, l,\, u),

with second derivative σ between the bounds and 0 elsewhere. Its dual term is that of the loss without
rounding, c y − ε|c|: the duality gap counts what the rounding costs.

The arrays may be of NumPy or torch: `xp` is where they come from.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.compiled import njit

NO_CENTERS = np.empty(0)


class Target(NamedTuple):
    """What the losses of some rows are about."""

    y: Any  # ±1, or a number
    C: Any  # the penalty of each row
    lower: Any = None  # bounds of the coefficients, of a loss with corners
    upper: Any = None


class Rounding(NamedTuple):
    """How far the corners of a loss are rounded: σ_i = stiffness × min(C_i / width, typical)."""

    stiffness: float
    width: float
    typical: float


class Response(NamedTuple):
    """How rows respond to their decision values f."""

    coef: Any  # c = −ℓ′(f) of each row
    curvature: Any  # ℓ″(f) of each row
    mass: float  # Σc
    loss: float  # Σℓ(f), without rounding
    dual: float  # −Σℓ*(−c)
    proximal: float = 0.0  # Σ (c − ĉ)² / 2σ


class Loss:
    """What the solver asks of a loss."""

    smooth = True

    def target(self, xp: Any, y: Any, C: Any) -> Target:
        """Return y and C, with the bounds of each row's coefficient if the loss has corners."""
        return Target(y, C)

    @abstractmethod
    def respond(self, xp: Any, f: Any, rows: Target, center: Any, term: Rounding) -> Response:
        """Return how the rows respond to the decision values f."""

    def slopes(
        self, xp: Any, f: Any, df: Any, rows: Target, center: Any, term: Rounding, shares: Array
    ) -> Array:
        """Return Σ_i c_i Δf_i at some shares of a step from f."""
        coefs = (self.respond(xp, f + float(s) * df, rows, center, term).coef for s in shares)
        return np.array([float((coef * df).sum(dtype=xp.float64)) for coef in coefs])


@dataclass(frozen=True)
class CorneredLoss(Loss):
    """A loss with corners, C max(up · (e − ε), −down · (e + ε), 0) for e = y − f."""

    up: float = 1.0
    down: float = 1.0
    epsilon: float = 0.0
    smooth = False

    def target(self, xp: Any, y: Any, C: Any) -> Target:
        """Return y and C with the bounds of each row's coefficient."""
        return Target(y, C, -self.down * C, self.up * C)

    def respond(self, xp: Any, f: Any, rows: Target, center: Any, term: Rounding) -> Response:
        """Return how the rows respond to the decision values f."""
        center = NO_CENTERS if center is None else center
        if xp is np:
            coef, curvature = np.empty(len(f)), np.empty(len(f))
            return Response(
                coef, curvature, *respond_at_corners(f, *rows, center, *term, self.epsilon, coef, curvature)
            )
        sigma, e = term.stiffness * xp.clip(rows.C / term.width, None, term.typical), rows.y - f
        c = sigma * e if len(center) == 0 else center + sigma * e
        c = xp.sign(c) * xp.clip(xp.abs(c) - sigma * self.epsilon, 0.0, None)
        c = xp.clip(c, rows.lower, rows.upper)
        curved = (c > rows.lower) & (c < rows.upper) & ((c != 0.0) | (self.epsilon == 0.0))
        loss = xp.clip(
            xp.maximum(rows.upper * (e - self.epsilon), rows.lower * (e + self.epsilon)), 0.0, None
        )
        dual = c * rows.y - self.epsilon * xp.abs(c)
        move = c if len(center) == 0 else c - center
        sums = (float(v.sum(dtype=xp.float64)) for v in (c, loss, dual, 0.5 * move * move / sigma))
        return Response(c, sigma * curved, *sums)

    def slopes(
        self, xp: Any, f: Any, df: Any, rows: Target, center: Any, term: Rounding, shares: Array
    ) -> Array:
        """Return Σ_i c_i Δf_i at some shares of a step from f."""
        if xp is not np:
            return super().slopes(xp, f, df, rows, center, term, shares)
        center, out = NO_CENTERS if center is None else center, np.zeros(len(shares))
        add_slopes_at_corners(f, df, *rows, center, *term, self.epsilon, shares, out)
        return out


class Hinge(CorneredLoss):
    """C max(0, 1 − y f) for y = ±1 [LL05, (P1)]."""

    def target(self, xp: Any, y: Any, C: Any) -> Target:
        """Return y and C with the box of (P2), in c = y λ."""
        return Target(y, C, xp.clip(y, -1.0, 0.0) * C, xp.clip(y, 0.0, 1.0) * C)


class SmoothLoss(Loss):
    """A loss with two derivatives, which needs no rounding. Its dual term is ℓ + c f (Fenchel)."""

    def respond(self, xp: Any, f: Any, rows: Target, center: Any, term: Rounding) -> Response:
        """Return how the rows respond to the decision values f."""
        loss, coef, curvature = self.terms(xp, f, rows.y, rows.C)
        mass, total, linear = (float(v.sum(dtype=xp.float64)) for v in (coef, loss, coef * f))
        return Response(coef, curvature, mass, total, total + linear)

    @abstractmethod
    def terms(self, xp: Any, f: Any, y: Any, C: Any) -> tuple[Any, Any, Any]:
        """Return ℓ, −ℓ′ and ℓ″ of each row."""


class LogLoss(SmoothLoss):
    """C log(1 + exp(−y f)) for y = ±1."""

    def terms(self, xp: Any, f: Any, y: Any, C: Any) -> tuple[Any, Any, Any]:
        """Return ℓ, −ℓ′ and ℓ″ of each row."""
        m = y * f
        small = xp.exp(-xp.abs(m))
        wrong = xp.where(m > 0.0, small, 1.0) / (1.0 + small)  # the probability of the other class
        curvature = C * (wrong * (1.0 - wrong) + LEAST_CURVATURE)
        return C * (xp.clip(-m, 0.0, None) + xp.log1p(small)), C * y * wrong, curvature


class SquaredError(SmoothLoss):
    """C (y − f)² / 2."""

    def terms(self, xp: Any, f: Any, y: Any, C: Any) -> tuple[Any, Any, Any]:
        """Return ℓ, −ℓ′ and ℓ″ of each row."""
        return 0.5 * C * (y - f) ** 2, C * (y - f), C


class Poisson(SmoothLoss):
    """C (exp(f) − y f) for counts y: f is the logarithm of their mean."""

    def terms(self, xp: Any, f: Any, y: Any, C: Any) -> tuple[Any, Any, Any]:
        """Return ℓ, −ℓ′ and ℓ″ of each row."""
        mean = xp.exp(xp.clip(f, None, MOST_EXPONENT))
        return C * (mean - y * f), C * (y - mean), C * (mean + LEAST_CURVATURE)


LEAST_CURVATURE = 1e-10  # its inverse must be a number; a Newton step need not be exact
MOST_EXPONENT = 50.0  # a step too far must not overflow: it is shortened anyway
HINGE = Hinge()


def quantile(level: float) -> CorneredLoss:
    """Return the pinball loss, least at the quantile of this level; absolute error is twice that of 1/2."""
    return CorneredLoss(up=level, down=1.0 - level)


@njit(cache=True, nogil=True, fastmath=True)
def respond_at_corners(
    f: Array,
    y: Array,
    C: Array,
    lower: Array,
    upper: Array,
    center: Array,
    stiffness: float,
    width: float,
    typical: float,
    epsilon: float,
    coef: Array,
    curvature: Array,
) -> tuple[float, float, float, float]:
    """Fill in the coefficients and the curvature of `CorneredLoss.respond`, and return its four sums."""
    mass, loss, dual, proximal = 0.0, 0.0, 0.0, 0.0
    for i in range(len(f)):
        sigma, e = stiffness * min(C[i] / width, typical), y[i] - f[i]
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
def add_slopes_at_corners(
    f: Array,
    df: Array,
    y: Array,
    C: Array,
    lower: Array,
    upper: Array,
    center: Array,
    stiffness: float,
    width: float,
    typical: float,
    epsilon: float,
    shares: Array,
    out: Array,
) -> None:
    """Add Σ_i c_i Δf_i at some shares of a step, with the coefficients of `CorneredLoss.respond`."""
    for k in range(len(shares)):
        share, total = shares[k], 0.0
        for i in range(len(f)):
            sigma = stiffness * min(C[i] / width, typical)
            c = (center[i] if len(center) > 0 else 0.0) + sigma * (y[i] - f[i] - share * df[i])
            c = max(c - sigma * epsilon, 0.0) + min(c + sigma * epsilon, 0.0)
            total += min(max(c, lower[i]), upper[i]) * df[i]
        out[k] += total
