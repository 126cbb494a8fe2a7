"""Small data: one fit of 200, 1000 and 2000 × 20 beside LIBSVM with its Gram matrix, once compiled."""

from collections.abc import Iterator, Mapping

import numpy as np
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from benchmarks.measure import cpu_seconds, report, stump_gram
from mercer import StumpSVC
from mercer.datasets import ringnorm, threenorm, twonorm

LOG_CS = (-15, -9, -5, -3, -1, 3)
SIZES = {200: 30, 1000: 5, 2000: 3}  # and how many runs of each


def problems(n: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield Breiman's three; noise, equal samples of both classes, few values; three and ten classes."""
    for draw in (twonorm, threenorm, ringnorm):
        yield (draw.__name__, *draw(n, random_state=0))
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 20)), rng.integers(0, 2, n)
    yield "noise", X, y
    yield "duplicates", X[rng.integers(0, n // 3, n)], y
    X = rng.integers(0, 4, (n, 20)).astype(float)
    yield "few values", X, (X[:, :3].sum(axis=1) + rng.normal(size=n) > 4.5).astype(int)
    options = {"n_informative": 10, "n_clusters_per_class": 1, "random_state": 0}
    for k in (3, 10):
        yield (f"{k} classes", *make_classification(n, n_classes=k, **options))


def main(sizes: Mapping[int, int] = SIZES) -> None:
    """Print the ratio of the least CPU times of some runs of each: the worst C of each data set, and all."""
    for n, repeats in sizes.items():
        for name, X, y in problems(n):
            ours, theirs = np.array([seconds(X, y, 2.0**c, repeats) for c in LOG_CS]).T
            ratios = theirs / ours
            each = ", ".join(f"2^{c}: {r:.2f}" for c, r in zip(LOG_CS, ratios, strict=True))
            detail = f"C = {each}; {1e3 * min(ours):.2f} to {1e3 * max(ours):.2f} ms"
            report(f"fit of {n} × 20, {name}, against LIBSVM, worst C", ratios.min(), "≥ 1", detail)


def seconds(X: np.ndarray, y: np.ndarray, C: float, repeats: int) -> tuple[float, float]:
    """Return the least CPU times of both, which take turns: what else the machine does is shared."""
    ours, theirs = StumpSVC(C=C), SVC(C=C, kernel="precomputed")
    times = [
        (cpu_seconds(lambda: ours.fit(X, y))[0], cpu_seconds(lambda: theirs.fit(stump_gram(X), y))[0])
        for _ in range(repeats)
    ]
    return min(a for a, _ in times), min(b for _, b in times)
