"""The Gaussians of a KernelBoost kernel, on the first two principal axes of the samples."""

from typing import Any

import numpy as np
from sklearn.utils.extmath import svd_flip

from mercer._typing import Array
from mercer.kernels import Mixture, Rescaled
from mercer.kernels.base import as_rows
from mercer.report.plots.embedding import MOST_IN_LEGEND
from mercer.report.plots.style import draw_legend, draw_rows, ink, make_axes, read_classes, tidy

SIZE = (4.5, 4.1)  # inches
MOST_MIXTURES = 6  # drawn, those of the largest weights
RADIUS = 2.0  # standard deviations, from the middle of an ellipse to its line
N_POINTS = 200
LINE = 1.3  # the width of the boldest line


def plot_gaussians(kernel: Any, X: Any, y: Any = None, ax: Any = None) -> Any:
    """Draw the Gaussians of a KernelBoost kernel [HBW06], of the mixtures of largest weight, and samples.

    Each ellipse is drawn at two standard deviations. The axes are the first two principal axes of the
    samples, onto which the Gaussians are projected; with two features they are the features themselves. The
    larger the weight of a mixture, the bolder its lines.

    Parameters
    ----------
    kernel : Mixture, or Rescaled with a Mixture as its base
        The kernel; or a fitted learner that has it as `kernel_`.
    X : array-like of shape (n, n_features)
        Samples to draw, and whose principal axes to take.
    y : array-like of shape (n,), default=None
        Their classes. None: all samples look the same.
    ax : matplotlib Axes, default=None
        Where to draw. None makes a new figure with pyplot.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelBoost
    >>> from mercer.report import plot_gaussians
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = KernelBoost(n_rounds=2, random_state=0).fit(X, y)
    >>> ax = plot_gaussians(learner, X, y)
    >>> ax.get_xlabel()
    'first principal axis'
    """
    kernel, rows = getattr(kernel, "kernel_", kernel), as_rows(X)
    if isinstance(kernel, Rescaled):
        kernel, rows = kernel.base, kernel.scaled(rows)
    if not isinstance(kernel, Mixture):
        raise TypeError(f"{type(kernel).__name__} has no Gaussians: give the kernel of a KernelBoost")
    if rows.shape[1] < 2:
        raise ValueError("one feature has no second axis: give samples of two features or more")
    classes, axes = read_classes(y, len(rows)), _principal_axes(rows)
    ax = make_axes(ax, SIZE)
    strength = kernel.alpha / (kernel.alpha.max() or 1.0)
    for t in np.argsort(-kernel.alpha, kind="stable")[:MOST_MIXTURES]:
        _draw_ellipses(ax, kernel.means[t] @ axes, axes.T @ kernel.covariances(t) @ axes, strength[t])
    kind = "feature" if rows.shape[1] == 2 else "principal axis"
    ax.set(xticks=[], yticks=[])  # the numbers along principal axes mean nothing
    ax.set(xlabel=f"first {kind}", ylabel=f"second {kind}")
    draw_rows(ax, rows @ axes, classes, size=18, alpha=0.7)
    tidy(ax)
    if y is not None and len(classes.names) <= MOST_IN_LEGEND:
        draw_legend(ax, classes.names)
    return ax


def _principal_axes(X: Array) -> Array:
    """Return the two directions of largest variance as columns; of two features, these."""
    if X.shape[1] == 2:
        return np.eye(2)
    axes: Array = np.linalg.svd(X - X.mean(axis=0), full_matrices=True)[2][:2].T
    return svd_flip(axes, None)[0]  # the sign means nothing: the largest entry is positive


def _draw_ellipses(ax: Any, means: Array, covariances: Array, strength: float) -> None:
    angle = np.linspace(0.0, 2.0 * np.pi, N_POINTS)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    for mean, covariance in zip(means, covariances, strict=True):
        values, vectors = np.linalg.eigh(covariance)
        x, y = mean[:, None] + RADIUS * (vectors * np.sqrt(np.maximum(values, 0.0))) @ circle
        ax.plot(x, y, color=ink(), lw=LINE * (0.4 + 0.6 * strength), alpha=0.2 + 0.4 * strength)
