"""The shape functions of an additive model as small multiples: all of it, one panel per feature."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mercer._typing import Array
from mercer.report.plots.additive_model import AdditiveModel, read_model
from mercer.report.plots.style import COLOURS, ink, new_figure, plain_text, tidy

MOST_PANELS = 12  # drawn unless `features` says otherwise
COLUMNS = 4
PANEL_SIZE = (2.6, 2.1)  # inches
SIDES = (COLOURS[0], COLOURS[5])  # below zero and above, for all kinds of colour vision
WASH = 0.3  # how much of them shows: the ground may be light or dark
DATA = "#8f979f"
MARGIN = 0.04  # of the width of a panel, beyond the data: there g is constant
ROOM_FOR_DATA = 0.2  # of the height of a panel, below the curves
N_BARS = 30


def plot_shapes(
    model: Any,
    *,
    features: int | Sequence[int | str] | None = None,
    feature_names: Sequence[str] | None = None,
    X: ArrayLike | None = None,
    problem: int | None = None,
    axes: Any = None,
) -> NDArray[Any]:
    r"""Draw the shape functions of a fitted stump SVM or regressor, the most important features first.

    The model is exactly :math:`f(x) = \sum_d g_d(x_d) + b`: where :math:`g_d` is above zero, feature d is
    evidence for the second class, below zero for the first; of a regressor, it raises or lowers the
    prediction. All panels share the y axis: heights can be compared.

    Parameters
    ----------
    model : StumpSVC or StumpRegressor, or a pipeline that ends in one
        A fitted model. Of a pipeline of linear scalers (`ClippedScaler`, `MinMaxScaler`,
        `StandardScaler`, `MaxAbsScaler`, `RobustScaler`) and the model, the x axes
        show the values before scaling.
    features : int or sequence of int or str, default=None
        How many of the most important, or which (by number or name) and in which order. None: as many as
        there are `axes`, or at most 12.
    feature_names : sequence of str, default=None
        One per feature. None: those that the model saw in `fit` (`feature_names_in_`), or x0, x1, …
    X : array-like of shape (n_samples, n_features), default=None
        Samples whose distribution to draw below each curve, as the model would predict them (of a pipeline:
        before scaling). With them, the importance of a feature is the standard deviation of :math:`g_d` over
        these samples; without, the height from the lowest to the highest point of :math:`g_d`.
    problem : int, default=None
        Which two-class problem, of a model of more than two classes, see `StumpSVC.shape_functions_`; or
        which target of several.
    axes : matplotlib Axes or array of Axes, default=None
        Where to draw, one per feature. None makes a new figure with pyplot.

    Returns
    -------
    array of matplotlib Axes, of shape (n_panels,)

    Examples
    --------
    >>> from mercer import StumpSVC
    >>> from mercer.datasets import twonorm
    >>> from mercer.report import plot_shapes
    >>> X, y = twonorm(300, n_features=6, random_state=0)
    >>> axes = plot_shapes(StumpSVC(C=0.01).fit(X, y), X=X, features=3)
    >>> len(axes)
    3
    """
    given = None if axes is None else np.atleast_1d(np.asarray(axes, dtype=object)).ravel()
    additive = read_model(model, problem, feature_names)
    rows = None if X is None else additive.check_rows(X)
    chosen = _choose(additive, len(given) if features is None and given is not None else features, rows)
    panels = _make_panels(additive, len(chosen), rows is not None) if given is None else given
    if len(panels) != len(chosen):
        raise ValueError(f"There are {len(panels)} axes for {len(chosen)} features: give one for each.")
    lowest, highest = _vertical_range(additive, chosen, rows is not None)
    for ax, d in zip(panels, chosen, strict=True):
        _draw_shape(ax, additive, d, None if rows is None else rows[:, d])
        ax.set_ylim(lowest, highest)
    return panels


def _make_panels(additive: AdditiveModel, n_panels: int, with_data: bool) -> NDArray[Any]:
    """Return the panels of a new figure, with a legend and a common label."""
    from matplotlib.patches import Patch

    n_columns = min(COLUMNS, n_panels)
    n_lines = -(-n_panels // n_columns)
    figure = new_figure((PANEL_SIZE[0] * n_columns + 0.4, PANEL_SIZE[1] * n_lines + 0.4), "constrained")
    grid = figure.subplots(n_lines, n_columns, sharey=True, squeeze=False)
    panels: NDArray[Any] = grid.ravel()
    for unused in panels[n_panels:]:
        unused.remove()
    for ax in grid[:, 1:].ravel():
        ax.tick_params(left=False)
    sides = zip(additive.sides(), SIDES, strict=True)
    keys = [(plain_text(text), colour, WASH) for text, colour in sides]
    keys += [("distribution of the samples", DATA, 1.0)] if with_data else []
    patches = [Patch(color=colour, alpha=alpha, lw=0, label=text) for text, colour, alpha in keys]
    figure.legend(handles=patches, loc="outside upper center", ncols=3, frameon=False)
    what = "prediction" if additive.classes is None else "decision"
    figure.supylabel(f"contribution to the {what}", fontsize="medium")
    return panels[:n_panels]


def _choose(additive: AdditiveModel, features: Any, rows: Array | None) -> list[int]:
    """Return the numbers of the features to draw, in order."""
    if features is None:
        features = MOST_PANELS
    if isinstance(features, (int, np.integer)):
        if features < 1:
            raise ValueError(f"features={features}: there is nothing to draw.")
        chosen = [int(d) for d in np.argsort(-additive.importance(rows), kind="stable")[:features]]
    else:
        chosen = [additive.number_of(feature) for feature in features]
    if not chosen:
        raise ValueError("features is empty: there is nothing to draw.")
    return chosen


def _vertical_range(additive: AdditiveModel, chosen: Sequence[int], with_data: bool) -> tuple[float, float]:
    values = np.concatenate([additive.shapes[d].values for d in chosen] + [[0.0]])
    height = float(np.ptp(values)) or 1.0
    below = ROOM_FOR_DATA + 0.05 if with_data else 0.08
    return float(values.min()) - below * height, float(values.max()) + 0.08 * height


def _draw_shape(ax: Any, additive: AdditiveModel, d: int, column: Array | None) -> None:
    knots, values = additive.shapes[d]
    ends = knots if column is None else np.append(knots, column)
    width = float(np.ptp(ends)) or 1.0
    left, right = float(ends.min()) - MARGIN * width, float(ends.max()) + MARGIN * width
    x, g = np.concatenate([[left], knots, [right]]), np.concatenate([values[:1], values, values[-1:]])
    ax.axhline(0.0, color=ink(), lw=0.6, alpha=0.5, zorder=1)
    for colour, side in zip(SIDES, (g <= 0, g >= 0), strict=True):
        ax.fill_between(x, g, 0.0, where=side, interpolate=True, color=colour, alpha=WASH, lw=0)
    name = plain_text(additive.names[d])
    ax.plot(x, g, color=ink(), lw=1.6, solid_joinstyle="round", label=name)
    if column is not None:
        draw_data(ax, column)
    ax.set_xlim(left, right)
    ax.set_title(name, fontsize="medium")
    tidy(ax)
    whole = column is not None and bool(np.all(column == np.round(column)))  # a year has no half
    ax.locator_params(axis="x", nbins=4, integer=whole)


def draw_data(ax: Any, column: Array) -> None:
    """Draw a histogram along the lower edge, whatever the y axis shows."""
    counts, edges = np.histogram(column, bins=N_BARS)
    heights = counts / counts.max() * ROOM_FOR_DATA * 0.8
    ax.stairs(heights, edges, fill=True, color=DATA, lw=0, transform=ax.get_xaxis_transform(), zorder=0.5)
