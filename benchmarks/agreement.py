"""Dual objective, decision values and predictions of StumpSVC beside LIBSVM's on the Gram matrix."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_hastie_10_2
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from benchmarks.measure import report, stump_gram
from mercer import StumpSVC
from mercer.datasets import ringnorm, threenorm, twonorm


def data_sets():
    """Yield name, rows and labels −1, +1."""
    yield "twonorm 500", *twonorm(500, random_state=0)
    yield "threenorm 5000", *threenorm(5000, random_state=0)
    yield "ringnorm 1000, noisy", *ringnorm(1000, label_noise=0.1, random_state=0)
    yield "hastie 2000", *make_hastie_10_2(2000, random_state=0)
    X, y = load_breast_cancer(return_X_y=True)
    yield "breast cancer", MinMaxScaler((-1, 1)).fit_transform(X), np.where(y == 1, 1, -1)
    X, y = load_digits(return_X_y=True)
    yield "digits, odd or even", X / 16.0, np.where(y % 2, 1, -1)


def main(tol: float = 1e-5) -> None:
    """LIBSVM runs to a tolerance of 1e-5: at its default its own digits run out for small C."""
    for name, X, y in data_sets():
        K = stump_gram(X)
        gap, correlation, same = 0.0, 1.0, 1.0
        for C in 2.0 ** np.arange(-17, 6, 2):
            ours = StumpSVC(C=C).fit(X, y)
            theirs = SVC(C=C, kernel="precomputed", tol=tol, cache_size=1000).fit(K, y)
            coef = np.zeros(len(X))
            coef[theirs.support_] = theirs.dual_coef_[0]
            objective = 0.5 * coef @ K @ coef - y @ coef
            f, g = ours.decision_function(X), theirs.decision_function(K)
            gap = max(gap, abs(ours.objective_[0] - objective) / abs(objective))
            correlation = min(correlation, np.corrcoef(f, g)[0, 1])
            same = min(same, np.mean((f > 0) == (g > 0)))
        detail = f"correlation ≥ {correlation:.7f} (> 0.9999), same predictions {100 * same:.2f} % (≥ 99.9)"
        report(f"objective, relative difference × 10⁴: {name}", gap * 1e4, "≤ 1", detail)
