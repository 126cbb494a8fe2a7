"""The first part of the page: who won, by how much, and all the others."""

from typing import Any

import numpy as np

from .content import Section, Subject, Table, describe_settings, number, percent, points
from .leaderboard import AUC, ERROR, REFERENCES, figure_size, measure_of, plot_leaderboard
from .picture import draw_on_axes, draw_picture


def summarize(subject: Subject) -> list[str]:
    """Return the page's first sentences: the winner, its honest error, and the comparison."""
    search = subject.search
    n_rows, n_features = subject.rows.X.shape
    data = f"{n_rows} rows, {n_features} feature{'s' if n_features > 1 else ''}"
    if hasattr(search, "auc_"):
        sentences = [f"{data}, known by pairs.", f"The best kernel is {search.best_name_}."]
        sentences.append(f"The area under the ROC curve of held-out pairs is {search.auc_:.3f}.")
        return sentences
    n_classes = len(np.unique(subject.rows.y))
    return [
        f"{data}, {n_classes} classes.",
        f"The best kernel is {search.best_name_}.",
        f"The error to expect on new rows is {percent(search.error_)} "
        f"± {percent(search.std_error_)} (one standard error): it includes the choice among all candidates.",
        compare_with_reference(search),
    ]


def rank_candidates(subject: Subject) -> Section:
    """Return the leaderboard, as a picture and as a table."""
    search = subject.search
    leaderboard = search.leaderboard_
    measure = measure_of(leaderboard)
    measured = int(np.isfinite(leaderboard[measure.column].astype(float)).sum())
    picture = draw_picture(
        draw_on_axes(lambda ax: plot_leaderboard(leaderboard, ax)),
        figure_size(measured),
        alt=f"The {measure.column} of {measured} candidates with error bars, the best on top. "
        "The numbers are in the table below.",
    )
    text = ["Every candidate saw the same folds, or the first of them if it fell behind or time was short."]
    if measure is ERROR:
        text += [
            "A difference to the RBF-SVM is in percentage points, with its 95 % interval; below zero, the "
            "candidate is better. The errors allow for the choice among a candidate's own settings. The "
            "winner, which is marked, has the least error before that, and so need not stand first.",
        ]
    if getattr(search, "stopped_", None):
        text.append(
            f"The search did not run to its end ({search.stopped_}): what was done by then is ranked."
        )
    return Section("leaderboard", "Which kernel?", text, [picture], [_table(search, leaderboard)])


def compare_with_reference(search: Any) -> str:
    """Return a sentence on the winner and the reference."""
    leaderboard, winner = search.leaderboard_, search.best_name_
    reference = REFERENCES[0]
    if winner == reference:
        return f"No other candidate is better than the tuned {reference}: there is no need for more."
    if reference not in leaderboard.index or not np.isfinite(leaderboard.loc[winner, "difference"]):
        return ""
    line = leaderboard.loc[winner]
    interval = f"95 % interval {points(line['low'])} to {points(line['high'])} percentage points"
    if line["high"] < 0:
        return (
            f"On the rows of both it is better than a tuned {reference} ({interval}; that it was picked for "
            "being best is not allowed for)."
        )
    if line["low"] > 0:
        return f"A tuned {reference} is better, when each is judged honestly ({interval})."
    return f"From a tuned {reference} it cannot be told apart ({interval})."


def _table(search: Any, leaderboard: Any) -> Table:
    by_error = measure_of(leaderboard) is ERROR
    ranked = ["error", "± std. error", "to RBF-SVM", "95 % interval"] if by_error else ["AUC", "± std. error"]
    timed = [(title, column) for title, column in TIMES if column in leaderboard.columns]
    columns = ["candidate", *ranked, *(title for title, _ in timed), "settings", "note"]
    rows = [
        [
            str(name),
            *(_judgement(line) if by_error else [number(line[AUC.column]), number(line["std_error"])]),
            *(number(line[column]) for _, column in timed),
            describe_settings(line.get("settings") or {}),
            str(line.get("note") or ""),
        ]
        for name, line in leaderboard.iterrows()
    ]
    best = [str(name) for name in leaderboard.index].index(search.best_name_)
    return Table("All candidates, the best first; the winner is marked", columns, rows, best)


TIMES = (("fit (s)", "fit_seconds"), ("predict (s)", "predict_seconds"))


def _judgement(line: Any) -> list[str]:
    interval = f"{points(line['low'])} to {points(line['high'])}" if np.isfinite(line["low"]) else "–"
    return [percent(line["error"]), percent(line["std_error"]), points(line["difference"]), interval]
