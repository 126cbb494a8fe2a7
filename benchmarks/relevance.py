"""Ten useful and 200 useless features, 1000 rows: learned weights beside knowing the useful ones."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification

from benchmarks.measure import cpu_seconds, report
from mercer import KernelSVC, RelevanceKernel
from mercer.datasets import ringnorm, threenorm, twonorm
from mercer.kernels import Tree

N_TRAIN, N_TEST, N_USELESS = 1000, 3000, 200

Rows = tuple[NDArray[np.float64], NDArray[np.int_]]


def clusters(n: int, seed: int) -> Rows:
    """Draw scikit-learn's clusters at corners of a cube, all ten features of which are useful."""
    X, y = make_classification(n, 10, n_informative=10, n_redundant=0, random_state=seed)
    return X, y


def additive(n: int, seed: int) -> Rows:
    """Draw classes by a sum of curves."""
    X = np.random.default_rng(seed).normal(size=(n, 10))
    f = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + np.abs(X[:, 2]) - 1.8 + 0.3 * X[:, 3:].sum(axis=1)
    return X, (f > 0).astype(int)


def interacting(n: int, seed: int) -> Rows:
    """Draw classes by two products, of features without an effect of their own, and a sum of the others."""
    X = np.random.default_rng(seed).normal(size=(n, 10))
    f = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + 0.5 * X[:, 4:].sum(axis=1)
    return X, (f > 0).astype(int)


def breiman(draw: Callable[..., Rows]) -> Callable[[int, int], Rows]:
    """Return one of Breiman's problems in ten dimensions."""
    return lambda n, seed: draw(n, n_features=10, random_state=seed)


PROBLEMS = {
    "clusters": clusters,
    "additive": additive,
    "interacting": interacting,
    "threenorm": breiman(threenorm),
    "twonorm": breiman(twonorm),
    "ringnorm": breiman(ringnorm),
}


def main(seeds: tuple[int, ...] = (20, 21, 22)) -> None:
    """Print how many points of error more it makes than who knows the useful features."""
    for name, draw in PROBLEMS.items():
        known, blind, found, seconds = [], [], [], []
        for seed in seeds:
            X, y = draw(N_TRAIN + N_TEST, seed)
            X = (X - X.mean(axis=0)) / X.std(axis=0)
            noise = np.random.default_rng(1000 + seed).normal(size=(len(X), N_USELESS))
            everything = np.hstack([X, noise])
            known.append(error(KernelSVC(Tree(), C=4.0), X, y))
            blind.append(error(KernelSVC(Tree(), C=4.0), everything, y))
            model = KernelSVC(RelevanceKernel(random_state=0))
            time, wrong = cpu_seconds(lambda m=model, X=everything, y=y: error(m, X, y))
            found.append(wrong)
            seconds.append(time)
        points = 100 * float(np.mean(found) - np.mean(known))
        errors = f"{100 * np.mean(found):.1f} % and {100 * np.mean(known):.1f} %"
        detail = f"{errors}; with all features {100 * np.mean(blind):.1f} %; {np.mean(seconds):.1f} s"
        report(f"points of error above knowing which, {name}", points, "≤ 2", detail)


def error(model: KernelSVC, X: NDArray[np.float64], y: NDArray[np.int_]) -> float:
    """Return the share of test rows that are predicted wrong."""
    return 1.0 - float(model.fit(X[:N_TRAIN], y[:N_TRAIN]).score(X[N_TRAIN:], y[N_TRAIN:]))
