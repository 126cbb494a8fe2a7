"""What the papers claim, sentence by sentence, and whether it holds here.

Where a sentence is about numbers, its verdict is computed from what was measured; where it is about
mathematics, a test decides it, and is named.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import pandas as pd

from reproduction.harness.count import judge, places_of
from reproduction.harness.experiment import Number, Place

Verdict = Literal["holds", "holds in part", "fails", "cannot be tested"]
VERDICTS: tuple[Verdict, ...] = ("holds", "holds in part", "fails", "cannot be tested")
Finding = tuple[Verdict, str]  # and what it rests on


class Numbers:
    """The numbers of the docs' own draws, by table."""

    def __init__(self, record: pd.DataFrame) -> None:
        self._tables: dict[str, dict[Place, Number]] = {
            table: places_of(record, table) for table in record.table.unique()
        }

    def of(self, table: str) -> Mapping[Place, Number]:
        """Return the numbers of a table, by row and column."""
        return self._tables.get(table, {})


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper.

    Parameters
    ----------
    where : str
        The paper's key and the section.
    sentence : str
        What it says, in the paper's words where they are short.
    verdict : tuple or callable
        The verdict and what it rests on, or a function of `Numbers` that returns both.
    shown_by : str
        The table, figure or test that shows it, or "benchmarks NAME"; "" where nothing can.
    """

    where: str
    sentence: str
    verdict: Finding | Callable[[Numbers], Finding]
    shown_by: str = ""

    def judge(self, numbers: Numbers) -> Finding:
        """Return the verdict and what it rests on."""
        try:
            return self.verdict(numbers) if callable(self.verdict) else self.verdict
        except KeyError:  # a number that was not measured
            return "cannot be tested", "not run"


def proved(by: str, note: str = "for all data that the test draws") -> tuple[Finding, str]:
    """Return the end of a claim that a test shows to hold."""
    return ("holds", note), by


class Tally(NamedTuple):
    """On how many rows one column is better than another by more than two joint errors, alike, and worse."""

    better: int
    alike: int
    worse: int

    def __str__(self) -> str:
        n = sum(self)
        return f"better on {self.better} of {n} rows, alike on {self.alike}, worse on {self.worse}"

    @property
    def total(self) -> int:
        """The number of rows."""
        return sum(self)


def tally(
    numbers: Mapping[Place, Number],
    rows: Iterable[str],
    ours: str,
    others: Iterable[str],
    *,
    lower_is_better: bool = True,
) -> Tally:
    """Compare a column with the best of others, row by row; rows that lack one are left out.

    KeyError if all do.
    """
    verdicts = []
    best = min if lower_is_better else max
    for row in rows:
        rivals = [numbers[row, other] for other in others if (row, other) in numbers]
        if rivals and (row, ours) in numbers:
            rival = best(rivals, key=lambda number: number[0])
            verdicts.append(judge(rival, numbers[row, ours], lower_is_better=lower_is_better))
    if not verdicts:
        raise KeyError(ours)
    return Tally(verdicts.count("better"), verdicts.count("within error"), verdicts.count("worse"))


def always(found: Tally) -> Finding:
    """Judge a claim that one is better than another: it holds if it is so on all rows."""
    if found.better == found.total:
        return "holds", str(found)
    return ("holds in part" if found.better > found.worse else "fails"), str(found)


def mostly(found: Tally) -> Finding:
    """Judge a claim that one is usually better: it holds if it is so on more than half of the rows."""
    if 2 * found.better > found.total:
        return "holds", str(found)
    return ("holds in part" if found.better > found.worse else "fails"), str(found)


def never_worse(found: Tally) -> Finding:
    """Judge a claim that one is as good as another: it holds if it is worse on no row."""
    if found.worse == 0:
        return "holds", str(found)
    return ("holds in part" if 2 * found.worse < found.total else "fails"), str(found)


def both(*findings: Finding) -> Finding:
    """Judge a claim of several parts: it holds, or fails, if all do."""
    verdicts = {verdict for verdict, _ in findings}
    verdict = verdicts.pop() if len(verdicts) == 1 else "holds in part"
    return verdict, "; ".join(note for _, note in findings)


def compare(
    table: str,
    rows: Iterable[str],
    ours: str,
    others: Iterable[str],
    by: Callable[[Tally], Finding],
    *,
    lower_is_better: bool = True,
) -> Callable[[Numbers], Finding]:
    """Return the verdict of a comparison of columns as a function of the numbers."""

    def verdict(numbers: Numbers) -> Finding:
        return by(tally(numbers.of(table), rows, ours, others, lower_is_better=lower_is_better))

    return verdict
