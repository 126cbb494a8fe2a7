"""The command of ``python -m reproduction``, its options and help."""

from pathlib import Path
from typing import Annotated

import joblib
import typer

import reproduction
from mercer.commands.errors import FAILED, INTERRUPTED, OneCommand, WrongRequestError
from mercer.commands.learn import names
from mercer.commands.outputs import check_outputs
from reproduction.catalogue import CLAIMS
from reproduction.harness import Draws, Figure, count, show
from reproduction.harness.run import Report, UnknownNameError, choose, run
from reproduction.page import page

EXAMPLES = """For example:

\b
  python -m reproduction                                        list all tables and figures
  python -m reproduction ll05-table1 --repeats 20 --jobs 2      reproduce a table
  python -m reproduction ll05-table2 --data heart,sonar --methods SVM-Stump,SVM-Gauss
  python -m reproduction hbw06-table2 --first-repeat 7000 --seed 3   draw fresh repeats
  python -m reproduction ll05-figure2                           draw a figure
"""

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # examples keep their lines
)


@app.command("python -m reproduction", cls=OneCommand, epilog=EXAMPLES)
def reproduce(
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="KEY", help="Tables and figures; if omitted, list them.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All tables and figures.")] = False,
    data: Annotated[str, typer.Option(metavar="A,B,…", help="Only these data sets.")] = "",
    methods: Annotated[str, typer.Option(metavar="A,B,…", help="Only these methods.")] = "",
    repeats: Annotated[
        int | None, typer.Option(min=1, help="Number of repeats. Default: the paper's.")
    ] = None,
    first: Annotated[
        int, typer.Option("--first-repeat", min=0, help="The first repeat; 0 begins the docs' own.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of all draws; 0 is the docs' own.")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Number of processes. Default: all cores.")] = None,
    store: Annotated[Path, typer.Option(metavar="DIR", help="Folder for results and figures.")] = Path(
        ".mercer/papers"
    ),
    fresh: Annotated[bool, typer.Option("--fresh", help="Recompute what is stored.")] = False,
    record: Annotated[Path | None, typer.Option(metavar="CSV", help="Add the averages to CSV.")] = None,
    write_page: Annotated[
        Path | None, typer.Option("--page", metavar="MD", help="Write the page of all results from --record.")
    ] = None,
    debug: Annotated[  # OneCommand looks for it
        bool, typer.Option("--debug", help="Show the traceback of an error.")
    ] = False,
) -> None:
    """Reproduce the tables and figures of the papers, beside the published numbers.

    Results are stored as they are computed: after Ctrl-C, run the same command again to continue.
    """
    if everything and keys:
        raise WrongRequestError("Name tables and figures or give --all, not both.")
    if write_page and not record:
        raise WrongRequestError("Name the record of all results with --record.")
    check_outputs([record, write_page], [])
    catalogue, draws = reproduction.CATALOGUE, Draws(first, seed)
    wanted = list(catalogue) if everything else keys or []
    if not wanted and not write_page:
        typer.echo(show.listing(catalogue))
    try:
        chosen = choose(
            catalogue, wanted, data=names(data), methods=names(methods), repeats=repeats, draws=draws
        )
    except UnknownNameError as error:
        raise WrongRequestError(str(error)) from error
    if wanted:
        _make_folder(store)
    reports = []
    for item in chosen:
        if isinstance(item, Figure):
            path = store / f"{item.key}.png"
            item.draw(path, draws)
            typer.echo(f"![{item.title}]({path.as_posix()})\n")
            continue
        reports.append(run(item, store, n_jobs=jobs or joblib.cpu_count(), fresh=fresh))
        _show(reports[-1], store, record)
        if reports[-1].interrupted:
            raise typer.Exit(INTERRUPTED)
    if write_page and record:
        write_page.write_text(page(catalogue, CLAIMS, count.read_record(record)), encoding="utf-8")
    nothing_ran = bool(reports) and not any(report.results for report in reports)
    if nothing_ran or any(report.failures for report in reports):
        raise typer.Exit(FAILED)


def _show(report: Report, store: Path, record: Path | None) -> None:
    """Print a table, draw its pictures and add its averages to the record."""
    typer.echo(show.to_markdown(report))
    if report.interrupted or not report.results:
        return
    table = report.selection.table
    for picture in table.pictures:
        path = store / f"{table.key}-{picture.name}.png"
        picture.draw(report.results, path)
        typer.echo(f"![{picture.title}]({path.as_posix()})\n")
    if record:
        count.write_record(record, count.merge(count.read_record(record), count.measured(report)))


def _make_folder(store: Path) -> None:
    try:
        store.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongRequestError(
            f"Results cannot be stored in {store} ({error.strerror}): name another folder with --store."
        ) from error
