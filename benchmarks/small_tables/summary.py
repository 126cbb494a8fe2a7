"""What the cells say together: means, and paired differences over the tables with their standard errors."""

import numpy as np
import pandas as pd

from benchmarks.small_tables.cells import KEYS
from benchmarks.small_tables.sources import PRETRAINED, scores

FIGURES = ["score", "error", "log_loss", "auc", "calibration", "cpu"]


def describe(
    cells: pd.DataFrame,
    others: dict[str, pd.DataFrame],
    names: list[str],
    folds: list[int],
    budget: float,
) -> str:
    """Return all tables as text."""
    cells = chosen(cells, names, folds, budget)
    lines = [f"{cells.table.nunique()} tables, {len(cells)} folds, {budget:g} s of CPU time each"]
    lines.append(cells[FIGURES].mean().round(4).to_frame("mean").T.to_string(index=False))
    for label, other in others.items():
        lines.append(f"\nless those of {label!r}:\n" + less(cells, chosen(other, names, folds, budget)))
    lines.append("\nscore of rivals; the search's less theirs, over tables:\n" + rivals(cells))
    return "\n".join(lines)


def chosen(cells: pd.DataFrame, names: list[str], folds: list[int], budget: float) -> pd.DataFrame:
    """Return the cells that are asked for."""
    return cells[cells.table.isin(names) & cells.fold.isin(folds) & (cells.budget == budget)]


def over_tables(differences: pd.Series) -> tuple[float, float, int]:
    """Return the mean over tables of the mean over folds, its standard error, and the number of tables."""
    each = differences.groupby(level="table").mean()
    return float(each.mean()), float(each.std() / np.sqrt(len(each))), len(each)


def less(cells: pd.DataFrame, other: pd.DataFrame) -> str:
    """Return the figures of one version less those of another, on the cells that both have."""
    both = cells.set_index(KEYS)[FIGURES] - other.set_index(KEYS)[FIGURES]
    both = both.dropna()
    if both.empty:
        return "  no cells in common"
    lines = []
    for figure in FIGURES:
        mean, error, n = over_tables(both[figure])
        each = both[figure].groupby(level="table").mean()
        sides = f"higher {(each > 0).sum()}, lower {(each < 0).sum()} of {n}"
        lines.append(f"  {figure:12s} {mean:+.4f} ± {error:.4f}   {sides}")
    each = both["score"].groupby(level="table").mean().sort_values()
    ends = each if len(each) < 7 else each.iloc[[0, 1, 2, -3, -2, -1]]
    lines.append("  score: " + ", ".join(f"{name} {value:+.3f}" for name, value in ends.items()))
    return "\n".join(lines)


def rivals(cells: pd.DataFrame) -> str:
    """Return the mean score of each rival, and the search's less that, on the cells that both have."""
    own = cells.set_index(["table", "fold"])["score"]
    lines = []
    for model, theirs in scores().groupby("model"):
        stored = theirs.set_index(["table", "fold"])["score"]
        apart = (own - stored).dropna()
        if len(apart):
            mean, error, n = over_tables(apart)
            kind = " (pretrained)" if model in PRETRAINED else ""
            level = stored.loc[apart.index].groupby(level="table").mean().mean()
            lines.append(
                (level, f"  {model + kind:24s} {level:.4f}   {mean:+.4f} ± {error:.4f}   {n} tables")
            )
    return "\n".join(line for _, line in sorted(lines, reverse=True))
