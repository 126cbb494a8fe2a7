"""One cell: the search on one fold of one table, kept as soon as it is done, so that a run can go on."""

import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.small_tables.sources import judge, load
from mercer import KernelSearchCV

KEYS = ["table", "fold", "budget"]


class ProcessorClock:
    """Tells the CPU time of this process: the budget does not depend on who else works on the machine."""

    def now(self) -> float:
        """Return seconds."""
        return time.process_time()


def read(path: Path) -> pd.DataFrame:
    """Return the cells that are kept."""
    return pd.read_csv(path) if path.exists() else pd.DataFrame(columns=KEYS)


def run(path: Path, names: list[str], folds: list[int], budget: float, candidates: Any = None) -> None:
    """Measure the cells that are not kept yet, one by one."""
    known = {tuple(key) for key in read(path)[KEYS].itertuples(index=False)}
    path.parent.mkdir(parents=True, exist_ok=True)
    for fold in folds:
        for name in names:
            if (name, fold, budget) in known:
                continue
            compile_all()
            cell = pd.DataFrame([measure(name, fold, budget, candidates)])
            cell.to_csv(path, mode="a", header=not path.exists(), index=False)


def measure(name: str, fold: int, budget: float, candidates: Any = None) -> dict[str, Any]:
    """Fit the search, with one thread; return its figures, and who its members are."""
    data = load(name, fold)
    search = KernelSearchCV(candidates, budget=budget, random_state=0)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        begin = time.process_time()
        search.fit(data.X_train, data.y_train, clock=ProcessorClock())
        fit = time.process_time() - begin
        P = search.predict_proba(data.X_test)
        predict = time.process_time() - begin - fit
    members = zip(search.model_.members, search.model_.weights, strict=True)
    who = " ".join(f"{one}:{weight:.2f}" for (one, _), weight in members)
    how = {"rows": len(data.y_train), "cpu": fit, "cpu_predict": predict, "members": who}
    return {"table": name, "fold": fold, "budget": budget, **judge(data.y_test, P), **how}


@cache
def compile_all() -> None:
    """Compile before the clock starts: the way changes with the number of rows, and with that of classes."""
    for name in ("wine", "vertebra-column-2c", "indian-liver-patient"):
        data = load(name, 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            KernelSearchCV(budget=4.0, random_state=0).fit(data.X_train, data.y_train, clock=ProcessorClock())
