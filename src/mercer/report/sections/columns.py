"""What went in: the columns of the table, what they were taken for, and what was dropped."""

import numpy as np

from mercer._typing import Array
from mercer.preprocessing.kinds import CategoryColumn, DateColumn, Kind, NumberColumn
from mercer.report.content import Section, Subject, Table, spread_of
from mercer.search.words import percent

MOST_LISTED = 300  # columns
MOST_LEVELS = 8
DAY = 86400.0  # seconds


def show_columns(subject: Subject) -> Section:
    """Return a line for each column, and why others were dropped."""
    X, encoder = subject.X, subject.encoder
    kinds = {} if encoder is None else {kind.name: kind for kind in encoder.columns_}
    names = list(subject.columns)
    rows = [
        [name, *_describe(kinds.get(name), X[:, features], subject.gaps.get(name))]
        for name, features in list(subject.columns.items())[:MOST_LISTED]
    ]
    heads = ["column", "kind", "missing", "values"]
    if not subject.gaps:  # it is not known what was missing
        heads, *rows = ([*line[:2], *line[3:]] for line in (heads, *rows))
    tables = [Table("Columns that were used", heads, rows, folded=len(rows) > 12)]
    dropped = {} if encoder is None else encoder.dropped_
    if dropped:
        lines = [[name, reason] for name, reason in dropped.items()]
        tables.append(Table("Columns that were not used", ["column", "why"], lines, folded=len(lines) > 12))
    were = "was" if len(dropped) == 1 else "were"
    text = [f"{len(names)} columns were used, as {X.shape[1]} features, and {len(dropped)} {were} not."]
    if encoder is None:
        text = [f"{X.shape[1]} features, numbers as they were given."]
    text = [*_describe_target(subject), *text, *([] if encoder is None else encoder.notes_)]
    text += [f"The first {MOST_LISTED} are listed."] if len(names) > MOST_LISTED else []
    return Section("columns", "Columns", text, tables=tables)


def _describe_target(subject: Subject) -> list[str]:
    """Say what is predicted, and how it is distributed."""
    y, name = subject.y, subject.target_name or "The target"
    if subject.kind == "pairs":
        return []
    if subject.kind == "number":
        low, high, middle = spread_of(y)
        return [f"{name} is a number, from {low} to {high}, with median {middle}."]
    labels, counts = np.unique(y, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
    shown = [f"{labels[k]} ({counts[k]} samples, {percent(counts[k] / len(y))})" for k in order]
    more = f", and {len(labels) - len(shown)} more" if len(labels) > len(shown) else ""
    return [f"{name} is one of {len(labels)} classes: {', '.join(shown)}{more}."]


def _describe(kind: Kind | None, values: Array, n_missing: int | None) -> list[str]:
    """Return the kind of a column, how many cells are missing, and its range or levels."""
    missing = "–" if n_missing is None else str(n_missing)
    if isinstance(kind, CategoryColumn):
        levels = ", ".join(map(str, kind.values[:MOST_LEVELS]))
        more = len(kind.values) - MOST_LEVELS
        return ["category", missing, f"{levels}{f', and {more} more' if more > 0 else ''}"]
    if isinstance(kind, DateColumn):
        return ["date", missing, f"{_days(kind, values)}as {', '.join(kind.parts)}"]
    if kind is None or isinstance(kind, NumberColumn):
        low, high, middle = spread_of(values[:, 0])
        return ["number", missing, f"{low} to {high}, median {middle}"]
    return ["text", missing, f"as {values.shape[1]} components of words"]


def _days(kind: DateColumn, values: Array) -> str:
    """Return the first and the last day; nothing if they are the same."""
    if "days" not in kind.parts:
        return ""
    days = values[:, kind.parts.index("days")]
    return f"{read_day(kind, days.min())} to {read_day(kind, days.max())}, "


def read_day(kind: DateColumn, days: float) -> str:
    """Return the date that is so many days after the first of a column."""
    return str(np.datetime64(int(kind.first + DAY * days), "s").astype("datetime64[D]"))
