"""The race: one loop over samples that grow, the same for all candidates, which a deadline ends.

On each rung all candidates that are left are fitted to a part of the samples and judged by others, fold by
fold. What each will take is foretold from the rung before. Who is clearly worse leaves, and so does who could
not be fitted to all samples in time. What was said of held-out samples is kept: it is what the ranking, the
blend, its calibration and its error are made of.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from mercer._typing import Array, Index
from mercer.search.candidates import BY_LANDMARKS, Candidate
from mercer.search.clock import Deadline, WallClock
from mercer.search.fitting import Outcome, evaluate
from mercer.search.result import DROPPED, FAILED, FINISHED, OUT_OF_TIME
from mercer.search.selection_rule import Rule, choose, grids_nearby

FIRST_RUNG, TIMES = 1000, 3  # samples, and how many times as many on the next rung
LAST_BUT_ONE = 10_000  # samples: from here on it is all of them, as landmarks of more take hardly less time
TRIAL_ROWS = 200  # on which each candidate is timed, if there is a deadline
LOADING = 0.05  # seconds: what took longer the first time may have been code that was loaded
SCORED = 5000  # held-out samples are enough: of more samples fewer folds are needed
LAST = 0.5  # of the budget at most for the last fits, to all samples
RESERVE = 0.03  # of the budget, for the ranking
EARLY, EARLY_FOLDS = 0.5, 2  # of the time, and folds, for a rung that is not the last
MOST_DROPPED = 0.6  # of the time of a fold the next ones take: settings that are behind are dropped
MEMBERS, KEPT = 2, 0.25  # for whose last fits time is kept, and how much of the budget at most
ALIKE = 1e-2  # of the unit of what is said: settings that differ by less say the same
HOPELESS, CLEARLY = 3.0, 2.0  # standard errors behind the best: for a setting, and after a rung
STARTING = 15.0  # seconds: within fewer, other processes start too late to be of use
MEASURED = 0.02  # seconds, from which on growth is believed
OF_FEW = 0.45  # of the power, from a trial to the first rung
SHARED = 0.3  # of a setting's time, where settings share a learned kernel
UNSURE = 0.25  # the power of the number of samples with which foretold seconds may be wrong
STEEPEST = 3.2  # power with which time is believed to grow


class Entry(NamedTuple):
    """A setting of a candidate."""

    candidate: int
    setting: dict[str, Any]


class Fate(NamedTuple):
    """What became of a candidate."""

    status: str
    note: str


class Pace(NamedTuple):
    """What a candidate took on a fold of so many samples: all its settings, and one of them."""

    n_rows: int
    seconds: float
    one: float


class Race:
    """What is known of each setting, and how it came to be known.

    Parameters
    ----------
    task : task
        What candidates are judged by.
    candidates : list of Candidate
        Who takes part.
    folds : sequence of (train, test)
        Each part in an order whose first samples stand for all.
    seed : int
        Random seed of parts of the samples.
    deadline : Deadline
        How much time there is.
    n_jobs : int or None
        How many candidates run at a time.
    report : callable
        Told after each candidate and fold; whether to stop.
    """

    def __init__(
        self,
        task: Any,
        candidates: list[Candidate],
        folds: Sequence[tuple[Any, Any]],
        seed: int,
        deadline: Deadline,
        n_jobs: int | None = None,
        report: Callable[["Race"], bool] = lambda race: False,
    ) -> None:
        baseline = task.baseline()
        self.task, self.folds, self.seed, self.deadline, self.report = task, folds, seed, deadline, report
        self.candidates = [*candidates, *([] if baseline is None else [baseline])]
        self.baseline = None if baseline is None else len(candidates)
        names = [candidate.name for candidate in self.candidates]
        self.reference = names.index(task.reference) if task.reference in names else None
        self.entries = [Entry(i, s) for i, one in enumerate(self.candidates) for s in one.settings()]
        of = np.array([entry.candidate for entry in self.entries], dtype=np.intp)
        self.rule = Rule(of, grids_nearby(self.candidates))
        n = len(self.entries)
        self.fit_seconds, self.predict_seconds = np.zeros(n), np.zeros(n)
        self.n_trained = np.zeros(n, dtype=int)
        self.wanted = np.ones(n, dtype=int)  # folds of the rung that an entry was scored on last
        self.alive, self.lost, self.broken = (
            np.ones(n, dtype=bool),
            np.zeros(n, dtype=bool),
            np.zeros(n, dtype=bool),
        )
        self.fates: dict[int, Fate] = {}
        self.paces: dict[int, list[Pace]] = {}
        self.waits = False  # whether something was not done for want of time
        self.n_jobs = n_jobs if deadline.left() >= STARTING else 1
        self.parts: list[Any] = [_first(test, min(_size(test), SCORED)) for _, test in folds]
        sizes = [_size(test) for test in self.parts]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        self.fold = np.repeat(np.arange(len(folds)), sizes)
        self.rows: Index = np.concatenate(self.parts) if task.blends else np.arange(self.starts[-1])
        self.losses = np.full((self.starts[-1], n), np.nan)
        self.said: dict[int, Array] = {}
        self.done = np.zeros((n, len(folds)), dtype=bool)  # the folds that an entry was scored on
        self.n_all = self.n_rows(1.0)

    # What is judged

    def n_rows(self, share: float) -> int:
        """Return how many samples, of all, a share is."""
        return max(2, round(share * len(self.task.samples.y)))

    def shares(self, max_rows: int) -> list[float]:
        """Return the rungs: shares of the samples. Without a deadline there are so many at most."""
        n = len(self.task.samples.y) if self.task.blends else 1
        most, sizes, m = (
            n if self.deadline.budget is not None else min(n, max_rows),
            list[float](),
            FIRST_RUNG,
        )
        while 2 * m < most and m <= LAST_BUT_ONE:
            sizes.append(m)
            m *= TIMES
        return [size / n for size in [*sizes, most]]

    def n_folds(self, share: float) -> int:
        """Return on how many folds candidates are scored: many samples need fewer, and so do early rungs."""
        if share < 1.0:
            return min(len(self.folds), EARLY_FOLDS)
        return max(1, min(len(self.folds), math.ceil(2 * SCORED / self.n_rows(share))))

    def of(self, candidate: int, *, alive: bool = False) -> Index:
        """Return the entries of a candidate."""
        mine = self.rule.candidate == candidate
        return np.flatnonzero(mine & self.alive if alive else mine)

    def running(self) -> list[int]:
        """Return the candidates that compete and have not left."""
        return [i for i in range(len(self.candidates)) if i != self.baseline and len(self.of(i, alive=True))]

    def scored_folds(self, entry: int) -> int:
        """Return on how many folds an entry was scored."""
        return int(self.done[entry].sum())

    def is_scored(self, entry: int) -> bool:
        """Return whether an entry was scored on half of the folds that it should be."""
        return 0 < self.wanted[entry] <= 2 * self.scored_folds(entry)

    def finalists(self) -> Index:
        """Return the entries that may be members: not far behind, and scored on half of the folds at least.

        If all of these failed, those that were dropped for being behind are next.
        """
        able = [e for e in range(len(self.entries)) if self.rule.candidate[e] != self.baseline]
        able = [e for e in able if not self.broken[e] and self.scored_folds(e)]
        able = [e for e in able if self.is_scored(e)] or able
        quick = [e for e in able if self.is_affordable(e)]
        if able and not quick:  # then who can be fitted to most of the samples
            left = [e for e in able if not self.lost[e]] or able
            first = self.rule.candidate[min(left, key=self.last_seconds)]
            quick = [e for e in able if self.rule.candidate[e] == first]
        return np.array([e for e in quick if not self.lost[e]] or quick, dtype=np.intp)

    def finalists_of(self, candidate: int) -> Index:
        """Return the entries that may stand for a candidate; those that were dropped, only if all were."""
        mine = [e for e in self.of(candidate) if self.scored_folds(e)]
        mine = [e for e in mine if not self.broken[e]] or mine
        mine = [e for e in mine if not self.lost[e]] or mine
        most = max((self.scored_folds(e) for e in mine), default=0)
        return np.array([e for e in mine if self.scored_folds(e) == most], dtype=np.intp)

    def scored(self, entries: Index) -> tuple[Array, Index]:
        """Return the losses of entries on the samples that all of them were scored on, and the places."""
        losses = self.losses[:, entries]
        places = np.flatnonzero(np.isfinite(losses).all(axis=1))
        if self.task.samples.weight is None:
            return losses[places], places
        weight = self.task.samples.weights[self.rows]  # a fold counts by the weight of its samples
        share = (np.bincount(self.fold, weight) / np.bincount(self.fold))[self.fold[places]]
        return losses[places] * (share / (share.mean() if len(share) else 1.0))[:, None], places

    def errors(self, entries: Index) -> Array:
        """Return the mean losses of entries over the samples that all of them were scored on."""
        losses, _ = self.scored(entries)
        return losses.mean(axis=0) if len(losses) else np.nanmean(self.losses[:, entries], axis=0)

    def choose(self, entries: Index) -> int:
        """Return the entry that the selection rule takes."""
        losses, _ = self.scored(entries)
        if not len(losses):
            return int(entries[np.argmin(self.errors(entries))])
        return int(entries[choose(losses, self.rule.among(entries))])

    def best_of(self, candidate: int) -> int | None:
        """Return the entry that stands for a candidate, if any was scored."""
        finalists = self.finalists_of(candidate)
        return self.choose(finalists) if len(finalists) else None

    # What time it takes

    def times(self, i: int, n_rows: float, n_more: float) -> float:
        """Return how many times as long a candidate takes for more samples.

        Up to a number of them it computes Gram matrices, and then by landmarks, whose time grows little.
        """
        turn, power = self.candidates[i].gram_rows or math.inf, self.growth(i)
        if n_rows > turn or n_more <= turn:
            return float(max(n_more / n_rows, 1.0) ** power)
        return float(self.candidates[i].turn * (turn / n_rows) ** power * (n_more / turn) ** BY_LANDMARKS)

    def growth(self, i: int) -> float:
        """Return the power of the number of samples with which a candidate's time rises."""
        prior, paces, turn = self.candidates[i].growth, self.paces.get(i, []), self.candidates[i].gram_rows
        if turn and paces and paces[-1].n_rows > turn:
            prior = BY_LANDMARKS
        if paces and paces[-1].n_rows <= TRIAL_ROWS:  # most of the time of so few is for what does not grow
            return OF_FEW * prior
        seen = self._clear_paces(i)
        if (
            len(seen) < 2
            or seen[-1].n_rows < 1.5 * seen[-2].n_rows
            or seen[-2].n_rows <= turn < seen[-1].n_rows
        ):
            return prior
        power = math.log(seen[-1].one / seen[-2].one) / math.log(seen[-1].n_rows / seen[-2].n_rows)
        return float(np.clip(power, 0.3, STEEPEST))

    def _clear_paces(self, i: int) -> list[Pace]:
        """Return those paces of a candidate that were long enough to tell how time grows."""
        return [one for one in self.paces.get(i, []) if one.one >= MEASURED and one.n_rows > TRIAL_ROWS]

    def foretell(self, i: int, n_rows: int) -> float:
        """Return what a candidate's settings that are left take on a fold of so many samples."""
        if i not in self.paces:
            return 0.0
        last, n_left = self.paces[i][-1], len(self.of(i, alive=True))
        n_before = len(self.of(i)) if len(self.paces[i]) == 1 and last.n_rows <= TRIAL_ROWS else n_left
        seconds = max(last.one, last.seconds * n_left / max(n_before, 1))
        return float(seconds * self.times(i, last.n_rows, n_rows))

    def last_seconds(self, entry: int, n_rows: int | None = None) -> float:
        """Return what the fit of an entry to all samples, or to so many, is expected to take."""
        n, i = self.n_all if n_rows is None else n_rows, int(self.rule.candidate[entry])
        if not self.n_trained[entry]:
            return 0.0
        return float(self.fit_seconds[entry] * self.times(i, self.n_trained[entry], n))

    def is_affordable(self, entry: int) -> bool:
        """Return whether there is time to fit an entry to all samples."""
        budget = self.deadline.budget
        return budget is None or self.last_seconds(entry) <= LAST * budget

    def may_be_affordable(self, entry: int) -> bool:
        """Return whether there may be time for that: how it grows is not known, or not surely too much."""
        budget, n = self.deadline.budget, self.n_trained[entry]
        if budget is None or len(self._clear_paces(int(self.rule.candidate[entry]))) < 2:
            return True
        return self.last_seconds(entry) <= LAST * budget * float(self.n_all / max(n, 1)) ** UNSURE

    def reserve(self) -> float:
        """Return the seconds to keep for the ranking, and for the last fits of the best so far."""
        budget = self.deadline.budget or 0.0
        able = self.finalists() if budget else np.array([], dtype=np.intp)
        if not len(able):
            return RESERVE * budget
        best = {int(self.rule.candidate[e]): e for e in able[np.argsort(-self.errors(able), kind="stable")]}
        last = [self.last_seconds(e) for e in list(best.values())[::-1][:MEMBERS]]
        return RESERVE * budget + min(sum(last), KEPT * budget)

    # The loop

    def run(self, max_rows: int) -> str | None:
        """Run the race; return what stopped it, if anything."""
        stopped = None
        try:
            # evaluations silence warnings themselves; of threads, whose filters are the same, the last one to
            # end would leave them silent
            with warnings.catch_warnings(action="ignore"):
                stopped = self._climb(max_rows)
        except KeyboardInterrupt:
            if not len(self.finalists()):
                raise
            return "interrupt"
        return stopped or ("budget" if self.waits else None)

    def _climb(self, max_rows: int) -> str | None:
        """Go from rung to rung, as far as there is time; return what stopped it."""
        self._try_out()
        self.sent = scatter(self.task)
        for share in self.shares(max_rows):
            stopped = self._rung(share)
            if stopped or not len(self.finalists()):
                return stopped
            self._leave(share)
        return None

    def _try_out(self) -> None:
        """Time each candidate on very few samples, so that a slow one does not use up the time of all."""
        n = len(self.task.samples.y)
        if self.deadline.budget is None or n < 3 * TRIAL_ROWS or not self.task.blends:
            return
        train, test = self.folds[0]
        train, test = np.sort(_first(train, TRIAL_ROWS)), _first(test, TRIAL_ROWS // 4)
        for i in sorted(self.running(), key=lambda i: (self._learns(i), self.candidates[i].growth)):
            if self.paces and self.deadline.left() < 0.75 * self.deadline.budget:
                break
            settings = self.candidates[i].settings()
            for _ in range(2):
                outcome = self._evaluate(i, settings[:1], train, test)
                if outcome.seconds <= LOADING or outcome.seconds > 0.1 * self.deadline.budget:
                    break
            shares = self._learns(i) and not any(
                name.startswith("learner__") for name in self.candidates[i].grid
            )
            n_times = 1.0 + (SHARED if shares else 1.0) * (len(settings) - 1)
            self.paces[i] = [Pace(TRIAL_ROWS, outcome.seconds * n_times, outcome.seconds)]

    def _learns(self, i: int) -> bool:
        """Return whether a candidate learns a kernel before it learns to predict."""
        return hasattr(getattr(self.candidates[i].estimator, "learner", None), "fit")

    def _evaluate(self, i: int, settings: list[dict[str, Any]], train: Any, test: Any) -> Outcome:
        return evaluate(self.task, self.candidates[i], settings, train, test, self.deadline.clock.now)

    def _rung(self, share: float) -> str | None:
        """Score the candidates that are left on a share of the samples; return what stopped it.

        Those that there is time for are compared side by side, fold by fold; the others then, one by one.
        """
        n_folds, first = self.n_folds(share), not len(self.finalists())
        parts = [self._part(k, share, n_folds) for k in range(n_folds)]
        n = len(parts[0][0]) if isinstance(parts[0][0], np.ndarray) else self.n_rows(share)
        together, late = self._split_by_time(self._order(), n, n_folds, 1.0 if share == 1.0 else EARLY)
        for group in (together, *([i] for i in late)):
            for k in range(n_folds):
                train, places, test = parts[k]
                if group is together:
                    self._score_baseline(train, places, test)
                for i, entries, outcome in self._run_fold(group, k, n_folds, n, first, train, test):
                    self._record(i, entries, places, outcome, n, n_folds)
                    if self.report(self):
                        return "callback"
                self.drop_hopeless()
        return None

    def _split_by_time(
        self, order: list[int], n: int, n_folds: int, part: float
    ) -> tuple[list[int], list[int]]:
        """Return who is compared side by side, and who must wait whether there is time left."""
        left, together, late = part * (self.deadline.left() - self.reserve()), list[int](), list[int]()
        for i in order:
            seconds = self.foretell(i, n) * (1.0 + MOST_DROPPED * (n_folds - 1))
            if seconds <= left or not together:
                together.append(i)
                left -= seconds
            else:
                late.append(i)
        return together, late

    def _part(self, k: int, share: float, n_folds: int) -> tuple[Any, Index, Any]:
        """Return a fold's samples to learn from, and to be judged by, with their places."""
        train, test = self.folds[k][0], self.parts[k]
        judged = 1.0 if n_folds < len(self.folds) else share  # who has fewer folds takes more of each
        n_test = min(math.ceil(judged * _size(self.folds[k][1])), math.ceil(SCORED / n_folds), _size(test))
        some = _first(train, math.ceil(share * _size(train)))
        some = np.sort(some) if isinstance(some, np.ndarray) else some
        n_test = n_test if isinstance(test, np.ndarray) else _size(test)
        return some, self.starts[k] + np.arange(n_test), _first(test, n_test)

    def _order(self) -> list[int]:
        """Return the candidates in the order in which they have time: the best, or quick ones, first."""
        running = self.running()
        if not len(self.finalists()):
            return sorted(
                running, key=lambda i: (i != self.reference, self._learns(i), self.foretell(i, FIRST_RUNG))
            )
        best = {i: self.best_of(i) for i in running}
        known = [i for i in running if best[i] is not None]
        scored = np.array([best[i] for i in known], dtype=np.intp)
        errors = self.errors(scored) if known else scored
        return [i for _, i in sorted(zip(errors, known, strict=True))] + [
            i for i in running if best[i] is None
        ]

    def _has_time(self, i: int, k: int, n_folds: int, n: int) -> bool:
        """Return whether there is time for a candidate: for half of the folds, then for one more."""
        if self.deadline.budget is None:
            return True
        needed = math.ceil(n_folds / 2) if k == 0 else 1
        if k and len(self.finalists()) and not any(map(self.may_be_affordable, self.of(i, alive=True))):
            return False
        return needed * self.foretell(i, n) <= self.deadline.left() - self.reserve()

    def _run_fold(
        self, order: list[int], k: int, n_folds: int, n: int, first: bool, train: Any, test: Any
    ) -> Iterator[tuple[int, Index, Outcome]]:
        """Yield the outcomes of the candidates on a fold, of as many as there is time for."""
        started: list[tuple[int, Index]] = []
        now = self.deadline.clock.now if effective_n_jobs(self.n_jobs) == 1 else WallClock().now

        def jobs() -> Iterator[Any]:  # asked for the next one when there is a processor for it
            for i in order:
                entries = self.of(i, alive=True)
                if not len(entries) or (k and i not in self._at(k, n_folds)):
                    continue
                some = started or len(self.finalists())  # some model there must be
                if some and not self._has_time(i, k, n_folds, n):
                    self._withhold(i, k, n, first)
                    continue
                started.append((i, entries))
                settings = [self.entries[entry].setting for entry in entries]
                yield delayed(evaluate)(self.sent, self.candidates[i], settings, train, test, now)

        parallel = Parallel(n_jobs=self.n_jobs, return_as="generator", pre_dispatch="n_jobs")
        with closing(parallel(jobs())) as outcomes:
            for place, outcome in enumerate(outcomes):
                yield *started[place], outcome

    def _at(self, k: int, n_folds: int) -> set[int]:
        """Return the candidates that took part in the first folds of this rung."""
        return {int(self.rule.candidate[e]) for e in np.flatnonzero(self.done[:, k - 1] & self.alive)}

    def _withhold(self, i: int, k: int, n: int, first: bool) -> None:
        """Note that there is no time for a candidate; what is known of it stays."""
        self.waits = True
        if i not in self.fates and first:
            some = f"no time for it: one fold takes about {self.foretell(i, n):.1f} s"
            note = f"time was up after {k} fold{'s' if k > 1 else ''}" if k else some
            self.fates[i] = Fate(OUT_OF_TIME, note)
            if not k:
                self.alive[self.of(i)] = False

    def _score_baseline(self, train: Any, places: Index, test: Any) -> None:
        """Score what takes no learning, and no time."""
        if self.baseline is not None:
            outcome = self._evaluate(self.baseline, [{}], train, test)
            self._record(self.baseline, self.of(self.baseline), places, outcome, 0, len(self.folds))

    def _record(
        self, i: int, entries: Index, places: Index, outcome: Outcome, n_rows: int, n_folds: int
    ) -> None:
        """Keep what came of a candidate on a fold."""
        for e, values, losses, seconds, more in zip(
            entries, outcome.values, outcome.losses, outcome.fit_seconds, outcome.predict_seconds, strict=True
        ):
            if values is None or losses is None:
                self.alive[e], self.lost[e], self.broken[e] = False, True, True
                continue
            if e not in self.said:
                self.said[e] = np.full((len(self.fold), values.shape[1]), np.nan, dtype=values.dtype)
            if self.n_trained[e] < 0.9 * n_rows:  # the first fold of a rung
                self.losses[self.fold >= n_folds, e], self.done[e, n_folds:] = np.nan, False
            k = self.fold[places[0]]
            self.losses[self.starts[k] : self.starts[k + 1], e], self.done[e, k] = np.nan, True
            self.said[e][places], self.losses[places, e] = values, losses
            self.n_trained[e], self.wanted[e] = n_rows, n_folds
            self.fit_seconds[e], self.predict_seconds[e] = seconds, more
        if outcome.failures:
            why, all_failed = next(iter(outcome.failures.values())), len(outcome.failures) == len(entries)
            self.fates[i] = Fate(FAILED, why if all_failed else f"some settings failed: {why}")
        one = float(np.mean(outcome.fit_seconds + outcome.predict_seconds))
        paces = [pace for pace in self.paces.get(i, []) if pace.n_rows < 0.9 * n_rows]
        self.paces[i] = [*paces, Pace(max(n_rows, 1), outcome.seconds, one)]

    # Who leaves

    def drop_hopeless(self) -> None:
        """Take out settings that are far behind the best, on the samples that both were scored on.

        The best setting of the reference stays. Of settings of a candidate that say the same the first stays:
        such are all C that no sample reaches.
        """
        running = self.running() if self.task.blends else []
        for i in running:
            self._drop_alike(i)
        entries = np.array(
            [e for i in running for e in self.of(i, alive=True) if e in self.said], dtype=np.intp
        )
        if len(entries) < 2:
            return
        able = entries[[self.may_be_affordable(e) for e in entries]]
        able = able if len(able) else entries
        best = int(able[np.argmin(self.errors(able))])
        kept = None if self.reference is None else self.best_of(self.reference)
        for e in map(int, entries):
            if e != kept and self._is_behind(e, best, HOPELESS):
                self._drop(e, "dropped: far behind the best")

    def _drop(self, entry: int, note: str) -> None:
        self.alive[entry], self.lost[entry] = False, True
        i = int(self.rule.candidate[entry])
        if not len(self.of(i, alive=True)):
            self.fates[i] = Fate(DROPPED, note)

    def _drop_alike(self, candidate: int) -> None:
        kept: list[Array] = []
        for e in self.of(candidate, alive=True):
            said = self.said[e][np.isfinite(self.losses[:, e])] if e in self.said else np.empty((0, 1))
            far = ALIKE * self.task.far(said) if len(said) else 0.0
            if any(len(said) == len(one) and np.abs(said - one).max() <= far for one in kept if far):
                self._drop(int(e), "dropped: far behind the best")
            else:
                kept.append(said)

    def _is_behind(self, entry: int, best: int, errors: float) -> bool:
        """Return whether the paired differences to the best are that many standard errors above zero."""
        difference = self.losses[:, entry] - self.losses[:, best]
        difference = difference[np.isfinite(difference)]
        if self.task.scoring.is_of_folds or not len(
            difference
        ):  # of whole folds there is no noise to be seen
            return False
        noise = np.sqrt(np.mean(difference**2) / len(difference))
        return bool(difference.mean() > errors * noise + self.task.slack(len(difference)))

    def _leave(self, share: float) -> None:
        """After a rung, let those go who are clearly worse, or could not be fitted to all samples.

        Of the others the best setting goes on, with its neighbours: which is best moves with the samples.
        """
        if share == 1.0:
            return
        bests = {i: e for i in self.running() if (e := self.best_of(i)) is not None}
        if not bests:  # nobody could be fitted to all samples in time
            return
        finalists = set(self.finalists().tolist())
        order = lambda e: (not self.may_be_affordable(e), float(np.nanmean(self.losses[:, e])))  # noqa: E731
        leader = min(bests.values(), key=order, default=-1)
        for i, e in bests.items():
            if e != leader and e not in finalists and not self.may_be_affordable(e):
                seconds = self.last_seconds(e)
                note = f"no time to fit it to {self.n_all} samples: that takes about {seconds:.0f} s"
                self.fates[i] = Fate(OUT_OF_TIME, note)
                self.alive[self.of(i)] = False
            elif e != leader and self._is_behind(e, leader, CLEARLY):
                self.alive[self.of(i)] = False
                self.fates[i] = Fate(
                    DROPPED, f"left after {self.n_rows(share)} samples: clearly behind the best"
                )
            else:
                near = (self.rule.nearby[e] > 0) & ~self.broken
                self.alive[np.setdiff1d(self.of(i), np.flatnonzero(near))] = False

    def last_rows(self, entry: int) -> int:
        """Return to how many samples there is time to fit an entry: to all, if it is affordable."""
        if self.is_affordable(entry):
            return self.n_all
        most = LAST * (self.deadline.budget or 0.0)
        tried = np.geomspace(self.n_trained[entry], self.n_all, 200).astype(int)
        return int(max((n for n in tried if self.last_seconds(entry, n) <= most), default=tried[0]))

    def fail(self, entry: int, why: str) -> None:
        """Take a setting out of the race that did well and cannot be fitted to all samples."""
        self.alive[entry], self.lost[entry], self.broken[entry] = False, True, True
        self.fates[int(self.rule.candidate[entry])] = Fate(FAILED, f"the last fit failed: {why}")

    def fate(self, i: int) -> Fate:
        """Return what became of a candidate."""
        return self.fates.get(i, Fate(FINISHED, ""))

    def check_some_worked(self) -> None:
        """Raise if there is nobody to select, with what went wrong."""
        if len(self.finalists()):
            return
        notes: dict[str, list[str]] = {}
        for i, fate in self.fates.items():
            notes.setdefault(fate.note, []).append(self.candidates[i].name)
        reasons = "; ".join(f"{', '.join(names)}: {note}" for note, names in notes.items())
        raise ValueError(f"no candidate could be fitted ({reasons})")


def scatter(task: Any) -> Any:
    """Bring a task, with its samples, to the workers of joblib's cluster once; elsewhere return it."""
    client = getattr(get_active_backend()[0], "client", None)
    return task if client is None else client.scatter(task, broadcast=True, hash=False)


def _size(part: Any) -> int:
    """Return how many samples, or pairs of both kinds, there are."""
    return len(part) if isinstance(part, np.ndarray) else sum(map(len, part))


def _first(part: Any, n: int) -> Any:
    """Return the first samples; of pairs all."""
    return part[:n] if isinstance(part, np.ndarray) else part


def names_of(race: Race, entries: Iterable[int]) -> list[str]:
    """Return the names of the candidates that entries are of."""
    return [race.candidates[int(race.rule.candidate[e])].name for e in entries]
