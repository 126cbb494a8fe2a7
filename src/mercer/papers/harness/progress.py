"""Run a selection with a progress bar, whatever happens: missing data, failures, Ctrl-C."""

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import timedelta
from math import isnan, nan
from statistics import mean

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from mercer.papers.harness.experiment import Table, seed_of
from mercer.papers.harness.runner import Failure, Selection, finished, run
from mercer.papers.harness.show import Report
from mercer.papers.harness.store import Result, Store


def run_and_report(selection: Selection, store: Store, *, n_jobs: int, console: Console) -> Report:
    """Run what is missing of a selection and return the table, also when the user interrupts it."""
    skipped: dict[str, str] = {}
    failures: list[Failure] = []
    interrupted = False
    try:
        skipped |= rows_without_data(selection, store)
        failures += run_with_bar(selection.without(tuple(skipped)), store, n_jobs=n_jobs, console=console)
    except KeyboardInterrupt:
        interrupted = True
    results = finished(selection, store)
    rows_with_results = {cell.row for cell in results}
    shown = selection.without([row for row in skipped if row not in rows_with_results])
    return Report(shown, results, skipped, failures, interrupted)


def rows_without_data(selection: Selection, store: Store) -> dict[str, str]:
    """Return the rows that have something left to run and cannot, each with the sentence that says why.

    This also loads every set once before the processes start, so that none is downloaded twice.
    """
    done = finished(selection, store)
    rows = dict.fromkeys(cell.row for cell in selection.cells() if cell not in done)
    reasons = {row: _why_no_data(selection.table, row) for row in rows}
    return {row: reason for row, reason in reasons.items() if reason is not None}


def _why_no_data(table: Table, row: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # each failed download warns; the error says it all
            table.draw(row, seed_of(table.experiment, row, 0, "data"))
    except OSError as error:
        return str(error)
    return None


def run_with_bar(selection: Selection, store: Store, *, n_jobs: int, console: Console) -> list[Failure]:
    """Run what is missing, with a bar on a terminal, and return what failed."""
    done = finished(selection, store)
    left = Counter(cell[:2] for cell in selection.cells() if cell not in done)
    pace = Pace(done.values())
    failures = []
    with progress_bar(console) as progress:
        time = _clock(pace.seconds(left) / n_jobs)
        total = len(done) + left.total()
        task = progress.add_task(selection.table.key, total=total, completed=len(done), last="", time=time)
        for outcome in run(selection, store, n_jobs=n_jobs):
            left[outcome.cell[:2]] -= 1
            if isinstance(outcome, Failure):
                failures.append(outcome)
            else:
                pace.add(outcome)
            last = " · ".join((outcome.cell.row, outcome.cell.method, str(outcome.cell.repeat + 1)))
            progress.update(task, advance=1, last=last, time=_clock(pace.seconds(left) / n_jobs))
    return failures


class Pace:
    """How long cells take. Methods differ a hundredfold, so that a plain average would mislead."""

    def __init__(self, results: Iterable[Result]) -> None:
        self._seconds: dict[tuple[str, ...], list[float]] = {}
        for result in results:
            self.add(result)

    def add(self, result: Result) -> None:
        """Count a finished cell."""
        row, method, _ = result.cell
        for group in ((row, method), (method,), ()):
            self._seconds.setdefault(group, []).append(result.seconds)

    def seconds(self, left: Mapping[tuple[str, str], int]) -> float:
        """Return the work left, given how many cells of each (row, method) are; NaN before any is done."""
        return sum(
            (count * self._one(row, method) for (row, method), count in left.items() if count), start=0.0
        )

    def _one(self, row: str, method: str) -> float:
        known = (self._seconds.get(group) for group in ((row, method), (method,), ()))
        return next((mean(seconds) for seconds in known if seconds), nan)


def progress_bar(console: Console) -> Progress:
    """Return a bar that says how much is done, how long the rest will take, and what was done last."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=15),
        MofNCompleteColumn(),
        TextColumn("{task.fields[time]} left"),
        TextColumn("[dim]{task.fields[last]}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def _clock(seconds: float) -> str:
    return "?" if isnan(seconds) else str(timedelta(seconds=round(seconds)))
