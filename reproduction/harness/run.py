"""Run the cells of a table: in parallel, each stored as soon as it is done, reproducible from its names."""

import math
import os
import signal
import subprocess
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from joblib import Memory, Parallel, delayed, parallel_config
from rich.console import Console
from rich.progress import track
from threadpoolctl import threadpool_limits

from reproduction.harness.experiment import Cell, Draws, Figure, Method, Result, Table

Catalogue = Mapping[str, Table | Figure]
DOCS_OWN = Draws()


class UnknownNameError(LookupError):
    """A name that does not exist; the message lists those that do."""


@dataclass(frozen=True)
class Selection:
    """Some rows and methods of a table, the number of repeats and where they begin."""

    table: Table
    rows: tuple[str, ...]
    methods: tuple[Method, ...]
    repeats: int
    draws: Draws = DOCS_OWN

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the selected methods fill in."""
        return tuple(column for method in self.methods for column in method.columns)

    def cells(self) -> Iterator[Cell]:
        """Yield every cell, repeat by repeat, so that a run that is stopped has a bit of everything."""
        for repeat in range(self.draws.first, self.draws.first + self.repeats):
            for row in self.rows:
                for method in self.methods:
                    yield Cell(row, method.name, repeat)


@dataclass
class Report:
    """A selection and how its run went."""

    selection: Selection
    results: list[Result] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)  # row -> why it could not run
    failures: list[tuple[Cell, str]] = field(default_factory=list)
    interrupted: bool = False


def choose(
    catalogue: Catalogue,
    keys: Sequence[str],
    *,
    data: Sequence[str] = (),
    methods: Sequence[str] = (),
    repeats: int | None = None,
    draws: Draws = DOCS_OWN,
) -> list[Selection | Figure]:
    """Return what to run: figures as they are, of each table the rows and methods that were asked for.

    With several tables, a name need be in one of them only; a table that has none of the names is left out.
    """
    _check("table or figure", keys, catalogue)
    chosen = [catalogue[key] for key in dict.fromkeys(keys)]
    tables = [item for item in chosen if isinstance(item, Table)]
    _check("data set", data, [row for table in tables for row in table.rows])
    _check("method", methods, [name for table in tables for m in table.methods for name in _names(m)])
    selected: list[Selection | Figure] = []
    for item in chosen:
        if isinstance(item, Figure):
            selected.append(item)
            continue
        rows = tuple(row for row in item.rows if row in data) if data else item.published_rows
        wanted = tuple(m for m in item.methods if not methods or {*_names(m)} & {*methods})
        if rows and wanted:
            selected.append(Selection(item, rows, wanted, repeats or item.repeats, draws))
    return selected


def _names(method: Method) -> tuple[str, ...]:
    return method.name, *method.columns


def _check(kind: str, names: Sequence[str], known: Any) -> None:
    there = list(dict.fromkeys(known))
    for name in names:
        if name not in there:
            listed = ", ".join(there) or "none here"
            raise UnknownNameError(f"There is no {kind} {name!r}; choose from: {listed}.")


def run(selection: Selection, folder: Path, *, n_jobs: int = 1, fresh: bool = False) -> Report:
    """Compute what is not stored in the folder yet; the report has what is done also after Ctrl-C."""
    report = Report(selection)
    table, draws, commit = selection.table, selection.draws, commit_here()
    memory = Memory(folder, verbose=0)
    try:
        for row in selection.rows:  # also loads each set once, so that no two processes download it
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # each failed download warns; the error says it all
                    table.draw(row, draws.of(table.experiment, row, draws.first, "data"))
            except OSError as error:
                report.skipped[row] = str(error)
        cells = [cell for cell in selection.cells() if cell.row not in report.skipped]
        with parallel_config(backend="loky", inner_max_num_threads=1):
            parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
        outcomes = parallel(
            delayed(_attempt)(os.getpid(), memory, table, cell, draws.seed, commit, fresh) for cell in cells
        )
        console = Console(stderr=True)
        silent = not console.is_terminal
        for outcome in track(
            outcomes, table.key, len(cells), console=console, transient=True, disable=silent
        ):
            if isinstance(outcome, Result):
                report.results.append(outcome)
            else:
                report.failures.append(outcome)
    except KeyboardInterrupt:
        report.interrupted = True
    report.results.sort(key=lambda result: result.cell)
    return report


def commit_here() -> str:
    """Return the commit of this checkout, with a plus where code was changed since; "" outside of one."""
    root = Path(__file__).parents[2]
    head, changed = (
        subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False).stdout.strip()
        for words in (
            ("rev-parse", "--short=7", "HEAD"),
            ("status", "--porcelain", "--", "src", "reproduction"),
        )
    )
    return head + "+" * bool(changed)


def _attempt(
    parent: int, memory: Memory, table: Table, cell: Cell, seed: int, commit: str, fresh: bool
) -> Result | tuple[Cell, str]:
    """Look a cell up or compute it; an error is an answer, not the end, and is not stored."""
    if os.getpid() != parent:  # Ctrl-C reaches every process; the parent acts on it for all of them
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    stored = memory.cache(run_cell, ignore=["table", "commit"])
    try:
        words = table.words(table.method(cell.method))
        found: Result = (stored.call if fresh else stored)(table, cell, seed, commit, words)
    except Exception as error:
        return cell, f"{type(error).__name__}: {error}"
    return found


def run_cell(
    table: Table, cell: Cell, seed: int = 0, commit: str = "", words: tuple[str, ...] = ()
) -> Result:
    """Draw the data of one repeat, fit and score one method; `words` are there to be stored under them."""
    row, _, repeat = cell
    draws, method = Draws(repeat, seed), table.method(cell.method)
    # One thread, because sums in another order could break a tie of the cross-validation another way.
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = table.draw(row, draws.of(table.experiment, row, repeat, "data"))
        scores = method.score(data, draws.of(table.experiment, row, repeat, "fit"))
    values = {column: float(score) for column, score in zip(method.columns, scores, strict=True)}
    if not all(map(math.isfinite, values.values())):
        raise ArithmeticError(f"the score is not finite: {values}")
    return Result(cell, values, seed, commit, tuple(sorted({str(warning.message) for warning in caught})))
