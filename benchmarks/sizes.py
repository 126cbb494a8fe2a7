"""Learned kernels of 30 000 to a million rows: CPU seconds, memory and errors beside an exact SVM of 4000.

At a million rows they are compared with gradient boosting, and growth is that from 100 000. Twice `max_rows`
shows what a learner's sample costs. Each fit runs in a process of its own, so that the memory is its own.
``--part`` is one of these: ``learners``, ``million``, ``samples``,
``landmarks`` (for which ``MERCER_DATA`` holds kin40k).
"""

import argparse
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.preprocessing import StandardScaler

from benchmarks.measure import cpu_seconds, peak_memory, report
from mercer import (
    BoostedKernel,
    IdealizedKernel,
    KernelBoost,
    KernelRegressor,
    KernelSVC,
    RelevanceKernel,
    Superkernel,
)

WIDTH = 5.0  # of RBF kernels on 20 standardised columns
LEARNERS = {
    "BoostedKernel()": BoostedKernel(random_state=0),
    "BoostedKernel(RBF)": BoostedKernel(RBF(WIDTH), random_state=0),
    "KernelBoost()": KernelBoost(random_state=0),
    "Superkernel()": Superkernel(random_state=0),
    "IdealizedKernel(RBF, max_rank=30)": IdealizedKernel(RBF(WIDTH), max_rank=30, random_state=0),
    "IdealizedKernel()": IdealizedKernel(random_state=0),
    "RelevanceKernel()": RelevanceKernel(random_state=0),
    "RBF": RBF(WIDTH),
}
EXACT, SIZES = 4000, (30_000, 100_000)
LARGEST, AT_LARGEST = 1_000_000, ("RelevanceKernel()", "BoostedKernel(RBF)", "KernelBoost()", "Superkernel()")
BOOSTING = "HistGradientBoosting"


def draw(n: int, seed: int) -> tuple[Any, Any]:
    """Return rows of 20 columns, of which 7 matter, four of them in pairs, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 20))
    f = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + np.sin(2 * X[:, 4]) + X[:, 5] / 2 + np.abs(X[:, 6]) - 0.8
    return X, f + 0.3 * rng.normal(size=n) > 0


def fit(name: str, n: int) -> str:
    """Fit n rows in this process; return CPU seconds, peak memory and test error."""
    warnings.simplefilter("ignore")  # γ of zero: the penalties are the defaults, whatever the data are
    X, y = draw(n, 0)
    X_new, y_new = draw(10_000, 1)
    model: Any = HistGradientBoostingClassifier(random_state=0)
    if name != BOOSTING:
        method = "gram" if n == EXACT else "auto"
        model = KernelSVC(LEARNERS[name], method=method, random_state=0)
        KernelSVC(LEARNERS[name], random_state=0).fit(X[:200], y[:200])  # compile
    seconds, _ = cpu_seconds(lambda: model.fit(X, y))
    return f"{seconds} {peak_memory()} {100 * (1 - model.score(X_new, y_new))}"


def compare_samples(name: str, n: int) -> str:
    """Return how many predictions, in %, change with twice as many rows to learn from, or others."""
    warnings.simplefilter("ignore")
    X, y = draw(n, 0)
    X_new, _ = draw(10_000, 1)
    learner = LEARNERS[name]
    other = clone(learner).set_params(random_state=1)
    twice = clone(learner).set_params(max_rows=2 * learner.max_rows)
    said = [KernelSVC(one, random_state=0).fit(X, y).predict(X_new) for one in (learner, twice, other)]
    return f"{100 * np.mean(said[1] != said[0])} {100 * np.mean(said[2] != said[0])}"


def run(function: str, *arguments: Any) -> list[float]:
    """Return what a function prints in a process of its own."""
    program = f"from benchmarks.sizes import {function}; print({function}{arguments!r})"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return [float(number) for number in out.stdout.split()]


def describe(seconds: float, memory: float, error: float) -> str:
    """Return a fit's figures in words."""
    return f"{seconds:.1f} s of CPU time, {memory:.2f} GB, test error {error:.2f} %"


def learners(sizes: tuple[int, ...] = SIZES) -> None:
    """Each learner on many rows, beside the same learner on few with its exact SVM."""
    for name in LEARNERS:
        exact = None
        for n in (EXACT, *sizes):
            figures = run("fit", name, n)
            exact = figures[2] if exact is None else exact
            wanted = "" if n == EXACT else "≤ 1"
            what = f"KernelSVC of {name}, {n} rows: error / that of {EXACT}"
            report(what, figures[2] / exact, wanted, describe(*figures))


def million(n: int = LARGEST, before: int = SIZES[-1]) -> None:
    """Fit some learners to a million rows: growth, and errors beside boosting's."""
    boosting = run("fit", BOOSTING, n)
    report(f"{BOOSTING}, {n} rows", 1.0, "", describe(*boosting))
    data = 8 * 21 * (n - before) / 1e9
    for name in AT_LARGEST:
        few, many = run("fit", name, before), run("fit", name, n)
        report(
            f"KernelSVC of {name}, {n} rows: error / boosting's", many[2] / boosting[2], "", describe(*many)
        )
        report(f"{before} -> {n}: time", many[0] / few[0], "≤ 12", describe(*few))
        report(f"{before} -> {n}: memory less the data", (many[1] - data) / few[1], "≤ 3", f"{data:.2f} GB")


def samples(n: int = SIZES[0]) -> None:
    """Count predictions that change where twice as many rows, or others, are learned from."""
    for name in LEARNERS:
        if name != "RBF":
            twice, other = run("compare_samples", name, n)
            report(
                f"{name}: predictions that change with 2 max_rows, %",
                twice,
                "≤ 1",
                f"with others {other:.2f} %",
            )


def landmarks() -> None:
    """Fit kin40k, 36 000 rows to learn from, with 3000 landmarks and with as many as pay."""
    for which, n in (("RBF", 3000), ("RBF", None), ("relevance", 3000), ("relevance", None)):
        seconds, memory, error, m = run("fit_kin40k", which, n)
        detail = f"{m:.0f} landmarks, {seconds:.1f} s of CPU time, {memory:.2f} GB"
        report(f"kin40k, {which}: RMSE / 0.155", error / 0.155, "≤ 1", f"RMSE {error:.4f}, {detail}")


def fit_kin40k(which: str, n_landmarks: int | None) -> str:
    """Fit the first split; return CPU seconds, peak memory, test error and the number of landmarks."""
    data = np.load(Path(os.environ["MERCER_DATA"]) / "uci_numbers" / "kin40k.npz")
    y, test = data["y"], data["test"][:, 0]
    X = StandardScaler().fit(data["X"][~test]).transform(data["X"])
    learner = RBF(2.0) if which == "RBF" else RelevanceKernel("rbf", width=0.5, random_state=0)
    model = KernelRegressor(learner, n_landmarks=n_landmarks, random_state=0)
    seconds, _ = cpu_seconds(lambda: model.fit(X[~test], y[~test]))
    error = np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2))
    return f"{seconds} {peak_memory()} {error} {len(model.machines_[0].coef)}"


PARTS = {"learners": learners, "million": million, "samples": samples, "landmarks": landmarks}


def main(options: list[str]) -> None:
    """Run one part, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks sizes")
    parser.add_argument("--part", choices=PARTS, help="all, if it is not given")
    part = parser.parse_args(options).part
    for name in PARTS if part is None else [part]:
        PARTS[name]()
