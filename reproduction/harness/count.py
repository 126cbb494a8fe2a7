"""What was measured, as a table of numbers, and how many of the published numbers it agrees with.

`docs/results.csv` has a line for each number that was measured: the docs' own draws begin with repeat 0 of
seed 0; any other line is of fresh draws. Everything that is counted is counted from these lines.
"""

import math
from collections.abc import Iterable, Sequence
from datetime import date
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from reproduction.harness.experiment import Number, Place, Table, by_column
from reproduction.harness.run import Report

KEYS = ["table", "row", "column", "first", "seed"]
FIELDS = [*KEYS, "value", "error", "repeats", "date", "commit"]
VERDICTS = ["within error", "better", "worse", "not run"]
FAR = 0.15  # of the published number: what is farther off, though within error, is said


def read_record(path: Path) -> pd.DataFrame:
    """Return what the file has; nothing, if there is none."""
    text = dict.fromkeys(("table", "row", "column", "date", "commit"), str)
    if not path.exists():
        return pd.DataFrame(columns=FIELDS)
    return pd.read_csv(path, dtype=text, keep_default_na=False, na_values={"error": [""]})


def write_record(path: Path, record: pd.DataFrame) -> None:
    """Write the file anew, in the order of the record."""
    shown = record.assign(
        value=record.value.map("{:.6g}".format),
        error=record.error.map(lambda error: "" if pd.isna(error) else f"{error:.4g}"),
    )
    shown[FIELDS].to_csv(path, index=False, lineterminator="\n")


def measured(report: Report) -> pd.DataFrame:
    """Return the averages of a run as lines of the record."""
    table, draws = report.selection.table, report.selection.draws
    commit = " ".join(sorted({result.commit for result in report.results}))
    values = by_column(report.results)
    lines = []
    for row, column in product(report.selection.rows, report.selection.columns):
        if scores := list(values.get((row, column), {}).values()):
            place = (table.key, row, column, draws.first, draws.seed)
            number = average(scores, table.average)
            lines.append((*place, *number, len(scores), str(date.today()), commit))
    return pd.DataFrame(lines, columns=FIELDS)


def merge(record: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Return the record with new lines, each in the place of one with as many repeats or fewer."""
    both = pd.concat([part for part in (record, new) if len(part)], ignore_index=True)
    most = both.groupby(KEYS, sort=False).repeats.transform("max")
    kept = both[both.repeats == most].drop_duplicates(KEYS, keep="last")
    place = both.drop_duplicates(KEYS).reset_index(drop=True)[KEYS]  # the order stays
    return place.merge(kept, on=KEYS)[FIELDS]


def average(scores: Sequence[float], kind: str = "mean") -> Number:
    """Return the mean or the median, and its standard error, which is None for a single score.

    That of medians is as for normal scores.
    """
    error = float(np.std(scores, ddof=1) / math.sqrt(len(scores))) if len(scores) > 1 else None
    if kind == "mean":
        return float(np.mean(scores)), error
    return float(np.median(scores)), None if error is None else math.sqrt(math.pi / 2) * error


def judge(published: Number, ours: Number, *, lower_is_better: bool = True) -> str:
    """Say whether two numbers differ by more than two joint standard errors, and in whose favour."""
    difference = ours[0] - published[0]
    if abs(difference) <= 2 * math.hypot(ours[1] or 0.0, published[1] or 0.0):
        return "within error"
    return "better" if (difference < 0) == lower_is_better else "worse"


def cells(tables: Iterable[Table], record: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each published number: ours, and the verdicts by both yardsticks.

    ``verdict`` lets an error that the paper does not give be what ours would be with the paper's repeats;
    ``exact`` takes every published number as exact. ``again`` is true of a number that an earlier table of
    the same experiment has.
    """
    found = {
        (line.table, line.row, line.column): line
        for line in record[(record["first"] == 0) & (record.seed == 0)].itertuples()
    }
    lines = []
    for table in tables:
        of_table = {(row, column): line for (key, row, column), line in found.items() if key == table.key}
        derived = table.derive({place: line.value for place, line in of_table.items()})
        for (row, column), number in table.published.items():
            line = of_table.get((row, column))
            ours, repeats = (None, 0)
            if line is not None:
                ours, repeats = (line.value, None if pd.isna(line.error) else line.error), line.repeats
            elif (row, column) in derived:
                ours, repeats = derived[row, column], table.repeats
            lines.append(
                {
                    "table": table.key,
                    "experiment": table.experiment,
                    "row": row,
                    "column": column,
                    "kind": _kind(table, row, column),
                    "published": number[0],
                    "published_error": number[1],
                    "ours": ours and ours[0],
                    "error": ours and ours[1],
                    "repeats": repeats,
                    "date": line.date if line is not None else "",
                    "cause": table.cause(row, column),
                    **judge_cell(table, column, number, ours, repeats),
                }
            )
    frame = pd.DataFrame(lines)
    frame["again"] = frame.duplicated(["experiment", "row", "column", "published"])
    return frame


def _kind(table: Table, row: str, column: str) -> str:
    if row in table.uncounted:
        return "uncounted"
    return "method" if column in table.ours else "beside" if column in table.beside else "compared"


def judge_cell(
    table: Table, column: str, published: Number, ours: Number | None, repeats: int
) -> dict[str, object]:
    """Return both verdicts, and whether ours is within error but far off.

    A single repeat has no verdict, unless the paper has no more.
    """
    if ours is None or (ours[1] is None and table.repeats > 1):
        return {"verdict": "not run", "exact": "not run", "far": False}
    value, error = published
    if error is None:
        error = (ours[1] or 0.0) * math.sqrt(repeats / table.repeats)
    lower = table.better == "lower" and column not in table.higher
    verdict = judge((value, error), ours, lower_is_better=lower)
    whole = value if table.better == "lower" else 100 - value  # of an accuracy, the error counts
    return {
        "verdict": verdict,
        "exact": judge((value, 0.0), ours, lower_is_better=lower),
        "far": verdict == "within error" and abs(ours[0] - value) > FAR * abs(whole),
    }


def count(lines: pd.DataFrame, by: str = "verdict") -> list[int]:
    """Return how many lines there are, and how many of each verdict."""
    numbers = lines[by].value_counts()
    return [len(lines), *(int(numbers.get(verdict, 0)) for verdict in VERDICTS)]


def fresh(record: pd.DataFrame) -> pd.DataFrame:
    """Return fresh draws beside the docs' own, and by how many joint standard errors they differ.

    A number of the docs whose error was not kept is left out.
    """
    own = (record["first"] == 0) & (record.seed == 0)
    known = record.error.notna() | (record.repeats == 1)
    both = record[~own].merge(record[own & known], on=["table", "row", "column"], suffixes=("", "_docs"))
    joint = np.hypot(both.error.fillna(0.0), both.error_docs.fillna(0.0))
    gap = (both.value - both.value_docs).abs()
    return both.assign(errors=np.where(gap > 0, gap / np.where(joint > 0, joint, np.nan), 0.0))


def places_of(record: pd.DataFrame, table: str) -> dict[Place, Number]:
    """Return all numbers of a table, of the docs' own draws."""
    own = record[(record.table == table) & (record["first"] == 0) & (record.seed == 0)]
    return {
        (line.row, line.column): (line.value, None if pd.isna(line.error) else line.error)
        for line in own.itertuples()
    }
