"""A map of samples by kernel PCA: the two directions of the kernel's feature space of largest variance."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import KernelPCA

from mercer._typing import Array
from mercer.report.plots.gram import gram_matrix
from mercer.report.plots.style import (
    LEGEND_LETTERS,
    LONGEST_NAME,
    colour_of,
    ink,
    make_axes,
    marker_of,
    plain_text,
    read_classes,
    tidy,
)

SIZE = (4.5, 4.1)  # inches
MOST_IN_LEGEND = 10  # classes; more are named where they are
SPECK = 26.0  # the area of a marker, in square points, for few samples


class Map(NamedTuple):
    """Samples on two axes."""

    places: Array  # (n, 2)
    shares: Array  # (2,) of the variance that the axes show


def plot_embedding(kernel: Any, X: Any, y: Any = None, ax: Any = None) -> Any:
    """Draw samples on the first two axes of kernel PCA, coloured by class.

    Samples that are similar by the kernel are near each other, as far as two dimensions can show it; the axes
    say how much of the variance they explain. O(n²) memory for n samples.

    Parameters
    ----------
    kernel : kernel, or array of shape (n, n)
        A kernel of mercer or of scikit-learn, another function that gives a Gram matrix, or a Gram matrix.
    X : array-like of shape (n, n_features) or None
        The samples, best held-out ones, which the kernel was not learned from. Ignored if a Gram matrix is
        given.
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
    >>> from mercer import BoostedKernel
    >>> from mercer.report import plot_embedding
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = BoostedKernel(n_rounds=5).fit(X[::2], y[::2])
    >>> ax = plot_embedding(learner.kernel_, X[1::2], y[1::2])
    >>> len(ax.collections)  # one for each class
    3
    """
    K = gram_matrix(kernel, X)
    classes = read_classes(y, len(K))
    places, shares = map_rows(K)
    ax = make_axes(ax, SIZE)
    size = SPECK * min(1.0, 300.0 / len(places)) + 4.0
    for k, name in enumerate(classes.names):
        look = {"c": colour_of(k), "marker": marker_of(k), "label": plain_text(name)}
        ax.scatter(*places[classes.rows(k)].T, s=size, alpha=0.8, lw=0, **look)
    for axis, which, share in zip((ax.xaxis, ax.yaxis), ("first", "second"), shares, strict=True):
        axis.set_label_text(f"{which} axis: {100 * share:.0f} % of the variance")
        axis.set_ticks([])
    ax.set_aspect("equal", adjustable="datalim")  # distances are what the map is about
    tidy(ax)
    if y is not None and len(classes.names) <= MOST_IN_LEGEND:
        longest = min(LONGEST_NAME, max(map(len, classes.names)))
        columns = max(1, min(len(classes.names), LEGEND_LETTERS // (longest + 5)))
        spaces = {"handletextpad": 0.2, "columnspacing": 1.2, "bbox_to_anchor": (0.5, -0.1)}
        ax.legend(loc="upper center", ncols=columns, frameon=False, **spaces)
    elif y is not None:
        for k, name in enumerate(classes.names):
            middle = np.median(places[classes.rows(k)], axis=0)
            ax.annotate(plain_text(name, 8), middle, color=ink(), ha="center", va="center", weight="bold")
    return ax


def map_rows(K: Array) -> Map:
    """Return the first two coordinates of kernel PCA; zero where there are no more directions."""
    pca = KernelPCA(2, kernel="precomputed", eigen_solver="dense")
    found = pca.fit_transform((K + K.T) / 2.0)
    total = float(np.trace(K) - K.sum() / len(K))  # of the matrix when it is centred
    places, shares = np.zeros((len(K), 2)), np.zeros(2)
    places[:, : found.shape[1]] = found
    if total > 0:
        shares[: found.shape[1]] = np.minimum(pca.eigenvalues_ / total, 1.0)
    return Map(places, shares)
