"""Which kernel does a data set need? A search among all of them, with an honest estimate of the error."""

from mercer.search.blend import Blend
from mercer.search.calibration import Calibration
from mercer.search.candidates import Candidate, default_candidates
from mercer.search.result import (
    CandidateResult,
    Difference,
    Measure,
    Metric,
    SearchResult,
    SearchWarning,
)
from mercer.search.search import KernelSearchCV

__all__ = [
    "Blend",
    "Calibration",
    "Candidate",
    "CandidateResult",
    "Difference",
    "KernelSearchCV",
    "Measure",
    "Metric",
    "SearchResult",
    "SearchWarning",
    "default_candidates",
]
