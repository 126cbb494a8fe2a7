"""Compiling takes time once, and is held against nobody."""

import time

import numpy as np
from numba import njit
from sklearn.base import BaseEstimator, ClassifierMixin

from mercer import KernelSearchCV
from mercer.search.compilation import compiling
from search.odd_classifiers import two_blobs


def make_function():
    """Return a function that is not compiled yet, and calls another one."""

    @njit
    def inner(x):
        return np.sort(x)[::-1].sum() + np.median(x)

    @njit
    def outer(x):
        return inner(x) + np.argsort(x).sum()

    return outer


class Compiling(ClassifierMixin, BaseEstimator):
    """It compiles in each fit, and then takes next to no time."""

    def fit(self, X, y):
        make_function()(X[:, 0].copy())
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0).astype(int)]


def test_the_time_of_nested_compilations_is_counted_once_and_nothing_else_is():
    function, x = make_function(), np.arange(9.0)
    with compiling() as spent:
        time.sleep(0.02)
        assert spent.seconds == 0.0
        start = time.perf_counter()
        function(x)
        taken = time.perf_counter() - start
        first = spent.seconds
        assert 0.3 * taken < first <= taken
        function(x)
    assert spent.seconds == first


def test_a_candidate_that_compiles_is_not_slow_and_the_budget_does_not_run_meanwhile():
    X, y = two_blobs(60)
    start = time.perf_counter()
    search = KernelSearchCV({"it": Compiling()}, cv=5, budget=0.5, random_state=0).fit(X, y)
    taken = time.perf_counter() - start
    assert taken > 1.0  # seven fits that compile: far more than there is
    assert search.result_.candidate("it").measure.n_folds >= 4
    assert search.result_.candidate("it").fit_seconds < 0.3 * taken / 7
