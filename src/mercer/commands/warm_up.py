"""Compile before the clock runs: the first search on a machine shall find as much as the second."""

import time

import numpy as np
from rich.console import Console
from sklearn.base import clone

from mercer.commands.inputs import Task
from mercer.commands.search_run import Options
from mercer.pairs import Pairs
from mercer.search import KernelSearchCV, default_candidates
from mercer.search.pair_task import pair_candidates

N_ROWS = 40
STUMP_ROWS = (400, 1100)
WORTH_SAYING = 20.0  # seconds


def warm_up(task: Task, options: Options, console: Console) -> None:
    """Run the candidates on a few made-up rows, which compiles what they need, once on a machine.

    It is done in this process first, which leaves what it compiled to the others; then these are started.
    """
    start = time.monotonic()
    with console.status("compiling (the first time after installation this takes up to a minute)"):
        for n_jobs in sorted({1, options.n_jobs}):
            search = _search_made_up_rows(task, options, n_jobs)
            if search.stopped_ == "interrupt":
                raise KeyboardInterrupt
    seconds = time.monotonic() - start
    if seconds > WORTH_SAYING:
        console.print(
            f"Compiling took {seconds:.0f} s; this happens once after installation.", highlight=False
        )


def _search_made_up_rows(task: Task, options: Options, n_jobs: int) -> KernelSearchCV:
    from_pairs = task.pairs is not None
    proposed = (
        pair_candidates(0)
        if from_pairs
        else default_candidates(len(task.X), 3, 0, unlabelled=task.unlabelled is not None)
    )
    chosen = {one.name: one for one in proposed if one.name in options.candidates or not options.candidates}
    n_classes = 2 if task.y is None else min(3, len(np.unique(task.y)))  # three are as many
    y = np.arange(N_ROWS) % n_classes
    X = np.random.default_rng(0).normal(size=(N_ROWS, 3)) + 3.0 * np.eye(3)[y]
    if n_jobs == 1 and "stump" in chosen:  # with the number of rows, the way changes that it takes
        for n in (size for size in STUMP_ROWS if size <= max(len(task.X), STUMP_ROWS[0])):
            rows = np.random.default_rng(0).normal(size=(n, 3))
            clone(chosen["stump"].estimator).fit(rows, np.arange(n) % 2)
    search = KernelSearchCV(chosen, cv=2, n_jobs=n_jobs, random_state=0)
    return search.fit(X, pairs=Pairs.from_labels(y)) if from_pairs else search.fit(X, y)
