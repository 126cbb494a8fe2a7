"""The command ``mercer papers``: published tables and figures, made again beside the originals."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, NoReturn

import joblib
import typer
from rich.console import Console

from mercer import papers as library
from mercer.papers.harness.experiment import Figure
from mercer.papers.harness.printer import Printer, Style
from mercer.papers.harness.progress import run_and_report
from mercer.papers.harness.runner import Selection
from mercer.papers.harness.selection import UnknownNameError, choose
from mercer.papers.harness.show import Report
from mercer.papers.harness.store import Store

NOTHING_RAN, WRONG_REQUEST, INTERRUPTED = 1, 2, 130  # 130 is what a shell reports after Ctrl-C
EXAMPLES = """For example:

\b
  mercer papers                                      what there is
  mercer papers ll05-table1 --repeats 20 --jobs 2    a table
  mercer papers ll05-table2 --data heart,sonar --methods SVM-Stump,SVM-Gauss
  mercer papers ll05-figure2 --output figure2.png    a figure
"""


def papers(
    keys: Annotated[list[str] | None, typer.Argument(metavar="KEY", help="Tables and figures.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every table and figure.")] = False,
    data: Annotated[str, typer.Option(metavar="A,B,…", help="Only these data sets.")] = "",
    methods: Annotated[str, typer.Option(metavar="A,B,…", help="Only these methods.")] = "",
    repeats: Annotated[
        int | None, typer.Option(min=1, help="How many; without it, the paper's number.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="How many processes; without it, all cores.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write there instead of printing.")
    ] = None,
    store: Annotated[Path, typer.Option(metavar="DIR", help="Where results are kept.")] = Path(
        ".mercer/papers"
    ),
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget the kept results of what is run.")] = False,
) -> None:
    """Make the tables and figures of the papers again, and set ours beside the published numbers.

    Results are kept as they come: after Ctrl-C, the same command goes on where it was.
    """
    if as_json and as_markdown:
        _refuse("Choose one of --json and --markdown.")
    if everything and keys:
        _refuse("Name tables and figures or give --all, not both.")
    if output is not None and not output.absolute().parent.is_dir():
        _refuse(f"There is no folder {output.parent} to write {output.name} into.")
    if output is not None and output.is_dir():
        _refuse(f"{output} is a folder: name a file to write to.")
    wanted = list(library.CATALOGUE) if everything else keys or []
    try:
        chosen = choose(
            library.CATALOGUE, wanted, data=_names(data), methods=_names(methods), repeats=repeats
        )
    except UnknownNameError as error:
        _refuse(str(error))
    style: Style = "json" if as_json else "markdown" if as_markdown else "terminal"
    if not wanted:
        Printer(style, output).catalogue(library.CATALOGUE)
        return
    try:
        store.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _refuse(
            f"The results cannot be kept in {store} ({error.strerror}): name another folder with --store."
        )
    raise typer.Exit(make(chosen, store, jobs or joblib.cpu_count(), fresh=fresh, style=style, output=output))


def make(
    chosen: Sequence[Selection | Figure],
    folder: Path,
    n_jobs: int,
    *,
    fresh: bool = False,
    style: Style = "terminal",
    output: Path | None = None,
) -> int:
    """Run tables and draw figures, show each when it is done, and return the exit code."""
    only_a_figure = len(chosen) == 1 and isinstance(chosen[0], Figure)
    printer = Printer(style, None if only_a_figure else output)
    reports: list[Report] = []
    try:
        for item in chosen:
            if isinstance(item, Figure):
                path = output if only_a_figure and output else folder / f"{item.key}.png"
                draw(item, path, printer.messages)
                printer.figure(item, path)
            else:
                reports.append(run_table(item, folder, n_jobs, fresh=fresh, messages=printer.messages))
                printer.report(reports[-1])
                if reports[-1].interrupted:
                    return INTERRUPTED
                for figure in pictures_of(reports[-1]):
                    path = folder / f"{figure.key}.png"
                    draw(figure, path, printer.messages)
                    printer.figure(figure, path)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        printer.close()
    nothing_ran = bool(reports) and not any(report.results for report in reports)
    return NOTHING_RAN if nothing_ran or any(report.failures for report in reports) else 0


def run_table(selection: Selection, folder: Path, n_jobs: int, *, fresh: bool, messages: Console) -> Report:
    """Run what is missing of a table, after forgetting what is kept if it is to be fresh."""
    store = Store(folder, selection.table.experiment)
    if fresh:
        store.forget(selection.covers)
    return run_and_report(selection, store, n_jobs=n_jobs, console=messages)


def pictures_of(report: Report) -> list[Figure]:
    """Return the pictures of a table's results, as figures under its key; without results there are none."""
    table, results = report.selection.table, list(report.results.values())
    return [
        Figure(f"{table.key}-{picture.name}", picture.title, partial(picture.draw, results))
        for picture in (table.pictures if results else ())
    ]


def draw(figure: Figure, path: Path, messages: Console) -> None:
    """Draw a figure into a file, in a folder that is made for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with messages.status(f"drawing {figure.key}"):
        figure.draw(path)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _refuse(sentence: str) -> NoReturn:
    typer.echo(sentence, err=True)
    raise typer.Exit(WRONG_REQUEST)
