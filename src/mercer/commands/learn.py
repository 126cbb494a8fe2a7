"""The command ``mercer learn``: from a table to the kernel that it needs."""

import json
import shlex
import sys
import time
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import joblib
import typer
from rich.console import Console

from mercer.commands.errors import FAILED, INTERRUPTED, WrongRequestError
from mercer.commands.inputs import EMBEDDED, PAIRS, Request, Task, check_request, read_task
from mercer.commands.interrupts import acknowledging_interrupts
from mercer.commands.messages import data_sentences, finding_sentences, legend, ranking_parts, say
from mercer.commands.model import ENCODING_HELP, result_of
from mercer.commands.outputs import check_outputs, write_or_keep
from mercer.commands.progress import Watcher
from mercer.commands.search_run import Learned, Options, check_options, facts, learn_task, warnings_of
from mercer.persistence import save
from mercer.preprocessing import QuantityError
from mercer.preprocessing.targets import CLASS, NUMBER
from mercer.search.number_scoring import NUMBER_SCORES
from mercer.search.pairs import PairTask
from mercer.search.race import STARTING
from mercer.search.scoring import KNOWN
from mercer.search.task import LabelTask, NumberTask

EXAMPLES = """For example:

\b
  mercer learn                                            an example: breast cancer data
  mercer learn data.csv --target label --model out.mercer --report report.html
  mercer learn data.tsv --target label --unlabelled more.tsv --budget 300
  mercer learn data.csv --pairs pairs.csv --id name       from pairs of rows alone
  mercer learn data.csv --target label --candidates linear,stump --json
  mercer learn data.csv --target fraud --scoring average_precision
  mercer learn houses.csv --target price --task number    a number, with intervals

\b
Exit codes: 0 done; 1 failed; 2 wrong request or file, nothing was written; 130 interrupted (Ctrl-C): the best
so far is saved if there is one.
"""
STARTING_UP = 2.0  # seconds of importing and reading that do not count: a promise is kept within three
FEW_ROWS = 2000  # which one process searches in about ten seconds
JOBS_HELP = (
    f"Number of processes. Default: one for less than {FEW_ROWS} rows, else all cores; one if there are less "
    f"than {STARTING:g} seconds."
)
CANDIDATES_HELP = (
    f"Compare only these kernels. Of classes: {', '.join(LabelTask.names)}; of numbers: "
    f"{', '.join(NumberTask.names)}; "
    f"with --pairs: {', '.join(PairTask.names)}."
)


def learn(
    context: typer.Context,
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]",
            help="CSV, TSV, Parquet or Arrow file, perhaps compressed; - is the standard input. If omitted, "
            "scikit-learn's breast cancer data is used.",
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column to predict: classes, or numbers.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--task",
            metavar="class|number",
            help="What --target holds. Default: what it looks like, which is said.",
        ),
    ] = None,
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of weights: how much a row counts.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of groups; no fold splits a group.")
    ] = None,
    unlabelled: Annotated[
        Path | None, typer.Option(metavar="FILE", help="More rows with the same columns, without a target.")
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Instead of classes: two columns of row numbers (from 0) or ids, then 1 if similar, else 0.",
        ),
    ] = None,
    ids: Annotated[
        str | None,
        typer.Option("--id", metavar="COLUMN", help="Column of row names; it is not used as a feature."),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rows to test the model on, which the search does not see."),
    ] = None,
    encoding: Annotated[str | None, typer.Option(help=ENCODING_HELP)] = None,
    drop: Annotated[str, typer.Option(metavar="A,B,…", help="Columns to drop.")] = "",
    budget: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="Time budget; compiling, once, and the report come on top."),
    ] = 60.0,
    model: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the model to FILE.")] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an HTML report to FILE.")] = None,
    scoring: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"What to judge by. Classes: accuracy (default), {', '.join(KNOWN)}; numbers: "
            f"{', '.join(NUMBER_SCORES)}.",
        ),
    ] = None,
    candidates: Annotated[str, typer.Option(metavar="A,B,…", help=CANDIDATES_HELP)] = "",
    blend: Annotated[
        bool,
        typer.Option("--blend/--no-blend", help="A model of several members, or the best candidate alone."),
    ] = True,
    cost: Annotated[
        str,
        typer.Option(
            metavar="FP=1,FN=5",
            help="What errors cost, instead of --scoring: a false alarm, and one of the rarer class that is "
            "missed.",
        ),
    ] = "",
    log: Annotated[
        bool, typer.Option("--log", help="Learn the logarithm of a number: errors grow with the value.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print nothing but the result and warnings.")
    ] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help=JOBS_HELP)] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Random seed.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON only.")] = False,
) -> None:
    """Find the kernel that a table needs, and say how good it is.

    Numeric columns are used as they are, categories are one-hot encoded, dates and free text become a few
    numbers, missing values are imputed; the saved model does the same to new tables. Rows without a target
    are used as unlabelled samples. The error that is printed is corrected for selection bias: it includes the
    choice of the kernel.
    """
    request = Request(data, target, unlabelled, pairs, ids, names(drop), kind, weight, group, encoding, test)
    start = time.monotonic() - (context.obj or 0.0)
    options = Options(names(candidates), budget, jobs or 1, seed, scoring, blend, costs(cost), log)
    check_request(request)
    check_options(options, *([PAIRS] if pairs is not None else [kind] if kind else [CLASS, NUMBER]))
    check_outputs([model, report], [data, unlabelled, pairs, test])
    if report is not None and not all(map(find_spec, ("jinja2", "matplotlib"))):
        raise WrongRequestError("--report needs more packages: pip install 'mercer[app]'.")
    try:
        task, start = _read(request, start)
        check_options(options, task.kind)
        say(*([] if quiet else data_sentences(facts(task))), *warnings_of(task, options), file=sys.stderr)
        options = options if jobs else options._replace(n_jobs=default_jobs(len(task.X)))
        learned = run(task, options, max(time.monotonic() - start - STARTING_UP, 0.0), quiet=quiet)
    except KeyboardInterrupt:
        typer.echo("Interrupted before there was a result: nothing was written.", err=True)
        raise
    asked, written = {"model": model, "report": report}, dict[str, Path | None](model=None, report=None)
    if model is not None:
        written["model"] = write_or_keep(model, lambda path: save(learned.search, path, about=learned.about))
    if report is not None:
        say("Writing the report, which takes some seconds more.", file=sys.stderr)
        written["report"] = write_or_keep(report, lambda path: _write_report(path, task, learned))
    files = {name: None if path is None else str(path) for name, path in written.items()}
    _print(learned.about, files, as_json=as_json)
    if learned.search.stopped_ == "interrupt":
        raise typer.Exit(INTERRUPTED)
    if written != asked:
        raise typer.Exit(FAILED)


