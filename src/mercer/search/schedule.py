"""How the race is run: fold by fold, cheap candidates first, inside the time there is."""

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from mercer._typing import Index
from mercer.limits import one_thread
from mercer.search.candidates import Candidate
from mercer.search.forecast import Forecast, Trial, affordable_share, foretell, whole_folds
from mercer.search.last_fit import SAFE, Timed
from mercer.search.more_rows import LAST, RESERVE, MoreRows
from mercer.search.race import Fate, Outcome, Race
from mercer.search.result import OUT_OF_TIME
from mercer.search.task import Folds, Plan, Sample, Task

PILOT_ROWS = 400  # on which a candidate is timed before it is let loose on many more
TRYING = 0.35  # of the budget at most to time candidates
AGAIN = 0.15  # of the budget: who takes less is timed once more
LOADING = 0.05  # seconds: what took longer the first time may have been code that was loaded
SAVED = 0.4  # of the budget, to go on with more samples, if the comparison has only some
STARTING = 15.0  # seconds: within fewer, other processes start too late to be of use


@dataclass
class Clock:
    """When the search began, and how many seconds it may take, those of compiling not counted."""

    start: float
    budget: float | None
    excused: float = 0.0

    def left(self) -> float:
        """Return the seconds that are left; infinitely many without a budget."""
        if self.budget is None:
            return np.inf
        return self.start + self.budget + self.excused - time.monotonic()


