"""Predicted numbers against true ones, and what is left of them."""

from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d

from mercer.report.plots.style import COLOURS, ink, make_axes

SIZE = (4.5, 3.6)


def plot_predictions(y_true: Any, y_pred: Any, low: Any = None, high: Any = None, ax: Any = None) -> Any:
    """Draw predicted numbers against true ones, with the line on which both are equal.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        The targets as they are, and as they were predicted.
    low, high : array-like of shape (n,), default=None
        The ends of prediction intervals; targets outside have another colour and another marker.
    ax : matplotlib Axes, default=None
        Where to draw. None makes a new figure with pyplot.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from mercer.report import plot_predictions
    >>> ax = plot_predictions([1.0, 2.0, 3.0], [1.1, 1.9, 3.2])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('predicted', 'true')
    """
    y, predicted = column_or_1d(y_true), column_or_1d(y_pred)
    check_consistent_length(y, predicted, low, high)
    ax = make_axes(ax, SIZE)
    ends = [min(y.min(), predicted.min()), max(y.max(), predicted.max())]
    ax.plot(ends, ends, color=ink(), linewidth=0.8)
    inside = np.ones(len(y), dtype=bool)
    if low is not None and high is not None:
        low, high, order = np.asarray(low), np.asarray(high), np.argsort(predicted, kind="stable")
        inside = (low <= y) & (y <= high)
        ax.fill_between(
            predicted[order], low[order], high[order], color=COLOURS[0], alpha=0.2, lw=0, label="interval"
        )
    ax.plot(predicted[inside], y[inside], "o", markersize=3, color=COLOURS[0])
    if not inside.all():
        ax.plot(predicted[~inside], y[~inside], "X", markersize=4, color=COLOURS[5], label="outside")
        ax.legend(frameon=False)
    ax.set_xlabel("predicted")
    ax.set_ylabel("true")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def draw_residuals(y_true: Any, y_pred: Any, ax: Any) -> None:
    """Draw what is left of the targets once the predictions are taken away."""
    ax.axhline(0.0, color=ink(), linewidth=0.8)
    ax.plot(y_pred, np.asarray(y_true) - np.asarray(y_pred), "o", markersize=3, color=COLOURS[0])
    ax.set_xlabel("predicted")
    ax.set_ylabel("true − predicted")
    ax.spines[["top", "right"]].set_visible(False)
