"""What is said of a model, in sentences and as a table: after learning, and by ``mercer show``."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mercer.commands.errors import one_line
from mercer.report.content import plain_note, signed
from mercer.report.sections.ranking import GUESSED, compare_with_reference
from mercer.search.words import explain_winner
from mercer.tables.errors import MOST_NAMES

WIDTH = 110  # of what is printed into a file or a pipe
MEANINGS = {
    "error": "the share of rows predicted wrong, cross-validated",
    "AUC": "how often a similar pair is nearer than a dissimilar one (1 is best, 0.5 is chance)",
    "RBF-SVM": "the difference in percentage points [95 % interval]; below zero is better",
    "plain": "the difference to the plain distance [95 % interval]; above zero is better",
}


def say(*parts: Any, file: TextIO | None = None) -> None:
    """Print sentences and tables, on the standard output if no other file is named."""
    file = sys.stdout if file is None else file
    console = Console(file=file, width=None if file.isatty() else WIDTH)
    for part in parts:
        shown = one_line(part) if isinstance(part, str) else part
        console.print(shown, markup=False, highlight=False, soft_wrap=isinstance(part, str))


def data_sentences(about: Mapping[str, Any]) -> list[str]:
    """Say what the data are, and what was done to them."""
    columns = about["columns"]
    numbers, categories, dropped = columns["numbers"], columns["categories"], columns["dropped"]
    cells = [_count(len(numbers), "number")] if numbers else []
    cells += [_count(len(categories), "category", "categories")] if categories else []
    said = [f"{about['data']}: {about['rows']} rows{_classes(about)}, {' and '.join(cells)} a row."]
    if about["unlabelled_rows"]:
        more = _count(about["unlabelled_rows"], "more row is", "more rows are")
        said.append(f"{more} used without a class (unlabelled).")
    if categories:
        said.append(
            f"Categories are one-hot, which makes {_count(about['features'], 'feature')} in all: "
            f"{_some(categories)}."
        )
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
            "Of a similar and a dissimilar new pair, the similar one is nearer in "
            f"{100 * about['auc']:.1f} % of the cases (AUC {about['auc']:.3f}), the choice among candidates "
            "included."
        )
    elif about.get("error") is not None:
        said.append(
            f"Expected error on new rows: {100 * about['error']:.1f} % ± {100 * about['std_error']:.1f} (one "
            "standard error), the choice among candidates included."
        )
        verdict = compare_with_reference(about["winner"], about["leaderboard"])
        said += [verdict] if verdict else []
    if about["rows_used"] < about["rows"]:
        said.append(f"It was fitted to {about['rows_used']} of the rows: a larger --budget lets it take all.")
    over = f"the {about['budget']:g} seconds were over; a larger --budget compares more"
    reasons = {"interrupt": "you interrupted it", "budget": over}
    if about["stopped"]:
        said.append(f"The search did not run to its end: {reasons.get(about['stopped'], about['stopped'])}.")
    return said


def legend(about: Mapping[str, Any]) -> list[str]:
    """Say what the marks and numbers of the ranking are, and why another than the first may have won."""
    lines = about["leaderboard"]
    measure, rival = _terms(lines)
    said = [f"* is the winner. {measure[0].upper()}{measure[1:]}: {MEANINGS[measure]}, ± one standard error."]
    if about["pairs"] is not None and not about["pairs"]["dissimilar"]:
        said.append(GUESSED)
    if _is_compared(lines):
        said.append(f"Against {rival}: {MEANINGS[rival]}.")
    because = explain_winner(about["winner"], lines, about.get("candidates", ()))
    return [*said, because] if because else said


def leaderboard_table(
    lines: Sequence[Mapping[str, Any]], title: str | None = None, winner: str | None = None
) -> Table:
    """Return the ranking, one line for each candidate; the winner, if there is one, has an asterisk."""
    measure, rival = _terms(lines)
    comparison = [f"against {rival}"] if _is_compared(lines) else []
    table = Table(title=title, title_justify="left")
    for name in ("candidate", measure, *comparison, "fit s", "folds"):
        table.add_column(name, justify="left" if name == "candidate" else "right", no_wrap=True)
    table.add_column("settings, notes")
    for line in lines:
        remarks = [settings_text(line["settings"]), plain_note(line["note"] or "")]
        seconds = line["fit_seconds"]
        cells = [
            f"{line['candidate']} *" if line["candidate"] == winner else line["candidate"],
            score_text(line),
            *([_difference(line)] if comparison else []),
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
    """Return settings by their own names, whatever part of the model they belong to."""
    shown = {name.rpartition("__")[2]: value for name, value in settings.items()}
    return ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in shown.items()
    )


def _difference(line: Mapping[str, Any]) -> str:
    if _is_missing(line["difference"]):
        return ""
    factor, digits = (1, 3) if "auc" in line else (100, 1)
    low, middle, high = (
        "" if _is_missing(line[name]) else signed(factor * line[name], digits)
        for name in ("low", "difference", "high")
    )
    return f"{middle} [{low}, {high}]" if low else middle


def _terms(lines: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Return what is measured, and what candidates are compared with."""
    return ("AUC", "plain") if any("auc" in line for line in lines) else ("error", "RBF-SVM")


def _is_compared(lines: Sequence[Mapping[str, Any]]) -> bool:
    return not all(_is_missing(line["difference"]) for line in lines)


def _is_missing(value: Any) -> bool:
    return value is None or value != value  # NaN, or null in a file


def _classes(about: Mapping[str, Any]) -> str:
    if about["pairs"] is not None:
        return f", {about['pairs']['similar']} similar and {about['pairs']['dissimilar']} dissimilar pairs"
    classes = about["classes"]
    shown = ", ".join(f"{name}: {count}" for name, count in list(classes.items())[:MOST_NAMES])
    return f" of {len(classes)} classes ({shown}{', …' if len(classes) > MOST_NAMES else ''})"


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
