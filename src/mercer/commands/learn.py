"""The command ``mercer learn``: from a table to the kernel that it needs."""

import json
import math
import shlex
import sys
import time
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import joblib
import numpy as np
import typer
from rich.console import Console
from sklearn.metrics import get_scorer_names

from mercer.commands.errors import FAILED, INTERRUPTED, WrongRequestError
from mercer.commands.inputs import EMBEDDED, PAIRS, Request, Task, Test, check_request, read_task
from mercer.commands.learn_matches import (
    KERNEL,
    MATCH,
    RecordRequest,
    find_names,
    learn_matches,
    refuse_options,
)
from mercer.commands.messages import data_sentences, finding_sentences, legend, ranking_parts, say
from mercer.commands.model import ENCODING_HELP, MADE_BY, result_of
from mercer.commands.outputs import as_json as to_json
from mercer.commands.outputs import check_outputs, write_or_keep
from mercer.commands.progress import Watcher, acknowledging_interrupts
from mercer.kernels.description import describe_kernel
from mercer.persistence import save
from mercer.preprocessing import QuantityError, TableEncoder
from mercer.preprocessing.sources import STDIN
from mercer.preprocessing.targets import CLASS, NUMBER
from mercer.search import KernelSearchCV, KernelSearchRegressor, SearchWarning
from mercer.search.pairs import PairTask
from mercer.search.race import STARTING
from mercer.search.ranking import share_interval
from mercer.search.scoring import KNOWN, NUMBER_SCORES
from mercer.search.task import LabelTask, NumberTask, Samples

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
SEARCHING = 0.95  # of the time that is left after reading: to save and to print takes some
STARTING_UP = 2.0  # seconds of importing and reading that do not count: a promise is kept within three
FEW_ROWS = 2000  # which one process searches in about ten seconds
CANDIDATES = {CLASS: LabelTask.names, NUMBER: NumberTask.names, PAIRS: PairTask.names}
SCORES = {CLASS: ("accuracy", *KNOWN), NUMBER: tuple(NUMBER_SCORES)}
JOBS_HELP = (
    f"Number of processes. Default: one for less than {FEW_ROWS} rows, else all cores; one if there are less "
    f"than {STARTING:g} seconds."
)
CANDIDATES_HELP = (
    f"Compare only these kernels. Of classes: {', '.join(LabelTask.names)}; of numbers: "
    f"{', '.join(NumberTask.names)}; "
    f"with --pairs: {', '.join(PairTask.names)}."
)


class Options(NamedTuple):
    """How to search."""

    candidates: tuple[str, ...] = ()
    budget: float = 60.0
    n_jobs: int = 1
    seed: int = 0
    scoring: str | None = None
    blend: bool = True

    cost: dict[str, float] | None = None
    log: bool = False


class Learned(NamedTuple):
    """What a search has found."""

    search: KernelSearchCV | KernelSearchRegressor  # the model: it takes the table
    about: dict[str, Any]  # all that is said of it, as JSON


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
            metavar="class|number|match|kernel",
            help="Type of the target, class or number; with --pairs, what is learned: whether records match, "
            "or a kernel of features. Default: inferred from the data and reported.",
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
            help="Instead of classes: two columns of row numbers (from 0) or ids, then yes, no or unsure "
            "(or 1, 0). If the table has names or texts, records are compared: see `mercer match`.",
        ),
    ] = None,
    right: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --pairs: a second table, of which the second rows are."),
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
    if pairs is not None and data is not None and target is None:
        records = RecordRequest(data, right, pairs, ids, names(drop), model, seed, as_json)
        is_open = kind is None and not candidates and str(data) != STDIN
        columns = find_names(records) if is_open else []
        if columns or kind == MATCH or right is not None:
            refuse_options({"--unlabelled": unlabelled, "--report": report, "--candidates": candidates})
            check_outputs([model], [data, right, pairs])
            learn_matches(records, columns)
            return
        kind = None if kind == KERNEL else kind
    elif right is not None:
        raise WrongRequestError("--right is for pairs of rows of two tables: name their file with --pairs.")
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
        written["report"] = write_or_keep(report, lambda path: _write_report(path, model, task, learned))
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


def check_options(options: Options, *kinds: str) -> None:
    """Refuse options that make no sense for what is learned from, or for all that it may be."""
    if not (options.budget > 0 and math.isfinite(options.budget)):
        raise WrongRequestError(f"--budget must be a number of seconds above 0, not {options.budget:g}.")
    if options.scoring is not None:
        _check_scoring(options.scoring, kinds)
    if options.cost is not None and (options.scoring is not None or CLASS not in kinds):
        raise WrongRequestError("--cost is for two classes, and in the place of --scoring: leave one out.")
    if options.log and NUMBER not in kinds:
        raise WrongRequestError("--log is for numbers: leave it out, or add --task number.")
    known = list(dict.fromkeys(name for kind in kinds for name in CANDIDATES[kind]))
    unknown = [name for name in options.candidates if name not in known]
    if unknown:
        raise WrongRequestError(
            f"There is no candidate {unknown[0]!r} for --candidates; there are: {', '.join(known)}."
        )


