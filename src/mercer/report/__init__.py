"""Plots of what was learned, and the HTML report: ``pip install 'mercer[app]'`` has what they need."""

from mercer.report.page import Report, write_report
from mercer.report.plots.embedding import plot_embedding
from mercer.report.plots.gram import plot_gram
from mercer.report.plots.leaderboard import plot_leaderboard
from mercer.report.plots.pair_distances import plot_pair_distances
from mercer.report.plots.shapes import plot_shapes

__all__ = [
    "Report",
    "plot_embedding",
    "plot_gram",
    "plot_leaderboard",
    "plot_pair_distances",
    "plot_shapes",
    "write_report",
]
