"""A run as Markdown, and the list of what can be run."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from mercer.datasets.real import FOLDER_VARIABLE
from reproduction.harness.count import VERDICTS, cells, measured
from reproduction.harness.experiment import Figure, Number, Table
from reproduction.harness.run import Catalogue, Report

NOTHING = "—"
HEADINGS = ("data", "method", "published", "ours", "repeats", "verdict")


def to_markdown(report: Report) -> str:
    """Return the table, with a verdict for each published number, and the sentences below it."""
    table = report.selection.table
    ours = measured(report)
    own = ours.assign(first=0, seed=0)  # fresh draws are judged as the docs' own are
    judged = cells([table], own).itertuples() if table.published else ()
    verdicts = {(cell.row, cell.column): cell.verdict for cell in judged}
    lines = []
    for line in ours.itertuples():
        place = line.row, line.column
        numbers = number(table.published.get(place)), number((line.value, line.error))
        verdict = verdicts.get(place, "not run")
        lines.append([*place, *numbers, str(line.repeats), NOTHING if verdict == "not run" else verdict])
    counts = [f"{list(verdicts.values()).count(name)} {name}" for name in VERDICTS[:3]]
    caption = f"{table.title}: {table.quantity}, {table.average} ± standard error ({table.better} is better)"
    parts = [f"**{caption}**", *remarks(report)]
    if lines:
        parts[1:1] = [markdown_table(HEADINGS, lines), *([", ".join(counts) + "."] if verdicts else [])]
    return "\n\n".join(parts) + "\n"


def remarks(report: Report) -> list[str]:
    """Return the table's own sentences about its results, and what went wrong."""
    results, skipped = report.results, report.skipped
    sentences = list(report.selection.table.summarize(results)) if results else ["Nothing was computed."]
    sentences += [f"Skipped {row}: {reason}" for row, reason in skipped.items()]
    sentences += [f"Failed {' '.join(map(str, cell))}: {reason}" for cell, reason in report.failures]
    if warned := [result.warnings[0] for result in results if result.warnings]:
        sentences.append(f"Warnings in {len(warned)} of {len(results)} runs, such as: {warned[0]}")
    if report.interrupted:
        sentences.append("Interrupted. Finished results are kept: run the same command again to continue.")
    return sentences


def listing(catalogue: Catalogue) -> str:
    """Return a table of all tables and figures, their data, and which of these are not in the folder."""
    folder = os.environ.get(FOLDER_VARIABLE, "")
    lines = []
    for key, item in catalogue.items():
        names = needed(item)
        absent = [name for name in names if not (folder and (Path(folder) / f"{name}.npz").is_file())]
        missing = f"; not in {FOLDER_VARIABLE}: {', '.join(absent)}" if absent else ""
        lines.append([key, item.title, (", ".join(names) or "generated") + missing])
    return markdown_table(("key", "title", "data"), lines) + "\n"


def needed(item: Table | Figure) -> list[str]:
    """Return the names of the data sets that a figure, or the published rows of a table, need."""
    if isinstance(item, Figure):
        return list(item.needs)
    return list(dict.fromkeys(item.needs[row] for row in item.published_rows if row in item.needs))


def markdown_table(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return lines of cells as a Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, ["---"] * len(headings), *lines))


def number(value: Number | None) -> str:
    """Return a value and its standard error as text."""
    if value is None:
        return NOTHING
    return (
        f"{value[0]:.2f}" if value[1] is None or value[1] != value[1] else f"{value[0]:.2f} ± {value[1]:.2f}"
    )
