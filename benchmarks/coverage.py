"""Do the 95 % intervals of a search hold the error on new samples? On fresh splits of drawn and real data."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from benchmarks.measure import report
from mercer import KernelSearchCV
from mercer.datasets import load, ringnorm, threenorm, twonorm
from mercer.search import SearchWarning

CHEAP = ["RBF-SVM", "stump", "linear"]  # the choice among 24 settings is what intervals have to reckon with
N_NEW = 10_000  # samples of drawn data to test on
SPLITS = 100
DRAWN = {"twonorm": twonorm, "threenorm": threenorm, "ringnorm": ringnorm}
REAL = ("heart", "pima", "sonar", "german", "ionosphere", "australian", "votes84")


def draw_blobs(n: int, random_state: int) -> tuple[Any, Any]:
    """Return samples of two classes, some labels wrong, of the same distribution for all seeds."""
    X, y = make_classification(N_NEW + 1000, 8, n_informative=4, flip_y=0.1, random_state=0)
    rows = np.random.default_rng(random_state).permutation(len(y))[:n]
    return X[rows], y[rows]


def splits(name: str, n_train: int, n_splits: int, first: int) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield samples to search on, their classes, and new samples with theirs."""
    for seed in range(first, first + n_splits):
        if name in DRAWN:
            X, y = DRAWN[name](n_train + N_NEW, random_state=seed)
            yield X[:n_train], y[:n_train], X[n_train:], y[n_train:]
        elif name == "blobs":
            X, y = draw_blobs(n_train + N_NEW, seed)
            yield X[:n_train], y[:n_train], X[n_train:], y[n_train:]
        else:
            data = load(name)
            parts = train_test_split(data.X, data.y, train_size=n_train, stratify=data.y, random_state=seed)
            X, new, y, truth = parts
            yield X, y, new, truth


def cover(name: str, n_train: int, n_splits: int, first: int, **options: Any) -> tuple[float, float, float]:
    """Return the share of splits whose interval holds the test error, its mean width, and the mean excess.

    The error on finitely many test samples has noise of its own, which is added to either side in squares.
    """
    held, widths, excess = [], [], []
    for seed, (X, y, new, truth) in enumerate(splits(name, n_train, n_splits, first)):
        search = KernelSearchCV(CHEAP, random_state=seed, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SearchWarning)
            _, value, _, low, high, *_ = search.fit(X, y).result_.measure
        error = float(np.mean(search.predict(new) != truth))
        noise = 1.96 * np.sqrt(max(error * (1 - error), 0.25 / len(new)) / len(new))
        inside = value - np.hypot(value - low, noise) <= error <= value + np.hypot(high - value, noise)
        held.append(inside)
        widths.append(high - low)
        excess.append(value - error)
    return float(np.mean(held)), float(np.mean(widths)), float(np.mean(excess))


def main(n_splits: int = SPLITS, first: int = 1000) -> None:
    """Print, for each data set, how many of the intervals hold the test error."""
    shares = []
    for name in (*DRAWN, "blobs", *REAL):
        n_train = 150
        share, width, excess = cover(name, n_train, n_splits, first)
        shares.append(share)
        detail = f"width {100 * width:.1f}, estimate − error {100 * excess:+.1f} points"
        report(f"{name}: intervals that hold, of {n_splits}", share, "≥ 0.90", detail)
    report("all data sets", float(np.mean(shares)), "≥ 0.90", f"worst {min(shares):.2f}")
