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
from mercer.search import CandidateResult, Measure, SearchResult
from mercer.search.words import (
    PAIRS_DRAWN,
    compare_with_reference,
    describe_comparison,
    describe_difference,
    describe_end,
    describe_measure,
    describe_metric,
    describe_model,
    describe_settings,
    describe_value,
    doubts,
    expected_on_new_samples,
    explain_selection,
    interval_of,
)

KINDS = {"numbers": "numeric", "dates": "date", "categories": "categorical", "texts": "text"}
WORTH_SAYING = 5.0  # seconds of compiling
WIDTH = 110  # of what is printed into a file or a pipe


def say(*parts: Any, file: TextIO | None = None) -> None:
    """Print sentences and tables, on the standard output if no other file is named.

    On a terminal, sentences wrap at words; elsewhere each is a line.
    """
    file = sys.stdout if file is None else file
    console = Console(file=file, width=None if file.isatty() else WIDTH)
    for part in parts:
        shown = one_line(part) if isinstance(part, str) else part
        soft_wrap = isinstance(part, str) and not file.isatty()
        console.print(shown, markup=False, highlight=False, soft_wrap=soft_wrap)


def ranking_parts(result: SearchResult) -> list[Any]:
    """Return the ranking for a terminal, which may be too narrow for settings: then they are lines below."""
    if sys.stdout.isatty() and Console().width < WIDTH:
        return [leaderboard_table(result, shows_settings=False), *settings_lines(result)]
    return [leaderboard_table(result)]


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
    said = [describe_model(result), *([f"Its kernel: {about['kernel']}."] if about["kernel"] else [])]
    said += [result.decision, expected_on_new_samples(result)]
    said += [_tested(about["test"], result), compare_with_reference(result), *doubts(result)]
    if result.n_fitted < about["rows"]:
        said.append(f"Fitted to {result.n_fitted} of the rows: a larger --budget may allow for more.")
    said.append(describe_end(result))
    if about.get("compiling", 0.0) >= WORTH_SAYING:
        said.append(
            f"Compiling took {about['compiling']:.0f} s on top; this happens once after installation."
        )
    return [sentence for sentence in said if sentence]


def _tested(test: Mapping[str, Any] | None, result: SearchResult) -> str:
    """Say how good the model is on rows that were kept from the search."""
    if test is None:
        return ""
    low, high = (np.nan if end is None else end for end in (test["low"], test["high"]))
    error = result.measure.std_error if result.measure else np.nan
    measure = Measure(result.metric, test["value"], error, low, high)
    interval = f" ({interval_of(measure)})" if interval_of(measure) else ""
    said = f"{result.metric.name} {describe_value(measure)}{interval}"
    return f"On the {count(test['rows'], 'row')} of {test['data']}: {said}."


def legend(about: Mapping[str, Any], result: SearchResult) -> list[str]:
    """Say what the numbers of the ranking are, and why another than the first may have been selected."""
    stars = "* a member of the model" if result.blend else "* selected"
    said = [f"{stars}. {describe_metric(result.metric)}"]
    if about["pairs"] is not None and not about["pairs"]["dissimilar"]:
        said.append(PAIRS_DRAWN)
    said += [describe_comparison(result), explain_selection(result)]
    return [sentence for sentence in said if sentence]


def leaderboard_table(
    result: SearchResult, title: str | None = None, *, shows_settings: bool = True
) -> Table:
    """Return the ranking, one line per candidate; members of the model have an asterisk, and their share."""
    comparison = [f"against {result.reference}"] if result.is_compared() else []
    table = Table(title=title, title_justify="left")
    share = ["share"] if result.blend else []
    for name in ("candidate", *share, result.metric.name, *comparison, "fit s", "folds"):
        table.add_column(name, justify="left" if name == "candidate" else "right", no_wrap=True)
    if shows_settings:
        table.add_column("settings, notes")
    for one in result.candidates:
        cells = [
            f"{one.name} *" if one.name in result.stars() else one.name,
            *(
                [f"{100 * result.blend[one.name]:.0f} %" if one.name in result.blend else ""]
                if result.blend
                else []
            ),
            describe_measure(one.measure),
            *([describe_difference(one.difference, result.metric)] if comparison else []),
            f"{one.fit_seconds:.2f}" if np.isfinite(one.fit_seconds) else "",
            one.measure.n_folds or "",
            *([_remarks(one)] if shows_settings else []),
        ]
        table.add_row(*(Text(one_line(cell)) for cell in cells))
    return table


def settings_lines(result: SearchResult) -> list[str]:
    """Return the settings and notes of candidates, a line each: where a table has no room for them."""
    return [f"{one.name}: {said}" for one in result.candidates if (said := _remarks(one))]


def _remarks(one: CandidateResult) -> str:
    return "; ".join(remark for remark in (describe_settings(one.settings), one.note) if remark)


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
