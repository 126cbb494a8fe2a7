"""The ranking of candidates as a table."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from mercer.quality import pair_auc
from mercer.search.honest import draw_rows, judge_choice, standard_error
from mercer.search.pair_search import PairResult, judge_pairs
from mercer.search.race import Race

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]


def rank(race: Race, reference: int | None, seed: int) -> list[dict[str, Any]]:
    """Return one line for each candidate, the best first: its error with the choice of its settings honest.

    The difference is to the reference, on the same rows, with its 95 % interval.
    """
    lines = [_line(race, i, reference, seed) for i in range(len(race.candidates))]
    return sorted(lines, key=lambda line: (np.nan_to_num(line["error"], nan=np.inf), line["fit_seconds"]))


def rank_pairs(
    results: list[PairResult], truths: list[NDArray[np.bool_]], reference: str
) -> list[dict[str, Any]]:
    """Return one line for each candidate that learned from pairs, the best first."""
    plain = next((result for result in results if result.name == reference and not result.failure), None)
    lines = []
    for result in results:
        line: dict[str, Any] = {"candidate": result.name, "auc": np.nan, "std_error": np.nan}
        line |= {"difference": np.nan, "low": np.nan, "high": np.nan, "fit_seconds": result.fit_seconds}
        line |= {"folds": len(result.similarities), "settings": {}, "note": result.failure}
        if not result.failure:
            line["auc"], line["std_error"] = judge_pairs(result, truths)
            if plain is not None and result is not plain:
                line |= _pair_difference(result, plain, truths)
        lines.append(line)
    return sorted(lines, key=lambda line: -np.nan_to_num(line["auc"], nan=-np.inf))


def _pair_difference(
    result: PairResult, plain: PairResult, truths: list[NDArray[np.bool_]]
) -> dict[str, float]:
    parts = zip(result.similarities, plain.similarities, truths, strict=True)
    gains = np.array([pair_auc(mine, truth) - pair_auc(theirs, truth) for mine, theirs, truth in parts])
    noise = 1.96 * float(np.std(gains, ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else np.nan
    gain = float(gains.mean())
    return {"difference": gain, "low": gain - noise, "high": gain + noise}


def as_table(lines: list[dict[str, Any]]) -> "pd.DataFrame":
    """Return the lines as a DataFrame, by candidate."""
    import pandas as pd

    return pd.DataFrame(lines).set_index("candidate")


def honest_error(race: Race, seed: int) -> tuple[float, float]:
    """Return the error of choosing among all finalists, and its standard error."""
    wrong, rows = _judged(race.wrong[:, race.finalists()])
    error = judge_choice(wrong, draw_rows(rows, RandomState(seed))).error
    return error, standard_error(error, rows)


def _judged(wrong: Array) -> tuple[Array, int]:
    """Return the rows on which all were judged."""
    judged = np.isfinite(wrong).all(axis=1)
    return wrong[judged], int(judged.sum())


def _line(race: Race, i: int, reference: int | None, seed: int) -> dict[str, Any]:
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
    line["error"] = judge_choice(wrong, draw_rows(n_rows, RandomState(seed))).error
    line["std_error"] = standard_error(line["error"], n_rows)
    best = race.best_of(i)
    assert best is not None
    line["settings"] = race.entries[best].setting
    line["fit_seconds"] = float(race.fit_seconds[best] / race.n_folds[best])
    line["predict_seconds"] = float(race.predict_seconds[best] / race.n_folds[best])
    if reference is not None and i != reference:
        line |= _difference(race, i, reference, seed)
    return line


def _difference(race: Race, i: int, reference: int, seed: int) -> dict[str, float]:
    """Return how much more error a candidate has than the reference, on the rows of both."""
    mine, theirs = race.finalists_of(i), race.finalists_of(reference)
    if not len(theirs):
        return {}
    wrong, n_rows = _judged(race.wrong[:, np.concatenate([mine, theirs])])
    draws = draw_rows(n_rows, RandomState(seed))
    first, second = wrong[:, : len(mine)], wrong[:, len(mine) :]
    difference = judge_choice(first, draws).error - judge_choice(second, draws).error
    paired = first[:, np.argmin(first.mean(axis=0))] - second[:, np.argmin(second.mean(axis=0))]
    variance = max(float(np.var(paired)), 1.0 / n_rows**2)
    noise = 1.96 * float(np.sqrt(variance / n_rows))
    return {"difference": difference, "low": difference - noise, "high": difference + noise}