def _check_scoring(name: str, kinds: tuple[str, ...]) -> None:
    if PAIRS in kinds:
        raise WrongRequestError("--scoring is for classes: pairs are judged by the AUC of held-out pairs.")
    known = [score for kind in kinds for score in SCORES[kind]]
    others = {score for scores in SCORES.values() for score in scores} - set(known)
    if name not in get_scorer_names() or name in others:
        of = "" if len(kinds) > 1 else {CLASS: " of classes", NUMBER: " of numbers"}[kinds[0]]
        raise WrongRequestError(
            f"There is no score {name!r}{of} for --scoring; there are: {', '.join(known)}, and others of "
            "scikit-learn."
        )


def learn_task(
    task: Task, options: Options, callbacks: Sequence[Any] = (), seconds_spent: float = 0.0
) -> Learned:
    """Search. What is found is the model, which takes tables.

    Parameters
    ----------
    task : Task
        What there is to learn from.
    options : Options
        How to search.
    callbacks : sequence
        What is told of the progress.
    seconds_spent : float
        What is gone of the budget.
    """
    start = time.monotonic()
    is_number = task.kind == NUMBER
    search_class = KernelSearchRegressor if is_number else KernelSearchCV
    own: dict[str, Any] = {"log": options.log} if is_number else {"cost": options.cost}
    search = search_class(
        list(options.candidates) or None,
        scoring=options.scoring,
        blend=options.blend,
        budget=max(SEARCHING * (options.budget - seconds_spent), 0.1 * options.budget),
        encoder=TableEncoder(),
        n_jobs=options.n_jobs,
        random_state=options.seed,
        **own,
    ).set_callbacks(*callbacks)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="joblib")  # of work that the budget cuts off
            warnings.simplefilter("ignore", SearchWarning)  # they are among the sentences
            search.fit(
                task.X,
                task.y,
                unlabelled=task.unlabelled,
                groups=task.groups,
                sample_weight=task.sample_weight,
                **({} if task.pairs is None else {"pairs": task.pairs}),
            )
    except ValueError as error:
        reason = str(error).rstrip(".")
        raise WrongRequestError(f"Nothing could be learned from {task.source}: {reason}.") from error
    vars(search).pop("_skl_callbacks", None)  # they are no part of the model
    search.budget = options.budget  # what a user gave: the report shows how to get it again
    search.encoder_.dropped_.update(task.encoder.dropped_)
    about = {
        **facts(task),
        "search": search.result_.as_dict(),
        "kernel": describe_kernel(getattr(search.best_kernel_, "base", None)),
        "budget": options.budget,
        "seed": options.seed,
        "seconds": time.monotonic() - start,
        "compiling": search.compile_seconds_,
        "test": None if task.test is None else test_model(search, task.test),
    }
    return Learned(search, to_json(about))


def test_model(search: Any, test: Test) -> dict[str, Any]:
    """Return how good the model is on rows that were kept from the search, by the search's own metric."""
    metric, score, n = search.result_.metric, search.score(test.X, test.y), len(test.y)
    value = score if metric.greater_is_better else 1.0 - score if metric.percent else -score
    low, high = share_interval(value, n) if metric.percent else (None, None)
    return {"data": test.source, "rows": n, "value": value, "low": low, "high": high}


def warnings_of(task: Task, options: Options) -> list[str]:
    """Say what should be known before time is spent: a class is rare, a column looks like groups."""
    said = list(task.hints)
    if task.kind == CLASS and options.scoring is None and options.cost is None:
        y = np.asarray(task.y)
        said += LabelTask(Samples(np.zeros((len(y), 1)), y, weight=task.sample_weight)).remarks()
    return said


def facts(task: Task) -> dict[str, Any]:
    """Return what the data are, and what was done to them."""
    return {
        "made_by": MADE_BY,
        "data": task.source,
        "target": task.request.target,
        "id": task.request.ids,
        "weight": task.request.weight,
        "group": task.request.group,
        "rows": len(task.X),
        "unlabelled_rows": 0 if task.unlabelled is None else len(task.unlabelled),
        "task": task.kind,
        "classes": _count(task.y) if task.kind == CLASS else None,
        "numbers": _spread(task.y) if task.kind == NUMBER else None,
        "pairs": None if task.pairs is None else {kind: len(p) for kind, p in task.pairs._asdict().items()},
        "columns": task.columns._asdict(),
        "features": len(task.encoder.get_feature_names_out()),
        "missing_cells": sum(task.gaps.values()),
        "notes": task.notes,
    }


def _spread(y: Any) -> dict[str, float]:
    """Return where the numbers of a target are."""
    return {"low": float(y.min()), "mean": float(y.mean()), "high": float(y.max())}


def _count(y: Any) -> dict[str, int]:
    """Return how many rows each class has."""
    classes, counts = np.unique(y, return_counts=True)
    return {str(label): int(count) for label, count in zip(classes, counts, strict=True)}


def _write_report(path: Path, model: Path | None, task: Task, learned: Learned) -> None:
    """Write the page. It is written aside and then renamed."""
    from mercer.report import write_report  # it takes a second

    write_report(
        learned.search,
        task.X,
        task.y,
        path,
        row_names=task.row_names,
        about={
            "command": shlex.join(["mercer", *sys.argv[1:]]),
            "data": Path(task.source).name,
            **({} if model is None else {"model": str(model)}),
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
