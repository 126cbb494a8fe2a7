"""Which columns the predictions depend on: how much worse they are when a column is shuffled."""

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.inspection import permutation_importance
from sklearn.metrics import log_loss

from mercer._typing import Array, Index
from mercer.kernels.description import count
from mercer.report.content import Omitted, Section, Subject, Table, finest, plain
from mercer.report.held_out import draw_rows
from mercer.report.picture import Picture, draw_picture
from mercer.report.plots.style import COLOURS, ink, plain_text
from mercer.report.sections.dependence import (
    MOST_COLUMNS,
    draw_curves,
    find_curves,
    tabulate_curves,
    what_is_predicted,
)

REPEATS = 3
MOST_PREDICTIONS = 100_000  # of shuffled samples, in all
LEAST_ROWS = 50
MOST_BARS = 15
WIDTH, LINE_HEIGHT = 5.6, 0.3  # inches


class Importance(NamedTuple):
    """How much each column matters."""

    name: str  # of the score
    rises: Array  # (n_columns, REPEATS): by how much it gets worse
    order: Index  # the most important column first


_FOUND: WeakKeyDictionary[Subject, Importance] = WeakKeyDictionary()  # two sections need it


def show_relevance(subject: Subject) -> Section:
    """Return how much each column matters to the predictions."""
    data = subject.held_out
    if data is None:
        raise Omitted("nothing was held out")
    name, rises, order = find_importance(subject)
    names = list(subject.columns)
    text = [
        f"How much worse the {name} gets when the values of a column are shuffled among samples, so that it "
        f"says nothing; the mean of {REPEATS} shufflings. The model was fitted to these samples: it says "
        "what it uses, not what is true. Columns that say the same stand in for each other."
    ]
    text += [] if rises.any() else ["No column matters: shuffling changes nothing."]
    digits, means, ranges = finest(rises), rises.mean(axis=1), np.ptp(rises, axis=1)
    rows = [[names[k], plain(float(means[k]), digits), plain(float(ranges[k]), digits)] for k in order]
    heads = ["column", f"change of the {name}", "between shufflings"]
    pictures = [_draw(names, rises, order[:MOST_BARS], f"change of the {name}")]
    tables = [Table("All columns, the most important first", heads, rows, folded=True)]
    prediction = what_is_predicted(subject)
    first = [names[k] for k in order[:MOST_COLUMNS]]
    curves = find_curves(subject, data, first, prediction)
    if curves:
        text.append(
            "A curve is the mean prediction if all samples had the same value of the column, and everything "
            "else as it is; below it is where the samples are."
            f"{'' if len(curves) == len(first) else ' Dates and texts have none.'}"
        )
        pictures.append(draw_curves(curves, prediction))
    if curves and len(prediction.names) == 1:
        tables.insert(0, tabulate_curves(curves, prediction))
    return Section("relevance", "Columns that matter", text, pictures, tables)


def find_importance(subject: Subject) -> Importance:
    """Return what shuffling does to the score that was asked for, or a usual one; once for a page."""
    if subject not in _FOUND:
        search, names = subject.search, list(subject.columns)
        n = max(LEAST_ROWS, MOST_PREDICTIONS // (len(names) * REPEATS))
        some = draw_rows(subject.y, n, subject.seed, by_class=subject.kind == "class")
        table = subject.table
        rows = table.iloc[some] if hasattr(table, "iloc") else np.asarray(table)[some]
        found = permutation_importance(
            search,
            rows,
            subject.y[some],
            scoring=_scorer(search),
            n_repeats=REPEATS,
            random_state=subject.seed,
        ).importances
        columns = [str(name) for name in getattr(table, "columns", names)]
        rises = found[[columns.index(name) for name in names]]
        key = search.result_.metric
        name = key.name if search.scoring is not None else "log loss" if subject.kind == "class" else "RMSE"
        _FOUND[subject] = Importance(name, rises, np.argsort(-rises.mean(axis=1), kind="stable"))
    return _FOUND[subject]


def _scorer(search: Any) -> Any:
    """Return the score that was asked for; if none was, minus the log loss or the RMSE."""
    if search.scoring is not None:
        return lambda model, X, y: model.score(X, y)
    if hasattr(search, "predict_proba"):
        return lambda model, X, y: -log_loss(y, model.predict_proba(X), labels=model.classes_)
    return "neg_root_mean_squared_error"


def _draw(names: list[str], rises: Array, shown: Any, what: str) -> Picture:
    def draw(figure: Any) -> None:
        ax = figure.subplots()
        places = np.arange(len(shown))
        middle = rises[shown].mean(axis=1)
        ax.barh(places, middle, color=COLOURS[0], height=0.7)
        for place, k in zip(places, shown, strict=True):
            ax.plot([rises[k].min(), rises[k].max()], [place, place], color=ink(), lw=1.2)
        ax.axvline(0.0, color=ink(), lw=0.8)
        ax.set_yticks(places, [plain_text(names[k]) for k in shown])
        ax.set_ylim(len(shown) - 0.5, -0.5)
        ax.set_xlabel(f"{what} when shuffled")
        ax.tick_params(left=False)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.locator_params(axis="x", nbins=6)

    first = ", ".join(names[k] for k in shown[:3])
    return draw_picture(
        draw,
        (WIDTH, 0.9 + LINE_HEIGHT * len(shown)),
        alt=f"The {count(len(shown), 'column')} that matter most; first {first}.",
        caption="How much each column matters"
        if len(shown) == len(names)
        else f"How much the {len(shown)} most important of {len(names)} columns matter",
    )
