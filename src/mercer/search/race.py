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
        self.alive = np.ones(len(self.entries), dtype=bool)  # goes on to the next fold
        self.lost = np.zeros(len(self.entries), dtype=bool)  # cannot win: far behind, or failed
        self.reason: dict[int, str] = {}  # why a candidate did not run to the end

    def of(self, candidate: int, *, alive: bool = False) -> Index:
        """Return the entries of a candidate."""
        mine = np.array([entry.candidate == candidate for entry in self.entries])
        return np.flatnonzero(mine & self.alive if alive else mine)

    def record(self, candidate: int, entries: Index, test: Index, outcome: Outcome) -> None:
        """Enter what came of a candidate on one fold."""
        if outcome.failure is not None:
            self.withdraw(candidate, outcome.failure)
            self.lost[self.of(candidate)] = True
            return
        self.wrong[np.ix_(test, entries)] = outcome.wrong
        self.fit_seconds[entries] += outcome.fit_seconds
        self.predict_seconds[entries] += outcome.predict_seconds
        self.n_folds[entries] += 1

    def withdraw(self, candidate: int, reason: str) -> None:
        """Take a candidate out of the race, for a reason."""
        self.alive[self.of(candidate)] = False
        self.reason[candidate] = reason

    def drop_hopeless(self, keep: int | None) -> None:
        """Take out settings that are far behind the best, on the rows that both have been judged on.

        The best setting of the candidate `keep`, with which others are compared, stays.
        """
        running = np.flatnonzero(self.alive & (self.n_folds > 0))
        if len(running) < 2:
            return
        best = running[np.argmin(self.errors(running))]
        kept = set() if keep is None else {self.best_of(keep)}
        for entry in running:
            difference = self.wrong[:, entry] - self.wrong[:, best]
            difference = difference[np.isfinite(difference)]
            noise = np.sqrt(np.mean(difference**2) / max(len(difference), 1))
            if entry not in kept and difference.mean() > HOPELESS * noise + 1.0 / len(difference):
                self.alive[entry], self.lost[entry] = False, True
                candidate = self.entries[entry].candidate
                which = "some settings were" if len(self.of(candidate, alive=True)) else "it was"
                self.reason[candidate] = f"{which} far behind"

    def errors(self, entries: Index) -> Array:
        """Return the mean errors of entries over the rows that all of them were judged on."""
        wrong = self.wrong[:, entries]
        means: Array = wrong[np.isfinite(wrong).all(axis=1)].mean(axis=0)
        return means

    def finalists(self) -> Index:
        """Return the entries that may win: not far behind, and judged on half the rows at least.

        Those for which the time did not suffice are among them: the cheapest, which came further, would win
        without a contest.
        """
        able = np.flatnonzero(~self.lost & (self.n_folds > 0))
        found: Index = able[2 * self.n_folds[able] >= self.n_folds[able].max(initial=0)]
        return found

    def finalists_of(self, candidate: int) -> Index:
        """Return the entries that may stand for a candidate, whether it may win or not."""
        mine = self.of(candidate)
        most = self.n_folds[mine].max(initial=0)
        found: Index = mine[(self.n_folds[mine] == most) & (most > 0)]
        return found

    def best_of(self, candidate: int) -> int | None:
        """Return the best entry of a candidate, if any was judged."""
        finalists = self.finalists_of(candidate)
        return int(finalists[np.argmin(self.errors(finalists))]) if len(finalists) else None

    def winner(self) -> int:
        """Return the best entry of all, the first of equals."""
        finalists = self.finalists()
        return int(finalists[np.argmin(np.round(self.errors(finalists), 9))])
