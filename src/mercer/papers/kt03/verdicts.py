"""The numbers of [KT03] beside ours. The paper gives no standard errors: ours stand for its own."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from mercer.papers.harness.comparison import Verdict, judge
from mercer.papers.harness.experiment import Number, published
from mercer.papers.harness.store import Result

COLUMNS = ("Euclidean", "learned", "Xing")  # of Tables 2 to 4


def numbers_beside(columns: Mapping[str, str], numbers: str) -> dict[tuple[str, str], Number]:
    """Return the published numbers under our columns, given the paper's column beside which each stands."""
    in_paper = published(COLUMNS, numbers)
    return {
        (row, ours): number
        for ours, theirs in columns.items()
        for (row, column), number in in_paper.items()
        if column == theirs
    }


def say_how_many_are_met(
    results: Sequence[Result], table: Mapping[tuple[str, str], Number], columns: Sequence[str]
) -> list[str]:
    """Return a sentence for each of the columns that has results."""
    sentences = []
    for column in columns:
        verdicts = verdicts_of(results, table, column)
        if verdicts:
            met = sum(verdict != "worse" for verdict in verdicts.values())
            sentences.append(
                f"{column}: within two joint standard errors of the paper, or better, on {met} of "
                f"{len(verdicts)} rows (the paper's standard error being taken for as large as ours)."
            )
    return sentences


def verdicts_of(
    results: Sequence[Result], table: Mapping[tuple[str, str], Number], column: str
) -> dict[str, Verdict]:
    """Return the verdict on each row of a column that has two repeats or more."""
    scores: dict[str, list[float]] = {}
    for result in results:
        if column in result.values and (result.cell.row, column) in table:
            scores.setdefault(result.cell.row, []).append(result.values[column])
    return {
        row: judge_with_our_error(table[row, column][0], values)
        for row, values in scores.items()
        if len(values) > 1
    }


def judge_with_our_error(published: float, scores: Sequence[float]) -> Verdict:
    """Return the verdict on a published number whose standard error is taken to be that of our scores."""
    error = float(np.std(scores, ddof=1)) / math.sqrt(len(scores))
    return judge((published, error), (float(np.mean(scores)), error))
