"""Run the cells of a table: in parallel, resumable, with numbers that depend on the random seeds alone."""

import math
import os
import signal
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from reproduction.harness.experiment import Table, seed_of
from reproduction.harness.selection import Selection
from reproduction.harness.store import Cell, Result, Store


@dataclass(frozen=True)
class Failure:
    """A cell that ended in an error; it is not stored, so that the next run tries it again."""

    cell: Cell
    reason: str


def finished(selection: Selection, store: Store) -> dict[Cell, Result]:
    """Return the results of a selection that are already stored."""
    return {result.cell: result for result in store if selection.covers(result)}


def run(selection: Selection, store: Store, *, n_jobs: int = 1) -> Iterator[Result | Failure]:
    """Compute the cells that are not stored yet; each is stored as soon as it is done, then yielded."""
    done = finished(selection, store)
    missing = [cell for cell in selection.cells() if cell not in done]
    with parallel_config(backend="loky", inner_max_num_threads=1):
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    jobs = (delayed(_run_in_worker)(os.getpid(), selection.table, cell) for cell in missing)
    outcomes = parallel(jobs)
    try:
        for outcome in outcomes:
            if isinstance(outcome, Result):
                store.append(outcome)
            yield outcome
    finally:  # cancel what runs when the reader stops, on Ctrl-C for instance; joblib would warn of that
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcomes.close()


def _run_in_worker(parent: int, table: Table, cell: Cell) -> Result | Failure:
    if os.getpid() != parent:  # Ctrl-C reaches every process; the parent acts on it for all of them
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return run_cell(table, cell)


def run_cell(table: Table, cell: Cell) -> Result | Failure:
    """Draw the data of one repeat, fit and score one method; an error is an answer, not the end."""
    row, name, repeat = cell
    method = table.method(name)
    start = time.perf_counter()
    try:
        # One thread, because sums in another order could break a tie of the cross-validation another way.
        with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            data = table.draw(row, seed_of(table.experiment, row, repeat, "data"))
            scores = method.score(data, seed_of(table.experiment, row, repeat, "fit"))
        values = {column: float(score) for column, score in zip(method.columns, scores, strict=True)}
        if not all(map(math.isfinite, values.values())):
            raise ArithmeticError(f"the score is not finite: {values}")
    except Exception as error:
        return Failure(cell, f"{type(error).__name__}: {error}")
    messages = sorted({str(warning.message) for warning in caught})
    return Result(cell, table.fingerprint(method), values, time.perf_counter() - start, messages)
