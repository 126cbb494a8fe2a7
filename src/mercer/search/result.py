"""The outcome of a search as a value: what each candidate scored, which one was selected, and how good it is.

Terminal, report, JSON and notebook render this value; the sentences about it are in `mercer.search.words`.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

UNKNOWN = float("nan")
Z95 = 1.96  # standard errors to either side of a 95 % confidence interval
FINISHED, DROPPED, OUT_OF_TIME, FAILED = "finished", "dropped", "out of time", "failed"
PLAIN_FIELDS = (  # of a result, as in JSON
    *("rule", "reference", "winner", "settings", "n_fitted", "stopped"),
    *("baseline", "n_splits", "n_trained", "blend", "decision"),
)
BEST, WITH_NEIGHBOURS = "best", "best with neighbours"  # how a candidate is selected


class SearchWarning(UserWarning):
    """A search's numbers rest on less than was asked for, or its winner is no better than no model."""


class Metric(NamedTuple):
    """What candidates are judged by."""

    key: str  # "error", "auc": its name in tables and files
    name: str  # as people write it
    meaning: str  # in half a sentence
    expectation: str  # a sentence with {measure}, {share} and {value}, of the winner on new samples
    percent: bool  # whether it is a share, shown in percent
    greater_is_better: bool
    of_target: bool = False  # whether it is in units of the target


class Measure(NamedTuple):
    """A metric with its value, and how far it can be trusted; NaN where nothing was measured."""

    metric: Metric
    value: float = UNKNOWN
    std_error: float = UNKNOWN
    low: float = UNKNOWN  # the 95 % confidence interval
    high: float = UNKNOWN
    n_folds: int = 0
    n_samples: int = 0  # that it was measured on

    @property
    def is_known(self) -> bool:
        """Return whether anything was measured."""
        return bool(np.isfinite(self.value))

    @property
    def rank(self) -> float:
        """Return a number that is smaller the better it is, and infinite where nothing was measured."""
        if not self.is_known:
            return float("inf")
        return -self.value if self.metric.greater_is_better else self.value


class Difference(NamedTuple):
    """How much larger a candidate's value is than the reference's, on the same samples."""

    value: float = UNKNOWN
    low: float = UNKNOWN  # the 95 % confidence interval
    high: float = UNKNOWN

    @property
    def is_known(self) -> bool:
        """Return whether the two were compared."""
        return bool(np.isfinite([self.low, self.high]).all())


class CandidateResult(NamedTuple):
    """What is known of one candidate."""

    name: str
    settings: dict[str, Any]  # the best of those tried; of the winner, those that were fitted
    measure: Measure
    difference: Difference = Difference()
    fit_seconds: float = UNKNOWN  # per fold
    predict_seconds: float = UNKNOWN
    status: str = FINISHED
    note: str = ""  # what happened, unless it finished


