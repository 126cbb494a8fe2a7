"""Small data: one fit of 200 × 20 beside LIBSVM with its Gram matrix, once compiled."""

from collections.abc import Iterator

import numpy as np
from sklearn.svm import SVC

from benchmarks.measure import cpu_seconds, report, stump_gram
from mercer import StumpSVC
from mercer.datasets import ringnorm, threenorm, twonorm

LOG_CS = (-15, -9, -5, -3, -1, 3)


def problems(n: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield Breiman's three, and two without a good classifier: noise, and equal rows of both classes."""
    for draw in (twonorm, threenorm, ringnorm):
        yield (draw.__name__, *draw(n, random_state=0))
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 20)), rng.integers(0, 2, n)
    yield "noise", X, y
    yield "duplicates", X[rng.integers(0, n // 3, n)], y
    X = rng.integers(0, 4, (n, 20)).astype(float)
    yield "few values", X, (X[:, :3].sum(axis=1) + rng.normal(size=n) > 4.5).astype(int)


def main(n: int = 200) -> None:
    """Print the ratio of the least CPU times of 30 runs of each: the worst C of each data set, and all."""
    for name, X, y in problems(n):
        ours, theirs = [], []
        for C in 2.0 ** np.array(LOG_CS):
            ours.append(cpu_seconds(lambda X=X, y=y, C=C: StumpSVC(C=C).fit(X, y), 30)[0])
            svc = SVC(C=C, kernel="precomputed")
            theirs.append(cpu_seconds(lambda X=X, y=y, svc=svc: svc.fit(stump_gram(X), y), 30)[0])
        ratios = np.array(theirs) / np.array(ours)
        each = ", ".join(f"2^{c}: {r:.2f}" for c, r in zip(LOG_CS, ratios, strict=True))
        detail = f"C = {each}; {1e3 * min(ours):.2f} to {1e3 * max(ours):.2f} ms"
        report(f"fit of {n} × 20, {name}, against LIBSVM, worst C", ratios.min(), "≥ 1", detail)
