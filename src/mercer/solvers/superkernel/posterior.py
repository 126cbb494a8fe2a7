r"""Weights of Gram matrices at which the labels are most probable [OSW02, (7), with a floor].

.. math:: \min_{\beta \ge 0} \frac1n \min_f \Bigl[ \sum_i \log(1 + e^{-y_i f_i}) + \tfrac12 f^\top K^{-1} f
          + \tfrac12 \log\det K \Bigr] + \tfrac12 \beta^\top M \beta, \qquad K = \sum_i \beta_i K_i +
          \varepsilon I.

Without ε it is unbounded below: log det K goes to −∞ with K, or with any eigenvalue of it. ε is the variance
of noise on f, and the floor of all eigenvalues. f is found by Newton's method, β by L-BFGS-B, for which
(Lemma 7)

.. math:: \partial_{\beta_i} = \frac1{2n} \bigl( \operatorname{tr}(K^{-1} K_i) - a^\top K_i a \bigr)
          + (M \beta)_i, \qquad a = K^{-1} f .

The log-determinant is concave: the minimum may be a local one. Each step costs O(n³).

Where samples are few, the minimum is often β = 0: the noise alone explains the labels. Then the question that
has an answer is which kernel is best among those of variance one (`minimize_at_variance_one`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.special import expit

from mercer._typing import Array
from mercer.solvers.superkernel.grams import Grams
from mercer.solvers.superkernel.weights import TINY, KernelWeights, Penalty, Stopping


class PosteriorSettings(NamedTuple):
    """What steers the search, and what goes wrong without it."""

    newton_steps: int = 100
    newton_tol: float = 1e-10
    """Newton's method for f ends after this many steps, or when one gains less than this share of the value.
    L-BFGS-B takes rougher values for kinks, and stops on its line search."""
    least_curvature: float = 1e-12
    """Of the loss of a row. Far from the boundary it is zero, and 1/W no number."""
    shortest: float = 1e-10
    """Share of a Newton step below which halving it ends: there, the value does not fall for rounding."""
    value_tol: float = 1e-3
    slope_tol: float = 1e-8
    """L-BFGS-B stops when a step gains less than this share of `tol`, or no slope is larger than this. There
    is no bound here that would say how far the minimum is: a `tol` taken at its word stops too early."""


SETTINGS = PosteriorSettings()


class PosteriorMode(NamedTuple):
    """The most probable f, and what it costs."""

    value: float  # Σ log(1 + exp(−y f)) + ½ fᵀK⁻¹f
    a: Array  # K⁻¹ f


def most_probable(K: Array, y: Array) -> PosteriorMode:
    """Return the minimum over f, by Newton's method in a = K⁻¹ f with halved steps. K has full rank."""
    a = np.zeros(len(y))
    value = _cost(K, y, a)
    for _ in range(SETTINGS.newton_steps):
        f = K @ a
        p = expit(-y * f)
        W = np.maximum(p * (1.0 - p), SETTINGS.least_curvature)
        root = np.sqrt(W)
        B = root[:, None] * K * root
        B[np.diag_indices_from(B)] += 1.0
        b = W * f + y * p
        target = b - root * cho_solve(cho_factor(B, lower=True), root * (K @ b))
        t = 1.0
        while (ahead := _cost(K, y, a + t * (target - a))) > value and t > SETTINGS.shortest:
            t /= 2.0
        gained = value - ahead
        if gained > 0.0:
            a, value = a + t * (target - a), ahead
        if gained <= SETTINGS.newton_tol * value:
            break
    return PosteriorMode(value, a)


def _cost(K: Array, y: Array, a: Array) -> float:
    f = K @ a
    return float(np.logaddexp(0.0, -y * f).sum() + 0.5 * a @ f)


def minimize_posterior(
    grams: Grams, targets: Sequence[Array], penalty: Penalty, noise: float, stopping: Stopping
) -> KernelWeights:
    """Return weights at a minimum; the mean over several targets of −1 and 1. There is no lower bound."""
    tol, max_iter, progress = stopping
    size = 1.0 / np.sqrt(penalty.diagonal)  # unknowns of one size
    history: list[float] = []

    def cost(u: Array) -> tuple[float, Array]:
        beta = size * u
        value, slope = _posterior_and_slope(grams, targets, noise, beta)
        return value + penalty.value(beta), size * (slope + penalty.slope(beta))

    def report(intermediate_result: object) -> None:
        history.append(float(intermediate_result.fun))  # type: ignore[attr-defined]
        if progress is not None and progress(len(history)):
            raise StopIteration

    start = 1.0 / max(float(size @ grams.spreads()), TINY)
    start = min(start, np.sqrt(0.5 / penalty.value(size)))
    found = minimize(
        cost,
        np.full(grams.n_terms, start),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * grams.n_terms,
        callback=report,
        options={"maxiter": max_iter, "ftol": SETTINGS.value_tol * tol, "gtol": SETTINGS.slope_tol},
    )
    least, n_iter = float(found.fun), len(history)
    return KernelWeights(
        size * found.x, least, -np.inf, np.array(history or [least]), n_iter, is_cut_off=n_iter == max_iter
    )


def minimize_at_variance_one(
    grams: Grams, targets: Sequence[Array], noise: float, stopping: Stopping
) -> KernelWeights:
    """Return the weights at a minimum among kernels in whose space the rows have variance one.

    Terms in which all rows are equal have no weight, and no penalty counts: the size of the kernel is given.
    """
    spreads = grams.spreads()
    some = np.flatnonzero(spreads > 0.0)
    beta = np.zeros(grams.n_terms)

    def cost(u: Array) -> tuple[float, Array]:
        share = u / u.sum()  # of the variance
        beta[some] = share / spreads[some]
        value, slope = _posterior_and_slope(grams, targets, noise, beta)
        slope = slope[some] / spreads[some]
        return value, (slope - share @ slope) / u.sum()

    options = {"maxiter": stopping.max_iter, "ftol": SETTINGS.value_tol * stopping.tol}
    bounds = [(0.0, None)] * len(some)
    found = minimize(cost, np.ones(len(some)), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    beta[some] = found.x / found.x.sum() / spreads[some]
    least = float(found.fun)
    return KernelWeights(beta, least, -np.inf, np.array([least]), int(found.nit))


def _posterior_and_slope(
    grams: Grams, targets: Sequence[Array], noise: float, beta: Array
) -> tuple[float, Array]:
    """Return (7) with noise, divided by n, and its derivatives by β."""
    n = grams.n_rows
    K = grams.combine(beta)
    K[np.diag_indices_from(K)] += noise
    factor = cho_factor(K, lower=True)
    value = float(np.log(np.diag(factor[0])).sum())  # (7), ½ log det K
    slope = 0.5 * grams.products(cho_solve(factor, np.eye(n)))
    for y in targets:
        found = most_probable(K, y)
        value += found.value / len(targets)  # (7), the rest
        slope -= 0.5 * grams.quadratics(found.a) / len(targets)  # Lemma 7: f stays where it is
    return value / n, slope / n
