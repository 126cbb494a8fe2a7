"""Do the 95 % intervals of a search hold the error on new samples? On fresh splits of drawn and real data."""

import argparse
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from benchmarks.measure import report
from benchmarks.simulated import Case, SimulatedClock, costly_candidates, draw_case
from mercer import KernelSearchCV
from mercer.datasets import load, ringnorm, threenorm, twonorm
from mercer.search import SearchWarning

CHEAP = ["RBF-SVM", "stump", "linear"]  # the choice among 24 settings is what intervals have to reckon with
N_NEW = 10_000  # samples of drawn data to test on
DRAWN = {"twonorm": twonorm, "threenorm": threenorm, "ringnorm": ringnorm}
REAL = ("heart", "pima", "sonar", "german", "ionosphere", "australian", "votes84")


def draw_blobs(n: int, random_state: int) -> tuple[Any, Any]:
    """Return samples of two classes, some labels wrong, of the same distribution for all seeds."""
    X, y = make_classification(N_NEW + 1000, 8, n_informative=4, flip_y=0.1, random_state=0)
    rows = np.random.default_rng(random_state).permutation(len(y))[:n]
    return X[rows], y[rows]


def draw_split(name: str, n_train: int, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return samples to search on, their classes, and new samples with theirs."""
    if name in REAL:
        data = load(name)
        X, new, y, truth = train_test_split(
            data.X, data.y, train_size=n_train, stratify=data.y, random_state=seed
        )
        return X, y, new, truth
    X, y = {**DRAWN, "blobs": draw_blobs}[name](n_train + N_NEW, random_state=seed)
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def look(name: str, n_train: int, seed: int) -> tuple[bool, float, float]:
    """Return whether a split's interval holds the test error, its width, and the estimate's excess over it.

    The error on finitely many test samples has noise of its own, which is added to either side in squares.
    """
    X, y, new, truth = draw_split(name, n_train, seed)
    search = KernelSearchCV(CHEAP, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SearchWarning)
        _, value, _, low, high, *_ = search.fit(X, y).result_.measure
    error = float(np.mean(search.predict(new) != truth))
    noise = 1.96 * np.sqrt(max(error * (1 - error), 0.25 / len(new)) / len(new))
    holds = value - np.hypot(value - low, noise) <= error <= value + np.hypot(high - value, noise)
    return bool(holds), high - low, value - error


def look_simulated(seed: int, n_new: int = 20_000) -> tuple[Any, float, SimulatedClock, Case]:
    """Return a search under a clock that is simulated, the error of its model on new rows, and its case."""
    case, clock = draw_case(seed), SimulatedClock()
    X, y = case.truth.draw(case.n_rows, 0)
    with warnings.catch_warnings(action="ignore"):
        search = KernelSearchCV(costly_candidates(clock), budget=case.budget, random_state=seed)
        search.fit(X, y, clock=clock)
    new, truth = case.truth.draw(n_new, 1)
    return search, float(np.mean(search.predict(new) != truth)), clock, case


def simulate(seeds: Sequence[int]) -> None:
    """Print how many of the announced intervals hold the error of the model, over many kinds of tables."""
    held = []
    for seed in seeds:
        search, error, _, case = look_simulated(seed)
        measure = search.result_.measure
        held.append(measure.low <= error <= measure.high)
        if not held[-1]:
            report(f"{seed}: {case.what}", error, f"{measure.low:.4f} to {measure.high:.4f}", "not held")
    report(f"intervals that hold, of {len(held)} simulated searches", float(np.mean(held)), "≥ 0.90", "")


def main(arguments: Sequence[str] = ()) -> None:
    """Print, for each data set, how many of the intervals hold the test error."""
    every = (*DRAWN, "blobs", *REAL)
    parser = argparse.ArgumentParser(prog="python -m benchmarks coverage", description=__doc__)
    parser.add_argument(
        "--sets", nargs="+", choices=every, default=every, metavar="NAME", help=", ".join(every)
    )
    parser.add_argument("--splits", type=int, default=100, help="of each data set (100)")
    parser.add_argument("--first", type=int, default=1000, help="random seed of the first split (1000)")
    parser.add_argument("--train", type=int, default=150, help="samples to search on (150)")
    parser.add_argument(
        "--simulated",
        type=int,
        default=0,
        metavar="N",
        help="instead: searches under a simulated clock",
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    chosen = parser.parse_args(arguments)
    if chosen.simulated:
        simulate(range(chosen.first, chosen.first + chosen.simulated))
        return
    seeds, shares = range(chosen.first, chosen.first + chosen.splits), []
    with Parallel(n_jobs=chosen.jobs) as parallel:
        for name in chosen.sets:
            found = parallel(delayed(look)(name, chosen.train, seed) for seed in seeds)
            share, width, excess = np.mean(found, axis=0)
            shares.append(share)
            detail = f"width {100 * width:.1f}, estimate − error {100 * excess:+.1f} points"
            report(f"{name}: intervals that hold, of {chosen.splits}", share, "≥ 0.90", detail)
    report("all data sets", float(np.mean(shares)), "≥ 0.90", f"worst {min(shares):.2f}")
