"""The first part of the page: who won, by how much, and all the others."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mercer.kernels import Rescaled
from mercer.pairs import Pairs
from mercer.report.content import (
    Section,
    Subject,
    Table,
    describe_settings,
    duration,
    percent,
    plain_note,
    points,
    signed,
    unbroken,
)
from mercer.report.picture import draw_on_axes, draw_picture
from mercer.report.plots.leaderboard import AUC, ERROR, REFERENCES, figure_size, measure_of, plot_leaderboard
from mercer.search.kernel_words import count, describe_kernel
from mercer.search.words import PAIR_RULE, RULE, explain_winner, listed_candidates

TIMES = (("fit", "fit_seconds"), ("predict", "predict_seconds"))
LEAD = {ERROR: "least error", AUC: "largest AUC"}
GUESSED = "No dissimilar pairs were listed: those that it was judged on were drawn at random (guessed)."
REASONS = {"budget": "the time was over", "interrupt": "it was interrupted"}


def summarize(subject: Subject) -> list[str]:
    """Return the page's first sentences: the winner, its honest error, and the comparison."""
    search, rows = subject.search, subject.rows
    n_rows, n_features = rows.X.shape
    named = f"{subject.data_name}: " if subject.data_name else ""
    data = f"{named}{count(n_rows, 'row')}, {count(n_features, 'feature')}"
    more = "" if rows.unlabelled is None else f", {count(len(rows.unlabelled), 'more row')} without a class"
    best = f"The best kernel is {search.best_name_}: {describe_kernel(winning_kernel(search))}."
    if hasattr(search, "auc_"):
        return [
            f"{data}, known by pairs.",
            best,
            f"Of a similar and a dissimilar pair that it has not seen, the similar one is nearer in "
            f"{percent(search.auc_)} of the cases (AUC {search.auc_:.3f}): it includes the choice among all "
            "candidates.",
        ]
    return [
        f"{data}, {len(np.unique(rows.y))} classes{more}.",
        best,
        f"The error to expect on new rows is {percent(search.error_)} "
        f"± {percent(search.std_error_)} (one standard error): it includes the choice among all candidates.",
        compare_with_reference(search.best_name_, search.ranking_),
    ]


def is_guessed(pairs: Pairs | None) -> bool:
    """Return whether dissimilar pairs had to be drawn, because none were listed."""
    return pairs is not None and len(pairs.dissimilar) == 0


def winning_kernel(search: Any) -> Any:
    """Return the kernel of the winner for standardised rows, or None if it is not known."""
    kernel = search.best_kernel_
    return kernel.base if isinstance(kernel, Rescaled) else kernel


def rank_candidates(subject: Subject) -> Section:
    """Return the leaderboard, as a picture and as a table."""
    search = subject.search
    leaderboard = search.leaderboard_
    measure = measure_of(leaderboard)
    measured = int(np.isfinite(leaderboard[measure.column].astype(float)).sum())
    picture = draw_picture(
        draw_on_axes(lambda ax: plot_leaderboard(leaderboard, ax, winner=search.best_name_)),
        figure_size(measured),
        alt=f"The {measure.column} of {measured} candidates with error bars, the {LEAD[measure]} on top; the "
        f"winner, {search.best_name_}, has a star. The numbers are in the table below.",
    )
    text = ["Every candidate saw the same folds, or the first of them if it fell behind or time was short."]
    if measure is ERROR:
        text += [
            "A difference to the RBF-SVM is in percentage points, with its 95 % interval; below zero, the "
            "candidate is better. The errors allow for the choice among a candidate's own settings.",
        ]
    else:
        text += [
            "The AUC is how often a similar pair is nearer than a dissimilar one: 1 is best, 0.5 is chance."
            f"{f' {GUESSED}' if is_guessed(subject.pairs) else ''}",
            "A difference to the plain distance has its 95 % interval; above zero, the candidate is better.",
        ]
    text += _reasons(subject, by_error=measure is ERROR)
    if getattr(search, "stopped_", None):
        why = REASONS.get(search.stopped_, search.stopped_)
        text.append(f"The search did not run to its end ({why}): what was done by then is ranked.")
    return Section("leaderboard", "Which kernel?", text, [picture], [_table(search, leaderboard)])


