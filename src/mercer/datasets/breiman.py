"""Breiman's two-class problems with normal classes [Breiman 1999, used by LL05].

The densities are known, so the Bayes classifier is too: it is the sign of `log_ratio`.
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.utils import check_random_state

from mercer._typing import Array, Labels

RandomState = int | np.random.RandomState | None


class NormalClass(NamedTuple):
    """A class whose rows are an equal mixture of the normal distributions N(means[k], scale² I)."""

    means: Array
    scale: float

    def draw(self, n: int, rng: np.random.RandomState) -> Array:
        """Return n independent rows."""
        centres = self.means[rng.randint(len(self.means), size=n)]
        return centres + self.scale * rng.standard_normal(centres.shape)

    def log_density(self, X: Array) -> Array:
        """Return the log density of each row, up to the factor (2π)^(−D/2) that all classes share."""
        n_means, D = self.means.shape
        squared = np.stack([((X - mean) ** 2).sum(axis=1) for mean in self.means]) / self.scale**2
        mixture: Array = logsumexp(-squared / 2, axis=0)
        log_factor: float = math.log(n_means) + D * math.log(self.scale)
        return mixture - log_factor


def _twonorm(D: int) -> tuple[NormalClass, NormalClass]:
    a = np.full((1, D), 2 / np.sqrt(D))
    return NormalClass(a, 1.0), NormalClass(-a, 1.0)


def _threenorm(D: int) -> tuple[NormalClass, NormalClass]:
    a = np.full((1, D), 2 / np.sqrt(D))
    alternating = a * np.where(np.arange(D) % 2, -1, 1)
    return NormalClass(np.vstack([a, -a]), 1.0), NormalClass(alternating, 1.0)


def _ringnorm(D: int) -> tuple[NormalClass, NormalClass]:
    return NormalClass(np.zeros((1, D)), 2.0), NormalClass(np.full((1, D), 1 / np.sqrt(D)), 1.0)


PROBLEMS: Mapping[str, Callable[[int], tuple[NormalClass, NormalClass]]] = {
    "twonorm": _twonorm,
    "threenorm": _threenorm,
    "ringnorm": _ringnorm,
}
"""Name of each problem -> function of the dimension that gives its classes +1 and −1."""


def twonorm(
    n_samples: int = 300, n_features: int = 20, *, label_noise: float = 0.0, random_state: RandomState = None
) -> tuple[Array, Labels]:
    """Draw Breiman's twonorm: class +1 is N(a, I) and class −1 is N(−a, I), a = (2, …, 2)/√D.

    Parameters
    ----------
    n_samples, n_features : int
        The shape of X. Each row is of either class with probability 1/2.
    label_noise : float
        The share of labels to flip: exactly ``round(label_noise * n_samples)`` rows, chosen at random.
        The rows are those of the same ``random_state`` without noise.
    random_state : int, RandomState or None

    Returns
    -------
    X : array of shape (n_samples, n_features)
    y : array of −1 and +1

    Examples
    --------
    >>> from mercer.datasets import log_ratio, twonorm
    >>> X, y = twonorm(1000, random_state=0)
    >>> bool((y * log_ratio("twonorm", X) > 0).mean() > 0.95)
    True
    """
    return _draw("twonorm", n_samples, n_features, label_noise, random_state)


def threenorm(
    n_samples: int = 300, n_features: int = 20, *, label_noise: float = 0.0, random_state: RandomState = None
) -> tuple[Array, Labels]:
    """Draw Breiman's threenorm: class +1 is N(a, I) or N(−a, I) with equal chances, class −1 is N(b, I).

    Here a = (2, 2, …)/√D and b = (2, −2, 2, …)/√D. Parameters and results are those of `twonorm`.
    """
    return _draw("threenorm", n_samples, n_features, label_noise, random_state)


def ringnorm(
    n_samples: int = 300, n_features: int = 20, *, label_noise: float = 0.0, random_state: RandomState = None
) -> tuple[Array, Labels]:
    """Draw Breiman's ringnorm: class +1 is N(0, 4I) and class −1 is N(a, I), a = (1, …, 1)/√D.

    Other sources put the mean at 2/√D; it is 1/√D that gives the published numbers of [LL05].
    Parameters and results are those of `twonorm`.
    """
    return _draw("ringnorm", n_samples, n_features, label_noise, random_state)


def log_ratio(problem: str, X: ArrayLike) -> Array:
    """Return log p(x | +1) − log p(x | −1) for each row x of a problem, ``"threenorm"`` for instance.

    The classes being equally likely, its sign is the Bayes classifier and its zero set the optimal boundary.
    """
    rows = np.atleast_2d(np.asarray(X, dtype=np.float64))
    positive, negative = _classes(problem, rows.shape[1])
    return positive.log_density(rows) - negative.log_density(rows)


def _classes(problem: str, n_features: int) -> tuple[NormalClass, NormalClass]:
    if problem not in PROBLEMS:
        raise ValueError(f"There is no synthetic problem {problem!r}; choose from {', '.join(PROBLEMS)}.")
    return PROBLEMS[problem](n_features)


def _draw(
    problem: str, n_samples: int, n_features: int, label_noise: float, random_state: RandomState
) -> tuple[Array, Labels]:
    if n_samples < 1 or n_features < 1:
        raise ValueError(f"n_samples and n_features must be positive, got {n_samples} and {n_features}.")
    if not 0 <= label_noise <= 1:
        raise ValueError(f"label_noise is the share of labels to flip, from 0 to 1, got {label_noise}.")
    rng = check_random_state(random_state)
    y = np.where(rng.random_sample(n_samples) < 0.5, 1, -1).astype(np.int64)
    X = np.empty((n_samples, n_features))
    for label, normal_class in zip((1, -1), _classes(problem, n_features), strict=True):
        X[y == label] = normal_class.draw(int((y == label).sum()), rng)
    flipped = rng.permutation(n_samples)[: round(label_noise * n_samples)]
    y[flipped] *= -1
    return X, y
