"""What was measured of all tables, kept in one file, and the page that counts how much of it is as published.

The file has a line for each published number: what we got, from how many repeats and on which day. Results
are stored where they are computed (`harness.store`), and may be thrown away; the record stays in the project.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from reproduction.harness.comparison import VERDICTS, Entry, compare, judge_entry
from reproduction.harness.experiment import Table
from reproduction.harness.runner import finished
from reproduction.harness.selection import select
from reproduction.harness.show import NOTHING, markdown_table
from reproduction.harness.store import Store

FIELDS = ("table", "row", "column", "value", "error", "repeats", "date")
HEADINGS = ("table", "cells", "within error", "better", "worse", "not run", "repeats (paper)", "run")
BEGIN, END = "<!-- overview: written by `make results` -->", "<!-- end of the overview -->"
EVERY = 10**9  # repeats: all that are stored, also if they are more than the paper's
Place = tuple[str, str, str]  # the key of a table, a row and a column


@dataclass(frozen=True)
class Measured:
    """What we got for a published number."""

    value: float
    error: float | None  # None: a single repeat
    repeats: int
    day: str


def read_record(path: Path) -> dict[Place, Measured]:
    """Return what the file has; nothing, if there is none."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        return {
            (line["table"], line["row"], line["column"]): Measured(
                float(line["value"]),
                float(line["error"]) if line["error"] else None,
                int(line["repeats"]),
                line["date"],
            )
            for line in csv.DictReader(file)
        }


def write_record(path: Path, record: Mapping[Place, Measured]) -> None:
    """Write the file anew, in the order of the record."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        for place, found in record.items():
            error = "" if found.error is None else f"{found.error:.4g}"
            writer.writerow([*place, f"{found.value:.6g}", error, found.repeats, found.day])


def add_stored(
    record: Mapping[Place, Measured], tables: Iterable[Table], folder: Path
) -> dict[Place, Measured]:
    """Return the record with the stored results that have as many repeats as it has, or more."""
    everything: dict[Place, Measured] = {}
    for table in tables:
        whole = select(table, (), (), EVERY)
        results = finished(whole, Store(folder, table.experiment))
        for entry in compare(whole, results.values()):
            place = (table.key, entry.row, entry.column)
            if entry.published is None:
                continue
            known = record.get(place)
            if entry.ours and (known is None or entry.repeats >= known.repeats):
                known = Measured(*entry.ours, entry.repeats, str(date.today()))
            if known is not None:
                everything[place] = known
    return everything


def entries_of(table: Table, record: Mapping[Place, Measured]) -> list[Entry]:
    """Return an entry for each published number of a table, with what the record has of it."""
    entries = []
    for row, column in table.published:
        found = record.get((table.key, row, column))
        ours = (found.value, found.error) if found else None
        entries.append(judge_entry(table, row, column, ours, found.repeats if found else 0))
    return entries


def overview(tables: Sequence[Table], record: Mapping[Place, Measured]) -> str:
    """Return the table of all tables as Markdown, and each number of ours that is worse, with its cause."""
    tables = [table for table in tables if table.ours]
    ours: dict[str, list[Entry]] = {table.key: [] for table in tables}
    others: dict[str, list[Entry]] = {table.key: [] for table in tables}
    for table in tables:
        for entry in entries_of(table, record):
            if entry.column not in table.beside:
                (ours if entry.column in table.ours else others)[table.key].append(entry)
    total, compared = _total(tables, ours), _total(tables, others)
    lines = [_line(table, ours[table.key], record) for table in tables]
    lines.append(["**the methods of the papers**", *(f"**{number}**" for number in _counts(total)), "", ""])
    lines.append(["what they are compared with", *map(str, _counts(compared)), "", ""])
    return "\n\n".join([_say(total), markdown_table(HEADINGS, lines), *_worse(tables, ours)])


def _total(tables: Sequence[Table], entries: Mapping[str, Sequence[Entry]]) -> list[Entry]:
    """Return the entries of all tables; a number that two tables of an experiment share counts once."""
    once: dict[tuple[object, ...], Entry] = {}
    for table in tables:
        for entry in entries[table.key]:
            place = (table.experiment, entry.row, entry.column, entry.published)
            if place not in once or once[place].verdict is None:
                once[place] = entry
    return list(once.values())


def _counts(entries: Sequence[Entry]) -> tuple[int, int, int, int, int]:
    counts = Counter(entry.verdict for entry in entries)
    within, better, worse = (counts[verdict] for verdict in VERDICTS)
    return len(entries), within, better, worse, counts[None]


def _line(table: Table, entries: Sequence[Entry], record: Mapping[Place, Measured]) -> list[str]:
    found = [record[table.key, e.row, e.column] for e in entries if e.verdict is not None]
    repeats, days = sorted({m.repeats for m in found}), sorted({m.day for m in found})
    span = NOTHING if not repeats else _span([str(number) for number in repeats])
    counts = [str(number) for number in _counts(entries)]
    return [table.title, *counts, f"{span} ({table.repeats})", _span(days) if days else NOTHING]


def _span(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}"


def _say(entries: Sequence[Entry]) -> str:
    cells, within, better, worse, not_run = _counts(entries)
    run, are = cells - not_run, "is" if worse == 1 else "are"
    share = 100 * (within + better) / run if run else 0.0
    return (
        f"Of {cells} published numbers of the papers' own methods, {within + better} of the {run} that were "
        f"run are within two joint standard errors or better ({share:.1f} %), {worse} {are} worse, and "
        f"{not_run} were not run."
    )


def _worse(tables: Sequence[Table], entries: Mapping[str, Sequence[Entry]]) -> list[str]:
    lines = [
        f"- {table.title}: {entry.row}, {entry.column}, published {entry.published[0]:g}, ours "
        f"{entry.ours[0]:.2f} (repeats: {entry.repeats}). "
        + table.causes.get((entry.row, entry.column), "The cause is not known.")
        for table in tables
        for entry in entries[table.key]
        if entry.verdict == "worse" and entry.published and entry.ours
    ]
    return ["Worse, each with its cause:", "\n".join(lines)] if lines else []


def put_into_page(page: str, text: str) -> str:
    """Return the page with the text between its two marks."""
    if BEGIN not in page or END not in page:
        raise ValueError(f"the page has no place for the overview: it needs the lines {BEGIN} and {END}")
    return re.sub(
        f"{re.escape(BEGIN)}.*{re.escape(END)}",
        lambda _: f"{BEGIN}\n\n{text}\n\n{END}",
        page,
        flags=re.DOTALL,
    )