def _reasons(subject: Subject, *, by_error: bool) -> list[str]:
    """Say how the winner is chosen, and why it is not the first of the table if it is not."""
    search = subject.search
    listed = listed_candidates(search, unlabelled=subject.rows.unlabelled is not None)
    rule = f"{RULE} The list is: {', '.join(listed)}." if by_error else PAIR_RULE
    because = explain_winner(search.best_name_, search.ranking_, listed)
    return [rule, because] if because else [rule]


def compare_with_reference(winner: str, lines: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence on the winner and the reference, or none if they were not compared.

    Parameters
    ----------
    winner : str
        The candidate that was chosen.
    lines : sequence of dict
        `KernelSearchCV.ranking_`; what is not known is NaN or None.
    """
    by_name = {str(line["candidate"]): line for line in lines}
    reference = REFERENCES[0]
    if winner == reference and not _others_compared(reference, lines):
        return f"No other candidate was compared with the tuned {reference} on half of the folds or more."
    if winner == reference:
        return f"No other candidate is clearly better than the tuned {reference}: there is no need for more."
    if reference not in by_name or winner not in by_name:
        return ""
    low, high = (by_name[winner][end] for end in ("low", "high"))
    if None in (low, high) or not np.isfinite([low, high]).all():
        return ""
    interval = f"95 % interval {points(low)} to {points(high)} percentage points"
    if high < 0:
        return (
            f"On the rows of both it is better than a tuned {reference} ({interval}; that it was picked for "
            "being best is not allowed for)."
        )
    if low > 0:
        return f"A tuned {reference} is better, when each is judged honestly ({interval})."
    return f"From a tuned {reference} it cannot be told apart ({interval})."


def _others_compared(winner: str, lines: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether another candidate was judged on half of the folds, as one must be to be taken."""
    folds = {str(line["candidate"]): line["folds"] or 0 for line in lines}
    return any(2 * n >= max(folds.values()) > 0 for name, n in folds.items() if name != winner)


def _table(search: Any, leaderboard: Any) -> Table:
    by_error = measure_of(leaderboard) is ERROR
    heads = ["error", "against RBF-SVM"] if by_error else ["AUC", "against plain"]
    timed = [(title, column) for title, column in TIMES if column in leaderboard.columns]
    columns = ["candidate", *heads, *(title for title, _ in timed), "settings", "note"]
    rows = [
        [
            str(name),
            _score(line, by_error=by_error),
            _difference(line, by_error=by_error),
            *(duration(line[column]) for _, column in timed),
            describe_settings(line.get("settings") or {}),
            plain_note(line.get("note") or ""),
        ]
        for name, line in leaderboard.iterrows()
    ]
    best = [str(name) for name in leaderboard.index].index(search.best_name_)
    columns, rows = _without_empty(columns, rows)
    lead = LEAD[measure_of(leaderboard)]
    caption = (
        f"All candidates, ± one standard error: the one with the {lead} first; the star marks the winner"
    )
    return Table(caption, columns, rows, best, stacks=True)


def _score(line: Any, *, by_error: bool) -> str:
    factor, digits, unit = (100, 1, " %") if by_error else (1, 3, "")
    value, noise = factor * line["error" if by_error else "auc"], factor * line["std_error"]
    if not np.isfinite(value):
        return "–"
    spread = f" ± {noise:.{digits}f}" if np.isfinite(noise) else ""
    return unbroken(f"{value:.{digits}f}{spread}{unit}")


def _difference(line: Any, *, by_error: bool) -> str:
    difference, low, high = (
        points(line[name]) if by_error else signed(line[name], 3) for name in ("difference", "low", "high")
    )
    return unbroken(f"{difference} ({low} to {high})") if np.isfinite(line["low"]) else difference


def _without_empty(columns: list[str], rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Leave out columns in which nothing stands."""
    kept = [k for k in range(len(columns)) if any(row[k] for row in rows)]
    return [columns[k] for k in kept], [[row[k] for k in kept] for row in rows]
