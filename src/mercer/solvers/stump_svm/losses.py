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


class Target(NamedTuple):
    """What the losses of some rows are about."""

    y: Any  # ±1, or a number
    C: Any  # the penalty of each row
    lower: Any = None  # bounds of the coefficients, of a loss with corners
    upper: Any = None


class Response(NamedTuple):
    """How rows respond to their decision values f."""

    coef: Any  # c = −ℓ′(f) of each row
    curvature: Any  # ℓ″(f) of each row
    loss: float  # Σℓ(f), without rounding
    dual: float  # −Σℓ*(−c)
    proximal: float = 0.0  # Σ (c − ĉ)² / 2σ


@dataclass(frozen=True)
class CorneredLoss:
    """A loss with corners, C max(up · (e − ε), −down · (e + ε), 0) for e = y − f."""

    up: float = 1.0
    down: float = 1.0
    epsilon: float = 0.0
    smooth = False

    def target(self, xp: Any, y: Any, C: Any) -> Target:
        """Return y and C with the bounds of each row's coefficient."""
        return Target(y, C, -self.down * C, self.up * C)

    def coef(self, xp: Any, f: Any, rows: Target, center: Any, sigma: Any) -> Any:
        """Return the coefficients of the rows at the decision values f."""
        c = rows.y - f
        c *= sigma
        if center is not None:
            c += center
        if self.epsilon > 0.0:
            c = xp.sign(c) * xp.clip(xp.abs(c) - sigma * self.epsilon, 0.0, None)
        return xp.clip(c, rows.lower, rows.upper, out=c)

    def respond(self, xp: Any, f: Any, rows: Target, center: Any, sigma: Any) -> Response:
        """Return how the rows respond to the decision values f."""
        c, e = self.coef(xp, f, rows, center, sigma), rows.y - f
        curvature = sigma * ((c > rows.lower) & (c < rows.upper))
        loss, dual = xp.maximum(rows.upper * e, rows.lower * e), (c * rows.y).sum(dtype=xp.float64)
        if self.epsilon > 0.0:
            curvature *= c != 0.0
            loss = xp.clip(loss - self.epsilon * xp.where(e > 0.0, rows.upper, -rows.lower), 0.0, None)
            dual = dual - self.epsilon * xp.abs(c).sum(dtype=xp.float64)
        move = c if center is None else c - center
        proximal = 0.5 * float((move * move / sigma).sum(dtype=xp.float64))
        return Response(c, curvature, float(loss.sum(dtype=xp.float64)), float(dual), proximal)


class Hinge(CorneredLoss):
    """C max(0, 1 − y f) for y = ±1 [LL05, (P1)]."""

    def target(self, xp: Any, y: Any, C: Any) -> Target:
        """Return y and C with the box of (P2), in c = y λ."""
        return Target(y, C, xp.clip(y, -1.0, 0.0) * C, xp.clip(y, 0.0, 1.0) * C)


class SmoothLoss:
    """A loss with two derivatives, which needs no rounding. Its dual term is ℓ + c f (Fenchel)."""

    smooth = True

    def target(self, xp: Any, y: Any, C: Any) -> Target:
        """Return y and C."""
        return Target(y, C)

    def coef(self, xp: Any, f: Any, rows: Target, center: Any, sigma: Any) -> Any:
        """Return the coefficients of the rows at the decision values f."""
        return self.respond(xp, f, rows, center, sigma).coef

    def respond(self, xp: Any, f: Any, rows: Target, center: Any, sigma: Any) -> Response:
        """Return how the rows respond to the decision values f."""
        loss, coef, curvature = self.terms(xp, f, rows.y, rows.C)
        total = float(loss.sum(dtype=xp.float64))
        return Response(coef, curvature, total, total + float((coef * f).sum(dtype=xp.float64)))

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
