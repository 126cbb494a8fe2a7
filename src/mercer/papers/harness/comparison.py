"""Published numbers beside ours, and the verdict."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mercer.papers.harness.experiment import Number
from mercer.papers.harness.runner import Selection
from mercer.papers.harness.store import Result

Verdict = Literal["within error", "better", "worse"]
VERDICTS: tuple[Verdict, ...] = ("within error", "better", "worse")


@dataclass(frozen=True)
class Entry:
    """One number of a table: what was published, and what we got.

    ``mean`` is None where nothing has been run, ``error`` (the standard error of the mean) where fewer than
    two repeats have, and ``verdict`` where there is nothing to judge by.
    """

    row: str
    column: str
    published: Number | None
    mean: float | None
    error: float | None
    repeats: int
    verdict: Verdict | None


def compare(selection: Selection, results: Iterable[Result]) -> list[Entry]:
    """Return an entry for each selected row and column."""
    scores: dict[tuple[str, str], list[float]] = {}
    for result in sorted(results, key=lambda result: result.cell):
        for column, value in result.values.items():
            scores.setdefault((result.cell.row, column), []).append(value)
    return [
        entry(selection, row, column, scores.get((row, column), []))
        for row in selection.rows
        for column in selection.columns
    ]


def entry(selection: Selection, row: str, column: str, scores: Sequence[float]) -> Entry:
    """Return the mean of the scores, its standard error and the verdict."""
    table = selection.table
    number = table.published.get((row, column))
    mean = float(np.mean(scores)) if scores else None
    error = float(np.std(scores, ddof=1) / math.sqrt(len(scores))) if len(scores) > 1 else None
    verdict = None
    if number is not None and mean is not None and error is not None:
        verdict = judge(number, (mean, error), lower_is_better=table.better == "lower")
    return Entry(row, column, number, mean, error, len(scores), verdict)


def judge(published: Number, ours: tuple[float, float], *, lower_is_better: bool = True) -> Verdict:
    """Say whether two means differ by more than two joint standard errors, and in whose favour.

    Where the paper gives no standard error, its number is taken as exact.
    """
    difference = ours[0] - published[0]
    if abs(difference) <= 2 * math.hypot(ours[1], published[1] or 0.0):
        return "within error"
    return "better" if (difference < 0) == lower_is_better else "worse"
