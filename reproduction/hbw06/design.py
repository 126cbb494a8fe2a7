"""Data for Table 1 of [HBW06]: two classes in the plane, of two Gaussians each.

The paper has a picture, which is missing from our copy, and says "created using two Gaussians". The design is
ours: of half a million drawn at random, and of what is near the best of these, it is the one where SVMs with
the linear, the quadratic and the Gaussian kernel come nearest to their six numbers in the table, among those
whose Bayes error is at most the least of the table's errors. KernelBoost had no part in the choice.
"""

import numpy as np

from mercer._typing import Array, Labels

# of class 0, then of class 1: its two Gaussians, with their deviations along axes that are turned
MEANS = np.array([[[0.6, 0.3], [1.4, -0.7]], [[0.7, -0.7], [-1.1, 0.2]]])
DEVIATIONS = np.array([[[0.16, 0.38], [0.1, 0.08]], [[0.29, 0.12], [0.47, 0.44]]])
DEGREES = np.array([[120.0, 105.0], [55.0, 145.0]])


def _factors() -> Array:
    """Return F of each covariance F Fᵀ."""
    cos, sin = np.cos(np.deg2rad(DEGREES)), np.sin(np.deg2rad(DEGREES))
    axes = np.stack([np.stack([cos, -sin], axis=-1), np.stack([sin, cos], axis=-1)], axis=-2)
    factors: Array = axes * DEVIATIONS[..., None, :]
    return factors


FACTORS = _factors()


def draw_rows(n_rows: int, stream: np.random.RandomState) -> tuple[Array, Labels]:
    """Draw rows of both classes, 0 and 1, with equal probability, and of both Gaussians of a class."""
    label, part = stream.randint(2, size=(2, n_rows))
    noise = np.einsum("nij,nj->ni", FACTORS[label, part], stream.standard_normal((n_rows, 2)))
    return MEANS[label, part] + noise, label


def log_ratio(X: Array) -> Array:
    """Return log p(x | 1) − log p(x | 0) of each row: its sign is the Bayes classifier."""
    return _log_density(X, 1) - _log_density(X, 0)


def _log_density(X: Array, label: int) -> Array:
    """Return the logarithm of the density of a class, up to a constant."""
    z = np.linalg.solve(FACTORS[label], (X[:, None, :] - MEANS[label])[..., None])[..., 0]
    exponents = -0.5 * np.sum(z**2, axis=2) - np.log(DEVIATIONS[label]).sum(axis=1)
    return np.logaddexp(exponents[:, 0], exponents[:, 1])
