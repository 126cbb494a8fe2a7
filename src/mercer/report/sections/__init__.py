"""The sections of the report's page: questions in the order in which people ask them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mercer.report.content import Section
from mercer.report.sections.columns import show_columns
from mercer.report.sections.effects import show_effects
from mercer.report.sections.headline import make_headline
from mercer.report.sections.kernel import show_grams, show_maps, show_neighbours, show_pairs
from mercer.report.sections.labels import show_calibration, show_confusion, show_thresholds
from mercer.report.sections.numbers import show_intervals, show_predictions
from mercer.report.sections.ranking import show_ranking
from mercer.report.sections.worst import show_worst
from mercer.report.subject import Subject

QUESTIONS = {
    "good": "How good is it, and can I trust it?",
    "uses": "What drives it?",
    "fails": "Where is it wrong?",
    "sees": "What does the kernel see?",
    "data": "What went in?",
}
FOLDED = ("sees",)  # for those who want to look


class Part(NamedTuple):
    """A section that there may be: its question, its name, what makes it, and for which kinds of tasks."""

    question: str
    name: str
    make: Callable[[Subject], Section]
    kinds: Sequence[str] = ("class", "number")


PARTS = (
    Part("good", "Ranking", show_ranking, ("class", "number", "pairs")),
    Part("good", "Probabilities", show_calibration, ("class",)),
    Part("good", "Every threshold", show_thresholds, ("class",)),
    Part("good", "Predicted and true", show_predictions, ("number",)),
    Part("good", "Intervals", show_intervals, ("number",)),
    Part("good", "Distances of pairs", show_pairs, ("pairs",)),
    Part("uses", "Columns that matter", show_effects),
    Part("fails", "Confusion matrix", show_confusion, ("class",)),
    Part("fails", "The worst samples", show_worst),
    Part("sees", "Similarities", show_grams),
    Part("sees", "Map", show_maps, ("class", "number", "pairs")),
    Part("sees", "Nearest neighbours", show_neighbours),
    Part("data", "Columns", show_columns, ("class", "number", "pairs")),
)

__all__ = ["FOLDED", "PARTS", "QUESTIONS", "make_headline"]
