"""What is said of a model, in sentences and as a table: after learning, and by ``mercer show``."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mercer.commands.mistakes import one_line
from mercer.tables.errors import MOST_NAMES

WIDTH = 110  # of what is printed into a file or a pipe


def say(*parts: Any) -> None:
    """Print sentences and tables on the standard output."""
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else WIDTH)
    for part in parts:
        shown = one_line(part) if isinstance(part, str) else part
        console.print(shown, markup=False, highlight=False, soft_wrap=isinstance(part, str))


def data_sentences(about: Mapping[str, Any]) -> list[str]:
    """Say what the data are, and what was done to them."""
    columns = about["columns"]
    numbers, categories, dropped = columns["numbers"], columns["categories"], columns["dropped"]
    said = [
        f"{about['data']}: {about['rows']} rows{_classes(about)}, {_count(len(numbers), 'number')} and "
        f"{_count(len(categories), 'category', 'categories')} a row, {_count(about['features'], 'feature')} "
        "in all."
    ]
    if about["unlabelled_rows"]:
        said.append(f"{about['unlabelled_rows']} rows without a class are used as unlabelled rows.")
    if categories:
        said.append(f"Categories are one-hot: {_some(categories)}.")
    if about["missing_cells"]:
        said.append(
            f"{_count(about['missing_cells'], 'cell is', 'cells are')} empty: numbers get the median of "
            "their column, categories a category of their own."
        )
    said += [f"Left out: {name!r}, because {reason}." for name, reason in list(dropped.items())[:MOST_NAMES]]
    if len(dropped) > MOST_NAMES:
        said.append(f"Left out: {len(dropped) - MOST_NAMES} more columns (--json lists them).")
    return said


def finding_sentences(about: Mapping[str, Any]) -> list[str]:
    """Say what the search has found."""
    settings = settings_text(about["settings"])
    said = [f"Best: {about['winner']}{f' with {settings}' if settings else ''}. Kernel: {about['kernel']}."]
    if about.get("auc") is not None:
        said.append(
            f"It tells similar from dissimilar pairs with an AUC of {about['auc']:.3f}, choice included."
        )
    elif about.get("error") is not None:
        said.append(
            f"Expected error on new rows: {100 * about['error']:.1f} % ± {100 * about['std_error']:.1f}, the "
            "choice among candidates included."
        )
    if about["rows_used"] < about["rows"]:
        said.append(f"It was fitted to {about['rows_used']} of the rows: a larger --budget lets it take all.")
    reasons = {"interrupt": "you interrupted it", "budget": f"the {about['budget']:g} seconds were over"}
    if about["stopped"]:
        said.append(f"The search did not run to its end: {reasons.get(about['stopped'], about['stopped'])}.")
    return said


def leaderboard_table(lines: Sequence[Mapping[str, Any]], title: str | None = None) -> Table:
    """Return the ranking, one line for each candidate."""
    measure, rival = ("AUC", "plain") if any("auc" in line for line in lines) else ("error", "RBF-SVM")
    table = Table(title=title, title_justify="left")
    for name in ("candidate", measure, f"against {rival}", "fit s", "folds"):
        table.add_column(name, justify="left" if name == "candidate" else "right", no_wrap=True)
    table.add_column("settings, notes")
    for line in lines:
        remarks = [settings_text(line["settings"]), line["note"]]
        seconds = line["fit_seconds"]
        cells = [
            line["candidate"],
            score_text(line),
            _difference(line),
            "" if _is_missing(seconds) else f"{seconds:.2f}",
            line["folds"] or "",
            "; ".join(str(remark) for remark in remarks if remark),
        ]
        table.add_row(*(Text(one_line(cell)) for cell in cells))
    return table


def score_text(line: Mapping[str, Any]) -> str:
    """Return the error in per cent, or the AUC, with its standard error."""
    value, noise = line.get("auc", line.get("error")), line["std_error"]
    if _is_missing(value):
        return ""
    factor, digits = (1, 3) if "auc" in line else (100, 1)
    unit = "" if "auc" in line else " %"
    spread = "" if _is_missing(noise) else f" ± {factor * noise:.{digits}f}"
    return f"{factor * value:.{digits}f}{spread}{unit}"


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return settings as a user would type them."""
    return ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in settings.items()
    )


def _difference(line: Mapping[str, Any]) -> str:
    if _is_missing(line["difference"]):
        return ""
    factor, digits = (1, 3) if "auc" in line else (100, 1)
    low, middle, high = (
        "" if _is_missing(line[name]) else f"{factor * line[name]:+.{digits}f}"
        for name in ("low", "difference", "high")
    )
    return f"{middle} [{low}, {high}]" if low else middle


def _is_missing(value: Any) -> bool:
    return value is None or value != value  # NaN, or null in a file


def _classes(about: Mapping[str, Any]) -> str:
    if about["pairs"] is not None:
        return f", {about['pairs']['similar']} similar and {about['pairs']['dissimilar']} dissimilar pairs"
    classes = about["classes"]
    shown = ", ".join(f"{name} {count}" for name, count in list(classes.items())[:MOST_NAMES])
    return f" of {len(classes)} classes ({shown}{', …' if len(classes) > MOST_NAMES else ''})"


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
