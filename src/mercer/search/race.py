"""The race of all settings over the folds: how each did, which are still in it, and how long they took."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer._typing import Array, Index
from mercer.search.candidates import Candidate
from mercer.search.result import (
    BEST,
    DROPPED,
    FAILED,
    FINISHED,
    OUT_OF_TIME,
    CandidateResult,
    Difference,
    Measure,
    Metric,
    SearchResult,
    rank_candidates,
)


class Entry(NamedTuple):
    """A setting of a candidate."""

    candidate: int
    setting: dict[str, Any]


class Outcome(NamedTuple):
    """What came of a candidate's settings on one fold."""

    values: Array  # (n_test, n_settings): what `Race.keep` takes
    fit_seconds: Array  # (n_settings,), each with the time that its kernel took, be it shared or not
    predict_seconds: Array
    seconds: float  # of all together
    failures: dict[int, str]  # why a setting has no values
    compiling: float = 0.0  # seconds that came on top, and will not come again

    def of(self, settings: list[int]) -> "Outcome":
        """Return what came of some of the settings that worked."""
        values, fit = self.values[:, settings], self.fit_seconds[settings]
        return Outcome(values, fit, self.predict_seconds[settings], self.seconds, {}, self.compiling)


class Fate(NamedTuple):
    """What became of a candidate."""

    status: str
    note: str


