r"""Probabilities from decision values that a model had for samples it had not seen.

.. math:: p_c(x) \propto \exp(a\, d_c(x) + b_c)

with the a ≥ 0 and b that make the true classes of such samples most likely. Of two classes, whose decision
is one number f, that is the sigmoid of a f + b, Platt's [P99]; of more it is temperature scaling [GPSW17]
with an offset for each class. Targets are Platt's: of a class of N samples (N + 1) / (N + 2), and the rest
for the others, so that classes that are separated without an error do not get probabilities of 0 and 1.

[P99] Platt: Probabilistic outputs for support vector machines. Advances in Large Margin Classifiers, 1999.
[GPSW17] Guo, Pleiss, Sun, Weinberger: On calibration of modern neural networks. ICML 2017.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax, softmax

from mercer._typing import Array, Index

MOST_STEPS = 50


class Calibration(NamedTuple):
    """How decision values become probabilities: softmax of `slope` × decision + `offsets`, class by class."""

    slope: float
    offsets: Array  # (n_classes,)

    def __call__(self, decisions: Array) -> Array:
        """Return the probability of each class, (n_samples, n_classes), from decision values."""
        probabilities: Array = softmax(self.values(decisions), axis=1)
        return probabilities

    def values(self, decisions: Array) -> Array:
        """Return their logarithms but for a constant of each sample."""
        return self.slope * by_class(decisions) + self.offsets


def by_class(decisions: Array) -> Array:
    """Return one column per class: of two classes, whose decision is f, −f/2 and f/2."""
    decisions = np.asarray(decisions, dtype=np.float64)
    if decisions.ndim == 2 and decisions.shape[1] > 1:
        return decisions
    half = decisions.reshape(-1) / 2.0
    return np.column_stack([-half, half])


def fit_calibration(
    decisions: Array, truth: Index, weight: Array | None = None, *, plain: bool = False
) -> Calibration:
    """Return the calibration under which the classes of some samples are most likely.

    It has offsets only where the samples ask for them, by the Bayesian information criterion: without any,
    the most probable class is the one of the largest decision value.

    Parameters
    ----------
    decisions : array of shape (n,), (n, 1) or (n, n_classes)
        Of a model that has not seen these samples.
    truth : array of shape (n,)
        Their classes, as positions.
    weight : array of shape (n,), default=None
        How much each counts.
    plain : bool, default=False
        Whether there shall be no offsets in any case, which takes less time.
    """
    D = by_class(decisions)
    w = np.ones(len(D)) if weight is None else np.asarray(weight, dtype=np.float64)
    unit = float(np.sqrt(w @ np.sum(D**2, axis=1) / w.sum())) or 1.0  # decisions have units of their own
    targets = _targets(truth, D.shape[1], w)
    n_offsets = D.shape[1] - 1
    plain_slope, loss = _maximize(D / unit, targets, w, np.zeros(1))
    if plain:
        return Calibration(float(max(plain_slope[0], 0.0) / unit), np.zeros(D.shape[1]))
    shifted, less = _maximize(D / unit, targets, w, np.append(plain_slope, np.zeros(n_offsets)))
    found = shifted if 2.0 * (loss - less) > n_offsets * np.log(w.sum()) else plain_slope
    offsets = np.zeros(D.shape[1])
    offsets[D.shape[1] - len(found[1:]) :] = found[1:]
    return Calibration(float(max(found[0], 0.0) / unit), offsets - offsets.mean())


def _maximize(D: Array, targets: Array, w: Array, start: Array) -> tuple[Array, float]:
    """Return slope and offsets of the greatest likelihood, by Newton's method, and the loss: −log of that.

    There are as many as in `start`. The first class has no offset, since a constant changes nothing.
    """
    n_offsets = len(start) - 1
    shifted = slice(D.shape[1] - n_offsets, None)  # the classes that have an offset
    weighted_targets = w[:, None] * targets

    def evaluate(parameters: Array) -> tuple[float, Array]:
        """Return the loss, and the probabilities."""
        Z = parameters[0] * D
        Z[:, shifted] += parameters[1:]
        Z -= Z.max(axis=1, keepdims=True)
        P = np.exp(Z)
        total = P.sum(axis=1, keepdims=True)
        Z -= np.log(total)
        P /= total
        return -float(np.vdot(weighted_targets, Z)), P

    parameters = start
    value, P = evaluate(parameters)
    for _ in range(MOST_STEPS):
        weighted = w[:, None] * P
        apart = weighted - weighted_targets
        centred = D - np.sum(P * D, axis=1, keepdims=True)
        gradient = np.append(np.vdot(apart, D), apart[:, shifted].sum(axis=0))
        H = np.empty((len(parameters), len(parameters)))
        H[0, 0] = np.vdot(weighted, centred**2)
        H[0, 1:] = H[1:, 0] = np.sum(weighted * centred, axis=0)[shifted]
        H[1:, 1:] = np.diag(weighted[:, shifted].sum(axis=0)) - P[:, shifted].T @ weighted[:, shifted]
        step, scale = np.linalg.lstsq(H, gradient, rcond=1e-12)[0], 1.0
        while (tried := evaluate(parameters - scale * step))[0] > value and scale > 1e-6:
            scale /= 2.0
        if not tried[0] <= value:
            break
        parameters, gain, (value, P) = parameters - scale * step, value - tried[0], tried
        if gain <= 1e-12 * abs(value):  # the next one would be the square of that
            break
    return parameters, value


def _targets(truth: Index, n_classes: int, weight: Array) -> Array:
    """Return Platt's targets: how likely each class is to be that of a sample of this class."""
    counts = np.bincount(truth, weight, minlength=n_classes)[truth]
    targets = np.repeat(1.0 / ((counts + 2.0) * (n_classes - 1))[:, None], n_classes, axis=1)
    targets[np.arange(len(truth)), truth] = (counts + 1.0) / (counts + 2.0)
    return targets


def log_losses(values: Array, label: Index) -> Array:
    """Return −log of the probability of each sample's class, (n_settings, n_samples)."""
    losses: Array = -log_softmax(values, axis=2)[:, np.arange(len(label)), label]
    return losses
