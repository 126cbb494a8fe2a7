"""The confusion matrix as a picture."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix
from sklearn.utils import column_or_1d

from mercer.report.plots.style import MATRIX_COLOURS, make_axes, plain_text

MOST_NUMBERS = 15  # classes for which there is room for numbers and names


def plot_confusion(y_true: Any, y_pred: Any, ax: Any = None) -> Any:
    """Draw the confusion matrix: how many samples of each class were predicted to be of each class.

    The colour is the share of the samples of a class: with unequal classes, counts would hide the small ones.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        The classes as they are, and as they were predicted.
    ax : matplotlib Axes, default=None
        Where to draw. None makes a new figure with pyplot.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from mercer.report import plot_confusion
    >>> ax = plot_confusion(["a", "a", "b"], ["a", "b", "b"])
    >>> [text.get_text() for text in ax.texts]
    ['1', '1', '0', '1']
    """
    names, counts = count_confusions(y_true, y_pred)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax = make_axes(ax, figure_size(len(names)))
    ax.imshow(shares, cmap=MATRIX_COLOURS, vmin=0.0, vmax=1.0)
    ax.set_xlabel("predicted class")
    ax.set_ylabel("true class")
    ax.spines[:].set_visible(False)
    if len(names) > MOST_NUMBERS:
        ax.set_xticks([])
        ax.set_yticks([])
        return ax
    shown = [plain_text(name, 14) for name in names]
    ax.set_xticks(range(len(names)), shown, rotation=90 if max(map(len, shown)) > 30 / len(names) else 0)
    ax.set_yticks(range(len(names)), shown)
    ax.tick_params(left=False, bottom=False)
    for (i, j), count in np.ndenumerate(counts):
        ax.text(j, i, str(count), ha="center", va="center", color="black" if shares[i, j] > 0.5 else "white")
    return ax


def count_confusions(y_true: Any, y_pred: Any) -> tuple[list[str], NDArray[np.intp]]:
    """Return the names of the classes, and the confusion matrix: true classes down, predicted ones across."""
    truth, guess = column_or_1d(y_true), column_or_1d(y_pred)
    found = np.unique(np.concatenate([truth, guess]))
    counts: NDArray[np.intp] = confusion_matrix(truth, guess, labels=found)
    return [str(name) for name in found], counts


def figure_size(n_classes: int) -> tuple[float, float]:
    """Return the inches that this many classes need."""
    side = 2.2 + 0.38 * min(n_classes, MOST_NUMBERS)
    return side + 0.6, side
