"""Plots of what was learned, and the HTML report: ``pip install 'mercer[app]'`` has what they need."""

from mercer.report.page import write_report
from mercer.report.plots import (
    RoundErrors,
    plot_confusion,
    plot_embedding,
    plot_gaussians,
    plot_gram,
    plot_leaderboard,
    plot_pair_distances,
    plot_rounds,
    plot_shapes,
    staged_errors,
)

__all__ = [
    "RoundErrors",
    "plot_confusion",
    "plot_embedding",
    "plot_gaussians",
    "plot_gram",
    "plot_leaderboard",
    "plot_pair_distances",
    "plot_rounds",
    "plot_shapes",
    "staged_errors",
    "write_report",
]
