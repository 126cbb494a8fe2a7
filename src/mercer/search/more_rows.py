"""The comparison goes on with more samples: as many for each, as far as there is time.

A few samples say little of who is best on many. So those that are not far behind are scored again, on several
times as many, step by step: each step shows who falls behind, and what more would take. All have the same
number of samples, unless the last fit of one could not have so many: who takes a thousand is judged by a
thousand. (A step in which some had more than the others would be won by these.)
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mercer._typing import Index
from mercer.search.last_fit import SAFE, Timed
from mercer.search.race import Outcome
from mercer.search.task import Folds, Task

if TYPE_CHECKING:
    from mercer.search.schedule import Schedule

FEW = 3  # candidates that go on without a budget
STEPS = 4  # at most, and one with as many samples again
TIMES = 4.0  # as many samples in the next step, if all can have them
WORTH = 1.5  # times as many samples are worth another comparison
STEP_TIME = 1 / 3  # of the time that is left, at most for a step that is not the last
SCALES = 1.3  # who takes no more than n to this power is not out for being behind on few samples
LAST = 0.4  # of the budget at most for the winner's fit
BLEND = 0.25  # of the budget at most for the fits of all
RESERVE = 0.05  # of the budget, for the ranking, which takes half a second


class Step(NamedTuple):
    """Who is scored again, on how many samples, and the seconds that this may take."""

    entries: dict[int, int]  # the best setting of each candidate
    n_rows: dict[int, int]  # of those that have not had as many already
    seconds: float


class MoreRows:
    """A race that goes on with more samples.

    Parameters
    ----------
    schedule : Schedule
        The race so far, and its clock.
    task : Task
        The samples.
    folds : sequence of (train, test)
        What was compared on so far.
    whole : sequence of train
        For each fold all that could be learned from.
    least : int
        Folds that are enough.
    """

    def __init__(
        self, schedule: "Schedule", task: Task, folds: Folds, whole: Sequence[Any], least: int
    ) -> None:
        self.schedule, self.task, self.folds, self.whole, self.least = schedule, task, folds, whole, least
        self.race, self.clock, self.budget = schedule.race, schedule.clock, schedule.clock.budget
        self.timed: dict[int, Timed] = {}  # what a fit of each candidate took, and how that grows
        self.alone: set[int] = set()  # candidates that went on with their best settings alone
        self.stuck: set[int] = set()  # candidates that fail with more samples, and keep what they have

    def run(self) -> str | None:
        """Take as many steps as there is time for; return what stopped it, if anything.

        Without a budget it is a single one, of the best settings of the best candidates, whatever the time.
        """
        for number in range(STEPS if self.budget is not None else 1):
            step = self.plan(first=number == 0)
            if step is None:
                break
            stopped = self.take(step)
            if stopped:
                return stopped
            self.race.drop_hopeless(step.entries)
        return self.refine() if self.budget is not None else None

    def plan(self, *, first: bool) -> Step | None:
        """Return the next step, if there is one that is worth it and that there is time for.

        If there is none for all, the slowest ones are left behind: there is time for others that may be as
        good. (Those that are not are out already.) But one goes on alone only if the last fit of the other
        could have far fewer samples.
        """
        entries, n_whole = self.participants(first=first), len(self.whole[0])
        if self.budget is None and len(entries) < 2:  # there is nothing to decide
            return None
        while entries:
            time_left = self.time_left(entries)
            n_rows = self.most_rows(entries, time_left)
            if n_rows is not None:
                part = 0.0 if self.budget is None else 1.0 if n_rows == n_whole else STEP_TIME
                return Step(entries, self.usable(entries, n_rows), part * time_left if part else 0.0)
            slowest = max(entries, key=lambda i: self.seconds(i, n_whole))
            if len(entries) == 2 and self.rows_at_last(slowest) >= n_whole / TIMES:
                break
            del entries[slowest]
        return None

    def participants(self, *, first: bool) -> dict[int, int]:
        """Return the candidates that are not far behind, with their best settings.

        Those whose time grows little have another chance at first.
        """
        race, most = self.race, FEW if self.budget is None else None
        quick = [i for i in race.running() if first and race.candidates[i].growth <= SCALES]
        able = dict.fromkeys([*quick, *(i for i in race.running() if len(race.of(i, alive=True)))])
        best = {i: entry for i in able if (entry := race.best_of(i)) is not None and not race.broken[entry]}
        best = {i: entry for i, entry in best.items() if i not in self.stuck}
        best = {i: best[i] for i in self._by_error(best)[:most]} if best else {}
        self.timed = {i: self.schedule.timed(entry) for i, entry in best.items()}
        return best

    def most_rows(self, entries: dict[int, int], time_left: float) -> int | None:
        """Return the samples of the next step; none if they would not be many more, or take too long."""
        n_before, n_whole = max(map(self.rows_before, entries.values())), len(self.whole[0])
        n_next = n_whole if n_whole <= WORTH * TIMES * n_before else int(TIMES * n_before)
        if self.cost(entries, n_next) <= time_left * (1.0 if n_next == n_whole else STEP_TIME):
            return n_next
        tried = np.unique(np.geomspace(min(n_before, n_whole), n_whole, 60).astype(int))
        costs = np.array([self.cost(entries, int(n)) for n in tried])
        fit = tried[costs <= time_left]
        return int(fit[-1]) if len(fit) else None

    def cost(self, entries: dict[int, int], n_rows: int) -> float:
        """Return the least seconds of a step.

        They are infinitely many if nobody would have many more samples, or one might use up the time of all.
        """
        usable, more = self.usable(entries, n_rows), self.task.n_unlabelled
        doubtful = {i: self.least * self.timed[i].foretell(n + more) for i, n in usable.items()}
        if not usable or any(s > self.time_left({i: entries[i]}) for i, s in doubtful.items()):
            return float("inf")
        return self.least * sum(self.seconds(i, n) for i, n in usable.items())

    def usable(self, entries: dict[int, int], n_rows: int) -> dict[int, int]:
        """Return how many of so many samples candidates can use; who has had about as many is left out."""
        most = {i: int(min(n_rows, self.race.candidates[i].most_rows)) for i in entries}
        return {i: n for i, n in most.items() if n >= WORTH * self.rows_before(entries[i])}

    def seconds(self, i: int, n_rows: int) -> float:
        """Return what a fit to so many samples takes, or a little more."""
        return self.timed[i].seconds_at(n_rows + self.task.n_unlabelled) / SAFE

    def rows_before(self, entry: int) -> int:
        """Return how many samples with targets a setting has learned from."""
        return max(int(self.race.n_trained[entry]) - self.task.n_unlabelled, 1)

    def rows_at_last(self, i: int) -> float:
        """Return to how many samples with targets a candidate could be fitted at last."""
        return self.timed[i].most_rows(LAST * (self.budget or np.inf)) - self.task.n_unlabelled

    def time_left(self, entries: dict[int, int]) -> float:
        """Return the seconds that are left without the ranking and the last fits, of one or of a blend."""
        if self.budget is None:
            return float("inf")
        last = [self.seconds(i, self.schedule.n_all) for i in entries]
        kept = max(min(max(last), LAST * self.budget), min(sum(last), BLEND * self.budget))
        return self.clock.left() - RESERVE * self.budget - kept

    def take(self, step: Step) -> str | None:
        """Score the candidates of a step, the best first; return what stopped it, if anything.

        Each has an equal part of the time, or what the others left of it. If that is enough, neighbouring
        settings are scored with it: the best one moves with the number of samples.
        """
        start = self.clock.left()
        order = [i for i in self._by_error(step.entries) if i in step.n_rows]
        for k, i in enumerate(order):
            entry, n_rows = step.entries[i], step.n_rows[i]
            seconds, spent = self.seconds(i, n_rows), start - self.clock.left() if step.seconds else 0.0
            part = (step.seconds - spent) / (len(order) - k)
            if self.least * seconds > self.time_left({i: entry}):
                continue
            stopped = self.score(i, *self._widen(i, entry, seconds, part), n_rows)
            if stopped:
                return stopped
        return None

    def _widen(self, i: int, entry: int, seconds: float, part: float) -> tuple[Index, int]:
        """Return the settings and folds that there is time for."""
        near, n_folds = self.race.neighbours(entry), len(self.folds)
        if self.budget is None:
            return np.array([entry]), n_folds
        if len(near) * self.least * seconds <= part:
            self.alone.discard(i)
            return near, min(n_folds, int(part / (len(near) * seconds))) if seconds else n_folds
        self.alone.add(i)
        return np.array([entry]), n_folds if n_folds * seconds <= part else self.least

    def refine(self) -> str | None:
        """Score neighbours of settings that went on without them, with as many samples, if there is time."""
        entries = self.participants(first=False)
        for i in self._by_error(entries) if entries else []:
            near, n_rows = self.race.neighbours(entries[i]), self.rows_before(entries[i])
            if i in self.alone and len(near) * self.least * self.seconds(i, n_rows) <= self.time_left(
                entries
            ):
                stopped = self.score(i, near, self.least, n_rows)
                if stopped:
                    return stopped
        return None

    def score(self, i: int, entries: Index, n_folds: int, n_rows: int) -> str | None:
        """Score settings of a candidate with so many samples; return what stopped it, if anything."""
        parts = [self.task.some_of(train, n_rows) for train in self.whole[:n_folds]]
        outcomes, n_seen = list(self._evaluate(i, entries, parts)), self.task.size(parts[0])
        works = [k for k in range(len(entries)) if not any(k in one.failures for one in outcomes)]
        if not works:
            self.stuck.add(i)
        else:
            self._learn_growth(i, entries, outcomes, n_seen)
        if works and len(outcomes) >= self.least:
            self.race.replace(i, entries[works], [one.of(works) for one in outcomes], n_seen)
        return "callback" if self.schedule.report() else None

    def _learn_growth(self, i: int, entries: Index, outcomes: Sequence[Outcome], n_seen: int) -> None:
        """Note how much longer the setting that was timed takes with many more samples."""
        k = np.flatnonzero(entries == self.race.best_of(i))
        if n_seen >= WORTH * self.timed[i].n_rows and len(k):
            seconds = float(np.mean([one.fit_seconds[k[0]] for one in outcomes]))
            self.schedule.growths[i] = self.timed[i].then(n_seen, seconds).growth

    def _evaluate(self, i: int, entries: Index, parts: Sequence[Any]) -> Iterator[Outcome]:
        """Yield what comes of settings, fold by fold, until there is no time left."""
        settings = [self.race.entries[entry].setting for entry in entries]
        for train, (_, test) in zip(parts, self.folds, strict=False):
            outcome = self.task.evaluate(self.race.candidates[i], settings, train, test)
            self.clock.excused += outcome.compiling
            yield outcome
            if self.time_left({i: int(entries[0])}) <= 0.0:  # it took longer than foretold
                break

    def _by_error(self, entries: dict[int, int]) -> list[int]:
        """Return candidates, the best first."""
        errors = self.race.errors(np.array(list(entries.values())))
        return [i for _, i in sorted(zip(errors.tolist(), entries, strict=True))]
