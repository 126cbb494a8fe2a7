"""One fit of StumpSVC beside Gram matrix and LIBSVM: n = 16 000, D = 20, one core, C of the best CV error."""

import numpy as np
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.measure import cpu_seconds, report, stump_gram
from mercer import StumpSVC
from mercer.datasets import threenorm


def main(n: int = 16_000) -> None:
    """Both are timed in CPU seconds."""
    X, y = threenorm(n, random_state=0)
    X_new, y_new = threenorm(10_000, random_state=1)
    C = StumpSVC("cv", max_bins=256).fit(X, y).C_
    StumpSVC(C=C).fit(X[:100], y[:100])  # compile
    with threadpool_limits(1):
        ours, model = cpu_seconds(lambda: StumpSVC(C=C).fit(X, y), repeats=3)
        binned, rough = cpu_seconds(lambda: StumpSVC(C=C, max_bins=256).fit(X, y), repeats=3)
        theirs, svc = cpu_seconds(
            lambda: SVC(C=C, kernel="precomputed", cache_size=2000).fit(stump_gram(X), y)
        )
    del svc
    error, rough_error = (100 * (1 - m.score(X_new, y_new)) for m in (model, rough))
    detail = f"{ours:.2f} s and {theirs:.1f} s at C = 2^{np.log2(C):.0f}, test error {error:.2f} %"
    report(f"fit of {n} × 20 against LIBSVM, exact", theirs / ours, "≥ 20", detail)
    report("… binned", theirs / binned, "", f"{binned:.2f} s, test error {rough_error:.2f} %")
