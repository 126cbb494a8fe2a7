"""What the cells say together: mean errors and ranks over the sets, time, calibration and regret."""

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata, studentized_range

from benchmarks.tables.methods import SEARCH, WINNER


def both(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the cells with each of the search twice: what its blend got wrong, and its winner alone."""
    alone = [
        cell | {"method": WINNER, "error": cell["candidates"][cell["winner"]]}
        for cell in cells
        if cell["method"] == SEARCH
    ]
    return cells + alone


def by_set(cells: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the errors in %, means over splits, one line a set and one column a method."""
    errors = pd.DataFrame(cells).pivot_table(index="set", columns="method", values="error", sort=False)
    return 100 * errors.dropna()


def mean_ranks(errors: pd.DataFrame) -> pd.Series:
    """Return the mean rank of each method over the sets, 1 for the best; equals share theirs."""
    return pd.Series(rankdata(errors.round(9), axis=1).mean(axis=0), index=errors.columns)


def critical_difference(n_methods: int, n_sets: int, level: float = 0.95) -> float:
    """Return how far mean ranks must be apart to differ significantly: Nemenyi's test, as in [D06].

    [D06] Demšar: Statistical comparisons of classifiers over multiple data sets. JMLR 7, 2006.
    """
    q = studentized_range.ppf(level, n_methods, np.inf) / np.sqrt(2.0)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets)))


def describe(cells: list[dict[str, Any]]) -> str:
    """Return all tables as text."""
    errors = by_set(cells)
    ranks, seconds = mean_ranks(errors), pd.DataFrame(cells).groupby("method")["cpu"].mean()
    # of each method against the search, over the sets: which is positive where the search is better
    apart = errors.sub(errors[SEARCH], axis=0) if SEARCH in errors else errors * np.nan
    table = pd.DataFrame(
        {
            "mean error": errors.mean(),
            "mean rank": ranks,
            "over the search": apart.mean(),
            "±": apart.std() / np.sqrt(len(errors)),
            "CPU s": seconds,
        }
    ).sort_values("mean rank")
    line = f"{len(errors)} sets; ranks differ significantly if more than"
    line += f" {critical_difference(len(table), len(errors)):.2f} apart"
    parts = [errors.round(2).to_string(), table.round(2).to_string(), line]
    searched = [cell for cell in cells if cell["method"] == SEARCH and cell["set"] in errors.index]
    return "\n\n".join(parts + ([describe_search(searched)] if searched else []))


def describe_search(cells: list[dict[str, Any]]) -> str:
    """Return whether the search knew its error, and what a better choice would have given."""
    errors, expected, low, high = (
        np.array([cell[key] for cell in cells]) for key in ("error", "expected", "low", "high")
    )
    n_test = np.array([cell["n_test"] for cell in cells])
    apart, noise = expected - errors, np.sqrt(np.maximum(errors * (1 - errors), 0.25 / n_test) / n_test)
    wide = np.sqrt(((high - low) / 2) ** 2 + (1.96 * noise) ** 2)  # test rows are a sample, too
    best = np.array([min(cell["candidates"].values()) for cell in cells])
    alone = np.array([cell["candidates"][cell["winner"]] for cell in cells])
    winners = pd.Series([cell["winner"] for cell in cells]).value_counts()
    each = pd.DataFrame([cell["candidates"] for cell in cells]).mean().sort_values()
    return "\n".join(
        [
            f"printed error minus test error: {100 * apart.mean():+.2f} points on average;",
            f"  the 95 % interval covers the test error in {_share((low <= errors) & (errors <= high))} of"
            f" {len(cells)}, and in {_share(abs(apart) <= wide)} with the noise of the test rows",
            f"regret, chosen minus best candidate's test error: {100 * (alone - best).mean():.2f} points,"
            f" none in {_share(alone <= best)}; the blend's: {100 * (errors - best).mean():.2f}",
            "chosen: " + ", ".join(f"{name} {count}" for name, count in winners.items()),
            "candidates alone: " + ", ".join(f"{name} {100 * error:.2f}" for name, error in each.items()),
        ]
    )


def _share(flags: np.ndarray) -> str:
    return f"{100 * np.mean(flags):.0f} %"
