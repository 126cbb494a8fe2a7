"""How far apart similar and dissimilar pairs are, in the feature space of a kernel."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.pairs import Pairs
from mercer.report.plots.style import COLOURS, make_axes
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
    distances = [kernel_distances(kernel, rows, kind) for kind in kinds]
    longest = max((float(d.max()) for d in distances if len(d)), default=0.0)
    edges = np.linspace(0.0, longest or 1.0, N_BARS + 1)
    ax = make_axes(ax, SIZE)
    for name, colour, hatch, d in zip(
        ("similar", "dissimilar"), COLOURS, ("", "///"), distances, strict=False
    ):
        shares = np.histogram(d, edges)[0] / max(len(d), 1)
        ax.stairs(shares, edges, fill=True, color=colour, alpha=0.45, hatch=hatch, label=f"{name} ({len(d)})")
    ax.set(xlabel="distance by the kernel", ylabel="share of the pairs")
    ax.set_ylim(bottom=0.0)
    ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)  # above the bars
    return ax


def kernel_distances(kernel: Any, X: Array, pairs: NDArray[np.intp]) -> Array:
    """Return √(k(x, x) − 2 k(x, y) + k(y, y)) of each pair, without the Gram matrix of all samples."""
    return np.sqrt(pair_distances(kernel, X, pairs)) if len(pairs) else np.zeros(0)