@dataclass
class Schedule:
    """A race, and the time for it.

    Parameters
    ----------
    race : Race
        Who takes part, and how each did.
    clock : Clock
        How much time there is.
    n_jobs : int or None
        How many candidates run at a time; one if there are few seconds, in which no process is soon there.
    report : callable
        Told after each candidate; whether to stop.
    n_all : int
        How many samples the winner will be fitted to.
    """

    race: Race
    clock: Clock
    n_jobs: int | None
    report: Callable[[], bool]
    n_all: int = 0
    expected: dict[int, float] = field(default_factory=dict)  # seconds of a candidate on a fold
    forecasts: dict[int, Forecast] = field(default_factory=dict)  # of a fold of all samples
    growths: dict[int, float] = field(default_factory=dict)  # powers with which time was seen to grow
    guessed: set[int] = field(default_factory=set)  # whose forecast is from very few samples
    saved: float = 0.0  # seconds that are kept for another comparison, with more samples
    n_fold: int = 0  # samples that a fit sees in a fold of all
    sent: Any = None  # the task, or where the workers of a cluster have it

    def __post_init__(self) -> None:
        if self.clock.left() < STARTING:
            self.n_jobs = 1

    def run(self, plan: Plan) -> str | None:
        """Run all candidates over all folds, as far as time allows; return what stopped it, if anything."""
        try:
            # each evaluation silences warnings for itself; if they are threads, whose filters are the same,
            # the last to end would leave them silent
            with warnings.catch_warnings(action="ignore"):
                return self._run(*plan)
        except KeyboardInterrupt:
            if not len(self.race.finalists()):
                raise
            return "interrupt"

    @property
    def is_over(self) -> bool:
        """Return whether there is only the time left that the winner's fit needs."""
        return self.clock.left() <= self._reserve

    @property
    def _reserve(self) -> float:
        """Return the seconds to keep for the ranking, and for a fit of the best so far to all samples."""
        budget = self.clock.budget or 0.0
        if not budget or not len(self.race.finalists()):
            return RESERVE * budget + self.saved
        last = min(self._last(self.race.winner()), LAST * budget)
        return RESERVE * budget + max(self.saved, last)  # who learns from all samples is the likely winner

    def seconds_of(self, entry: int, n_rows: int) -> float:
        """Return what a fit of a setting to so many samples is expected to take."""
        race, i = self.race, self.race.entries[entry].candidate
        n_before = max(int(race.n_trained[entry]), 1)
        forecast = self.forecasts.get(i, Forecast(0.0, 1.0, race.candidates[i].growth))
        now, then = (forecast.seconds(n / max(self.n_fold, 1)) for n in (n_before, max(n_rows, n_before)))
        return float(race.fit_seconds[entry] / race.n_folds[entry] * then / max(now, 1e-9))

    def timed(self, entry: int) -> Timed:
        """Return what a fit of a setting took, and how that is expected to grow up to all samples."""
        race, n_before = self.race, int(self.race.n_trained[entry])
        candidate = race.candidates[race.entries[entry].candidate]
        seconds = float(race.fit_seconds[entry] / race.n_folds[entry])
        growth = self.growths.get(race.entries[entry].candidate, candidate.growth)
        if growth == candidate.growth and max(candidate.settles, n_before) < self.n_all:
            times = self.seconds_of(entry, self.n_all) / max(seconds, 1e-9)
            growth = max(float(np.log(max(times, 1e-9)) / np.log(self.n_all / n_before)), 0.0)
        return Timed(n_before, seconds, growth)

    def _last(self, entry: int) -> float:
        """Return the seconds to keep for the fit of a setting to all samples."""
        return self.seconds_of(entry, self.n_all) / SAFE

    def _run(self, task: Task, folds: Folds, whole: Sequence[Any] | None) -> str | None:
        race, least = self.race, math.ceil(len(folds) / 2)  # on fewer folds nobody can win
        if self.clock.budget is not None:
            self.saved = 0.0 if whole is None else SAVED * self.clock.budget
            X, parts = task.X, [train for train, _ in folds]
            task, folds = self._fit_into_budget(task, folds)
            if whole is None and race.share < 1.0 and task.X is X:  # samples keep their numbers
                whole, least = parts, len(folds)  # there are few samples to be scored on, and time was left
        race.begin(folds, task.size(folds[0][0]))
        self.sent = scatter(task)
        stopped = self._compare(task, folds)
        if whole is None or stopped == "callback":
            return stopped
        self.saved = 0.0
        return MoreRows(self, task, folds, whole, least).run() or stopped

    def _compare(self, task: Task, folds: Folds) -> str | None:
        """Score all candidates, the first ones side by side; return what stopped it, if anything."""
        race = self.race
        # those that failed on few samples come last: the first one is to give a model whatever happens
        order = sorted(race.running(), key=lambda i: (i not in self.expected, self._rank(i)))
        first, late = self._split_by_time(order, len(folds))
        for group in (first, *([i] for i in late)):
            needed = 1 if group[0] in self.guessed else math.ceil(len(folds) / 2)
            if group is not first and not self._has_time_for(group[0], needed):
                continue
            for number, fold in enumerate(folds):
                stopped = self._run_fold(group, task, number, *fold)
                if stopped:
                    return stopped
                race.drop_hopeless()
        return None

    def _has_time_for(self, i: int, n_folds: int) -> bool:
        """Return whether a candidate can be scored on so many folds: half of them, or nobody wins.

        A time that was foretold from very few samples is too long, for most: then one fold will show it.
        """
        seconds = self.expected.get(i, np.inf)
        if n_folds * seconds / min(_speed(self.n_jobs), n_folds) <= self.clock.left() - self._reserve:
            return True
        if i not in self.race.fates:
            note = f": one fold takes about {seconds:.1f} s" if np.isfinite(seconds) else ""
            self.race.withdraw(i, Fate(OUT_OF_TIME, f"no time for it{note}"))
        return False

    def _fit_into_budget(self, task: Task, folds: Folds) -> tuple[Task, Folds]:
        """Return as many of the samples as there is time for, with an idea of what each candidate takes."""
        race, self.n_fold = self.race, task.size(folds[0][0])
        self.forecasts = self.pilot(task, folds[0])
        speed = _speed(self.n_jobs)
        n_whole = {i: whole_folds(len(folds), len(race.of(i))) / speed for i in self.forecasts}
        share = affordable_share(self.forecasts, self.clock.left() - self.saved, n_whole)
        task, folds, race.share = task.thin(folds, share)
        self.expected = {i: one.seconds(race.share) for i, one in self.forecasts.items()}
        return task, folds

    def _split_by_time(self, order: list[int], n_folds: int) -> tuple[list[int], list[int]]:
        """Return who is compared on all folds side by side, and who must wait whether there is time left."""
        if self.clock.budget is None:
            return order, []
        time_left, first, late = self.clock.left() - self._reserve, list[int](), list[int]()
        for i in order:
            n_settings = len(self.race.of(i))
            seconds = self.expected.get(i, np.inf) * whole_folds(n_folds, n_settings) / _speed(self.n_jobs)
            if seconds <= time_left or not first:
                first.append(i)
                time_left -= seconds
            else:
                late.append(i)
        return first, late

    def pilot(self, task: Task, fold: tuple[Any, Any]) -> dict[int, Forecast]:
        """Time each candidate on some samples, and foretell what a fold of all takes.

        Each runs on very few first, which warms up what is cached, and says in which order to go on: a slow
        one shall not use up the time that quick ones need. Where a fold is hardly larger than the second
        sample, the first fold is as good.
        """
        few, some = task.sample(*fold, PILOT_ROWS // 4), task.sample(*fold, PILOT_ROWS)
        trials, n_all = self._try_all(few, self._by_look()), task.size(fold[0])
        known = {i: foretell(self.race.candidates[i], trial, None, n_all) for i, trial in trials.items()}
        if some.times < 2.0:
            self.guessed = set(known) if few.times > 2.0 else set()
            return known
        order = sorted(known, key=lambda i: (self._learns(i), known[i].seconds()))
        again = self._try_all(some, order, trials)
        self.guessed = set(known) - set(again)
        better = {i: foretell(self.race.candidates[i], trial, trials[i], n_all) for i, trial in again.items()}
        return known | better

    def _by_look(self) -> list[int]:
        """Return the candidates, the cheap ones first: those that learn no kernel, and grow least.

        The reference, an SVM of compiled code, comes before others that grow as it does.
        """
        race = self.race
        return sorted(
            race.running(), key=lambda i: (self._learns(i), race.candidates[i].growth, i != race.reference)
        )

    def _learns(self, i: int) -> bool:
        """Return whether a candidate learns a kernel before it learns to classify."""
        return getattr(self.race.candidates[i].estimator, "learner", None) is not None

    def _rank(self, i: int) -> tuple[bool, float]:
        """Return what candidates are ordered by: who learns no kernel comes first, and of these the quick."""
        return self._learns(i), self.expected.get(i, np.inf)

    def _try_all(
        self, sample: Sample, order: list[int], known: Mapping[int, Trial] | None = None
    ) -> dict[int, Trial]:
        """Return the trials of candidates on a sample: of one setting, or of two of those that are known.

        If there is little time, what is known already has to do; who was not even tried is out. So is
        whoever fails: there is no saying what it takes.
        """
        trials: dict[int, Trial] = {}
        budget = self.clock.budget or 0.0
        for i in order:
            candidate = self.race.candidates[i]
            settings = candidate.settings()[:1] if known is None else _ends(candidate.settings())
            # of four times as many samples, which are still few, it takes some two times as long
            if known is not None and 2 * len(settings) * known[i].outcome.seconds > AGAIN * budget:
                continue  # to know it better takes too long
            if trials and self.clock.left() < (1.0 - TRYING) * budget:
                if known is None:
                    self.race.withdraw(i, Fate(OUT_OF_TIME, "no time was left to try it"))
                continue
            outcome = self._try(candidate, settings, sample)
            if known is None and LOADING < outcome.seconds < AGAIN * budget:
                outcome = self._try(candidate, settings, sample)
            if len(outcome.failures) < len(settings):
                trials[i] = Trial(outcome, sample.times)
        return trials

    def _try(self, candidate: Candidate, settings: list[dict[str, Any]], sample: Sample) -> Outcome:
        with one_thread():  # the samples are few
            outcome = sample.task.evaluate(candidate, settings, sample.train, sample.test)
        self.clock.excused += outcome.compiling
        return outcome

    def _run_fold(self, group: list[int], task: Task, number: int, train: Any, test: Any) -> str | None:
        """Score a group of candidates on a fold, as many as there is time for; return what stopped it."""
        race = self.race
        self._score_baseline(task, number, train, test)
        running = [i for i in group if len(race.of(i, alive=True))]
        for i, entries, outcome in self._evaluate(running, task, train, test):
            race.record(i, entries, number, outcome)
            self.expected[i] = outcome.seconds
            if self.report():
                return "callback"
        return "budget" if self.is_over else None

    def _score_baseline(self, task: Task, number: int, train: Any, test: Any) -> None:
        """Score what takes no learning, and no time."""
        i = self.race.baseline
        if i is not None and self.race.n_folds[self.race.of(i)[0]] < self.race.n_splits:
            outcome = task.evaluate(self.race.candidates[i], [{}], train, test)
            self.race.record(i, self.race.of(i), number, outcome)

    def _evaluate(
        self, running: list[int], task: Task, train: Any, test: Any
    ) -> Iterator[tuple[int, Index, Outcome]]:
        """Yield the outcomes of the candidates on a fold, of as many as there is time for."""
        race, started = self.race, list[tuple[int, Index]]()

        def jobs() -> Iterator[Any]:  # asked for the next one when there is a processor for it
            for i in running:
                # some model there must be
                if len(race.finalists()) and self.expected.get(i, 0.0) > self.clock.left() - self._reserve:
                    what = "more folds" if race.n_folds[race.of(i)].any() else "it"
                    note = f"no time for {what}: one fold takes about {self.expected[i]:.1f} s"
                    race.withdraw(i, Fate(OUT_OF_TIME, note))
                    continue
                entries = race.of(i, alive=True)
                started.append((i, entries))
                settings = [race.entries[entry].setting for entry in entries]
                yield delayed(type(task).evaluate)(self.sent, race.candidates[i], settings, train, test)

        parallel = Parallel(n_jobs=self.n_jobs, return_as="generator", pre_dispatch="n_jobs")
        with closing(parallel(jobs())) as outcomes:
            for k, outcome in enumerate(outcomes):
                self.clock.excused += outcome.compiling / effective_n_jobs(self.n_jobs)
                yield *started[k], outcome
                if self.is_over:
                    break


def scatter(task: Task) -> Any:
    """Bring a task, with its samples, to the workers of joblib's cluster once; elsewhere return it."""
    client = getattr(get_active_backend()[0], "client", None)
    return task if client is None else client.scatter(task, broadcast=True, hash=False)


def _speed(n_jobs: int | None) -> float:
    """Return how much faster several processes are, which wait for each other and for the memory."""
    return max(1.0, 0.6 * effective_n_jobs(n_jobs))


def _ends(settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first and the last of some settings: the simplest and the most complex, in most grids."""
    return settings if len(settings) < 2 else [settings[0], settings[-1]]
