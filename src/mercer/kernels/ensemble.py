"""Finite random ensembles of the hypotheses that the distance kernels hold all of, as feature maps [LL05].

The stump and the perceptron kernel are inner products of infinitely many votes h(x) = ±1
[LL05, Definition 1]. An ensemble draws finitely many of those hypotheses and keeps their votes as features,

    φ(x) = scale · (h_1(x), …, h_n(x)),    scale = (Δ / n)^½,

so that the expectation of <φ(x), φ(x')> over the draws is the kernel of all of them, for rows inside the
box or the ball that it spans. A vote on the threshold counts as +1, so every φ(x) has the same length Δ^½.
"""

from typing import Any, final

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.array_api import like, matching, namespace
from mercer.kernels.base import FeatureKernel, as_rows


@final
class StumpEnsemble(FeatureKernel):
    """Decision stumps as features: h_t(x) = sign((x)_{d_t} − α_t) [LL05, Section IV].

    Usually drawn by `Stump.sample`, which see. Costs O(n_hypotheses) per row.

    Parameters
    ----------
    features : array of shape (n_hypotheses,)
        The column d_t that each stump looks at.
    thresholds : array of shape (n_hypotheses,)
        The threshold α_t of each stump.
    scale : float
        The length of one vote.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import StumpEnsemble
    >>> ensemble = StumpEnsemble(features=np.array([0, 1]), thresholds=np.array([0.5, 2.0]), scale=1.0)
    >>> ensemble.transform([[0.0, 3.0], [1.0, 1.0]])
    array([[-1.,  1.],
           [ 1., -1.]])
    """

    def __init__(self, features: Any, thresholds: Any, scale: float) -> None:
        self.features = features
        self.thresholds = thresholds
        self.scale = scale

    def transform(self, X: Any) -> Array:
        """Return the scaled votes of the stumps, one row for each row of X."""
        rows = as_rows(X)
        last = np.max(self.features)
        if rows.shape[1] <= last:
            raise ValueError(f"X has {rows.shape[1]} columns, but a stump looks at column {last} (from 0)")
        return _votes(rows[:, like(rows, np.asarray(self.features))], self.thresholds, self.scale)


@final
class PerceptronEnsemble(FeatureKernel):
    """Perceptrons as features: h_t(x) = sign(θ_tᵀx − α_t) [LL05, Section V].

    Usually drawn by `Perceptron.sample`, which see. Costs O(D · n_hypotheses) per row. It is a layer of
    random neurons with hard thresholds.

    Parameters
    ----------
    directions : array of shape (n_hypotheses, D)
        The unit normal θ_t of each perceptron.
    thresholds : array of shape (n_hypotheses,)
        The threshold α_t of each perceptron.
    scale : float
        The length of one vote.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import PerceptronEnsemble
    >>> ensemble = PerceptronEnsemble(np.array([[0.6, 0.8]]), thresholds=np.array([1.0]), scale=2.0)
    >>> ensemble.transform([[0.0, 0.0], [1.0, 1.0]])
    array([[-2.],
           [ 2.]])
    """

    def __init__(self, directions: Any, thresholds: Any, scale: float) -> None:
        self.directions = directions
        self.thresholds = thresholds
        self.scale = scale

    def transform(self, X: Any) -> Array:
        """Return the scaled votes of the perceptrons, one row for each row of X."""
        rows = as_rows(X)
        return _votes(rows @ matching(rows, self.directions).T, self.thresholds, self.scale)


def draw_stumps(
    lower: Array, upper: Array, n_hypotheses: int, rng: RandomState
) -> tuple[NDArray[np.intp], Array]:
    """Draw the features and thresholds of stumps, uniformly from all stumps of the box [lower, upper].

    The D threshold intervals are laid end to end, so that one number picks the feature and the threshold.
    The numbers are stratified, one to each n-th part of that line: each stump is still uniform over its
    part, so the mean over all of them is unbiased, but the error of a kernel value falls like 1/n and
    not 1/√n, because only the few parts that hold one of the 2D jumps of the votes add to it.
    """
    ends = np.cumsum(upper - lower)
    places = (np.arange(n_hypotheses) + rng.uniform(size=n_hypotheses)) / n_hypotheses * ends[-1]
    # a box without width has no place to its right either: its stumps look at the last feature
    features = np.minimum(np.searchsorted(ends, places, side="right"), len(ends) - 1)
    return features, upper[features] - (ends[features] - places)


def draw_perceptrons(
    center: Array, radius: float, n_hypotheses: int, rng: RandomState
) -> tuple[Array, Array]:
    """Draw the directions and thresholds of perceptrons, uniformly from all that may cut the ball."""
    normals = rng.standard_normal(size=(n_hypotheses, len(center)))
    directions = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    return directions, directions @ center + rng.uniform(-radius, radius, size=n_hypotheses)


def _votes(values: Array, thresholds: Array, scale: float) -> Array:
    votes: Array = namespace(values).astype(values >= matching(values, thresholds), values.dtype)
    return 2.0 * scale * votes - scale
