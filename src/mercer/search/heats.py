"""How the race is run: fold by fold, cheap candidates first, inside the time there is."""

import time
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
    growth: float,
    report: Callable[[], bool],
) -> str | None:
    """Run all candidates over all folds, as far as time allows; return what stopped it, if anything did.

    `growth` is how many times more rows the winner will be fitted to: that time is kept back.
    """
    expected = pilot(race, rows, folds, clock) if clock.budget is not None else {}
    order = sorted(range(len(race.candidates)), key=lambda i: expected.get(i, 0.0))
    reserve = RESERVE * (clock.budget or 0.0)
    try:
        for train, test in folds:
            running = [i for i in order if len(race.of(i, alive=True))]
            for i, entries, outcome in _run_fold(
                race, running, rows, train, test, clock, reserve, expected, n_jobs
            ):
                race.record(i, entries, test, outcome)
                expected[i] = race.seconds(i)
                if report():
                    return "callback"
            if clock.left() <= reserve:
                return "budget"
            race.drop_hopeless(reference)
    except KeyboardInterrupt:
        if not len(race.finalists()):
            raise
        return "interrupt"
    return None


def pilot(race: Race, rows: Rows, folds: list[tuple[Index, Index]], clock: Clock) -> dict[int, float]:
    """Time each candidate on few rows, and return what a fold of all rows is expected to take.

    The first run of all warms up what is compiled and cached; its time does not count.
    """
    train, test = folds[0]
    share = min(1.0, PILOT_ROWS / len(train))
    expected: dict[int, float] = {}
    for i, candidate in enumerate(race.candidates):
        few = _some(rows.y, train, PILOT_ROWS // 4), test[: max(1, PILOT_ROWS // 8)]
        some = _some(rows.y, train, PILOT_ROWS), test[: max(1, PILOT_ROWS // 4)]
        if expected and clock.left() < 0.5 * (clock.budget or 0.0):
            race.withdraw(i, "no time was left to try it")
            continue
        settings = candidate.settings()
        evaluate(candidate, settings[:1], rows, *few)
        start = time.perf_counter()
        outcome = evaluate(candidate, settings, rows, *some)
        seconds = time.perf_counter() - start
        if outcome.failure is None:
            expected[i] = seconds * (1.0 / share) ** candidate.growth
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
    tasks = []
    for i in running:
        # the cheapest runs in any case: some model there must be
        if i != running[0] and expected.get(i, 0.0) > clock.left() - reserve:
            race.withdraw(i, f"a fold would take some {expected[i]:.0f} s")
            continue
        tasks.append((i, race.of(i, alive=True)))

    def settings_of(entries: Index) -> list[dict[str, Any]]:
        return [race.entries[entry].setting for entry in entries]

    jobs = (
        delayed(evaluate)(race.candidates[i], settings_of(entries), rows, train, test) for i, entries in tasks
    )
    outcomes = Parallel(n_jobs=n_jobs, return_as="generator")(jobs)
    with closing(outcomes):
        for (i, entries), outcome in zip(tasks, outcomes, strict=False):
            yield i, entries, outcome
            if clock.left() <= reserve:
                break
