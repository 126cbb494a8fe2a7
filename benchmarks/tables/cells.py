"""One cell: a method on one split of one set. Kept in a file as soon as it is done, so that a run can go on.

A file belongs to the code that wrote it: after a change of a method, take another folder or delete its files.
"""

import json
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.tables.methods import METHODS, SEARCH
from benchmarks.tables.sources import split
from mercer.datasets import threenorm
from mercer.papers.harness import Split
from mercer.search.label_task import LabelTask


def run(folder: Path, names: list[str], methods: list[str], n_splits: int, rows: int) -> list[dict[str, Any]]:
    """Return the outcome of every cell, from its file if there is one."""
    cells = []
    for name in names:
        for seed in range(n_splits):
            for method in methods:
                path = folder / f"{rows}-{name}-{seed}-{method.replace(' ', '_')}.json"
                if not path.exists():
                    keep(path, measure(name, seed, method, rows))
                cells.append(json.loads(path.read_text(encoding="utf-8")))
    return cells


def keep(path: Path, outcome: dict[str, Any]) -> None:
    """Write an outcome, or nothing if the run is interrupted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text(json.dumps(outcome, default=float), encoding="utf-8")
    draft.replace(path)


def measure(name: str, seed: int, method: str, rows: int) -> dict[str, Any]:
    """Fit a method on one split, with one thread; return its error, its CPU time and what it says."""
    data = split(name, seed, rows)
    model = METHODS[method](seed)
    if method == SEARCH:
        compile_all()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # rivals warn of their own affairs
        begin = time.process_time()
        model.fit(data.X_train, data.y_train)
        seconds = time.process_time() - begin
        error = _error(model, data)
        more = judge(model, data) if method == SEARCH else {}
    cell = {"set": name, "seed": seed, "method": method, "rows": len(data.y_train), "error": error}
    return cell | {
        "n_test": len(data.y_test),
        "n_classes": len(np.unique(data.y_train)),
        "cpu": seconds,
        **more,
    }


@cache
def compile_all() -> None:
    """Compile before the clock starts: the way changes with the number of rows, and with that of classes."""
    for n in (300, 800):
        X, y = threenorm(n, random_state=0)
        METHODS[SEARCH](0).fit(X, y)
    METHODS[SEARCH](0).fit(X[:300], np.arange(300) % 3)


def judge(search: Any, data: Split) -> dict[str, Any]:
    """Return what the search expected, and what each of its candidates would have done on the test rows."""
    task, result = LabelTask(data.X_train, data.y_train), search.result_
    candidates = {one.name: one for one in task.propose(0)}
    errors = {
        one.name: _error(task.fit(candidates[one.name], one.settings).pipeline, data)
        for one in result.candidates
        if one.name in candidates and one.measure.is_known and one.name != result.winner
    }
    errors[result.winner] = _error(search.best_estimator_, data)
    expected, low, high = result.measure.value, result.measure.low, result.measure.high
    return {"winner": result.winner, "candidates": errors, "expected": expected, "low": low, "high": high}


def _error(model: Any, data: Split) -> float:
    return float(np.mean(np.ravel(model.predict(data.X_test)) != data.y_test))
