"""Which columns the predictions depend on, and which way: shuffled, and with one value for all samples."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.random import RandomState

from mercer._typing import Array, Index
from mercer.kernels.description import count
from mercer.preprocessing.kinds import TextColumn, category_texts
from mercer.report.content import Section, Table
from mercer.report.digits import decimals, finest, quantity
from mercer.report.picture import Picture, draw_picture
from mercer.report.plots.shapes import PANEL_SIZE, draw_data
from mercer.report.plots.style import COLOURS, LEGEND_LETTERS, MARKERS, ink, plain_text, shorten_numbers, tidy
from mercer.report.subject import REPEATS, Importance, Subject
from mercer.scikit import partial_dependence
from mercer.search.words import percent

MOST_BARS, MOST_CURVES, PANELS_ACROSS = 15, 6, 2
WIDTH, LINE_HEIGHT = 5.6, 0.3  # inches
MOST_ROWS = 200  # that are given each value
MOST_VALUES = 16  # of a number or a date
FEW_VALUES = 6  # that are shown one by one, as those of a category are
MOST_CLASSES = 5  # the most frequent ones
ROOM = 16  # letters that stand side by side below a panel
DAY = 86400.0  # seconds
ONE_WAY = 0.8  # of all its ups and downs, for a curve to rise or fall


class Curve(NamedTuple):
    """The mean predictions for values of a column."""

    name: str
    places: Array  # of the values, along an axis
    texts: Sequence[str]  # as they are read
    means: Array  # (n_curves, n_values)
    data: Array | None  # all values, where the axis is one of numbers or dates
    is_date: bool

    @property
    def is_line(self) -> bool:
        """Return whether the values are some of many."""
        return self.data is not None and (self.is_date or len(self.places) > FEW_VALUES)


def show_effects(subject: Subject) -> Section:
    """Return how much each column matters to the predictions, and which way it works."""
    names, found = subject.columns, subject.importance
    first = [names[k] for k in found.order[:MOST_CURVES]]
    text = [
        f"How much worse the {found.score} gets when the values of a column are shuffled among samples, so "
        f"that it says nothing; the mean of {REPEATS} shufflings. The model was fitted to these samples: it "
        "says what it uses, not what is true. Columns that say the same stand in for each other."
    ]
    text += [] if found.rises.any() else ["No column matters: shuffling changes nothing."]
    pictures, tables = [_draw_bars(names, found)], [_tabulate_importance(names, found)]
    labels = _what_is_predicted(subject)
    curves = [_find_curve(subject, name) for name in first if not _is_text(subject, name)]
    if curves:
        text.append(
            "A curve is the mean prediction if all samples had the same value of the column, and everything "
            "else as it is; below it is where the samples are."
            f"{'' if len(curves) == len(first) else ' Texts have none.'}"
        )
        pictures.append(_draw_curves(curves, labels))
        if len(labels) == 1:
            tables.insert(0, _tabulate_curves(subject, curves, labels[0]))
    answer = "What drives it?", _answer(subject, curves, labels)
    return Section("effects", "Columns that matter", text, pictures, tables, (), answer)


def _answer(subject: Subject, curves: Sequence[Curve], labels: Sequence[str]) -> str:
    names, found = subject.columns, subject.importance
    means = found.rises.mean(axis=1)
    first = [f"'{names[k]}'" for k in found.order[:3] if means[k] > 0]
    if not first:
        return "No column: shuffling any of them changes nothing."
    others = f", then {' and '.join(first[1:])}" if len(first) > 1 else ""
    rise = quantity(float(means[found.order[0]]), decimals(means))
    said = f"{first[0]} most{others}: without {first[0]} the {found.score} is worse by {rise}."
    way = (
        _direction(curves[0])
        if curves and len(labels) == 1 and curves[0].name == names[found.order[0]]
        else "–"
    )
    is_one = way in ("it rises", "it falls")
    return f"{said} The {labels[0]} {way.removeprefix('it ')} with it." if is_one else said


def _tabulate_importance(names: Sequence[str], found: Importance) -> Table:
    digits, means, ranges = finest(found.rises), found.rises.mean(axis=1), np.ptp(found.rises, axis=1)
    rows = [[names[k], *(quantity(float(x[k]), digits) for x in (means, ranges))] for k in found.order]
    heads = ["column", f"change of the {found.score}", "between shufflings"]
    return Table("All columns, the most important first", heads, rows, folded=True)


def _draw_bars(names: Sequence[str], found: Importance) -> Picture:
    shown = found.order[:MOST_BARS]
    rises, places = found.rises[shown], np.arange(len(shown))

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        ax.barh(places, rises.mean(axis=1), color=COLOURS[0], height=0.7)
        ax.hlines(places, rises.min(axis=1), rises.max(axis=1), color=ink(), lw=1.2)
        ax.axvline(0.0, color=ink(), lw=0.8)
        ax.set_yticks(places, [plain_text(names[k]) for k in shown])
        ax.set_ylim(len(shown) - 0.5, -0.5)
        ax.set_xlabel(f"change of the {found.score} when shuffled")
        ax.tick_params(left=False)
        tidy(ax, "left")
        ax.locator_params(axis="x", nbins=6)
        shorten_numbers(ax.xaxis)

    some = "each column matters"
    if len(shown) < len(names):
        some = f"the {len(shown)} most important of {len(names)} columns matter"
    return draw_picture(
        draw,
        (WIDTH, 0.9 + LINE_HEIGHT * len(shown)),
        alt=f"The {count(len(shown), 'column')} that matter most, the first one {names[shown[0]]}.",
        caption=f"How much {some}",
    )


def _is_text(subject: Subject, name: str) -> bool:
    return isinstance(subject.kinds.get(name), TextColumn)


def _what_is_predicted(subject: Subject) -> list[str]:
    """Return what is averaged: numbers, or probabilities, of two classes of the one that is looked for."""
    if subject.kind == "number":
        return [f"predicted {subject.target.removeprefix('the ')}"]
    return [f"probability of {subject.search.classes_[k]}" for k in _classes(subject)]


def _classes(subject: Subject) -> Index:
    classes = subject.search.classes_
    if len(classes) == 2:
        return np.array([subject.search._positive])
    counts = np.unique(subject.y, return_counts=True)[1]
    return np.sort(np.argsort(-counts, kind="stable")[:MOST_CLASSES])


def _find_curve(subject: Subject, name: str) -> Curve:
    """Return the partial dependence on a column: for values that are in the table."""
    cells, values = subject.frame[name], subject.numbers(name)
    is_date = subject.is_date(name)
    if values is None:
        texts = category_texts(cells)
        shown = sorted(texts.value_counts().index[:FEW_VALUES])
        rows = np.array([np.flatnonzero(texts == text)[0] for text in shown])
        places, data = np.arange(float(len(rows))), None
    else:
        rows = some_values(values)
        data = values[np.isfinite(values)] / (DAY if is_date else 1.0)
        places = values[rows] / (DAY if is_date else 1.0)
    held_out = subject.held_out.rows
    some = np.sort(RandomState(subject.seed).permutation(held_out)[:MOST_ROWS])
    means = partial_dependence(
        subject.search,
        _without_categories(subject.frame[subject.columns].iloc[some]),
        [name],
        custom_values={name: cells.iloc[rows].tolist()},
        response_method="auto" if subject.kind == "number" else "predict_proba",
    )["average"]
    if subject.kind == "class":
        means = np.vstack([1.0 - means, means]) if len(means) == 1 else means
        means = means[_classes(subject)]
    return Curve(name, places, subject.read(name, rows), means, data, is_date)


def _without_categories(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose cells can be replaced by any others."""
    return table.astype(dict.fromkeys(table.select_dtypes("category"), object))