def _read(request: Request, start: float) -> tuple[Task, float]:
    """Read the table, and return since when the budget counts: not while a user thinks about a question.

    Whole numbers that may be classes or not are refused where nobody is there to be asked.
    """
    try:
        return read_task(request), start
    except QuantityError as error:
        if not is_terminal():
            raise
        are_classes = typer.confirm(f"{error.found}. Are they classes?", err=True)
        start = time.monotonic()
        return read_task(request._replace(task=CLASS if are_classes else NUMBER)), start


def is_terminal() -> bool:
    """Return whether somebody is there to be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def default_jobs(n_rows: int) -> int:
    """Return how many processes to use: to start some takes longer than to search on few rows."""
    return 1 if n_rows < FEW_ROWS else int(joblib.cpu_count())


def names(text: str) -> tuple[str, ...]:
    """Return what a user lists with commas."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def costs(text: str) -> dict[str, float] | None:
    """Return what errors cost, or say how to write it."""
    try:
        found = {name.strip(): float(value) for name, value in (part.split("=") for part in names(text))}
    except ValueError:
        found = {"": 0.0}
    if found and (
        set(found) != {"FP", "FN"} or not all(0.0 < value < float("inf") for value in found.values())
    ):
        raise WrongRequestError(f"--cost is two numbers above 0, such as FP=1,FN=5, not {text!r}.")
    return found or None


def run(task: Task, options: Options, seconds_spent: float = 0.0, *, quiet: bool = False) -> Learned:
    """Search, and show the ranking meanwhile."""
    watcher = Watcher(Console(stderr=True), options.budget, quiet=quiet)
    with acknowledging_interrupts(), watcher.watching():
        return learn_task(task, options, [watcher], seconds_spent)


def _write_report(path: Path, task: Task, learned: Learned) -> None:
    """Write the page. It is written aside and then renamed."""
    from mercer.report import write_report  # it takes a second

    write_report(
        learned.search,
        task.X,
        task.y,
        path,
        pairs=task.pairs,
        unlabelled=task.unlabelled,
        row_names=task.row_names,
        about={
            "command": shlex.join(["mercer", *sys.argv[1:]]),
            "data": Path(task.source).name,
            **({"target": task.request.target} if task.request.target else {}),
            "table": " ".join(data_sentences(learned.about)),
            "seconds": learned.about["seconds"],
            "date": datetime.now(UTC).date().isoformat(),
        },
    )


def _print(about: dict[str, Any], files: dict[str, str | None], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({**about, "files": files}, indent=2, allow_nan=False))
        return
    is_read_already = sys.stdout.isatty() and sys.stderr.isatty()  # it stands above the ranking
    say(*([] if is_read_already else data_sentences(about)))
    result = result_of(about)
    say(*ranking_parts(result), *legend(about, result))
    say(*finding_sentences(about, result), *_file_sentences(about, files))


def _file_sentences(about: dict[str, Any], files: dict[str, str | None]) -> list[str]:
    """Say what was written, and what a user may do next."""
    said = ["The model was not saved: use --model FILE."]
    if files["model"] is not None:
        name = shlex.quote(files["model"])
        said = [f"The model is in {files['model']}."]
        if about["data"] != EMBEDDED:  # of which there is no file to name
            what = "Classes" if about["task"] == CLASS else "Numbers"
            said += [f"{what} of new rows: mercer predict {name} DATA"] if about["task"] != PAIRS else []
            said += [f"Similar rows: mercer similar {name} DATA --query ROW"]
    if files["report"] is not None:
        said.append(f"The report is in {files['report']}.")
    if about["data"] == EMBEDDED:
        said.append("This was an example. With your own table: mercer learn DATA --target COLUMN")
    return said
