"""Pictures of what was learned, and the report: ``pip install 'mercer[app]'`` has what they need."""

from .confusion import plot_confusion
from .embedding import plot_embedding
from .gaussians import plot_gaussians
from .gram import plot_gram
from .leaderboard import plot_leaderboard
from .page import write_report
from .pair_distances import plot_pair_distances
from .rounds import RoundErrors, plot_rounds, staged_errors
from .shapes import plot_shapes

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
