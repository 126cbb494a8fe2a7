"""Which way a column works: the mean prediction for held-out samples if all had the same value of it."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState

from mercer._typing import Array
from mercer.preprocessing.kinds import CategoryColumn, NumberColumn
from mercer.report.content import Subject, Table, decimals, plain
from mercer.report.held_out import HeldOut
from mercer.report.picture import Picture, draw_picture
from mercer.report.plots.shapes import PANEL_SIZE, draw_data
from mercer.report.plots.style import COLOURS, LEGEND_LETTERS, MARKERS, plain_text
from mercer.report.targets import target_of
from mercer.search.words import percent

MOST_COLUMNS, PANELS_ACROSS = 6, 2
MOST_ROWS = 200  # that are given each value
MOST_VALUES = 16  # of a number
FEW_VALUES = 5  # that are shown one by one, as those of a category are
MOST_CLASSES = 5  # the most frequent ones
WIDTH = 4.5  # inches
ROOM = 16  # letters that stand side by side below a panel
ONE_WAY = 0.8  # of all its ups and downs, for a curve to rise or fall


class Prediction(NamedTuple):
    """What is averaged: the curves' names, the values of samples, and how one reads."""

    what: str
    names: Sequence[str]  # one for each curve
    of: Callable[[Array], Array]  # (n_samples, n_curves)
    text: Callable[[float], str]


class Scale(NamedTuple):
    """Values of a column to try, and the features that stand for each."""

    values: Array
    features: Array  # (n_values, n_features of the column)
    names: Sequence[str] = ()  # of values that are shown one by one
    is_ordered: bool = True


class Curve(NamedTuple):
    """The mean predictions for the values of a column."""

    name: str
    scale: Scale
    means: Array  # (n_values, n_curves)
    data: Array  # the first feature of the held-out samples


def find_curves(
    subject: Subject, data: HeldOut, columns: Sequence[str], prediction: Prediction
) -> list[Curve]:
    """Return the curves of those columns that are numbers or categories."""
    rows = np.sort(RandomState(subject.seed).permutation(len(data.X))[:MOST_ROWS])
    kinds = {} if subject.encoder is None else {kind.name: kind for kind in subject.encoder.columns_}
    curves = []
    for name in columns:
        mine, kind = subject.columns[name], kinds.get(name)
        if kind is None or isinstance(kind, NumberColumn):
            scale = scale_of_numbers(data.X[:, mine])
        elif isinstance(kind, CategoryColumn):
            scale = scale_of_levels(kind, data.X[:, mine])
        else:
            continue  # a date, or text, is not one scale
        means = [_mean(data.X[rows], mine, value, prediction) for value in scale.features]
        curves.append(Curve(name, scale, np.array(means), data.X[:, mine[0]]))
    return curves


def scale_of_numbers(X: Array) -> Scale:
    """Return all values if they are few, or else some that leave the extremes out."""
    values, names = np.unique(X[:, 0]), []
    if len(values) <= FEW_VALUES:
        digits = decimals(values)
        names = [plain(float(value), digits) for value in values]
    else:
        low, high = values[0], values[-1]
        values = np.unique(np.quantile(X[:, 0], np.linspace(0.02, 0.98, MOST_VALUES)))
        if len(values) <= FEW_VALUES:  # nearly all samples have the same value
            values = np.linspace(low, high, MOST_VALUES)
    features = np.zeros((len(values), X.shape[1]))  # a second feature is 1 where the value is missing
    features[:, 0] = values
    return Scale(values, features, names)


def scale_of_levels(kind: CategoryColumn, X: Array) -> Scale:
    """Return the most frequent levels."""
    shown = np.sort(np.argsort(-X.sum(axis=0), kind="stable")[: FEW_VALUES + 1])
    names = [kind.feature_names()[k].removeprefix(f"{kind.name}: ") for k in shown]
    return Scale(np.arange(float(len(shown))), np.eye(X.shape[1])[shown], names, is_ordered=False)


def _mean(X: Array, mine: list[int], value: Array, prediction: Prediction) -> Array:
    changed = X.copy()
    changed[:, mine] = value
    means: Array = prediction.of(changed).mean(axis=0)
    return means


