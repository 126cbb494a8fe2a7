"""Small values to draw: the result of a search."""

from mercer.search import CandidateResult, Measure, SearchResult
from mercer.search.scoring import ERROR

NAN = float("nan")


def result_of(values, metric=ERROR, **others):
    """The result of a search, from the value and the standard error of each candidate."""
    candidates = [
        CandidateResult(name, {}, Measure(metric, value, std_error, n_folds=5))
        for name, (value, std_error) in values.items()
    ]
    return SearchResult(metric, tuple(candidates), tuple(values), **others)


def board(**others):
    """Three candidates that were scored, and one that was not."""
    values = {"boosted": (0.05, 0.01), "RBF-SVM": (0.08, 0.02), "stump": (0.1, 0.015), "late": (NAN, NAN)}
    return result_of(values, **{"reference": "RBF-SVM", **others})
