"""What the lines of [OSW02, Table 2] do not show: gains on the same splits, times, counts."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mercer.papers.harness.experiment import Number
from mercer.papers.harness.store import Result

TUNED, OURS = "Tuned SVM", "Ours"
N_TEST = {"usps-5-8": 326, "usps-6-9": 347}


def compare_errors(results: Sequence[Result]) -> list[str]:
    """Say by how much the mean errors of ours and of the tuned SVM differ, over the sets that both have."""
    errors = of_both(results, OURS, TUNED)
    if not errors:
        return []
    ours, tuned = np.mean([pairs.mean(axis=0) for pairs in errors.values()], axis=0)
    sets = "1 set" if len(errors) == 1 else f"{len(errors)} sets"
    return [
        f"Mean error on the same splits of {sets}: {ours:.2f} % (ours) against {tuned:.2f} % (tuned SVM), a "
        f"difference of {ours - tuned:+.2f}{_standard_error(errors)}."
    ]


def _standard_error(errors: Mapping[str, NDArray[np.float64]]) -> str:
    """Return the standard error of the mean difference, as text; "" where a set has one split only."""
    if any(len(pairs) < 2 for pairs in errors.values()):
        return ""
    squares = [np.var(pairs[:, 0] - pairs[:, 1], ddof=1) / len(pairs) for pairs in errors.values()]
    return f" ± {np.sqrt(np.sum(squares)) / len(squares):.2f}"


def compare_times(results: Sequence[Result]) -> list[str]:
    """Say what share of the tuned SVM's CPU time ours takes, the median of the splits that both have."""
    parts = []
    for row, pairs in of_both(results, f"{OURS} CPU s", f"{TUNED} CPU s").items():
        ours, tuned = np.median(pairs, axis=0)
        parts.append(f"{row} {ours:.2f} s against {tuned:.2f} s ({ours / tuned:.2f})")
    return [f"Time with selection, ours against the tuned SVM: {'; '.join(parts)}."] if parts else []


def of_both(results: Sequence[Result], first: str, second: str) -> dict[str, NDArray[np.float64]]:
    """Return the values of two columns for each row, a line for each split that has both."""
    values: dict[str, dict[int, dict[str, float]]] = {}
    for result in results:
        row, _, repeat = result.cell
        values.setdefault(row, {}).setdefault(repeat, {}).update(result.values)
    both = {
        row: [
            [split[first], split[second]] for split in splits.values() if first in split and second in split
        ]
        for row, splits in values.items()
    }
    return {row: np.array(pairs) for row, pairs in both.items() if pairs}


def count_terms(results: Sequence[Result]) -> list[str]:
    """Say how many pairs the superkernel was expanded in, and how many the learned kernel used."""
    counts = [result.values for result in results if result.cell.method == "Q_reg"]
    if not counts:
        return []
    terms, used = (max(values[f"Q_reg {what}"] for values in counts) for what in ("terms", "used"))
    single = np.mean([values["Q_reg used"] == 1 for values in counts])
    return [
        f"Q_reg: {terms:.0f} terms at most, of which at most {used:.0f} were used, a single one in "
        f"{single:.0%} of the fits (the paper: typically fewer than 10, and fewer than 5)."
    ]


def count_wrong(results: Sequence[Result], in_paper: Mapping[tuple[str, str], Number]) -> list[str]:
    """Say how many test rows were wrong: the customary split gives no standard error."""
    sentences = []
    for row, n_test in N_TEST.items():
        of_row = [result.values for result in results if result.cell.row == row]
        parts = [
            f"{column} {value * n_test / 100:.0f}" + _published(in_paper.get((row, column)), n_test)
            for values in of_row
            for column, value in values.items()
            if column in ("R_reg test", "Q_reg test", TUNED, OURS)
        ]
        if parts:
            sentences.append(f"Wrong of the {n_test} test rows of {row} (published): {', '.join(parts)}.")
    return sentences


def _published(number: Number | None, n_test: int) -> str:
    return "" if number is None else f" ({number[0] * n_test / 100:.1f})"
