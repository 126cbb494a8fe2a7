"""Run tables with a progress bar and draw figures, whatever happens: missing data, failures, Ctrl-C."""

import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from reproduction.harness.experiment import Figure, seed_of
from reproduction.harness.printer import Printer
from reproduction.harness.runner import Failure, finished, run
from reproduction.harness.selection import Selection
from reproduction.harness.show import Report
from reproduction.harness.store import Store

WHOLE_RUN = 1e9  # seconds: methods differ a hundredfold, so that only the pace of many cells means something


def reproduce(
    chosen: Sequence[Selection | Figure],
    folder: Path,
    printer: Printer,
    *,
    n_jobs: int,
    fresh: bool = False,
    figure_file: Path | None = None,
) -> list[Report]:
    """Run tables and draw figures, print each as soon as it is done, and return the tables.

    Results and figures are kept in `folder`; a figure goes to `figure_file` where one is named.
    """
    reports: list[Report] = []
    for item in chosen:
        if isinstance(item, Figure):
            draw(item, figure_file or folder / f"{item.key}.png", printer)
            continue
        store = Store(folder, item.table.experiment)
        if fresh:
            store.forget(item.covers)
        reports.append(run_table(item, store, n_jobs=n_jobs, console=printer.messages))
        printer.report(reports[-1])
        if reports[-1].interrupted:
            break
        for figure in pictures_of(reports[-1]):
            draw(figure, folder / f"{figure.key}.png", printer)
    return reports


def draw(figure: Figure, path: Path, printer: Printer) -> None:
    """Draw a figure into a file and print where it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with printer.messages.status(f"drawing {figure.key}"):
        figure.draw(path)
    printer.figure(figure, path)


def pictures_of(report: Report) -> list[Figure]:
    """Return the pictures of a table's results, as figures under its key; without results there are none."""
    table, results = report.selection.table, list(report.results.values())
    return [
        Figure(f"{table.key}-{picture.name}", picture.title, partial(picture.draw, results))
        for picture in (table.pictures if results else ())
    ]


def run_table(selection: Selection, store: Store, *, n_jobs: int, console: Console) -> Report:
    """Run the missing cells of a selection and return the table, also when the user interrupts it."""
    skipped: dict[str, str] = {}
    failures: list[Failure] = []
    interrupted = False
    try:
        skipped |= rows_without_data(selection, store)
        failures += run_with_bar(selection.without(skipped), store, n_jobs=n_jobs, console=console)
    except KeyboardInterrupt:
        interrupted = True
    results = finished(selection, store)
    shown = selection.without(skipped.keys() - {cell.row for cell in results})
    return Report(shown, results, skipped, failures, interrupted)


def rows_without_data(selection: Selection, store: Store) -> dict[str, str]:
    """Return the rows that have cells left to run but no data, each with the sentence that says why.

    This also loads every set once before the processes start, so that none is downloaded twice.
    """
    done = finished(selection, store)
    table, reasons = selection.table, {}
    for row in dict.fromkeys(cell.row for cell in selection.cells() if cell not in done):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # each failed download warns; the error says it all
                table.draw(row, seed_of(table.experiment, row, 0, "data"))
        except OSError as error:
            reasons[row] = str(error)
    return reasons


def run_with_bar(selection: Selection, store: Store, *, n_jobs: int, console: Console) -> list[Failure]:
    """Run the missing cells, with a progress bar on a terminal, and return those that failed."""
    n_done, n_cells = len(finished(selection, store)), len(list(selection.cells()))
    failures = []
    with progress_bar(console) as progress:
        task = progress.add_task(selection.table.key, total=n_cells, completed=n_done, last="")
        for outcome in run(selection, store, n_jobs=n_jobs):
            if isinstance(outcome, Failure):
                failures.append(outcome)
            row, method, repeat = outcome.cell
            progress.update(task, advance=1, last=f"{row} · {method} · {repeat + 1}")
    return failures


def progress_bar(console: Console) -> Progress:
    """Return a bar that shows how much is done, how long the rest will take, and what was done last."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=15),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
        TextColumn("[dim]{task.fields[last]}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
        speed_estimate_period=WHOLE_RUN,
    )