class SearchResult(NamedTuple):
    """The outcome of a search, or its state so far.

    Parameters
    ----------
    metric : Metric
        What candidates are judged by.
    candidates : tuple of CandidateResult
        The best first.
    listed : tuple of str
        All candidates in the order of preference: of those that are equally good, the first is selected.
    rule : str
        How the winner is selected: "best", or "best with neighbours", which count for a setting of a grid.
    reference : str or None
        The candidate that the others are compared with, if it took part.
    winner : str or None
        The main member of the model, which counts most; None as long as the search runs.
    settings : dict
        Its settings.
    measure : Measure or None
        What is to be expected of the model's predictions, corrected for the choice among all candidates and
        settings.
    n_fitted : int
        How many samples the members were fitted to.
    stopped : str or None
        "budget", "interrupt" or "callback", if the search did not run to its end.
    baseline : str or None
        The baseline: always predict the most frequent class, or the mean.
    gain : Difference
        How much larger the model's value is than the baseline's.
    n_splits : int
        How many folds were asked for.
    n_trained : int
        How many samples the main member was fitted to when it was scored.
    blend : dict
        The members of the model with their weights, the main one first; empty after a search on pairs.
    versus : Difference
        How much larger the model's value is than the reference's, both corrected for choices.
    decision : str
        How a class is decided upon, in a sentence, unless it is the most probable one.
    remarks : tuple of str
        What was said of the data before the search.
    """

    metric: Metric
    candidates: tuple[CandidateResult, ...]
    listed: tuple[str, ...]
    rule: str = BEST
    reference: str | None = None
    winner: str | None = None
    settings: dict[str, Any] = {}  # noqa: RUF012  # a value: nobody writes to it
    measure: Measure | None = None
    n_fitted: int = 0
    stopped: str | None = None
    baseline: str | None = None
    gain: Difference = Difference()
    n_splits: int = 0
    n_trained: int = 0
    blend: dict[str, float] = {}  # noqa: RUF012
    versus: Difference = Difference()
    decision: str = ""
    remarks: tuple[str, ...] = ()

    def stars(self) -> set[str]:
        """Return the candidates that are members of the model."""
        return set(self.blend) or ({self.winner} if self.winner else set())

    def candidate(self, name: str) -> CandidateResult:
        """Return the result of a candidate."""
        return next(one for one in self.candidates if one.name == name)

    def names(self) -> list[str]:
        """Return the candidates, the best first."""
        return [one.name for one in self.candidates]

    def compared(self) -> list[CandidateResult]:
        """Return the candidates that were scored, without the baseline."""
        return [one for one in self.candidates if one.measure.is_known and one.name != self.baseline]

    def is_compared(self) -> bool:
        """Return whether any candidate was compared with the reference."""
        return any(one.difference.is_known for one in self.candidates)

    def as_table(self) -> "pd.DataFrame":
        """Return one line per candidate, indexed by name."""
        import pandas as pd

        return pd.DataFrame([_line(one) for one in self.candidates]).set_index("candidate")

    def as_dict(self) -> dict[str, Any]:
        """Return the result as dictionaries and lists, for JSON."""
        return _as_dict(self)

    def __str__(self) -> str:
        """Return the result as ``print`` shows it."""
        from mercer.search.words import as_text  # the words are about this value

        return as_text(self)

    def _repr_html_(self) -> str:
        """Return the result as a notebook shows it."""
        from mercer.search.words import as_html  # the words are about this value

        return as_html(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "SearchResult":
        """Return the result that `as_dict` wrote; unknown numbers may be None."""
        metric = Metric(**document["metric"])
        measure = document["measure"]
        return cls(
            metric,
            tuple(_candidate(one, metric) for one in document["candidates"]),
            tuple(document["listed"]),
            measure=None if measure is None else Measure(metric, **_numbers(measure)),
            gain=Difference(**_numbers(document.get("gain", {}))),
            versus=Difference(**_numbers(document.get("versus", {}))),
            **{name: document[name] for name in PLAIN_FIELDS if name in document},
            remarks=tuple(document.get("remarks", ())),
        )


def rank_candidates(candidates: Iterable[CandidateResult]) -> tuple[CandidateResult, ...]:
    """Return candidates sorted: the best first, of equals the one that is listed first."""
    return tuple(sorted(candidates, key=lambda one: one.measure.rank))


def _line(one: CandidateResult) -> dict[str, Any]:
    measure, difference = one.measure, one.difference
    return {
        "candidate": one.name,
        measure.metric.key: measure.value,
        "std_error": measure.std_error,
        "difference": difference.value,
        "low": difference.low,
        "high": difference.high,
        "fit_seconds": one.fit_seconds,
        "predict_seconds": one.predict_seconds,
        "folds": measure.n_folds,
        "settings": one.settings,
        "note": one.note,
    }


def _as_dict(value: Any) -> Any:
    """Return named tuples as dictionaries; a measure leaves its metric to the result that it is part of."""
    if isinstance(value, Measure):
        return {name: part for name, part in value._asdict().items() if name != "metric"}
    if hasattr(value, "_asdict"):
        return {name: _as_dict(part) for name, part in value._asdict().items()}
    return [_as_dict(part) for part in value] if isinstance(value, tuple | list) else value


def _candidate(document: Mapping[str, Any], metric: Metric) -> CandidateResult:
    fields = dict(document)
    fields["measure"] = Measure(metric, **_numbers(fields["measure"]))
    fields["difference"] = Difference(**_numbers(fields["difference"]))
    return CandidateResult(**_numbers(fields))


def _numbers(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dictionary with NaN for None, which is what JSON has for it."""
    return {name: UNKNOWN if value is None else value for name, value in document.items()}
