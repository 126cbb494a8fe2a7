"""How the race is run: fold by fold, cheap candidates first, inside the time there is."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from mercer.search.clock import Clock
from mercer.search.evaluation import Outcome, Rows, evaluate
from mercer.search.race import Race

Index = NDArray[np.intp]

PILOT_ROWS = 400  # on which a candidate is timed before it is let loose on many more
RESERVE = 0.1  # of the budget, for the ranking and the winner's fit


def run_race(
    race: Race,
    rows: Rows,
    folds: list[tuple[Index, Index]],
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
            return _run_folds(race, rows, folds, clock, reference, n_jobs, report)
    except KeyboardInterrupt:
        if not len(race.finalists()):
            raise
        return "interrupt"


def _run_folds(
    race: Race,
    rows: Rows,
    folds: list[tuple[Index, Index]],
    clock: Clock,
    reference: int | None,
    n_jobs: int | None,
    report: Callable[[], bool],
) -> str | None:
    expected = pilot(race, rows, folds, clock) if clock.budget is not None else {}
    # those that failed on few rows come last: the first one is to give a model whatever happens
    order = sorted(range(len(race.candidates)), key=lambda i: expected.get(i, np.inf))
    reserve = RESERVE * (clock.budget or 0.0)
    for train, test in folds:
        running = [i for i in order if len(race.of(i, alive=True))]
        for i, entries, outcome in _run_fold(
            race, running, rows, train, test, clock, reserve, expected, n_jobs
        ):
            race.record(i, entries, test, outcome)
            expected[i] = outcome.seconds
            if report():
                return "callback"
        if clock.left() <= reserve:
            return "budget"
        race.drop_hopeless(reference)
    return None


def pilot(race: Race, rows: Rows, folds: list[tuple[Index, Index]], clock: Clock) -> dict[int, float]:
    """Time each candidate on few rows, and return what a fold of all rows is expected to take.

    The first run of all warms up what is compiled and cached; its time does not count.
    """
    train, test = folds[0]
    few = _some(rows.y, train, PILOT_ROWS // 4), test[: max(1, PILOT_ROWS // 8)]
    some = _some(rows.y, train, PILOT_ROWS), test[: max(1, PILOT_ROWS // 4)]
    expected: dict[int, float] = {}
    for i, candidate in enumerate(race.candidates):
        if expected and clock.left() < 0.5 * (clock.budget or 0.0):
            race.withdraw(i, "no time was left to try it")
            continue
        settings = candidate.settings()
        evaluate(candidate, settings[:1], rows, *few)
        start = time.perf_counter()
        outcome = evaluate(candidate, settings, rows, *some)
        seconds = time.perf_counter() - start
        if outcome.failure is None:
            expected[i] = seconds * (len(train) / len(some[0])) ** candidate.growth
    return expected


def _some(y: NDArray[Any], train: Index, n: int) -> Index:
    """Return so many training rows, of all classes: every k-th of each."""
    step = max(1, len(train) // n)
    by_class = [train[y[train] == label][::step] for label in np.unique(y[train])]
    return np.concatenate(by_class)


def _run_fold(
    race: Race,
    running: list[int],
    rows: Rows,
    train: Index,
    test: Index,
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
                race.withdraw(i, f"a fold would take some {expected[i]:.1f} s")
                continue
            entries = race.of(i, alive=True)
            started.append((i, entries))
            settings = [race.entries[entry].setting for entry in entries]
            yield delayed(evaluate)(race.candidates[i], settings, rows, train, test)

    with closing(Parallel(n_jobs=n_jobs, return_as="generator", pre_dispatch="n_jobs")(jobs())) as outcomes:
        for k, outcome in enumerate(outcomes):
            yield *started[k], outcome
            if clock.left() <= reserve:
                break
