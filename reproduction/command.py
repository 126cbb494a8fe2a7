"""The command of ``python -m reproduction``, its options and help."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

import joblib
import typer

import reproduction
from mercer.commands.errors import FAILED, INTERRUPTED, OneCommand, WrongRequestError
from mercer.commands.learn import names
from mercer.commands.outputs import check_outputs
from reproduction.harness import record
from reproduction.harness.printer import Printer
from reproduction.harness.reproduce import reproduce
from reproduction.harness.selection import UnknownNameError, choose

EXAMPLES = """For example:

\b
  python -m reproduction                                      list all tables and figures
  python -m reproduction ll05-table1 --repeats 20 --jobs 2    reproduce a table
  python -m reproduction ll05-table2 --data heart,sonar --methods SVM-Stump,SVM-Gauss
  python -m reproduction ll05-figure2 --output figure2.png    draw a figure
  python -m reproduction --overview results.csv               count what is as published, of all tables
"""

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # examples keep their lines
)


@app.command("python -m reproduction", cls=OneCommand, epilog=EXAMPLES)
def papers(
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="KEY", help="Tables and figures; if omitted, list them.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All tables and figures.")] = False,
    data: Annotated[str, typer.Option(metavar="A,B,…", help="Only these data sets.")] = "",
    methods: Annotated[str, typer.Option(metavar="A,B,…", help="Only these methods.")] = "",
    repeats: Annotated[
        int | None, typer.Option(min=1, help="Number of repeats. Default: as in the paper.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Number of processes. Default: all cores.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write to FILE instead of printing.")
    ] = None,
    store: Annotated[Path, typer.Option(metavar="DIR", help="Folder for results and figures.")] = Path(
        ".mercer/papers"
    ),
    fresh: Annotated[bool, typer.Option("--fresh", help="Discard stored results and recompute.")] = False,
    overview: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="Run nothing: add stored results to CSV, and count all verdicts."),
    ] = None,
    debug: Annotated[  # OneCommand looks for it
        bool, typer.Option("--debug", help="Show the traceback of an error.")
    ] = False,
) -> None:
    """Reproduce the tables and figures of the papers, beside the published numbers.

    Results are stored as they are computed: after Ctrl-C, run the same command again to continue.
    """
    if as_json and as_markdown:
        raise WrongRequestError("Choose one of --json and --markdown.")
    if everything and keys:
        raise WrongRequestError("Name tables and figures or give --all, not both.")
    check_outputs([output, overview], [])
    if overview is not None:
        _show_overview(overview, store, output)
        return
    catalogue = reproduction.CATALOGUE
    wanted = list(catalogue) if everything else keys or []
    try:
        chosen = choose(catalogue, wanted, data=names(data), methods=names(methods), repeats=repeats)
    except UnknownNameError as error:
        raise WrongRequestError(str(error)) from error
    is_one_figure = len(chosen) == 1 and isinstance(chosen[0], reproduction.Figure)
    printer = Printer(
        "json" if as_json else "markdown" if as_markdown else "terminal", None if is_one_figure else output
    )
    if wanted:
        _make_folder(store)
    with closing(printer):
        if not wanted:
            printer.catalogue(catalogue)
            return
        reports = reproduce(
            chosen,
            store,
            printer,
            n_jobs=jobs or joblib.cpu_count(),
            fresh=fresh,
            figure_file=output if is_one_figure else None,
        )
    if any(report.interrupted for report in reports):
        raise typer.Exit(INTERRUPTED)
    nothing_ran = bool(reports) and not any(report.results for report in reports)
    if nothing_ran or any(report.failures for report in reports):
        raise typer.Exit(FAILED)


def _show_overview(record_file: Path, store: Path, page: Path | None) -> None:
    """Bring the record up to date, and print the table of all tables or write it into a page."""
    tables = [item for item in reproduction.CATALOGUE.values() if isinstance(item, reproduction.Table)]
    measured = record.add_stored(record.read_record(record_file), tables, store)
    text = record.overview(tables, measured)
    try:
        written = page and record.put_into_page(page.read_text(encoding="utf-8"), text)
    except (OSError, ValueError) as error:
        raise WrongRequestError(f"The overview cannot be written into {page}: {error}.") from error
    record.write_record(record_file, measured)
    if page and written:
        page.write_text(written, encoding="utf-8")
    else:
        typer.echo(text)


def _make_folder(store: Path) -> None:
    try:
        store.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongRequestError(
            f"Results cannot be stored in {store} ({error.strerror}): name another folder with --store."
        ) from error