def some_values(values: Array) -> Index:
    """Return rows whose values are different and in order: all if they are few, or else from low to high.

    The extremes are left out, unless nearly all samples have the same value.
    """
    known = values[np.isfinite(values)]
    chosen = different = np.unique(known)
    if len(different) > FEW_VALUES:
        chosen = np.unique(np.quantile(known, np.linspace(0.02, 0.98, MOST_VALUES), method="nearest"))
        chosen = different if len(chosen) <= FEW_VALUES else chosen
        chosen = chosen[np.unique(np.linspace(0, len(chosen) - 1, MOST_VALUES).round().astype(np.intp))]
    rows: Index = np.array([np.flatnonzero(values == value)[0] for value in chosen])
    return rows


def _draw_curves(curves: Sequence[Curve], labels: Sequence[str]) -> Picture:
    """Return a panel for each column, all of one scale."""
    across = min(PANELS_ACROSS, len(curves))
    lines = -(-len(curves) // across)
    names = [label.removeprefix("probability of ") for label in labels]
    what = labels[0] if len(labels) == 1 else "probability"

    def draw(figure: Any) -> None:
        panels = figure.subplots(lines, across, sharey=True, squeeze=False).ravel()
        for unused in panels[len(curves) :]:
            unused.remove()
        for ax, curve in zip(panels, curves, strict=False):
            _draw_panel(ax, curve)
        figure.supylabel(plain_text(f"mean {what}", 40), fontsize="medium")
        if len(names) > 1:
            shown = [plain_text(name, 14) for name in names]
            n_columns = min(3, LEGEND_LETTERS // (max(map(len, shown)) + 5))
            handles, _ = panels[0].get_legend_handles_labels()
            figure.legend(handles, shown, loc="outside upper center", ncols=n_columns, frameon=False)

    return draw_picture(
        draw,
        (WIDTH, PANEL_SIZE[1] * lines + (0.7 if len(names) > 1 else 0.3)),
        alt=f"The mean {what} by the values of {', '.join(curve.name for curve in curves)}.",
        caption="Which way they work",
    )


def _draw_panel(ax: Any, curve: Curve) -> None:
    for k, means in enumerate(curve.means):
        look = {"ls": "-", "lw": 2.0} if curve.is_line else {"marker": MARKERS[k], "ls": ":", "lw": 1.0}
        ax.plot(curve.places, means, color=COLOURS[k], label=str(k), **look)
    if not curve.is_line:
        shown = [plain_text(name, 9) for name in curve.texts]
        turned = sum(map(len, shown)) > ROOM
        ax.set_xticks(curve.places, shown, rotation=35 if turned else 0, ha="right" if turned else "center")
    elif curve.is_date:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(minticks=2, maxticks=4)
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    else:
        ax.locator_params(axis="x", nbins=3)
    if curve.is_line and curve.data is not None:
        low, high = curve.places[0], curve.places[-1]
        draw_data(ax, curve.data[(curve.data >= low) & (curve.data <= high)])
    ax.margins(x=0.02 if curve.is_line else 0.25, y=0.25)
    ax.set_title(plain_text(curve.name, 18), fontsize="medium")
    shorten_numbers(ax.yaxis, *([ax.xaxis] if curve.is_line and not curve.is_date else []))
    tidy(ax)


def _tabulate_curves(subject: Subject, curves: Sequence[Curve], label: str) -> Table:
    """Return what the curve of each column does, in words."""
    read = percent if subject.kind == "class" else subject.estimate
    rows = []
    for curve in curves:
        means = curve.means[0]
        ends = [f"{read(float(means[k]))} at {curve.texts[k]}" for k in (means.argmin(), means.argmax())]
        is_flat = read(float(means.min())) == read(float(means.max()))
        rows.append([curve.name, "it stays the same" if is_flat else _direction(curve), *ends])
    heads = ["column", "as it grows", f"lowest {label}", f"highest {label}"]
    return Table("Mean predictions by the value of a column", heads, rows, stacks=True)


def _direction(curve: Curve) -> str:
    """Return whether the first curve rises or falls, if the values have an order."""
    if curve.data is None:
        return "–"
    ups = np.diff(curve.means[0])
    share = float(ups.sum()) / (float(np.abs(ups).sum()) or 1.0)
    return "it rises" if share > ONE_WAY else "it falls" if share < -ONE_WAY else "it rises and falls"