def what_is_predicted(subject: Subject) -> Prediction:
    """Return numbers, or probabilities: of two classes the one that is looked for, of more some."""
    model = subject.search.model_
    if subject.kind != "class":
        target = subject.target_name or "target"
        return Prediction(
            f"predicted {target}",
            [target],
            lambda X: np.asarray(model.predict(X), dtype=np.float64)[:, None],
            target_of(subject).estimate,
        )
    classes, what = subject.search.classes_, "probability"
    counts = np.array([(subject.y == label).sum() for label in classes])
    shown = np.sort(np.argsort(-counts, kind="stable")[:MOST_CLASSES])
    if len(classes) == 2:
        shown = np.array([subject.search._positive])
        what += f" of {classes[shown[0]]}"

    names = [str(classes[k]) for k in shown]
    return Prediction(what, names, lambda X: model.predict_proba(X)[:, shown], percent)


def draw_curves(curves: Sequence[Curve], prediction: Prediction) -> Picture:
    """Return a panel for each column, all of one scale."""
    across = min(PANELS_ACROSS, len(curves))

    def draw(figure: Any) -> None:
        grid = figure.subplots(-(-len(curves) // across), across, sharey=True, squeeze=False)
        panels = grid.ravel()
        for unused in panels[len(curves) :]:
            unused.remove()
        for ax, curve in zip(panels, curves, strict=False):
            _draw_panel(ax, curve)
        figure.supylabel(plain_text(f"mean {prediction.what}", 40), fontsize="medium")
        if len(prediction.names) > 1:
            lines, _ = panels[0].get_legend_handles_labels()
            names = [plain_text(name, 14) for name in prediction.names]
            n_columns = min(3, LEGEND_LETTERS // (max(map(len, names)) + 5))
            figure.legend(lines, names, loc="outside upper center", ncols=n_columns, frameon=False)

    names = ", ".join(curve.name for curve in curves)
    return draw_picture(
        draw,
        (WIDTH, PANEL_SIZE[1] * -(-len(curves) // across) + (0.7 if len(prediction.names) > 1 else 0.3)),
        alt=f"The mean {prediction.what} by the values of {names}.",
        caption="Which way they work",
    )


def _draw_panel(ax: Any, curve: Curve) -> None:
    values, _, names, _ = curve.scale
    for k, means in enumerate(curve.means.T):
        colour, marker = COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)]
        drawn = {"marker": marker, "ls": ":", "lw": 1.0} if names else {"ls": "-", "lw": 2.0}
        ax.plot(values, means, color=colour, label=str(k), **drawn)
    if names:
        shown = [plain_text(name, 9) for name in names]
        turned = sum(map(len, shown)) > ROOM
        ax.set_xticks(values, shown, rotation=35 if turned else 0, ha="right" if turned else "center")
    else:
        ax.locator_params(axis="x", nbins=3)
        draw_data(ax, curve.data[(curve.data >= values[0]) & (curve.data <= values[-1])])
    ax.margins(x=0.25 if names else 0.02, y=0.25)
    ax.set_title(plain_text(curve.name, 18), fontsize="medium")
    ax.spines[["top", "right"]].set_visible(False)


def tabulate_curves(curves: Sequence[Curve], prediction: Prediction) -> Table:
    """Return what the first curve of each column does, in words."""
    rows = []
    for curve in curves:
        means = curve.means[:, 0]
        ends = [_read(curve, int(k), prediction) for k in (means.argmin(), means.argmax())]
        is_flat = len({prediction.text(float(end)) for end in (means.min(), means.max())}) == 1
        rows.append([curve.name, "it stays the same" if is_flat else direction(curve), *ends])
    heads = ["column", "as it grows", f"lowest {prediction.what}", f"highest {prediction.what}"]
    return Table("Mean predictions by the value of a column", heads, rows, stacks=True)


def direction(curve: Curve) -> str:
    """Return whether the first curve rises or falls, if the values have an order."""
    if not curve.scale.is_ordered:
        return "–"
    ups = np.diff(curve.means[:, 0])
    share = float(ups.sum()) / (float(np.abs(ups).sum()) or 1.0)
    return "it rises" if share > ONE_WAY else "it falls" if share < -ONE_WAY else "it rises and falls"


def _read(curve: Curve, k: int, prediction: Prediction) -> str:
    values, _, names, _ = curve.scale
    where = names[k] if names else plain(float(values[k]), decimals(curve.data))
    return f"{prediction.text(float(curve.means[k, 0]))} at {where}"
