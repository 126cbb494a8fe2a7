"""Small data: one fit of 200 × 20 beside LIBSVM with its Gram matrix, once compiled."""

import numpy as np
from sklearn.svm import SVC

from benchmarks.measure import report, stump_gram, wall_seconds
from mercer import StumpSVC
from mercer.datasets import threenorm


def main(n: int = 200) -> None:
    """Print the ratio of the least of 50 runs of each."""
    X, y = threenorm(n, random_state=0)
    for C in 2.0 ** np.array([-7, -5, -3, -1]):
        ours, _ = wall_seconds(lambda C=C: StumpSVC(C=C).fit(X, y), 50)
        theirs, _ = wall_seconds(lambda C=C: SVC(C=C, kernel="precomputed").fit(stump_gram(X), y), 50)
        detail = f"{1e3 * ours:.2f} ms and {1e3 * theirs:.2f} ms"
        report(f"fit of {n} × 20 against LIBSVM, C = 2^{np.log2(C):.0f}", theirs / ours, "≥ 1", detail)
