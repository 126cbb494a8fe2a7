"""The ranking of candidates as a table."""

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._typing import Array
from mercer.search.bootstrap import draw_rows, judge_choice, standard_error
from mercer.search.pair_race import PairRace
from mercer.search.race import LabelRace
from mercer.search.selection_rule import choose

if TYPE_CHECKING:
    import pandas as pd


def rank(race: LabelRace, reference: int | None, seed: int) -> list[dict[str, Any]]:
    """Return one line for each candidate, the best first: its error with the choice of its settings honest.

    The difference is to the reference, on the same rows, with its 95 % interval.
    """
    lines = [_line(race, i, reference, seed) for i in range(len(race.candidates))]
    return sorted(lines, key=lambda line: (np.nan_to_num(line["error"], nan=np.inf), line["fit_seconds"]))


def rank_pairs(race: PairRace, reference: int | None) -> list[dict[str, Any]]:
    """Return one line for each candidate that learned from pairs, the best first."""
    lines = [_pair_line(race, i, reference) for i in range(len(race.candidates))]
    return sorted(lines, key=lambda line: -np.nan_to_num(line["auc"], nan=-np.inf))


def _pair_line(race: PairRace, i: int, reference: int | None) -> dict[str, Any]:
    line: dict[str, Any] = {"candidate": race.candidates[i].name, "auc": np.nan, "std_error": np.nan}
    line |= {"difference": np.nan, "low": np.nan, "high": np.nan, "fit_seconds": np.nan}
    line |= {"folds": int(race.n_folds[race.of(i)].max()), "settings": {}, "note": race.reason.get(i, "")}
    best = race.best_of(i)
    if best is None:
        return line
    aucs = race.aucs(np.array([best]))[0]
    line |= {"auc": float(aucs.mean()), "std_error": _noise(aucs), "settings": race.entries[best].setting}
    line["fit_seconds"] = float(race.fit_seconds[best] / race.n_folds[best])
    plain = None if reference is None or i == reference else race.best_of(reference)
    if plain is not None:
        mine, theirs = race.aucs(np.array([best, plain]))
        gain, noise = float(np.mean(mine - theirs)), 1.96 * _noise(mine - theirs)
        line |= {"difference": gain, "low": gain - noise, "high": gain + noise}
    return line


def _noise(values: Array) -> float:
    """Return the standard error of the mean of a few folds."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


def as_table(lines: list[dict[str, Any]]) -> "pd.DataFrame":
    """Return the lines as a DataFrame, by candidate."""
    import pandas as pd

    return pd.DataFrame(lines).set_index("candidate")


def honest_error(race: LabelRace, seed: int) -> tuple[float, float]:
    """Return the error of choosing among all finalists, and its standard error."""
    finalists = race.finalists()
    wrong, n_rows = _judged(race.wrong[:, finalists])
    error = judge_choice(wrong, draw_rows(n_rows, seed), race.rule.among(finalists)).error
    return error, standard_error(error, n_rows)


def _judged(wrong: Array) -> tuple[Array, int]:
    """Return the rows on which all were judged."""
    judged = np.isfinite(wrong).all(axis=1)
    return wrong[judged], int(judged.sum())


def _line(race: LabelRace, i: int, reference: int | None, seed: int) -> dict[str, Any]:
    entries, finalists = race.of(i), race.finalists_of(i)
    line: dict[str, Any] = {
        "candidate": race.candidates[i].name,
        "error": np.nan,
        "std_error": np.nan,
        "difference": np.nan,
        "low": np.nan,
        "high": np.nan,
        "fit_seconds": np.nan,
        "predict_seconds": np.nan,
        "folds": int(race.n_folds[entries].max(initial=0)),
        "settings": {},
        "note": race.reason.get(i, ""),
    }
    if len(finalists) == 0:
        return line
    wrong, n_rows = _judged(race.wrong[:, finalists])
    line["error"] = judge_choice(wrong, draw_rows(n_rows, seed), race.rule.among(finalists)).error
    line["std_error"] = standard_error(line["error"], n_rows)
    best = race.best_of(i)
    assert best is not None
    line["settings"] = race.entries[best].setting
    line["fit_seconds"] = float(race.fit_seconds[best] / race.n_folds[best])
    line["predict_seconds"] = float(race.predict_seconds[best] / race.n_folds[best])
    if reference is not None and i != reference:
        line |= _difference(race, i, reference, seed)
    return line


def _difference(race: LabelRace, i: int, reference: int, seed: int) -> dict[str, float]:
    """Return how much more error a candidate has than the reference, on the rows of both."""
    mine, theirs = race.finalists_of(i), race.finalists_of(reference)
    if not len(theirs):
        return {}
    wrong, n_rows = _judged(race.wrong[:, np.concatenate([mine, theirs])])
    draws = draw_rows(n_rows, seed)
    every, columns, errors = np.ones((1, n_rows)), [], []
    for entries, values in ((mine, wrong[:, : len(mine)]), (theirs, wrong[:, len(mine) :])):
        rule = race.rule.among(entries)
        errors.append(judge_choice(values, draws, rule).error)
        columns.append(values[:, choose(values, rule, every)[0]])
    difference, paired = errors[0] - errors[1], columns[0] - columns[1]
    variance = max(float(np.var(paired)), 1.0 / n_rows)  # as if they differed on one row at least
    noise = 1.96 * float(np.sqrt(variance / n_rows * race.inflation))
    return {"difference": difference, "low": difference - noise, "high": difference + noise}
