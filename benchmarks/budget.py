"""Is a budget kept? The wall time of `mercer learn`, process and model file included, on twenty tables."""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_classification

from benchmarks.measure import report

BUDGETS = (5.0, 20.0, 60.0)
LATE, MORE = 1.25, 3.0  # what is promised: no more than this times the budget, and so many seconds more


class Made(NamedTuple):
    """A table to draw."""

    n_rows: int
    n_columns: int
    n_classes: int = 2
    kind: str = "numbers"  # or "categories", "gaps", "pairs", "unlabelled", "rare"


TABLES = (
    *(Made(100, 5), Made(300, 30), Made(1000, 10), Made(2000, 20), Made(5000, 50), Made(20000, 20)),
    *(Made(20000, 100), Made(500, 300), Made(3000, 300)),
    *(Made(150, 4, 3), Made(1000, 16, 6), Made(5000, 16, 10), Made(3000, 10, 30), Made(20000, 16, 26)),
    *(Made(1000, 8, 3, "categories"), Made(10000, 12, 2, "categories"), Made(4000, 15, 4, "gaps")),
    *(Made(600, 10, 3, "pairs"), Made(4000, 12, 3, "unlabelled"), Made(8000, 20, 2, "rare")),
)


def write_table(made: Made, folder: Path, seed: int) -> list[str]:
    """Write a table, and return how `mercer learn` is to be called."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    X, y = make_classification(
        *(made.n_rows, made.n_columns),
        n_informative=min(made.n_columns, 8),
        n_redundant=0,
        n_classes=made.n_classes,
        n_clusters_per_class=1,
        weights=[0.98] if made.kind == "rare" else None,
        random_state=seed,
    )
    table = pd.DataFrame(X.round(4), columns=[f"x{k}" for k in range(made.n_columns)])
    path = folder / "table.csv"
    if made.kind == "categories":
        for k in range(0, made.n_columns, 2):
            table[f"x{k}"] = pd.cut(table[f"x{k}"], 8, labels=list("abcdefgh")).astype(str)
    if made.kind == "gaps":
        table = table.mask(rng.random(table.shape) < 0.1)
    if made.kind == "pairs":
        rows = rng.integers(made.n_rows, size=(1000, 2))
        rows = rows[rows[:, 0] != rows[:, 1]]
        alike = (y[rows[:, 0]] == y[rows[:, 1]]).astype(int)
        pd.DataFrame({"a": rows[:, 0], "b": rows[:, 1], "alike": alike}).drop_duplicates(["a", "b"]).to_csv(
            folder / "pairs.csv", index=False
        )
        table.to_csv(path, index=False)
        return [str(path), "--pairs", str(folder / "pairs.csv")]
    names = np.array([f"class {label}" for label in y], dtype=object)
    if made.kind == "unlabelled":
        names[rng.random(made.n_rows) < 0.9] = ""
    table.assign(label=names).to_csv(path, index=False)
    return [str(path), "--target", "label"]


def learn(arguments: Sequence[str], budget: float, folder: Path) -> tuple[float, dict[str, Any]]:
    """Return the seconds of the whole process, less those of compiling, and what it found."""
    command = [sys.executable, "-m", "mercer", "learn", *arguments, "--budget", str(budget), "--json"]
    begin = time.monotonic()
    done = subprocess.run(
        [*command, "--model", str(folder / "out.mercer")], capture_output=True, text=True, check=False
    )
    seconds = time.monotonic() - begin
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    found = json.loads(done.stdout)
    return seconds - found["compiling"], found


def main(arguments: Sequence[str] = ()) -> None:
    """Print a line for each table and budget, and how many budgets are kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks budget", description=__doc__)
    parser.add_argument("--budgets", nargs="+", type=float, default=list(BUDGETS), help="seconds (5 20 60)")
    parser.add_argument("--tables", nargs="+", type=int, default=list(range(len(TABLES))), help="numbers")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the tables (0)")
    chosen = parser.parse_args(arguments)
    over = []
    for k in chosen.tables:
        with tempfile.TemporaryDirectory() as folder:
            request = write_table(TABLES[k], Path(folder), chosen.seed + k)
            for budget in chosen.budgets:
                seconds, found = learn(request, budget, Path(folder))
                over.append(seconds - LATE * budget - MORE)
                candidates = found["search"]["candidates"]
                n_scored = sum(one["measure"]["value"] is not None for one in candidates)
                what = f"{k:2} {' '.join(map(str, TABLES[k]))}, budget {budget:g}: seconds"
                detail = f"{n_scored} of {len(candidates)} scored, {found['search']['winner']}"
                report(what, seconds, f"≤ {LATE * budget + MORE:g}", detail)
    kept = sum(one <= 0.0 for one in over)
    report(
        f"budgets kept, of {len(over)}", kept, str(len(over)), f"at worst {max(over):+.1f} s from the limit"
    )
