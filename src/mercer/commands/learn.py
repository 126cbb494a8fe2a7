"""The command ``mercer learn``: from a table to the kernel that it needs."""

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import joblib
import typer
from rich.console import Console

from mercer.commands.errors import INTERRUPTED, WrongRequestError
from mercer.commands.inputs import EMBEDDED, Request, Task, check_request, read_task
from mercer.commands.messages import data_sentences, finding_sentences, leaderboard_table, legend, say
from mercer.commands.outputs import check_outputs
from mercer.commands.progress import Watcher
from mercer.commands.search_run import (
    Learned,
    Options,
    candidates_by_name,
    check_options,
    facts,
    learn_task,
)
from mercer.commands.warm_up import warm_up
from mercer.persistence import save

EXAMPLES = """For example:

\b
  mercer learn                                            breast cancer data, to see what it does
  mercer learn data.csv --target label --model out.mercer --report report.html
  mercer learn data.tsv --target label --unlabelled more.tsv --budget 300
  mercer learn data.csv --pairs pairs.csv --id name       from similar and dissimilar rows alone
  mercer learn data.csv --target label --candidates linear,stump --json

\b
Exit codes: 0 done; 1 failed; 2 wrong request or file, nothing was written; 130 interrupted (Ctrl-C): the best
so far is saved if there is one.
"""
CANDIDATES_HELP = (
    f"Compare only these kernels. With --target: {', '.join(candidates_by_name(from_pairs=False))}; "
    f"with --pairs: {', '.join(candidates_by_name(from_pairs=True))}."
)


def learn(
    data: Annotated[
        Path | None,
        typer.Argument(metavar="[DATA]", help="CSV, TSV or Parquet; without it, a set that comes along."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column that holds the classes.")
    ] = None,
    unlabelled: Annotated[
        Path | None, typer.Option(metavar="FILE", help="More rows, with the same columns, without classes.")
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Instead of classes: two columns of rows (numbered from 0), and 1 if similar, 0 if not.",
        ),
    ] = None,
    ids: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="COLUMN", help="A column that names the rows; nothing is learned from it."
        ),
    ] = None,
    drop: Annotated[str, typer.Option(metavar="A,B,…", help="Columns to leave out.")] = "",
    budget: Annotated[float, typer.Option(metavar="SECONDS", help="How long to search.")] = 60.0,
    model: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the model there.")] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page to look at there (HTML).")
    ] = None,
    candidates: Annotated[str, typer.Option(metavar="A,B,…", help=CANDIDATES_HELP)] = "",
    jobs: Annotated[
        int | None, typer.Option(min=1, help="How many processes; without it, all cores.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="For all that is drawn at random.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Find the kernel that a table needs, and say how good it is.

    Numbers are taken as they are, categories one-hot, empty cells filled; the saved model does the same to
    new tables. Rows without a class are used as unlabelled rows. The error that is printed is honest: the
    choice of the kernel is included in it.
    """
    request = Request(data, target, unlabelled, pairs, ids, names(drop))
    options = Options(names(candidates), budget, jobs or joblib.cpu_count(), seed)
    check_request(request)
    check_options(options, from_pairs=pairs is not None)
    check_outputs([model, report], [data, unlabelled, pairs])
    if report is not None and not all(map(find_spec, ("jinja2", "matplotlib"))):
        raise WrongRequestError("--report needs a few more packages: pip install 'mercer[app]'.")
    with _nothing_written():
        task = read_task(request)
        say(*data_sentences(facts(task)), file=sys.stderr)
        learned = run(task, options)
    if model is not None:
        save(learned.model, model, about=learned.about)
    if report is not None:
        _write_report(report, task, learned)
    files = {
        "model": None if model is None else str(model),
        "report": None if report is None else str(report),
    }
    _print(learned.about, files, as_json=as_json)
    if learned.about["stopped"] == "interrupt":
        raise typer.Exit(INTERRUPTED)


def names(text: str) -> tuple[str, ...]:
    """Return what a user lists with commas."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


@contextmanager
def _nothing_written() -> Iterator[None]:
    """Say after Ctrl-C that nothing was written."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("Interrupted before there was a result: nothing was written.", err=True)
        raise


def run(task: Task, options: Options) -> Learned:
    """Search, and show the ranking meanwhile."""
    console = Console(stderr=True)
    warm_up(task, options, console)
    watcher = Watcher(console)
    with watcher.watching():
        return learn_task(task, options, [watcher])


def _write_report(path: Path, task: Task, learned: Learned) -> None:
    """Write the page. It is written aside and then renamed."""
    from mercer.report import write_report  # it takes a second

    write_report(
        path,
        learned.search,
        task.X,
        task.y,
        pairs=task.pairs,
        unlabelled=task.unlabelled,
        feature_names=list(task.encoder.get_feature_names_out()),
        row_names=task.row_names,
        about={
            "command": shlex.join(["mercer", *sys.argv[1:]]),
            "data": Path(task.source).name,
            "table": " ".join(data_sentences(learned.about)),
            "date": datetime.now(UTC).date().isoformat(),
        },
    )


def _print(about: dict[str, Any], files: dict[str, str | None], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({**about, "files": files}, indent=2, allow_nan=False))
        return
    is_read_already = sys.stdout.isatty() and sys.stderr.isatty()  # it stands above the ranking
    say(*([] if is_read_already else data_sentences(about)))
    say(leaderboard_table(about["leaderboard"], winner=about["winner"]), *legend(about))
    say(*finding_sentences(about), *_file_sentences(about, files))


def _file_sentences(about: dict[str, Any], files: dict[str, str | None]) -> list[str]:
    """Say what was written, and what a user may do next."""
    said = ["The model was not saved: --model FILE does that."]
    if files["model"] is not None:
        name = shlex.quote(files["model"])
        said = [f"The model is in {files['model']}."]
        if about["data"] != EMBEDDED:  # of which there is no file to name
            said += [f"Classes of new rows: mercer predict {name} DATA"] if about["pairs"] is None else []
            said += [f"Rows that are alike: mercer similar {name} DATA --query ROW"]
    if files["report"] is not None:
        said.append(f"A page to look at is in {files['report']}.")
    if about["data"] == EMBEDDED:
        said.append("This was an example. With your own table: mercer learn DATA --target COLUMN")
    return said
