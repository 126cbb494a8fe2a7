"""The critical-difference picture: methods on a line of mean ranks; a bar joins those that may be equal."""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from benchmarks.tables.summary import groups


def draw_ranks(ranks: pd.Series, difference: float, n_sets: int, path: Path) -> None:
    """Write the picture."""
    ranks = ranks.sort_values()
    bars, n = groups(ranks, difference), len(ranks)
    half = (n + 1) // 2
    figure, axis = plt.subplots(figsize=(7.0, 1.4 + 0.24 * half + 0.12 * len(bars)), layout="constrained")
    top = 0.4 + 0.25 * len(bars)
    for k, (name, rank) in enumerate(ranks.items()):  # the better half to the left, the others to the right
        left, row = k < half, k if k < half else n - 1 - k
        depth, edge = -(top + 0.6 * row), 0.6 if left else n + 0.4
        axis.plot([rank, rank, edge], [0.0, depth, depth], color="0.35", lw=0.9)
        side = {"ha": "right" if left else "left", "va": "center"}
        axis.text(edge + (-0.06 if left else 0.06), depth, f"{name} {rank:.2f}", **side)
    for k, (low, high) in enumerate(bars):
        axis.plot(
            [low - 0.04, high + 0.04], 2 * [-0.25 - 0.25 * k], color="tab:blue", lw=4, solid_capstyle="butt"
        )
    axis.plot([1, n], [0, 0], color="k", lw=1)
    for tick in range(1, n + 1):
        axis.plot([tick, tick], [0, 0.12], color="k", lw=1)
        axis.text(tick, 0.2, str(tick), ha="center", va="bottom")
    axis.plot([1, 1 + difference], [0.95, 0.95], color="k", lw=2)
    axis.text(
        1 + difference + 0.08, 0.95, f"critical difference {difference:.2f}, {n_sets} sets", va="center"
    )
    axis.set(xlim=(-1.0, n + 2.0), ylim=(-(top + 0.6 * half), 1.25))
    axis.axis("off")
    figure.savefig(path, dpi=150)
    plt.close(figure)
