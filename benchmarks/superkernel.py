"""Superkernels: a fit beside one SVC fit at 2000 rows, and memory at 5000."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from benchmarks.measure import cpu_seconds, report
from mercer import Superkernel
from mercer.superkernels import GaussianHarmonic, PairKernel, Risk, Widths

Array = NDArray[np.float64]

N_RUNS = 3
MANY_FEATURE_WIDTHS = Widths(feature_widths=(0.5, 1.0, 2.0, 4.0))  # six kernels, and four a feature


def rows(n: int, n_features: int) -> tuple[Array, NDArray[np.int_]]:
    """Return rows of two classes with a tenth of random labels, scaled to [0, 1]."""
    X, y = make_classification(
        n, n_features, n_informative=n_features // 2, n_redundant=0, flip_y=0.1, random_state=0
    )
    return MinMaxScaler().fit_transform(X), y


def svc_fits(X: Array, y: NDArray[np.int_], C: float, gamma: float) -> dict[str, Callable[[], Any]]:
    """Return the fits to compare with, each with its own Gram matrix."""
    return {
        "precomputed": lambda: SVC(C=C, kernel="precomputed").fit(rbf_kernel(X, gamma=gamma), y),
        "rbf": lambda: SVC(C=C, gamma=gamma).fit(X, y),
    }


def compare_cost(n_features: int, C: float, name: str, superkernel: PairKernel, wanted: str) -> None:
    """Print the time of a fit of 2000 rows over that of an SVC, and with which kernel."""
    X, y = rows(2000, n_features)
    # the base kernel of the paper's superkernel, or scikit-learn's usual width beside a list of widths
    wide = isinstance(superkernel, GaussianHarmonic)
    gamma = 1.0 / (100 * n_features) if wide else 1.0 / (n_features * X.var())
    ours, learner = cpu_seconds(lambda: Superkernel(superkernel, quality=Risk(C)).fit(X, y), N_RUNS)
    fits = svc_fits(X, y, C, gamma)
    fits["learned"] = lambda: SVC(C=C, kernel="precomputed").fit(learner.kernel_(X), y)
    detail = f"{ours:.2f} s, {learner.n_iter_} planes, {len(learner.beta_)} terms"
    for kernel, fit in fits.items():
        theirs, _ = cpu_seconds(fit, N_RUNS)
        what = f"{name}, D = {n_features}, C = {C:g}: over SVC, {kernel}"
        report(what, ours / theirs, wanted, f"{detail}; {theirs:.2f} s")


def measure_memory(name: str, superkernel: PairKernel, n: int = 5000) -> None:
    """Print the most memory that a fit holds at a time, in matrices of n × n."""
    X, y = rows(n, 8)
    tracemalloc.start()
    Superkernel(superkernel, quality=Risk(C=1.0), max_rows=n).fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    report(
        f"{name}: memory at {n} rows, in n × n matrices", peak / (8 * n**2), "≤ 15", f"{peak / 1e9:.2f} GB"
    )


def main() -> None:
    """Print costs for two data sets, two values of C and three superkernels; then memory."""
    kinds = {
        "harmonic": (GaussianHarmonic(), "≤ 3"),
        "six widths": (Widths(), "≤ 3"),
        "many widths": (MANY_FEATURE_WIDTHS, "≤ 12"),
    }
    Superkernel().fit(*rows(100, 4))  # compile
    Superkernel(GaussianHarmonic()).fit(*rows(100, 4))
    for name, (superkernel, wanted) in kinds.items():
        for n_features in (8, 20):
            for C in (1.0, 100.0):
                compare_cost(n_features, C, name, superkernel, wanted)
    for name, (superkernel, _) in kinds.items():
        measure_memory(name, superkernel)
