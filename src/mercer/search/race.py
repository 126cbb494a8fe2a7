"""The race of all settings over the folds: who was wrong where, who is still in it, and how long it took."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.search.candidates import Candidate
from mercer.search.evaluation import Outcome

Array = NDArray[np.float64]
Index = NDArray[np.intp]

HOPELESS = 3.0  # standard errors behind the best: who is so far back will not win


class Entry(NamedTuple):
    """A setting of a candidate."""

    candidate: int
    setting: dict[str, Any]


class Race:
    """What is known of each setting so far."""

    def __init__(self, candidates: list[Candidate], n_rows: int) -> None:
        self.candidates = candidates
        self.entries = [Entry(i, s) for i, candidate in enumerate(candidates) for s in candidate.settings()]
        self.wrong = np.full((n_rows, len(self.entries)), np.nan)
        self.fit_seconds = np.zeros(len(self.entries))
        self.predict_seconds = np.zeros(len(self.entries))
        self.n_folds = np.zeros(len(self.entries), dtype=int)
        self.alive = np.ones(len(self.entries), dtype=bool)
        self.reason: dict[int, str] = {}  # why a candidate did not run to the end

    def of(self, candidate: int, *, alive: bool = False) -> Index:
        """Return the entries of a candidate."""
        mine = np.array([entry.candidate == candidate for entry in self.entries])
        return np.flatnonzero(mine & self.alive if alive else mine)

    def record(self, candidate: int, entries: Index, test: Index, outcome: Outcome) -> None:
        """Enter what came of a candidate on one fold."""
        if outcome.failure is not None:
            self.withdraw(candidate, outcome.failure)
            return
        self.wrong[np.ix_(test, entries)] = outcome.wrong
        self.fit_seconds[entries] += outcome.fit_seconds
        self.predict_seconds[entries] += outcome.predict_seconds
        self.n_folds[entries] += 1

    def withdraw(self, candidate: int, reason: str) -> None:
        """Take a candidate out of the race, for a reason."""
        self.alive[self.of(candidate)] = False
        self.reason[candidate] = reason

    def seconds(self, candidate: int) -> float:
        """Return how long a candidate has taken for a fold, on the average."""
        mine = self.of(candidate)
        folds = max(int(self.n_folds[mine].max(initial=0)), 1)
        return float((self.fit_seconds[mine] + self.predict_seconds[mine]).sum()) / folds

    def drop_hopeless(self, keep: int | None) -> None:
        """Take out settings that are far behind the best, on the rows that both have been judged on.

        The best setting of the candidate `keep`, with which others are compared, stays.
        """
        running = np.flatnonzero(self.alive & (self.n_folds > 0))
        if len(running) < 2:
            return
        best = running[np.argmin(self.errors()[running])]
        kept = set() if keep is None else {self.best_of(keep)}
        for entry in running:
            difference = self.wrong[:, entry] - self.wrong[:, best]
            difference = difference[np.isfinite(difference)]
            noise = np.sqrt(np.mean(difference**2) / max(len(difference), 1))
            if entry not in kept and difference.mean() > HOPELESS * noise + 1.0 / len(difference):
                self.alive[entry] = False
                self.reason.setdefault(self.entries[entry].candidate, "some settings were far behind")

    def errors(self) -> Array:
        """Return the mean error of each entry over the rows that it was judged on; infinite for none."""
        judged = np.isfinite(self.wrong)
        counts = judged.sum(axis=0)
        sums = np.where(judged, self.wrong, 0.0).sum(axis=0)
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.inf)

    def finalists(self, entries: Index | None = None) -> Index:
        """Return, of some entries or of all, those that were judged on most rows."""
        some = np.arange(len(self.entries)) if entries is None else entries
        most = self.n_folds[some].max(initial=0)
        found: Index = some[(self.n_folds[some] == most) & (most > 0)]
        return found

    def best_of(self, candidate: int) -> int | None:
        """Return the best entry of a candidate, if any was judged."""
        finalists = self.finalists(self.of(candidate))
        return int(finalists[np.argmin(self.errors()[finalists])]) if len(finalists) else None

    def winner(self) -> int:
        """Return the best entry of all, the first of equals."""
        finalists = self.finalists()
        return int(finalists[np.argmin(np.round(self.errors()[finalists], 9))])
