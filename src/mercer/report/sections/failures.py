"""Where the model fails: the held-out samples that it is most wrong about, beside their neighbours."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer._typing import Array, Index
from mercer.preprocessing.kinds import CategoryColumn, DateColumn, TextColumn
from mercer.report.content import Omitted, Section, Subject, Table, decimals, plain
from mercer.report.held_out import HeldOut, nearest_rows
from mercer.report.sections.calibration import find_verdicts
from mercer.report.sections.columns import read_day
from mercer.report.sections.relevance import find_importance
from mercer.report.targets import target_of
from mercer.search.words import percent

MOST_SHOWN = 6
N_NEAREST = 3
MOST_COLUMNS = 5
FEW_CLASSES = 3  # whose typical samples are shown
HEAD, TAIL = 24, 16  # letters of a long text that are shown
COMPARE = (
    "Below each are the other samples that are nearest to it by the kernel, and the values of the columns "
    "that matter most; the last lines have what is typical: medians, and the most frequent categories."
)


def show_failures(subject: Subject) -> Section:
    """Return the samples whose own class was given the lowest probability."""
    data, verdicts = subject.held_out, find_verdicts(subject)
    if data is None or verdicts is None:
        raise Omitted("there are no decision values of held-out samples")
    own = verdicts.chances[np.arange(len(data.y)), np.searchsorted(subject.search.classes_, data.y)]
    worst = np.argsort(own, kind="stable")[:MOST_SHOWN]
    wrong = verdicts.predicted != data.y
    n_wrong, of_wrong = int(wrong.sum()), np.unique(data.y[wrong])
    text = [
        f"{n_wrong} of {len(wrong)} held-out samples are predicted wrong. These are the ones that the model "
        f"is most mistaken or least sure about: look whether their class is right. {COMPARE}",
    ]
    if n_wrong > 1 and len(of_wrong) == 1:
        text.append(f"All {n_wrong} wrong samples are of class {of_wrong[0]}.")
    cells = [[str(data.y[i]), verdicts.name(i), percent(float(own[i]))] for i in worst]
    heads = ["class", "predicted", "probability of its class"]
    caption = "The lowest probability of the own class first"
    table = tabulate_worst(subject, data, worst, caption, heads, cells)
    return Section("failures", "The worst samples", text, tables=[table])


def tabulate_worst(
    subject: Subject, data: HeldOut, worst: Index, caption: str, heads: Sequence[str], cells: list[list[str]]
) -> Table:
    """Return a group of lines for each sample, itself and its neighbours, and last what is typical.

    The first of the cells is a sample's target, which its neighbours have, too.
    """
    target, columns = target_of(subject), main_columns(subject, data)
    readers = [reader_of(subject, name) for name in columns]
    none = [""] * (len(heads) - 1)
    rows: list[list[str]] = []
    leads = []
    for i, mine, near in zip(worst, cells, _nearest(data, worst), strict=True):
        leads.append(len(rows))
        rows.append([subject.name_row(data.rows[i]), *mine, *(read(data.X[i]) for read in readers)])
        for j in near:
            values = (read(data.X_others[j]) for read in readers)
            name = f"near: {subject.name_row(data.other_rows[j])}"
            rows.append([name, target.text(data.y_others[j]), *none, *values])
    for name, value, x in typical_samples(subject, data):
        leads.append(len(rows))
        rows.append([name, value, *none, *(read(x) for read in readers)])
    heads = ["sample", *heads, *map(shorten, columns)]
    return Table(caption, heads, [[row[0], *map(shorten, row[1:])] for row in rows], leads=leads)


def shorten(text: str) -> str:
    """Return a text without its middle if it is long: its end may be all that tells it from others."""
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}…{text[-TAIL:]}"


def main_columns(subject: Subject, data: HeldOut) -> list[str]:
    """Return the columns that matter most, without free text, which has no value that could be read."""
    names, kinds = list(subject.columns), _kinds(subject)
    ordered = (names[k] for k in find_importance(subject).order)
    return [name for name in ordered if not isinstance(kinds.get(name), TextColumn)][:MOST_COLUMNS]


def reader_of(subject: Subject, name: str) -> Callable[[Array], str]:
    """Return what reads the value of a column from a sample, as whoever knows the table would."""
    mine, kind = subject.columns[name], _kinds(subject).get(name)
    if isinstance(kind, CategoryColumn):
        levels = [level.removeprefix(f"{name}: ") for level in kind.feature_names()]
        return lambda x: levels[int(np.argmax(x[mine]))]
    if isinstance(kind, DateColumn):
        return lambda x: _read_date(kind, x[mine])
    digits = decimals(subject.X[:, mine[0]])

    def read_number(x: Array) -> str:
        is_gap = len(mine) > 1 and x[mine[1]] > 0.5  # the second feature marks gaps
        return "missing" if is_gap else plain(float(x[mine[0]]), digits)

    return read_number


def _read_date(kind: DateColumn, x: Array) -> str:
    """Return the day, or the parts of it that vary if the day does not."""
    parts = dict(zip(kind.parts, x.tolist(), strict=True))
    if "days" in parts:
        return read_day(kind, parts["days"])
    return ", ".join(f"{part} {value:.4g}" for part, value in parts.items())


def _kinds(subject: Subject) -> dict[str, Any]:
    return {} if subject.encoder is None else {kind.name: kind for kind in subject.encoder.columns_}


def _nearest(data: HeldOut, worst: Index) -> Sequence[Sequence[int]]:
    """Return the nearest training samples; none if the main member's kernel is not known."""
    if data.after is None:
        return [[] for _ in worst]
    return nearest_rows(data.after, data, worst, N_NEAREST).tolist()


def typical_samples(subject: Subject, data: HeldOut) -> list[tuple[str, str, Array]]:
    """Return a sample that is typical of each class if they are few, or of all if there are none."""
    target = target_of(subject)
    if subject.kind != "class":
        middle = target.text(np.median(data.y_others))
        return [("typical", middle, _middle(subject, data.X_others))]
    labels = np.unique(data.y_others)
    if len(labels) > FEW_CLASSES:
        return []
    return [
        (f"typical of {label}", target.text(label), _middle(subject, data.X_others[data.y_others == label]))
        for label in labels
    ]


def _middle(subject: Subject, X: Array) -> Array:
    """Return the median of each feature; of categories the mean, which is largest for the most frequent."""
    middle = np.median(X, axis=0)
    for name, kind in _kinds(subject).items():
        if isinstance(kind, CategoryColumn):
            mine = subject.columns[name]
            middle[mine] = X[:, mine].mean(axis=0)
    return middle
