"""What the cells say together: mean errors and ranks over the sets, time, calibration and regret."""

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata, studentized_range

from benchmarks.tables.methods import GRID_SEARCH, SEARCH, WINNER


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


def groups(ranks: pd.Series, difference: float) -> list[tuple[float, float]]:
    """Return the largest intervals of ranks within which no two methods differ significantly."""
    values = sorted(ranks)
    found: list[tuple[float, float]] = []
    for low in values:
        high = max(value for value in values if value <= low + difference)
        if high > low and (not found or high > found[-1][1]):
            found.append((low, high))
    return found


def describe(cells: list[dict[str, Any]]) -> str:
    """Return all tables as text."""
    errors = by_set(cells)
    ranks, means = mean_ranks(errors), pd.DataFrame(cells).groupby("method").mean(numeric_only=True)
    # of each method against the search, over the sets: which is positive where the search is better
    apart = errors.sub(errors[SEARCH], axis=0) if SEARCH in errors else errors * np.nan
    table = pd.DataFrame(
        {
            "mean error": errors.mean(),
            "mean rank": ranks,
            "over the search": apart.mean(),
            "±": apart.std() / np.sqrt(len(errors)),
            "CPU s": means["cpu"],
            "log loss": means.get("log_loss"),
            "calibration": 100 * means["calibration"] if "calibration" in means else None,
        }
    ).sort_values("mean rank")
    parts = [errors.round(2).to_string(), table.round(2).to_string(), describe_ranks(ranks, len(errors))]
    searched = [cell for cell in cells if cell["method"] == SEARCH and cell["set"] in errors.index]
    parts += [describe_time(cells), describe_search(searched)] if searched else []
    return "\n\n".join(part for part in parts if part)


def describe_ranks(ranks: pd.Series, n_sets: int) -> str:
    """Return the critical-difference picture in words: who may be equal."""
    difference = critical_difference(len(ranks), n_sets)
    lines = [f"{n_sets} sets; ranks differ significantly if more than {difference:.2f} apart"]
    for low, high in groups(ranks, difference):
        alike = ranks[(ranks >= low) & (ranks <= high)].sort_values()
        lines.append("  not significantly different: " + ", ".join(f"{n} {r:.2f}" for n, r in alike.items()))
    return "\n".join(lines)


def describe_time(cells: list[dict[str, Any]]) -> str:
    """Return the CPU time of all fits of the search, over that of the RBF-SVM's grid on the same splits."""
    table = pd.DataFrame(cells).pivot_table(
        index=["set", "seed", "n_classes"], columns="method", values="cpu", sort=False
    )
    if not {SEARCH, GRID_SEARCH} <= set(table):
        return ""
    total = table.groupby(level="n_classes").sum()
    ratios = (total[SEARCH] / total[GRID_SEARCH]).items()
    return "CPU time over that of the RBF-SVM's grid: " + ", ".join(
        f"{r:.2f} at {n} classes" for n, r in ratios
    )


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
