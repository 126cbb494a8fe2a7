"""The race of all settings over the folds: how each did, who is still in it, and how long it took."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag

from mercer._typing import Array, Index
from mercer.search.candidates import Candidate
from mercer.search.selection_rule import Rule, choose, find_nearby
from mercer.search.task import Outcome

HOPELESS = 3.0  # standard errors behind the best: less would flatter those that stay, see `honest`


class Entry(NamedTuple):
    """A setting of a candidate."""

    candidate: int
    setting: dict[str, Any]


class Race(ABC):
    """What is known of each setting so far. What it is judged by is left to those that inherit."""

    def __init__(self, candidates: list[Candidate]) -> None:
        self.candidates = candidates
        self.entries = [Entry(i, s) for i, candidate in enumerate(candidates) for s in candidate.settings()]
        self.fit_seconds = np.zeros(len(self.entries))
        self.predict_seconds = np.zeros(len(self.entries))
        self.n_folds = np.zeros(len(self.entries), dtype=int)
        self.alive = np.ones(len(self.entries), dtype=bool)  # goes on to the next fold
        self.lost = np.zeros(len(self.entries), dtype=bool)  # cannot win: far behind, or failed
        self.share = 1.0  # of the rows that were looked at
        self.n_trained = 0  # what a fit saw of them
        self.n_splits = 2  # folds that there are
        self.reason: dict[int, str] = {}  # why a candidate did not run to the end

    @abstractmethod
    def keep(self, test: Any, entries: Index, values: Array) -> None:
        """Keep what came of settings on what was held back."""

    @abstractmethod
    def errors(self, entries: Index) -> Array:
        """Return the mean errors of entries, over all that each of them was judged on."""

    def drop_hopeless(self, keep: int | None) -> None:  # noqa: B027
        """Take out settings that will not win, but not the best one of the candidate `keep`."""

    @property
    def inflation(self) -> float:
        """Return how much larger the variance of a difference is than rows say that were judged once.

        Training parts overlap, and another draw of them would change all predictions: for k folds, 1 + k
        times the share of test rows to training rows [NB03].

        [NB03] Nadeau, Bengio: Inference for the generalization error. Machine Learning 52, 2003.
        """
        return 1.0 + self.n_splits / max(self.n_splits - 1, 1)

    def of(self, candidate: int, *, alive: bool = False) -> Index:
        """Return the entries of a candidate."""
        mine = np.array([entry.candidate == candidate for entry in self.entries])
        return np.flatnonzero(mine & self.alive if alive else mine)

    def record(self, candidate: int, entries: Index, test: Any, outcome: Outcome) -> None:
        """Enter what came of a candidate on one fold."""
        failed = np.array([k in outcome.failures for k in range(len(entries))], dtype=bool)
        self.alive[entries[failed]], self.lost[entries[failed]] = False, True
        if failed.any():
            why = next(iter(outcome.failures.values()))
            self.reason[candidate] = why if failed.all() else f"of some settings, {why}"
        worked = entries[~failed]
        self.keep(test, worked, outcome.values[:, ~failed])
        self.fit_seconds[worked] += outcome.fit_seconds[~failed]
        self.predict_seconds[worked] += outcome.predict_seconds[~failed]
        self.n_folds[worked] += 1

    def withdraw(self, candidate: int, reason: str) -> None:
        """Take a candidate out of the race, for a reason."""
        self.alive[self.of(candidate)] = False
        self.reason[candidate] = reason

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


class LabelRace(Race):
    """A race in which settings are judged by the classes of rows held back."""

    def __init__(self, candidates: list[Candidate], n_rows: int) -> None:
        super().__init__(candidates)
        self.wrong = np.full((n_rows, len(self.entries)), np.nan)
        grids = [find_nearby(candidate.settings(), candidate.grid) for candidate in candidates]
        nearby = block_diag(*grids)
        self.rule = Rule(
            np.array([entry.candidate for entry in self.entries], dtype=np.intp),
            nearby / nearby.sum(axis=1, keepdims=True),
        )

    def keep(self, test: Index, entries: Index, values: Array) -> None:
        """Keep which rows were classified wrongly."""
        self.wrong[np.ix_(test, entries)] = values

    def errors(self, entries: Index) -> Array:
        """Return the mean errors of entries over the rows that all of them were judged on."""
        wrong = self.wrong[:, entries]
        means: Array = wrong[np.isfinite(wrong).all(axis=1)].mean(axis=0)
        return means

    def best_of(self, candidate: int) -> int | None:
        """Return the entry of a candidate that is chosen, if any was judged."""
        finalists = self.finalists_of(candidate)
        return self._choose(finalists) if len(finalists) else None

    def winner(self) -> int:
        """Return the entry that is chosen among all."""
        return self._choose(self.finalists())

    def _choose(self, entries: Index) -> int:
        wrong = self.wrong[:, entries]
        wrong = wrong[np.isfinite(wrong).all(axis=1)]
        return int(entries[choose(wrong, self.rule.among(entries), np.ones((1, len(wrong))))[0]])

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
            if entry not in kept and self._is_hopeless(int(entry), int(best)):
                self.alive[entry], self.lost[entry] = False, True
                candidate = self.entries[entry].candidate
                if not len(self.of(candidate, alive=True)):
                    self.reason[candidate] = "far behind the best: dropped"

    def _is_hopeless(self, entry: int, best: int) -> bool:
        difference = self.wrong[:, entry] - self.wrong[:, best]
        difference = difference[np.isfinite(difference)]
        noise = np.sqrt(np.mean(difference**2) / max(len(difference), 1))
        return bool(difference.mean() > HOPELESS * noise + 1.0 / len(difference))
