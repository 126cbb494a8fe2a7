"""The sections of the report's page, by the kind of task."""

from collections.abc import Callable, Mapping

from mercer.report.content import Section, Subject
from mercer.report.sections.calibration import show_calibration
from mercer.report.sections.kernel import show_confusion, show_grams, show_maps, show_neighbours
from mercer.report.sections.model import show_gaussians, show_rounds, show_shapes
from mercer.report.sections.pairs import show_pair_map, show_pairs
from mercer.report.sections.ranking import show_ranking, summarize, winning_kernel
from mercer.search.label_task import LabelTask
from mercer.search.pair_task import PairTask

Makers = Mapping[Callable[[Subject], Section], str]

# after the ranking, in the order of the page; the name is for the list of what was left out
SECTIONS: Mapping[type, Makers] = {
    LabelTask: {
        show_grams: "Gram matrices",
        show_maps: "Kernel PCA",
        show_rounds: "Error by round",
        show_shapes: "Shape functions",
        show_gaussians: "Gaussians",
        show_confusion: "Confusion matrix",
        show_calibration: "Probabilities",
        show_neighbours: "Nearest neighbours",
    },
    PairTask: {show_pair_map: "Kernel PCA", show_pairs: "Distances of pairs"},
}

__all__ = ["SECTIONS", "Makers", "show_ranking", "summarize", "winning_kernel"]
