"""Published numbers beside ours, and the verdict."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from reproduction.harness.experiment import Number, Table
from reproduction.harness.selection import Selection
from reproduction.harness.store import Result, by_column

Verdict = Literal["within error", "better", "worse"]
VERDICTS: tuple[Verdict, ...] = ("within error", "better", "worse")


@dataclass(frozen=True)
class Entry:
    """One number of a table: what was published, and what we got.

    ``ours`` is None where nothing has been run, its standard error where fewer than two repeats have, and
    ``verdict`` where there is nothing to compare.
    """

    row: str
    column: str
    published: Number | None
    ours: Number | None
    repeats: int
    verdict: Verdict | None


def compare(selection: Selection, results: Iterable[Result]) -> list[Entry]:
    """Return an entry for each selected row and column."""
    values = by_column(results)
    return [
        _entry(selection, row, column, list(values.get((row, column), {}).values()))
        for row in selection.rows
        for column in selection.columns
    ]


def _entry(selection: Selection, row: str, column: str, scores: Sequence[float]) -> Entry:
    ours = average_with_error(scores, selection.table.average) if scores else None
    return judge_entry(selection.table, row, column, ours, len(scores))


def judge_entry(table: Table, row: str, column: str, ours: Number | None, repeats: int) -> Entry:
    """Return what was published and what we got, with the verdict where both are known.

    Where the paper gives no standard error, it is taken to be what ours would be with the paper's repeats. A
    single repeat has no verdict, unless the paper has no more.
    """
    published = table.published.get((row, column))
    verdict = None
    if published and ours and (ours[1] is not None or table.repeats == 1):
        value, error = published
        if error is None:
            error = (ours[1] or 0.0) * math.sqrt(repeats / table.repeats)
        verdict = judge((value, error), ours, lower_is_better=table.better == "lower")
    return Entry(row, column, published, ours, repeats, verdict)


def mean_with_error(scores: Sequence[float]) -> Number:
    """Return the mean and its standard error, which is None for a single score."""
    error = float(np.std(scores, ddof=1) / math.sqrt(len(scores))) if len(scores) > 1 else None
    return float(np.mean(scores)), error


def average_with_error(scores: Sequence[float], average: str) -> Number:
    """Return the mean or the median and its standard error; that of medians is as for normal scores."""
    mean, error = mean_with_error(scores)
    if average == "mean":
        return mean, error
    return float(np.median(scores)), None if error is None else math.sqrt(math.pi / 2) * error


def judge(published: Number, ours: Number, *, lower_is_better: bool = True) -> Verdict:
    """Say whether two means differ by more than two joint standard errors, and in whose favour."""
    difference = ours[0] - published[0]
    if abs(difference) <= 2 * math.hypot(ours[1] or 0.0, published[1] or 0.0):
        return "within error"
    return "better" if (difference < 0) == lower_is_better else "worse"
