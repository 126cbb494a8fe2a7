"""StumpSVC and PerceptronSVC beside HistGradientBoostingClassifier, each tuned on a hold-out."""

import numpy as np
from sklearn.datasets import make_hastie_10_2
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import ParameterGrid, train_test_split

from benchmarks.measure import report, wall_seconds
from mercer import PerceptronSVC, StumpSVC
from mercer.datasets import threenorm

SETTINGS = list(ParameterGrid({"learning_rate": [0.1, 0.3], "max_leaf_nodes": [2, 8, 31]}))
CS = 2.0 ** np.arange(-9, 2, 2)  # six, as many as settings


def tune(candidates, X, y):
    """Fit each to three quarters, keep the best on the rest, and fit it to all."""
    X_fit, X_out, y_fit, y_out = train_test_split(X, y, test_size=0.25, random_state=0)
    scores = [candidate.fit(X_fit, y_fit).score(X_out, y_out) for candidate in candidates]
    return candidates[int(np.argmax(scores))].fit(X, y)


def boosters():
    """Return the six settings, with enough iterations for each of them."""
    return [HistGradientBoostingClassifier(max_iter=300, random_state=0, **setting) for setting in SETTINGS]


def compare(what, machines, data, test, wanted):
    """Print how many times faster the machines are tuned than the boosters, and the errors."""
    X, y = data
    machines[0].fit(X[:200], y[:200])  # compile
    ours, machine = wall_seconds(lambda: tune(machines, X, y))
    theirs, booster = wall_seconds(lambda: tune(boosters(), X, y))
    errors = [100 * (1 - model.score(*test)) for model in (machine, booster)]
    detail = f"{ours:.1f} s and {theirs:.1f} s; test error {errors[0]:.2f} % and {errors[1]:.2f} %"
    report(what, theirs / ours, wanted, detail)


def main() -> None:
    """Wall-clock time: the boosters use all cores."""
    X, y = make_hastie_10_2(120_000, random_state=0)
    flipped = np.random.default_rng(0).choice(100_000, 10_000, replace=False)
    noisy = y[:100_000].copy()
    noisy[flipped] *= -1
    compare(
        "StumpSVC on hastie 100 000, noisy, against boosting",
        [StumpSVC(C=C, max_bins=256) for C in CS],
        (X[:100_000], noisy),
        (X[100_000:], y[100_000:]),
        "≥ 8",
    )
    compare(
        "PerceptronSVC on threenorm 20 000 against boosting",
        [PerceptronSVC(C=C, method="sliced", random_state=0) for C in CS],
        threenorm(20_000, random_state=0),
        threenorm(20_000, random_state=1),
        "≥ 1",
    )
