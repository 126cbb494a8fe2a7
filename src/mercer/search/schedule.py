"""How the race is run: fold by fold, cheap candidates first, inside the time there is."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from mercer._typing import Index
from mercer.limits import one_thread
from mercer.search.race import Fate, Outcome, Race
from mercer.search.result import OUT_OF_TIME
from mercer.search.task import Folds, Sample, Task

PILOT_ROWS = 400  # on which a candidate is timed before it is let loose on many more
RESERVE = 0.1  # of the budget, for the ranking and the winner's fit
SPENT = 0.7  # of the time that is left, on comparisons, if all goes as foretold


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
        How many candidates run at a time.
    report : callable
        Told after each candidate; whether to stop.
    """

    race: Race
    clock: Clock
    n_jobs: int | None
    report: Callable[[], bool]
    expected: dict[int, float] = field(default_factory=dict)  # seconds of a candidate on a fold

    def run(self, task: Task, folds: Folds) -> str | None:
        """Run all candidates over all folds, as far as time allows; return what stopped it, if anything."""
        try:
            # each evaluation silences warnings for itself; if they are threads, whose filters are the same,
            # the last to end would leave them silent
            with warnings.catch_warnings(action="ignore"):
                return self._run_folds(task, folds)
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
        return RESERVE * (self.clock.budget or 0.0)

    def _run_folds(self, task: Task, folds: Folds) -> str | None:
        race = self.race
        if self.clock.budget is not None:
            task, folds = self._fit_into_budget(task, folds)
        # those that failed on few samples come last: the first one is to give a model whatever happens
        order = sorted(race.running(), key=lambda i: self.expected.get(i, np.inf))
        race.begin(folds, task.size(folds[0][0]))
        for train, test in folds:
            self._score_baseline(task, train, test)
            running = [i for i in order if len(race.of(i, alive=True))]
            for i, entries, outcome in self._run_fold(running, task, train, test):
                race.record(i, entries, test, outcome)
                self.expected[i] = outcome.seconds
                if self.report():
                    return "callback"
            if self.is_over:
                return "budget"
            race.drop_hopeless()
        return None

    def _score_baseline(self, task: Task, train: Any, test: Any) -> None:
        """Score what takes no learning, and no time."""
        i = self.race.baseline
        if i is not None:
            outcome = task.evaluate(self.race.candidates[i], [{}], train, test)
            self.race.record(i, self.race.of(i), test, outcome)

    def _fit_into_budget(self, task: Task, folds: Folds) -> tuple[Task, Folds]:
        """Return as many of the samples as there is time for, with an idea of what each candidate takes."""
        race = self.race
        seconds = self.pilot(task, folds[0])
        growths = {i: race.candidates[i].growth for i in seconds}
        share = affordable_share(seconds, growths, self.clock.left(), len(folds) / _speed(self.n_jobs))
        task, folds, race.share = task.thin(folds, share)
        self.expected = {i: one * race.share ** growths[i] for i, one in seconds.items()}
        return task, folds

    def pilot(self, task: Task, fold: tuple[Any, Any]) -> dict[int, float]:
        """Time each candidate on some samples, and return what a fold of all is expected to take.

        Each runs on very few first, which warms up what is compiled and cached, and says in which order to
        go on: a slow one shall not use up the time that quick ones need.
        """
        few, some = task.sample(*fold, PILOT_ROWS // 4), task.sample(*fold, PILOT_ROWS)
        tried = self._time_each(few, self.race.running(), n_settings=1)
        known = self._time_each(some, sorted(tried, key=tried.__getitem__))
        return {i: seconds for i, seconds in known.items() if np.isfinite(seconds)}

    def _time_each(self, sample: Sample, order: list[int], n_settings: int | None = None) -> dict[int, float]:
        """Return what candidates would take on all samples: forever, if none of their settings works."""
        seconds: dict[int, float] = {}
        for i in order:
            if seconds and self.clock.left() < 0.5 * (self.clock.budget or 0.0):
                self.race.withdraw(i, Fate(OUT_OF_TIME, "no time was left to try it"))
                continue
            candidate = self.race.candidates[i]
            settings = candidate.settings()[:n_settings]
            with one_thread():  # the samples are few
                outcome = sample.task.evaluate(candidate, settings, sample.train, sample.test)
            self.clock.excused += outcome.compiling
            works = len(outcome.failures) < len(settings)
            seconds[i] = outcome.seconds * sample.times**candidate.growth if works else np.inf
        return seconds

    def _run_fold(
        self, running: list[int], task: Task, train: Any, test: Any
    ) -> Iterator[tuple[int, Index, Outcome]]:
        """Yield the outcomes of the candidates on a fold, of as many as there is time for."""
        race, started = self.race, list[tuple[int, Index]]()

        def jobs() -> Iterator[Any]:  # asked for the next one when there is a processor for it
            for i in running:
                # the cheapest runs in any case: some model there must be
                if i != running[0] and self.expected.get(i, 0.0) > self.clock.left() - self._reserve:
                    what = "more folds" if race.n_folds[race.of(i)].any() else "it"
                    note = f"no time for {what}: one fold takes about {self.expected[i]:.1f} s"
                    race.withdraw(i, Fate(OUT_OF_TIME, note))
                    continue
                entries = race.of(i, alive=True)
                started.append((i, entries))
                settings = [race.entries[entry].setting for entry in entries]
                yield delayed(task.evaluate)(race.candidates[i], settings, train, test)

        parallel = Parallel(n_jobs=self.n_jobs, return_as="generator", pre_dispatch="n_jobs")
        with closing(parallel(jobs())) as outcomes:
            for k, outcome in enumerate(outcomes):
                self.clock.excused += outcome.compiling / effective_n_jobs(self.n_jobs)
                yield *started[k], outcome
                if self.is_over:
                    break


def affordable_share(
    seconds: Mapping[int, float], growths: Mapping[int, float], limit: float, n_folds: float
) -> float:
    """Return the share of the samples on which all candidates together take no longer than the limit.

    A comparison of all on some of the samples is worth more than one of the cheap ones alone on all. Up to
    half of the time is for the winner, which may be the slowest, and all samples.
    """
    shares = np.geomspace(1e-3, 1.0, 61)
    totals = n_folds * np.sum([seconds[i] * shares ** growths[i] for i in seconds], axis=0)
    last = min(max(seconds.values(), default=0.0), 0.5 * limit)
    return float(shares[np.flatnonzero(totals <= SPENT * (limit - last))[-1:]].sum()) or float(shares[0])


def _speed(n_jobs: int | None) -> float:
    """Return how much faster several processes are, which wait for each other and for the memory."""
    return max(1.0, 0.6 * effective_n_jobs(n_jobs))
