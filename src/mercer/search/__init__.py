"""Which kernel does a data set need? A search among all of them, with an honest estimate of the error."""

from mercer.search.candidates import Candidate, default_candidates
from mercer.search.result import CandidateResult, Difference, Measure, Metric, SearchResult
from mercer.search.search import KernelSearchCV

__all__ = [
    "Candidate",
    "CandidateResult",
    "Difference",
    "KernelSearchCV",
    "Measure",
    "Metric",
    "SearchResult",
    "default_candidates",
]