class Race(ABC):
    """What is known of each setting so far. How settings are scored is left to those that inherit."""

    metric: Metric
    rule_name: ClassVar[str] = BEST

    def __init__(self, candidates: list[Candidate], reference: str) -> None:
        self.candidates = candidates
        names = [candidate.name for candidate in candidates]
        self.reference = names.index(reference) if reference in names else None
        self.entries = [Entry(i, s) for i, candidate in enumerate(candidates) for s in candidate.settings()]
        self.fit_seconds = np.zeros(len(self.entries))
        self.predict_seconds = np.zeros(len(self.entries))
        self.n_folds = np.zeros(len(self.entries), dtype=int)
        self.alive = np.ones(len(self.entries), dtype=bool)  # goes on to the next fold
        self.lost = np.zeros(len(self.entries), dtype=bool)  # cannot win: far behind, or failed
        self.broken = np.zeros(len(self.entries), dtype=bool)  # failed
        self.baseline: int | None = None  # the candidate that takes no learning, and never wins
        self.share = 1.0  # of the samples that were to be compared on
        self.n_rows = 0  # how many samples these are
        self.n_trained = np.zeros(len(self.entries), dtype=int)  # what a fit of each saw of them
        self.n_splits = 2  # folds that there are
        self.fates: dict[int, Fate] = {}  # of candidates that did not run to the end

    @abstractmethod
    def keep(self, fold: int, entries: Index, values: Array) -> None:
        """Keep the values of settings on the test part of a fold, by its number."""

    @abstractmethod
    def errors(self, entries: Index) -> Array:
        """Return the mean error of each entry on what all of them were scored on; smaller is better."""

    @abstractmethod
    def measure(self, candidate: int, entry: int) -> Measure:
        """Return how good a candidate is, corrected for the choice among its settings."""

    @abstractmethod
    def compare(self, candidate: int, entry: int, reference: int) -> Difference:
        """Return how much larger the value of a candidate is than that of the reference."""

    @abstractmethod
    def measure_selection(self) -> Measure:
        """Return how good the winner is, corrected for the choice among all candidates and settings."""

    def begin(self, folds: Sequence[tuple[Any, Any]], n_trained: int) -> None:
        """Take note of the folds that come, and of what a fit sees of the samples."""
        self.n_splits, self.n_rows, self.n_trained[:] = len(folds), n_trained, n_trained

    def drop_hopeless(self, among: Iterable[int] | None = None) -> None:  # noqa: B027
        """Take out settings, of some candidates or all, that will not win; but not the reference's best."""

    def of(self, candidate: int, *, alive: bool = False) -> Index:
        """Return the entries of a candidate."""
        mine = np.array([entry.candidate == candidate for entry in self.entries])
        return np.flatnonzero(mine & self.alive if alive else mine)

    def running(self) -> list[int]:
        """Return the candidates that compete, without the baseline."""
        return [i for i in range(len(self.candidates)) if i != self.baseline]

    def record(self, candidate: int, entries: Index, fold: int, outcome: Outcome) -> None:
        """Enter what came of a candidate on one fold, by its number."""
        failed = np.array([k in outcome.failures for k in range(len(entries))], dtype=bool)
        self.alive[entries[failed]] = False
        self.lost[entries[failed]] = self.broken[entries[failed]] = True
        if failed.any():
            why = next(iter(outcome.failures.values()))
            self.fates[candidate] = Fate(FAILED, why if failed.all() else f"some settings failed: {why}")
        worked = entries[~failed]
        self.keep(fold, worked, outcome.values[:, ~failed])
        self.fit_seconds[worked] += outcome.fit_seconds[~failed]
        self.predict_seconds[worked] += outcome.predict_seconds[~failed]
        self.n_folds[worked] += 1

    def fail(self, entry: int, why: str) -> None:
        """Take a setting out of the race that did well and cannot be fitted to all samples."""
        self.alive[entry], self.lost[entry], self.broken[entry] = False, True, True
        self.fates[self.entries[entry].candidate] = Fate(FAILED, f"the last fit failed: {why}")

    def neighbours(self, entry: int) -> Index:
        """Return a setting, and those that may turn out better with more samples."""
        return np.array([entry])

    def replace(self, candidate: int, entries: Index, outcomes: Sequence[Outcome], n_trained: int) -> None:
        """Enter what came of some settings with more samples, by fold; the candidate's others are out."""
        mine = self.of(candidate)
        self.alive[mine], self.lost[mine] = False, True
        self.alive[entries], self.lost[entries] = True, False
        for figures in (self.fit_seconds, self.predict_seconds, self.n_folds):
            figures[entries] = 0
        self.n_trained[entries] = n_trained
        self.fates.pop(candidate, None)
        self.forget(entries)
        for fold, outcome in enumerate(outcomes):
            self.record(candidate, entries, fold, outcome)

    def forget(self, entries: Index) -> None:  # noqa: B027
        """Take out what was kept of settings."""

    def withdraw(self, candidate: int, fate: Fate) -> None:
        """Take a candidate out of the race."""
        self.alive[self.of(candidate)] = False
        self.fates[candidate] = fate

    def drop(self, entry: int) -> None:
        """Take a setting out of the race that is far behind."""
        self.alive[entry], self.lost[entry] = False, True
        candidate = self.entries[entry].candidate
        if not len(self.of(candidate, alive=True)):
            self.fates[candidate] = Fate(DROPPED, "dropped: far behind the best")

    def finalists(self) -> Index:
        """Return the entries that may win: not far behind, and scored on half of the folds at least.

        Those that ran out of time are among them: the cheapest, which came further, would win without a
        contest. If all those failed, the ones that were dropped for being behind are next.
        """
        scored = self.n_folds > 0
        if self.baseline is not None:
            scored[self.of(self.baseline)] = False
        able = np.flatnonzero(scored & ~self.lost)
        if not len(able):
            able = np.flatnonzero(scored & ~self.broken)
        found: Index = able[2 * self.n_folds[able] >= self.n_folds[able].max(initial=0)]
        return found

    def finalists_of(self, candidate: int) -> Index:
        """Return the entries that may stand for a candidate, whether it may win or not.

        Settings that were dropped stand for it only if all were: a winner is never chosen among them.
        """
        mine = self.of(candidate)
        if not self.lost[mine].all():
            mine = mine[~self.lost[mine]]
        most = self.n_folds[mine].max(initial=0)
        found: Index = mine[(self.n_folds[mine] == most) & (most > 0)]
        return found

    def choose(self, entries: Index) -> int:
        """Return the best of some entries, the first of equals."""
        return int(entries[np.argmin(np.round(self.errors(entries), 9))])

    def best_of(self, candidate: int) -> int | None:
        """Return the entry that stands for a candidate, if any was scored."""
        finalists = self.finalists_of(candidate)
        return self.choose(finalists) if len(finalists) else None

    def winner(self) -> int:
        """Return the entry that is selected."""
        return self.choose(self.finalists())

    def result(self, winner: int | None = None, stopped: str | None = None) -> SearchResult:
        """Return the ranking so far; with an entry as the winner, the outcome."""
        names = [candidate.name for candidate in self.candidates]
        so_far = SearchResult(
            self.metric,
            rank_candidates(self._candidate_result(i, winner) for i in range(len(names))),
            tuple(name for i, name in enumerate(names) if i != self.baseline),
            self.rule_name,
            None if self.reference is None else names[self.reference],
            stopped=stopped,
            baseline=None if self.baseline is None else names[self.baseline],
            n_splits=self.n_splits,
        )
        if winner is None:
            return so_far
        candidate, setting = self.entries[winner]
        return so_far._replace(
            winner=names[candidate],
            settings=setting,
            measure=self.measure_selection(),
            gain=Difference() if self.baseline is None else self.compare(candidate, winner, self.baseline),
            n_trained=int(self.n_trained[winner]),
        )

    def _candidate_result(self, i: int, winner: int | None) -> CandidateResult:
        name, fate = self.candidates[i].name, self.fates.get(i, Fate(FINISHED, ""))
        won = winner is not None and self.entries[winner].candidate == i
        best = winner if won else self.best_of(i)
        if best is None:
            if winner is not None and fate.status == FINISHED:
                fate = Fate(OUT_OF_TIME, "not scored: the search ended before its turn")
            return CandidateResult(name, {}, Measure(self.metric), status=fate.status, note=fate.note)
        reference = None if i == self.baseline else self.reference
        return CandidateResult(
            name,
            self.entries[best].setting,
            self.measure(i, best),
            Difference() if reference is None or reference == i else self.compare(i, best, reference),
            float(self.fit_seconds[best] / self.n_folds[best]),
            float(self.predict_seconds[best] / self.n_folds[best]),
            *fate,
        )
