"""What is said of a model, in sentences and as a table: after learning, and by ``mercer show``."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mercer.commands.errors import one_line
from mercer.kernels.description import count
from mercer.preprocessing.errors import MOST_NAMES
from mercer.search import CandidateResult, SearchResult
from mercer.search.words import (
    PAIRS_DRAWN,
    compare_with_reference,
    describe_blend,
    describe_comparison,
    describe_difference,
    describe_end,
    describe_measure,
    describe_metric,
    describe_settings,
    doubts,
    expected_on_new_samples,
    explain_selection,
)

KINDS = {"numbers": "numeric", "dates": "date", "categories": "categorical", "texts": "text"}
WORTH_SAYING = 5.0  # seconds of compiling
WIDTH = 110  # of what is printed into a file or a pipe


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
    categories, dropped = columns["categories"], columns["dropped"]
    kinds = [count(len(columns[kind]), f"{word} column") for kind, word in KINDS.items() if columns[kind]]
    listed_kinds = " and ".join([", ".join(kinds[:-1]), kinds[-1]] if len(kinds) > 1 else kinds)
    said = [f"{about['data']}: {count(about['rows'], 'row')}{_target(about)}, {listed_kinds}."]
    if about["unlabelled_rows"]:
        what = "a class" if about.get("numbers") is None else "a target"
        said.append(f"{count(about['unlabelled_rows'], 'more row')} without {what} (unlabelled).")
    if categories:
        said.append(f"One-hot encoded: {_some(categories)}; {count(about['features'], 'feature')} in all.")
    if about["missing_cells"]:
        said.append(
            f"{count(about['missing_cells'], 'missing value')}: imputed by the median of a numeric column, a "
            "category of their own in others."
        )
    if columns["texts"]:
        said.append(f"Text as TF-IDF components: {_some(columns['texts'])}.")
    if about["weight"] is not None:
        said.append(f"Rows are weighted by {about['weight']!r}.")
    if about["group"] is not None:
        said.append(f"No fold splits a group of {about['group']!r}.")
    said += about["notes"]
    said += [f"Dropped column {name!r}: {reason}." for name, reason in list(dropped.items())[:MOST_NAMES]]
    if len(dropped) > MOST_NAMES:
        said.append(f"Dropped {len(dropped) - MOST_NAMES} more columns (--json lists them).")
    return said


def finding_sentences(about: Mapping[str, Any], result: SearchResult) -> list[str]:
    """Say what the search has found."""
    settings = describe_settings(result.settings)
    said = [f"Selected: {result.winner}{f' with {settings}' if settings else ''}. Kernel: {about['kernel']}."]
    said += [describe_blend(result), expected_on_new_samples(result)]
    said += [compare_with_reference(result), *doubts(result)]
    if result.n_fitted < about["rows"]:
        said.append(f"Fitted to {result.n_fitted} of the rows: a larger --budget may allow for more.")
    said.append(describe_end(result))
    if about.get("compiling", 0.0) >= WORTH_SAYING:
        said.append(
            f"Compiling took {about['compiling']:.0f} s on top; this happens once after installation."
        )
    return [sentence for sentence in said if sentence]


def legend(about: Mapping[str, Any], result: SearchResult) -> list[str]:
    """Say what the numbers of the ranking are, and why another than the first may have been selected."""
    said = [f"* selected. {describe_metric(result.metric)}"]
    if about["pairs"] is not None and not about["pairs"]["dissimilar"]:
        said.append(PAIRS_DRAWN)
    said += [describe_comparison(result), explain_selection(result)]
    return [sentence for sentence in said if sentence]


def leaderboard_table(result: SearchResult, title: str | None = None) -> Table:
    """Return the ranking, one line per candidate; the selected one, if there is one, has an asterisk."""
    comparison = [f"against {result.reference}"] if result.is_compared() else []
    table = Table(title=title, title_justify="left")
    for name in ("candidate", result.metric.name, *comparison, "fit s", "folds"):
        table.add_column(name, justify="left" if name == "candidate" else "right", no_wrap=True)
    table.add_column("settings, notes")
    for one in result.candidates:
        cells = [
            f"{one.name} *" if one.name == result.winner else one.name,
            describe_measure(one.measure),
            *([describe_difference(one.difference, result.metric)] if comparison else []),
            f"{one.fit_seconds:.2f}" if np.isfinite(one.fit_seconds) else "",
            one.measure.n_folds or "",
            "; ".join(remark for remark in (describe_settings(one.settings), one.note) if remark),
        ]
        table.add_row(*(Text(one_line(cell)) for cell in cells))
    return table


def progress_line(one: CandidateResult) -> str:
    """Say how far a candidate is."""
    n_folds = one.measure.n_folds
    far = f"{one.measure.metric.name} {describe_measure(one.measure)} after {count(n_folds, 'fold')}"
    return f"{one.name}: {far if n_folds else 'not compared'}{f' ({one.note})' if one.note else ''}"


def _target(about: Mapping[str, Any]) -> str:
    if about["pairs"] is not None:
        return f", {about['pairs']['similar']} similar and {about['pairs']['dissimilar']} dissimilar pairs"
    numbers, classes = about.get("numbers"), about["classes"]
    if numbers is not None:
        low, mean, high = (f"{numbers[name]:.6g}" for name in ("low", "mean", "high"))
        return f", target {about['target']!r} a number from {low} to {high} (mean {mean})"
    shown = ", ".join(f"{name}: {n}" for name, n in list(classes.items())[:MOST_NAMES])
    return f", {len(classes)} classes ({shown}{', …' if len(classes) > MOST_NAMES else ''})"


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
