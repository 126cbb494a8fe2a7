"""What went in: the columns of the table, what they were taken for, and what was dropped."""

import numpy as np
from pandas import Series

from mercer.preprocessing.kinds import CategoryColumn, DateColumn, TextColumn
from mercer.report.content import Section, Table
from mercer.report.digits import spread_of
from mercer.report.subject import Subject
from mercer.search.words import percent

MOST_LISTED = 300  # columns
MOST_LEVELS = 8
LONG = 12  # lines of a table that is folded


def show_columns(subject: Subject) -> Section:
    """Return a line for each column, and why others were dropped."""
    encoder, names = subject.search.encoder_, subject.columns
    rows = [[name, *_describe(subject, name)] for name in names[:MOST_LISTED]]
    heads = ["column", "kind", "missing", "values"]
    if not subject.gaps:  # it is not known what was missing
        heads, *rows = ([*line[:2], *line[3:]] for line in (heads, *rows))
    tables = [Table("Columns that were used", heads, rows, folded=len(rows) > LONG)]
    dropped = getattr(encoder, "dropped_", {})
    if dropped:
        lines = [[name, reason] for name, reason in dropped.items()]
        tables.append(Table("Columns that were not used", ["column", "why"], lines, folded=len(lines) > LONG))
    n_features = subject.X.shape[1]
    were = "was" if len(dropped) == 1 else "were"
    text = [f"{len(names)} columns were used, as {n_features} features, and {len(dropped)} {were} not."]
    if encoder is None:
        text = [f"{n_features} features, numbers as they were given."]
    text = [*_describe_target(subject), *text, *getattr(encoder, "notes_", [])]
    text += [f"The first {MOST_LISTED} are listed."] if len(names) > MOST_LISTED else []
    return Section("columns", "Columns", text, tables=tables)


def _describe_target(subject: Subject) -> list[str]:
    """Say what is predicted, and how it is distributed."""
    y, name = subject.y, f"{subject.target[0].upper()}{subject.target[1:]}"
    if subject.kind == "pairs":
        return []
    if subject.kind == "number":
        low, high, middle = spread_of(y)
        return [f"{name} is a number, from {low} to {high}, with median {middle}."]
    counts = Series(np.asarray(y).astype(str)).value_counts()
    shown = [f"{label} ({n} samples, {percent(n / len(y))})" for label, n in counts[:MOST_LEVELS].items()]
    more = f", and {len(counts) - len(shown)} more" if len(counts) > len(shown) else ""
    return [f"{name} is one of {len(counts)} classes: {', '.join(shown)}{more}."]


def _describe(subject: Subject, name: str) -> list[str]:
    """Return the kind of a column, how many cells are missing, and its range or levels."""
    kind, values, missing = subject.kinds.get(name), subject.numbers(name), str(subject.gaps.get(name, "–"))
    if isinstance(kind, CategoryColumn):
        levels = ", ".join(map(str, kind.values[:MOST_LEVELS]))
        more = len(kind.values) - MOST_LEVELS
        return ["category", missing, f"{levels}{f', and {more} more' if more > 0 else ''}"]
    if values is not None and isinstance(kind, DateColumn):
        first, last = subject.read(name, [int(np.nanargmin(values)), int(np.nanargmax(values))])
        return ["date", missing, f"{first} to {last}, as {', '.join(kind.parts)}"]
    if values is not None:
        low, high, middle = spread_of(values[np.isfinite(values)])
        return ["number", missing, f"{low} to {high}, median {middle}"]
    parts = f", as {len(kind.components)} components of words" if isinstance(kind, TextColumn) else ""
    return ["text", missing, f"{subject.frame[name].nunique()} different ones{parts}"]
