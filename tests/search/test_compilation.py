"""Compiling takes time once, and is held against nobody."""

import time

import numpy as np
import pytest
from numba import njit
from numba.core import event

from mercer import KernelSearchCV
from mercer.search.compilation import compiling
from search.odd_classifiers import JOURNAL, Sign, start_journal, two_blobs


def make_function():
    """Return a function that is not compiled yet, and calls another one."""

    @njit
    def inner(x):
        return x.sum()

    @njit
    def outer(x):
        return inner(x) + x.size

    return outer


class Compiling(Sign):
    """Each fit compiles for twenty seconds of the journal's time first."""

    def fit(self, X, y):
        with event.trigger_event("numba:compile"):
            JOURNAL.now += 20.0
        return super().fit(X, y)


def test_the_time_of_nested_compilations_is_counted_once_and_nothing_else_is():
    function, x = make_function(), np.arange(9.0)
    with compiling() as spent:
        time.sleep(0.02)
        assert spent.seconds == 0.0
        start = time.perf_counter()
        function(x)
        taken = time.perf_counter() - start
        first = spent.seconds
        assert 0.3 * taken < first < 1.1 * taken  # by two clocks
        function(x)
    assert spent.seconds == first


def test_a_candidate_that_compiles_is_not_slow_and_the_budget_does_not_run_meanwhile(monkeypatch):
    journal = start_journal()
    journal.replaces_time(monkeypatch)
    monkeypatch.setattr("time.time", journal.monotonic)  # by which numba dates its events
    search = KernelSearchCV({"it": Compiling(seconds=1.0)}, cv=5, budget=10.0, random_state=0)
    search.fit(*two_blobs(60))
    assert search.result_.candidate("it").measure.n_folds == 5
    assert search.result_.candidate("it").fit_seconds == pytest.approx(1.0)
    assert search.compile_seconds_ == 20.0 * len(journal.fits) >= 100.0  # also of the last fit
