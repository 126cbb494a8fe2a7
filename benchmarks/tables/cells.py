"""One cell: a method on one split of one set. Kept in a file as soon as it is done, so that a run can go on.

A file belongs to the code that wrote it: after a change of a method, take another folder or delete its files.
"""

import json
import time
import warnings
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.tables.methods import METHODS, SEARCH
from benchmarks.tables.sources import split
from mercer.datasets import threenorm
from mercer.search.task import LabelTask, Samples
from reproduction.harness import Split


def run(
    folder: Path,
    names: list[str],
    methods: list[str],
    n_splits: int,
    rows: int,
    *,
    budget: float | None = None,
    n_jobs: int = 1,
) -> list[dict[str, Any]]:
    """Return the outcome of every cell, from its file if there is one; so many cells at a time."""
    kind = f"{rows}" if budget is None else f"{rows}-{budget:g}s"
    every = {
        folder / f"{kind}-{name}-{seed}-{method.replace(' ', '_')}.json": (name, seed, method, rows, budget)
        for name, seed, method in product(names, range(n_splits), methods)
    }
    missing = [delayed(make)(path, *cell) for path, cell in every.items() if not path.exists()]
    Parallel(n_jobs=n_jobs, batch_size=1, pre_dispatch="n_jobs")(missing)
    return [json.loads(path.read_text(encoding="utf-8")) for path in every]


def make(path: Path, *cell: Any) -> None:
    """Measure a cell, and keep it."""
    keep(path, measure(*cell))


def keep(path: Path, outcome: dict[str, Any]) -> None:
    """Write an outcome, or nothing if the run is interrupted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text(json.dumps(outcome, default=float), encoding="utf-8")
    draft.replace(path)


def measure(name: str, seed: int, method: str, rows: int, budget: float | None = None) -> dict[str, Any]:
    """Fit a method on one split, with one thread; return its error, its CPU time and what it says."""
    data = split(name, seed, rows)
    model = METHODS[method](seed)
    if method == SEARCH:
        model.set_params(budget=budget)
        compile_all()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # rivals warn of their own affairs
        begin = time.process_time()
        model.fit(data.X_train, data.y_train)
        seconds = time.process_time() - begin
        error, said = _error(model, data), judge_probabilities(model, data)
        more = judge(model, data) if method == SEARCH else {}
    cell = {"set": name, "seed": seed, "method": method, "rows": len(data.y_train), "error": error}
    return cell | {
        "n_test": len(data.y_test),
        "n_classes": len(np.unique(data.y_train)),
        "cpu": seconds,
        **said,
        **more,
    }


def judge_probabilities(model: Any, data: Split) -> dict[str, float]:
    """Return the log loss of a method's probabilities, and how far they are from shares of the test rows.

    The latter is the expected calibration error: rows are put into ten groups by the probability of the class
    that is most likely, and the mean of these is compared with the share of rows that are of that class.
    """
    if not hasattr(model, "predict_proba"):
        return {}
    P, truth = model.predict_proba(data.X_test), np.searchsorted(model.classes_, data.y_test)
    sure, right = P.max(axis=1), P.argmax(axis=1) == truth
    group = np.minimum((10 * sure).astype(int), 9)
    apart = np.abs(np.bincount(group, sure - right, minlength=10)).sum() / len(truth)
    loss = -np.log(np.maximum(P[np.arange(len(truth)), truth], 1e-15)).mean()
    return {"log_loss": float(loss), "calibration": float(apart)}


@cache
def compile_all() -> None:
    """Compile before the clock starts: the way changes with the number of rows, and with that of classes."""
    for n in (300, 800):
        X, y = threenorm(n, random_state=0)
        METHODS[SEARCH](0).fit(X, y)
    METHODS[SEARCH](0).fit(X[:300], np.arange(300) % 3)


def judge(search: Any, data: Split) -> dict[str, Any]:
    """Return what the search expected, and what each of its candidates would have done on the test rows."""
    task, result = LabelTask(Samples(data.X_train, data.y_train)), search.result_
    candidates, every = {one.name: one for one in task.candidates(None, 0)}, np.arange(len(data.y_train))
    errors = {
        one.name: _error(task.fit(candidates[one.name], one.settings, every).pipeline, data)
        for one in result.candidates
        if one.name in candidates and one.measure.is_known and one.name != result.winner
    }
    errors[result.winner] = _error(search.best_estimator_, data)
    expected, low, high = result.measure.value, result.measure.low, result.measure.high
    return {"winner": result.winner, "candidates": errors, "expected": expected, "low": low, "high": high}


def _error(model: Any, data: Split) -> float:
    return float(np.mean(np.ravel(model.predict(data.X_test)) != data.y_test))
