"""Where the model fails: the held-out samples that it is most wrong about, beside their neighbours."""

from collections.abc import Sequence

import numpy as np

from mercer._typing import Index
from mercer.preprocessing.kinds import TextColumn, category_texts
from mercer.report.content import Omitted, Section, Table
from mercer.report.digits import decimals, plain
from mercer.report.sections.kernel import MOST_ROWS, main_kernel, nearest_rows
from mercer.report.subject import Subject
from mercer.search.words import percent

MOST_SHOWN, N_NEAREST, MOST_COLUMNS = 6, 3, 5
FEW_CLASSES = 3  # whose typical samples are shown
COVERAGE = 0.9
FIFTHS = 5
COMPARE = (
    "Below each are the other samples that are nearest to it by the kernel, and the values of the columns "
    "that matter most; the last lines have what is typical: medians, and the most frequent categories."
)


def show_worst(subject: Subject) -> Section:
    """Return the samples whose own class was given the lowest probability, or that are off by most."""
    data, answer = subject.held_out, None
    if subject.kind == "number":
        off = data.y - data.predicted
        order, answer = np.argsort(-np.abs(off), kind="stable"), ("Where is it wrong?", _where(subject))
        ends = subject.search.model_.interval_of(data.predicted, COVERAGE)
        columns = [off, *ends]
        parts = [[subject.estimate(column[i]) for column in columns] for i in order[:MOST_SHOWN]]
        cells = [[part[0], f"{part[1]} to {part[2]}"] for part in parts]
        heads = ["target", "predicted", "difference", f"{100 * COVERAGE:.0f} % interval"]
        caption = "The largest difference first"
        text = [
            f"The held-out samples that are predicted worst: look whether their target is right. {COMPARE}"
        ]
    else:
        if data.chances is None:
            raise Omitted("there are no probabilities")
        own = data.chances[np.arange(len(data.y)), np.searchsorted(subject.search.classes_, data.y)]
        order = np.argsort(own, kind="stable")
        cells = [[percent(float(own[i]))] for i in order[:MOST_SHOWN]]
        heads = ["class", "predicted", "probability of its class"]
        caption = "The lowest probability of the own class first"
        wrong = data.predicted != data.y
        text = [
            f"{wrong.sum()} of {len(wrong)} held-out samples are predicted wrong. These are the ones that "
            f"the model is most mistaken or least sure about: look whether their class is right. {COMPARE}"
        ]
        if wrong.sum() > 1 and len(np.unique(data.y[wrong])) == 1:
            text.append(f"All {wrong.sum()} wrong samples are of class {data.y[wrong][0]}.")
    table = _tabulate(subject, order[:MOST_SHOWN], caption, heads, cells)
    return Section("failures", "The worst samples", text, tables=[table], answer=answer)


def _where(subject: Subject) -> str:
    """Return in which fifth of the predictions errors are largest, and smallest."""
    data = subject.held_out
    parts = np.array_split(np.argsort(data.predicted, kind="stable"), min(FIFTHS, len(data.y)))
    halves = [float(np.median(np.abs(data.y - data.predicted)[part])) for part in parts]
    said = []
    for k, what in ((int(np.argmax(halves)), "largest"), (int(np.argmin(halves)), "smallest")):
        low, high = (subject.estimate(data.predicted[parts[k][end]]) for end in (0, -1))
        said.append(
            f"{what} for predictions of {low} to {high}, where half are off by {subject.estimate(halves[k])}"
        )
    return f"Errors are {'; '.join(said)}."


def _tabulate(
    subject: Subject, worst: Index, caption: str, heads: Sequence[str], cells: list[list[str]]
) -> Table:
    """Return a group of lines for each sample, itself and its neighbours, and last what is typical."""
    data, columns = subject.held_out, main_columns(subject)
    none = [""] * (len(heads) - 1)
    try:
        nearest = nearest_rows(main_kernel(subject), subject, data.rows[worst], N_NEAREST).tolist()
    except Omitted:  # the main member has no kernel that is known
        nearest = [[] for _ in worst]
    rows: list[list[str]] = []
    leads = []
    for i, mine, near in zip(worst, cells, nearest, strict=True):
        leads.append(len(rows))
        values = zip(*(subject.read(name, [data.rows[i], *near]) for name in columns), strict=True)
        own, *others = values
        said = [subject.text(data.y[i]), subject.estimate(data.predicted[i]), *mine]
        rows.append([subject.name_row(data.rows[i]), *said, *own])
        for j, read in zip(near, others, strict=True):
            rows.append([f"near: {subject.name_row(j)}", subject.text(subject.y[j]), *none, *read])
    for name, target, some in _typical(subject):
        leads.append(len(rows))
        rows.append([name, target, *none, *(_middle(subject, column, some) for column in columns)])
    return Table(caption, ["sample", *heads, *columns], rows, leads=leads)


def main_columns(subject: Subject) -> list[str]:
    """Return the columns that matter most, without free text, which has no value that could be read."""
    ordered = (subject.columns[k] for k in subject.importance.order)
    return [name for name in ordered if not isinstance(subject.kinds.get(name), TextColumn)][:MOST_COLUMNS]


def _typical(subject: Subject) -> list[tuple[str, str, Index]]:
    """Return the samples of each class if there are few, or all of them, with a name and a target."""
    some = subject.draw(MOST_ROWS)
    if subject.kind == "number":
        return [("typical", subject.text(np.median(subject.y[some])), some)]
    labels = np.unique(subject.y[some])
    if len(labels) > FEW_CLASSES:
        return []
    return [(f"typical of {label}", str(label), some[subject.y[some] == label]) for label in labels]


def _middle(subject: Subject, name: str, rows: Index) -> str:
    """Return the median of a column, or its most frequent value."""
    values = subject.numbers(name)
    if values is None or subject.is_date(name):
        texts = category_texts(subject.frame[name]).iloc[rows].dropna()
        return str(texts.mode().iloc[0]) if len(texts) else "missing"
    known = values[rows][np.isfinite(values[rows])]
    digits = decimals(values[np.isfinite(values)])
    return plain(float(np.median(known)), digits) if len(known) else "missing"
