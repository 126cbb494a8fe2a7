"""Numbers of every size: the search beside boosting and published errors, on the same splits.

The sets are those of À la carte (2015) and Deep Kernel Learning (2016), in ``$MERCER_DATA/uci_numbers``:
`X`, `y` and `test`, a column for each split. The published root mean squared errors were noted from memory,
not from the papers' pages. The budget counts seconds of the processor.
Each cell, a method on a split, is kept in a file: who interrupts it goes on where it was.
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from benchmarks.measure import peak_memory
from benchmarks.numbers import load_cells
from benchmarks.small_tables.cells import ProcessorClock
from mercer import KernelSearchRegressor

PUBLISHED = {  # of a Gaussian process with an RBF, the best one, a deep network, and deep kernel learning
    "skillcraft": (None, 0.25, 0.25, 0.25),
    "parkinsons": (3.94, 0.00, 0.31, 0.29),
    "sml": (6.94, 0.26, 0.25, 0.23),
    "gas": (0.21, 0.12, 0.11, 0.09),
    "pumadyn32nm": (1.00, 0.20, 0.25, 0.23),
    "pol": (12.6, 4.3, 3.4, 3.1),
    "elevators": (0.12, 0.089, 0.099, 0.084),
    "kin40k": (0.34, 0.06, 0.11, 0.03),
    "protein": (1.64, 0.47, 0.49, 0.43),
    "keggdirected": (0.33, 0.12, 0.12, 0.10),
}
DEEP = 3  # the last of them
SEARCH, BOOSTING = "search", "boosting"
STORE = Path("uci_numbers.jsonl")
AS_GOOD = 1.005  # times the published error, which has two digits


def run_cell(name: str, split: int, method: str, budget: float) -> dict[str, Any]:
    """Return the error of a method on a split, and how many of the numbers the intervals hold."""
    data = np.load(Path(os.environ["MERCER_DATA"]) / "uci_numbers" / f"{name}.npz")
    X, y, test = data["X"], data["y"], data["test"][:, split]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.process_time()
        model: Any = HistGradientBoostingRegressor(random_state=split)
        if method == SEARCH:
            model = KernelSearchRegressor(budget=budget, random_state=split)
        model.fit(X[~test], y[~test], **({"clock": ProcessorClock()} if method == SEARCH else {}))
        cell = {"set": name, "split": split, "method": method, "seconds": time.process_time() - begin}
        cell["rmse"] = float(np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2)))
        if method == SEARCH:
            low, high = model.predict_interval(X[test])
            cell["inside"] = float(np.mean((low <= y[test]) & (y[test] <= high)))
            cell["blend"], cell["budget"] = str(model.result_.blend), budget
        cell["memory"] = peak_memory()
    print(json.dumps(cell), flush=True)
    return cell


def summarize(cells: list[dict[str, Any]]) -> None:
    """Print the mean errors on each set, and on how many the search is as good as others."""
    print(f"{'RMSE':14}{'search':>9}{'boosting':>10}", end="   ")
    print("GP-RBF, best GP, network, DKL; share inside of 90 %; splits")
    better = as_good = n_published = n_sets = 0
    for name in dict.fromkeys(cell["set"] for cell in cells):
        of = {m: [c for c in cells if (c["set"], c["method"]) == (name, m)] for m in (SEARCH, BOOSTING)}
        if not all(of.values()):
            continue
        mine, theirs = (float(np.mean([c["rmse"] for c in of[m]])) for m in (SEARCH, BOOSTING))
        inside, known = np.mean([c["inside"] for c in of[SEARCH]]), PUBLISHED.get(name)
        n_sets, better = n_sets + 1, better + (mine <= theirs)
        if known is not None:
            n_published, as_good = n_published + 1, as_good + (mine <= AS_GOOD * known[DEEP])
        print(f"{name:14}{mine:9.4f}{theirs:10.4f}   {known}; {100 * inside:.0f} %; {len(of[SEARCH])}")
    print(
        f"as good as deep kernel learning: {as_good} of {n_published}; boosting beaten: {better} of {n_sets}"
    )


def main(options: list[str]) -> None:
    """Run the cells that are missing, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks uci_numbers")
    parser.add_argument("--sets", default=",".join(PUBLISHED), help='separated by commas, or "all"')
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--budget", type=float, default=120.0, help="seconds of a search")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--store", type=Path, default=STORE, help="file of the results")
    given = parser.parse_args(options)
    folder = Path(os.environ["MERCER_DATA"]) / "uci_numbers"
    every = sorted((path.stem for path in folder.glob("*.npz")), key=lambda name: name not in PUBLISHED)
    sets = every if given.sets == "all" else given.sets.split(",")
    cells = load_cells(given.store)
    known = {(cell["set"], cell["split"], cell["method"]) for cell in cells}
    wanted = [
        (name, split, method)
        for split in range(given.splits)
        for name in sets
        for method in (BOOSTING, SEARCH)
        if (name, split, method) not in known
    ]
    jobs = (delayed(run_cell)(*cell, given.budget) for cell in wanted)
    with given.store.open("a") as file:
        for cell in Parallel(n_jobs=given.jobs, return_as="generator_unordered")(jobs):
            file.write(json.dumps(cell) + "\n")
            file.flush()
            cells.append(cell)
    summarize(cells)
