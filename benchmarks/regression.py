"""Regressors: stumps beside interpret's EBM and gradient boosting, a million rows, coverage of intervals.

EBM is run by the interpreter that MERCER_EBM_PYTHON names, of an environment with `interpret`.
"""

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from benchmarks.measure import cpu_seconds, report
from mercer import (
    ClippedScaler,
    KernelRegressor,
    PerceptronRegressor,
    StumpRegressor,
    StumpSVC,
    TreeRegressor,
)
from mercer.kernels import Tree

Data = tuple[NDArray[np.float64], NDArray[np.float64]]
EBM = "MERCER_EBM_PYTHON"
SPLITS = 10
N_NEW = 2000


def draw_additive(n: int, seed: int) -> Data:
    """Return samples of 20 features, and a sum of functions of each with noise of standard deviation 1/2."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, 20))
    f = sum(np.sin((1 + d % 4) * 2.0 * X[:, d]) / (1 + d % 5) for d in range(20))
    return X, f + 0.5 * rng.normal(size=n)


def draw_houses(n: int, seed: int) -> Data:
    """Return samples like California's houses: eight skewed features, places, prices that are cut off."""
    rng = np.random.default_rng(seed)
    income, age = rng.lognormal(1.2, 0.45, n), rng.uniform(1.0, 52.0, n)
    rooms, bedrooms = rng.lognormal(1.65, 0.3, n), rng.lognormal(0.05, 0.15, n)
    people, each = rng.lognormal(7.0, 0.7, n), rng.lognormal(1.0, 0.3, n)
    place = rng.uniform(0.0, 1.0, size=(n, 2))
    near = np.exp(-8.0 * np.abs(place[:, 0] - place[:, 1]))  # the coast is the diagonal
    price = 0.4 * income * (0.7 + near) + 0.005 * age - 0.15 * np.log(each) + 0.05 * (rooms / bedrooms)
    price = price * rng.lognormal(0.0, 0.2, n)
    X = np.column_stack([income, age, rooms, bedrooms, people, each, place])
    return X, np.minimum(price, 5.0)


def draw_concrete(n: int, seed: int) -> Data:
    """Return samples like the strength of concrete: a mixture and its age, more of some, none of others."""
    rng = np.random.default_rng(seed)
    cement, water, age = rng.uniform(100, 540, n), rng.uniform(120, 250, n), rng.exponential(45.0, n) + 1.0
    slag, ash = (rng.uniform(0, 200, n) * (rng.random(n) < 0.5) for _ in range(2))
    rest = rng.normal(900, 80, size=(n, 2))
    binder = cement + 0.7 * slag + 0.4 * ash
    strength = 25.0 * (binder / water) ** 0.9 * (1.0 - np.exp(-((age / 12.0) ** 0.6))) / 1.6
    return np.column_stack([cement, slag, ash, water, age, rest]), strength + rng.normal(scale=4.0, size=n)


def diabetes(n: int, seed: int) -> Data:
    """Return scikit-learn's diabetes data in random order."""
    X, y = load_diabetes(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(y))
    return X[rows], y[rows]


def friedman(make: Callable[..., Data], noise: float) -> Callable[[int, int], Data]:
    """Return how to draw one of Friedman's problems."""
    return lambda n, seed: make(n, noise=noise, random_state=seed)


SETS: dict[str, tuple[Callable[[int, int], Data], int]] = {
    "diabetes": (diabetes, 300),
    "friedman1": (friedman(make_friedman1, 1.0), 500),
    "friedman2": (friedman(make_friedman2, 100.0), 500),
    "friedman3": (friedman(make_friedman3, 0.1), 500),
    "houses": (draw_houses, 1000),
    "concrete": (draw_concrete, 500),
}
REGRESSORS = {
    "stumps": StumpRegressor("cv", max_bins=64, random_state=0),
    "perceptrons": PerceptronRegressor("cv", random_state=0),
    "trees": TreeRegressor("cv", random_state=0),
    "KernelRegressor": KernelRegressor(Tree()),
}


