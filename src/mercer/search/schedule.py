"""How the race is run: fold by fold, cheap candidates first, inside the time there is."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from mercer._typing import Index
from mercer.limits import one_thread
from mercer.search.clock import Clock
from mercer.search.race import Race
from mercer.search.task import Outcome, Sample, Task

Folds = Sequence[tuple[Any, Any]]

PILOT_ROWS = 400  # on which a candidate is timed before it is let loose on many more
RESERVE = 0.1  # of the budget, for the ranking and the winner's fit
SPENT = 0.7  # of the time that is left, on comparisons, if all goes as foretold


def run_race(
    race: Race,
    task: Task,
    folds: Folds,
    clock: Clock,
    *,
    reference: int | None,
    n_jobs: int | None,
    report: Callable[[], bool],
) -> str | None:
    """Run all candidates over all folds, as far as time allows; return what stopped it, if anything did."""
    try:
        # each evaluation silences warnings for itself; if they are threads, whose filters are the same, the
        # last to end would leave them silent
        with warnings.catch_warnings(action="ignore"):
            return _run_folds(race, task, folds, clock, reference, n_jobs, report)
    except KeyboardInterrupt:
        if not len(race.finalists()):
            raise
        return "interrupt"


def _run_folds(
    race: Race,
    task: Task,
    folds: Folds,
    clock: Clock,
    reference: int | None,
    n_jobs: int | None,
    report: Callable[[], bool],
) -> str | None:
    expected: dict[int, float] = {}
    if clock.budget is not None:
        expected = pilot(race, task, folds[0], clock)
        growths = {i: race.candidates[i].growth for i in expected}
        share = affordable_share(expected, growths, clock.left(), len(folds) / _speed(n_jobs))
        task, folds, race.share = task.thin(folds, share)
        expected = {i: seconds * race.share ** growths[i] for i, seconds in expected.items()}
    # those that failed on few rows come last: the first one is to give a model whatever happens
    order = sorted(range(len(race.candidates)), key=lambda i: expected.get(i, np.inf))
    reserve = RESERVE * (clock.budget or 0.0)
    race.n_trained, race.n_splits = task.size(folds[0][0]), len(folds)
    for train, test in folds:
        running = [i for i in order if len(race.of(i, alive=True))]
        for i, entries, outcome in _run_fold(
            race, running, task, train, test, clock, reserve, expected, n_jobs
        ):
            race.record(i, entries, test, outcome)
            expected[i] = outcome.seconds
            if report():
                return "callback"
        if clock.left() <= reserve:
            return "budget"
        race.drop_hopeless(reference)
    return None


def pilot(race: Race, task: Task, fold: tuple[Any, Any], clock: Clock) -> dict[int, float]:
    """Time each candidate on some rows, and return what a fold of all rows is expected to take.

    Each runs on very few rows first, which warms up what is compiled and cached, and says in which order to
    go on: a slow one shall not use up the time that quick ones need.
    """
    few, some = task.sample(*fold, PILOT_ROWS // 4), task.sample(*fold, PILOT_ROWS)
    tried = _time_each(race, few, list(range(len(race.candidates))), clock, n_settings=1)
    known = _time_each(race, some, sorted(tried, key=tried.__getitem__), clock)
    return {i: seconds for i, seconds in known.items() if np.isfinite(seconds)}


def affordable_share(
    seconds: Mapping[int, float], growths: Mapping[int, float], limit: float, n_folds: float
) -> float:
    """Return the share of the rows on which all candidates together take no longer than the limit.

    A comparison of all on some of the rows is worth more than one of the cheap ones alone on all. Up to half
    of the time is for the winner, which may be the dearest, and all rows.
    """
    shares = np.geomspace(1e-3, 1.0, 61)
    totals = n_folds * np.sum([seconds[i] * shares ** growths[i] for i in seconds], axis=0)
    last = min(max(seconds.values(), default=0.0), 0.5 * limit)
    return float(shares[np.flatnonzero(totals <= SPENT * (limit - last))[-1:]].sum()) or float(shares[0])


def _speed(n_jobs: int | None) -> float:
    """Return how much faster several processes are, which wait for each other and for the memory."""
    return max(1.0, 0.6 * effective_n_jobs(n_jobs))


def _time_each(
    race: Race, sample: Sample, order: list[int], clock: Clock, n_settings: int | None = None
) -> dict[int, float]:
    """Return what candidates would take on all rows: forever, if none of their settings works."""
    seconds: dict[int, float] = {}
    for i in order:
        if seconds and clock.left() < 0.5 * (clock.budget or 0.0):
            race.withdraw(i, "no time was left to try it")
            continue
        candidate = race.candidates[i]
        settings = candidate.settings()[:n_settings]
        with one_thread():  # the rows are few
            outcome = sample.task.evaluate(candidate, settings, sample.train, sample.test)
        works = len(outcome.failures) < len(settings)
        seconds[i] = outcome.seconds * sample.times**candidate.growth if works else np.inf
    return seconds


def _run_fold(
    race: Race,
    running: list[int],
    task: Task,
    train: Any,
    test: Any,
    clock: Clock,
    reserve: float,
    expected: dict[int, float],
    n_jobs: int | None,
) -> Iterator[tuple[int, Index, Outcome]]:
    """Give the outcomes of the candidates on a fold, of as many as there is time for."""
    started: list[tuple[int, Index]] = []

    def jobs() -> Iterator[Any]:  # asked for the next one when there is a processor for it
        for i in running:
            # the cheapest runs in any case: some model there must be
            if i != running[0] and expected.get(i, 0.0) > clock.left() - reserve:
                what = "more folds" if race.n_folds[race.of(i)].any() else "it"
                race.withdraw(i, f"no time for {what}: one fold takes about {expected[i]:.1f} s")
                continue
            entries = race.of(i, alive=True)
            started.append((i, entries))
            settings = [race.entries[entry].setting for entry in entries]
            yield delayed(task.evaluate)(race.candidates[i], settings, train, test)

    with closing(Parallel(n_jobs=n_jobs, return_as="generator", pre_dispatch="n_jobs")(jobs())) as outcomes:
        for k, outcome in enumerate(outcomes):
            yield *started[k], outcome
            if clock.left() <= reserve:
                break
