"""A finished table for people (a terminal, Markdown) and for programs (JSON)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, groupby, repeat
from typing import Any

import rich.box
import rich.table
from rich.text import Text

from reproduction.harness.comparison import VERDICTS, Entry, compare
from reproduction.harness.experiment import Number
from reproduction.harness.runner import Failure
from reproduction.harness.selection import Selection
from reproduction.harness.store import Cell, Result

NOTHING = "—"
HEADINGS = ("data", "method", "published", "ours", "runs", "verdict")
COLOURS = {"within error": "green", "better": "bold green", "worse": "bold red", None: "dim"}


@dataclass(frozen=True)
class Report:
    """A table and how its run went."""

    selection: Selection
    results: Mapping[Cell, Result]
    skipped: Mapping[str, str]  # row -> why it could not run
    failures: Sequence[Failure] = ()
    interrupted: bool = False

    @property
    def entries(self) -> list[Entry]:
        """The published numbers beside ours."""
        return compare(self.selection, self.results.values())

    @property
    def notes(self) -> list[str]:
        """The table's own sentences about its results."""
        return list(self.selection.table.summarize(list(self.results.values()))) if self.results else []

    @property
    def caption(self) -> str:
        """What the numbers are."""
        table = self.selection.table
        return f"{table.title}: {table.quantity}, {table.average} ± standard error ({table.better} is better)"


def to_terminal(report: Report) -> rich.table.Table:
    """Return the table for a terminal: a block of lines for each data set."""
    title = Text(report.caption, style="bold")
    table = rich.table.Table(
        *HEADINGS, title=title, box=rich.box.SIMPLE_HEAD, title_justify="left", padding=(0, 1, 0, 0)
    )
    for row, block in groupby(report.entries, key=lambda entry: entry.row):
        table.add_section()
        for name, entry in zip(chain([row], repeat("")), block, strict=False):
            _, *cells, verdict = _texts(entry)
            table.add_row(name, *cells, Text(verdict, style=COLOURS[entry.verdict]))
    return table


def to_markdown(report: Report) -> str:
    """Return the table and the sentences below it as Markdown."""
    shown = [markdown_table(HEADINGS, map(_texts, report.entries))] if report.results else []
    return "\n\n".join([f"**{report.caption}**", *shown, *remarks(report)]) + "\n"


def markdown_table(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return lines of cells as a Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, ["---"] * len(headings), *lines))


def to_json(report: Report) -> dict[str, Any]:
    """Return the whole report as plain values."""
    table = report.selection.table
    return {
        "key": table.key,
        "title": table.title,
        "quantity": table.quantity,
        "better": table.better,
        "protocol": {"data": table.protocol} | {m.name: m.protocol for m in report.selection.methods},
        "repeats": report.selection.repeats,
        "published_repeats": table.repeats,
        "rows": list(report.selection.rows),
        "columns": list(report.selection.columns),
        "cells": [_entry_to_json(entry) for entry in report.entries],
        "summary": _counts(report),
        "worse": [[entry.row, entry.column] for entry in report.entries if entry.verdict == "worse"],
        "notes": report.notes,
        "skipped": dict(report.skipped),
        "failed": [failure.cell._asdict() | {"reason": failure.reason} for failure in report.failures],
        "warnings": sorted({message for result in report.results.values() for message in result.warnings}),
        "seconds": sum(result.seconds for result in report.results.values()),
        "interrupted": report.interrupted,
    }


def remarks(report: Report) -> list[str]:
    """Return the sentences that belong below a table; the first counts the verdicts, if there are any."""
    counts = _counts(report)
    sentences = [", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS) + "."]
    if not report.results:
        missing = f": the data of {', '.join(report.skipped)} are missing" if report.skipped else ""
        sentences = [f"Nothing was computed{missing}."]
    elif not report.selection.table.published:
        sentences = []
    if worse := [f"{entry.row} {entry.column}" for entry in report.entries if entry.verdict == "worse"]:
        sentences.append(f"Worse: {', '.join(worse)}.")
    sentences += report.notes
    sentences += [f"Skipped {row}: {reason}" for row, reason in report.skipped.items()]
    sentences += [f"Failed {_name(failure.cell)}: {failure.reason}" for failure in report.failures]
    if warned := [result.warnings[0] for result in report.results.values() if result.warnings]:
        sentences.append(f"Warnings in {len(warned)} of {len(report.results)} runs, such as: {warned[0]}")
    if report.interrupted:
        sentences.append("Interrupted. Finished results are kept: run the same command again to continue.")
    return sentences


def _name(cell: Cell) -> str:
    return f"{cell.row} {cell.method} (repeat {cell.repeat})"


def _counts(report: Report) -> dict[str, int]:
    counts = Counter(entry.verdict for entry in report.entries)
    return {verdict: counts[verdict] for verdict in VERDICTS}


def _texts(entry: Entry) -> list[str]:
    numbers = _number(entry.published), _number(entry.ours)
    return [entry.row, entry.column, *numbers, str(entry.repeats), entry.verdict or NOTHING]


def _number(number: Number | None) -> str:
    if number is None:
        return NOTHING
    value, error = number
    return f"{value:.2f}" if error is None else f"{value:.2f} ± {error:.2f}"


def _entry_to_json(entry: Entry) -> dict[str, Any]:
    numbers = {"published": entry.published, "ours": entry.ours}
    return asdict(entry) | {
        name: number and {"mean": number[0], "error": number[1]} for name, number in numbers.items()
    }
