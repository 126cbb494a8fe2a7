"""Which kernel does a data set need? A search among all of them, with an honest estimate of the error."""

from typing import TYPE_CHECKING

from mercer.lazy import open_when_asked

if TYPE_CHECKING:
    from mercer.search.blend import Blend, NumberBlend
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
    from mercer.search.search import KernelSearchCV, KernelSearchRegressor

__all__ = [
    "Blend",
    "Calibration",
    "Candidate",
    "CandidateResult",
    "Difference",
    "KernelSearchCV",
    "KernelSearchRegressor",
    "Measure",
    "Metric",
    "NumberBlend",
    "SearchResult",
    "SearchWarning",
    "default_candidates",
]

# A model that was found predicts without the search
_HOMES = {
    "Blend": "blend",
    "Calibration": "calibration",
    "Candidate": "candidates",
    "CandidateResult": "result",
    "Difference": "result",
    "KernelSearchCV": "search",
    "KernelSearchRegressor": "search",
    "Measure": "result",
    "Metric": "result",
    "NumberBlend": "blend",
    "SearchResult": "result",
    "SearchWarning": "result",
    "default_candidates": "candidates",
}
__getattr__, __dir__ = open_when_asked(__name__, _HOMES)