def compare_with_ebm(n: int = 100_000) -> None:
    """One fit each on additive data; C is chosen on other data of this size, or on these."""
    X, y = draw_additive(n, 1)
    X_new, y_new = draw_additive(50_000, 2)
    C = StumpRegressor("cv", max_bins=256, random_state=0).fit(*draw_additive(n, 3)).C_
    StumpRegressor(max_bins=256).fit(X[:1000], y[:1000])  # compile
    with threadpool_limits(1):
        ours, model = cpu_seconds(lambda: StumpRegressor(C, max_bins=256).fit(X, y), repeats=3)
        chosen, tuned = cpu_seconds(lambda: StumpRegressor("cv", max_bins=256, random_state=0).fit(X, y))
        theirs, rival = cpu_seconds(lambda: HistGradientBoostingRegressor(random_state=0).fit(X, y))
    errors = [_rmse(y_new, m.predict(X_new)) for m in (model, tuned, rival)]
    detail = f"{ours:.2f} and {theirs:.2f} s, RMSE {errors[0]:.4f} and {errors[2]:.4f} (the noise is 0.5)"
    report(f"{n} × 20 against HistGradientBoostingRegressor", theirs / ours, "", detail)
    found = _run_ebm(X, y, X_new)
    if found is None:
        print(f"EBM is left out: set {EBM} to a Python that has interpret.")
        return
    seconds, predicted = found
    error = _rmse(y_new, predicted)
    detail = f"{ours:.2f} and {seconds:.1f} s, RMSE {errors[0]:.4f} and {error:.4f}"
    report(f"{n} × 20 against interpret's EBM, C given", seconds / ours, "≥ 20", detail)
    detail = f"{chosen:.1f} and {seconds:.1f} s, RMSE {errors[1]:.4f} and {error:.4f}"
    report("… C chosen among 12 on five folds", seconds / chosen, "", detail)
    report("… error", errors[1] / error, "≤ 1", "RMSE with C chosen, over that of EBM")


def _rmse(y: Any, predicted: Any) -> float:
    return float(np.sqrt(np.mean((y - predicted) ** 2)))


def _run_ebm(X: Any, y: Any, X_new: Any) -> tuple[float, Any] | None:
    """Return the CPU seconds of EBM's fit, without interactions and with one job, and its predictions."""
    python = os.environ.get(EBM)
    if python is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "given.npz", Path(folder) / "found.npz"
        np.savez(source, X=X, y=y, X_new=X_new)
        rival = Path(__file__).with_name("ebm_rival.py")
        subprocess.run([python, "-P", rival, source, target], check=True)  # or ours would be its `numbers`
        found = np.load(target)
        return float(found["seconds"]), found["predicted"]


def time_a_million(n: int = 1_000_000) -> None:
    """Squared error in bins beside StumpSVC in bins, on the same samples."""
    X, y = draw_additive(n, 4)
    StumpRegressor(max_bins=256).fit(X[:1000], y[:1000])
    StumpSVC(max_bins=256, C=0.1).fit(X[:1000], y[:1000] > 0)
    with threadpool_limits(1):
        ours, _ = cpu_seconds(lambda: StumpRegressor(0.1, max_bins=256).fit(X, y))
        theirs, _ = cpu_seconds(lambda: StumpSVC(0.1, max_bins=256).fit(X, y > 0))
    detail = f"{ours:.1f} and {theirs:.1f} s"
    report(f"{n} × 20 in bins, squared error over StumpSVC, C = 0.1", ours / theirs, "about 1", detail)


def cover() -> Iterator[tuple[str, str, list[float]]]:
    """Yield sets, regressors and the shares of new targets inside 90 % intervals, split by split."""
    for name, (draw, n) in SETS.items():
        for title, regressor in REGRESSORS.items():
            shares = []
            for seed in range(SPLITS):
                X, y = draw(n + N_NEW, 100 + seed)
                model = make_pipeline(ClippedScaler(), clone(regressor)).fit(X[:n], y[:n])
                low, high = model[-1].predict_interval(model[:-1].transform(X[n:]), coverage=0.9)
                shares.append(float(np.mean((low <= y[n:]) & (y[n:] <= high))))
            yield name, title, shares


def main() -> None:
    """Print all of it."""
    warnings.simplefilter("error")
    compare_with_ebm()
    time_a_million()
    for name, title, shares in cover():
        detail = f"of {SPLITS} splits {min(shares):.3f} to {max(shares):.3f}"
        report(f"90 % intervals of {title} on {name}", float(np.mean(shares)), "0.87-0.93", detail)


if __name__ == "__main__":
    sys.exit(main())
