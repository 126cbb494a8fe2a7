"""Classifiers that tell what they saw, take time without taking any, fail, or are interrupted."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class Journal:
    """What the classifiers below note down: they are cloned, and it is not. It is a clock, too."""

    def __init__(self):
        self.time = 0.0
        self.fits = []  # (name, X, y)
        self.predictions = []  # (name, X)

    def now(self):
        return self.time

    def names(self):
        return [name for name, _, _ in self.fits]


JOURNAL = Journal()


def start_journal():
    JOURNAL.__init__()
    return JOURNAL


class Sign(ClassifierMixin, BaseEstimator):
    """It predicts by the sign of the first (scaled) column, or by a share of its rows the other way round.

    Its fit takes `seconds` of the journal's time, and fails or is interrupted from the fit `breaks_at` on, of
    more rows than `error_above`.
    """

    def __init__(
        self, name="", wrong=0.0, seconds=0.0, power=0.0, error=None, breaks_at=1, error_above=0, C=1.0
    ):
        self.name = name
        self.wrong = wrong
        self.seconds = seconds
        self.power = power  # with which the time grows with the number of rows
        self.error = error
        self.breaks_at = breaks_at
        self.error_above = error_above
        self.C = C

    def fit(self, X, y):
        JOURNAL.fits.append((self.name, X, y))
        JOURNAL.time += self.seconds * len(X) ** self.power
        breaks = JOURNAL.names().count(self.name) >= self.breaks_at and len(X) > self.error_above
        if self.error is not None and breaks:
            raise self.error
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        JOURNAL.predictions.append((self.name, X))
        turned = np.arange(len(X)) < self.wrong * len(X)
        return self.classes_[((X[:, 0] > 0) != turned).astype(int)]


def two_blobs(n=40, n_features=3, seed=0):
    """Return rows whose first column has a gap around its mean between two classes of one size, mixed."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, n_features))
    X[:, 0] = 100.0 + 5.0 * (2 * y - 1) + rng.uniform(-1, 1, size=n)
    return X, y
