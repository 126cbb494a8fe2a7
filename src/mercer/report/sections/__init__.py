"""The sections of the report's page: questions in the order in which people ask them, by the kind of task."""

from collections.abc import Callable, Mapping

from mercer.report.content import Section, Subject
from mercer.report.sections.calibration import show_calibration
from mercer.report.sections.columns import show_columns
from mercer.report.sections.curves import show_curves
from mercer.report.sections.failures import show_failures
from mercer.report.sections.headline import make_headline
from mercer.report.sections.kernel import show_confusion, show_grams, show_maps, show_neighbours
from mercer.report.sections.model import show_gaussians, show_levels, show_shapes
from mercer.report.sections.numbers import (
    show_intervals,
    show_number_shapes,
    show_predictions,
    show_worst_predictions,
)
from mercer.report.sections.pairs import show_pair_map, show_pairs
from mercer.report.sections.ranking import show_ranking, winning_kernel
from mercer.report.sections.relevance import show_relevance

Makers = Mapping[Callable[[Subject], Section], str]  # the names are for the list of what was left out

GOOD, USES, SEES, FAILS, DATA = "good", "uses", "sees", "fails", "data"
WORDS = {
    GOOD: "Is it any good?",
    USES: "What does it use?",
    SEES: "What does the kernel see?",
    FAILS: "Where does it fail?",
    DATA: "What went in?",
}

SEEN: Makers = {show_grams: "Gram matrices", show_maps: "Map", show_neighbours: "Nearest neighbours"}
SECTIONS: Mapping[str, Mapping[str, Makers]] = {
    "class": {
        GOOD: {
            show_ranking: "Ranking",
            show_curves: "Every threshold",
            show_confusion: "Confusion matrix",
            show_calibration: "Probabilities",
        },
        USES: {
            show_relevance: "Columns that matter",
            show_shapes: "Shape functions",
            show_levels: "Levels of categories",
            show_gaussians: "Gaussians",
        },
        SEES: SEEN,
        FAILS: {show_failures: "The worst samples"},
        DATA: {show_columns: "Columns"},
    },
    "number": {
        GOOD: {
            show_ranking: "Ranking",
            show_predictions: "Predicted against true",
            show_intervals: "Intervals",
        },
        USES: {show_relevance: "Columns that matter", show_number_shapes: "Shape functions"},
        SEES: SEEN,
        FAILS: {show_worst_predictions: "The worst samples"},
        DATA: {show_columns: "Columns"},
    },
    "pairs": {
        GOOD: {show_ranking: "Ranking", show_pairs: "Distances of pairs"},
        SEES: {show_pair_map: "Map"},
        DATA: {show_columns: "Columns"},
    },
}

__all__ = ["SECTIONS", "WORDS", "Makers", "make_headline", "winning_kernel"]
