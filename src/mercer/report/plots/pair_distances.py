"""How far apart similar and dissimilar pairs are, in the feature space of a kernel."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.pairs import Pairs
from mercer.report.plots.style import COLOURS, make_axes, tidy
from mercer.search.pairs import pair_distances

SIZE = (4.5, 3.2)  # inches
N_BARS = 30


def plot_pair_distances(kernel: Any, X: Any, pairs: Any, ax: Any = None) -> Any:
    """Draw histograms of the distances of similar and of dissimilar pairs; a good kernel has two hills.

    Parameters
    ----------
    kernel : kernel
        Of mercer or of scikit-learn.
    X : array-like of shape (n, n_features)
        The samples.
    pairs : Pairs
        Similar and dissimilar samples, best held-out ones, which the kernel was not learned from.
    ax : matplotlib Axes, default=None
        Where to draw. None makes a new figure with pyplot.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import Pairs
    >>> from mercer.kernels import Stump
    >>> from mercer.report import plot_pair_distances
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot_pair_distances(Stump(), X, Pairs.from_labels(y))
    >>> ax.get_xlabel()
    'distance by the kernel'
    """
    rows = np.asarray(X, dtype=np.float64)
    kinds = Pairs(*pairs).check(len(rows))
    distances = [np.sqrt(pair_distances(kernel, rows, kind)) if len(kind) else np.zeros(0) for kind in kinds]
    return draw_distances(distances, make_axes(ax, SIZE))


def draw_distances(distances: Sequence[Array], ax: Any) -> Any:
    """Draw the histograms of the distances of similar and of dissimilar pairs."""
    longest = max((float(d.max()) for d in distances if len(d)), default=0.0)
    edges = np.linspace(0.0, longest or 1.0, N_BARS + 1)
    looks = (("similar", COLOURS[0], ""), ("dissimilar", COLOURS[1], "///"))
    for (name, colour, hatch), d in zip(looks, distances, strict=True):
        shares = np.histogram(d, edges)[0] / max(len(d), 1)
        ax.stairs(shares, edges, fill=True, color=colour, alpha=0.45, hatch=hatch, label=f"{name} ({len(d)})")
    ax.set(xlabel="distance by the kernel", ylabel="share of the pairs")
    ax.set_ylim(bottom=0.0)
    ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    tidy(ax)
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)  # above the bars
    return ax
