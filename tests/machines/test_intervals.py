"""Intervals: their ends are order statistics of unseen errors, and they hold their share of new targets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold

from mercer import StumpRegressor
from mercer.machines.intervals import UnseenErrors


def test_the_ends_are_the_errors_of_these_ranks(rng):
    error = rng.normal(size=(40, 2))
    unseen = UnseenErrors.of(error, np.zeros((40, 2)), np.ones(40), is_log=False)
    low, high = unseen.interval(np.array([[1.0, 2.0]]), coverage=0.9)  # ranks ⌊41 / 20⌋ = 2 and 39
    assert_allclose(low[0], [1.0, 2.0] + np.sort(error, axis=0)[1])
    assert_allclose(high[0], [1.0, 2.0] + np.sort(error, axis=0)[38])
    with pytest.warns(UserWarning, match="need 1999 samples"):
        low, high = unseen.interval(np.zeros((1, 2)), coverage=0.999)
    assert_allclose(low[0], error.min(axis=0))
    assert_allclose(high[0], error.max(axis=0))


def test_weights_count_as_repetitions(rng):
    error, times = rng.normal(size=(300, 1)), rng.integers(1, 4, 300)
    weighted = UnseenErrors(error, times.astype(float), False).interval(np.zeros((1, 1)), 0.8)
    repeated = UnseenErrors(np.repeat(error, times, axis=0), np.ones(times.sum()), False)
    assert_allclose(weighted, repeated.interval(np.zeros((1, 1)), 0.8), atol=0.05)


def test_errors_are_those_of_samples_not_in_the_fold(rng):
    X = rng.uniform(size=(90, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=90)
    folds = list(KFold(3).split(X))
    model = StumpRegressor("cv", Cs=[1.0], cv=folds).fit(X, y)
    unseen = [y[test] - StumpRegressor().fit(X[train], y[train]).predict(X[test]) for train, test in folds]
    assert_allclose(model.unseen_.error[:, 0], np.concatenate(unseen), atol=1e-9)


def test_of_a_number_of_folds_each_has_samples_from_everywhere():
    X = np.linspace(0.0, 1.0, 100)[:, None]  # in order: beyond the data, shapes are constant
    model = StumpRegressor("cv", Cs=[1e3], random_state=0).fit(X, X[:, 0])
    assert np.abs(model.unseen_.error).max() < 0.1


@pytest.mark.parametrize("loss", ["squared_error", "quantile", "poisson"])
def test_about_their_share_of_new_targets_is_inside_and_as_many_below_as_above(loss, rng):
    def draw(n):
        X = rng.uniform(size=(n, 3))
        mean = 1.0 + 8.0 * X[:, 0] + 4.0 * np.abs(X[:, 1] - 0.5)
        skewed = mean + rng.exponential(size=n)
        return X, (rng.poisson(mean).astype(float) if loss == "poisson" else skewed)

    X, y = draw(2000)
    model = StumpRegressor("cv", Cs=4, max_bins=16, loss=loss, random_state=0).fit(X, y)
    X, y = draw(20_000)
    for coverage in (0.5, 0.9):
        low, high = model.predict_interval(X, coverage)
        assert (
            coverage - 0.05
            < ((low <= y) & (y <= high)).mean()
            < coverage + (0.15 if loss == "poisson" else 0.05)
        )
        if loss != "poisson":
            assert_allclose(
                (y < low).mean(), (y > high).mean(), atol=0.15
            )  # of errors that 2000 samples show
    assert np.all(low >= 0.0) or loss != "poisson"


def test_coverage_is_a_share():
    X = np.arange(20.0)[:, None]
    model = StumpRegressor("cv", Cs=2, random_state=0).fit(X, X[:, 0])
    for wrong in (0.0, 1.0, 90, "0.9", True):
        with pytest.raises(ValueError, match="coverage must be a number between 0 and 1"):
            model.predict_interval(X, wrong)


@pytest.mark.parametrize(("coverage", "least"), [(0.5, 3), (0.9, 19), (0.95, 39)])
def test_too_few_errors_for_a_coverage_are_said(coverage, least, rng):
    # the least and the largest of n errors are those of rank one: (n + 1) (1 − coverage) / 2 ≥ 1
    enough = UnseenErrors(rng.normal(size=(least, 1)), np.ones(least), False)
    low, high = enough.interval(np.zeros((1, 1)), coverage)  # a warning would be an error
    assert (low, high) == (enough.error.min(), enough.error.max())
    few = UnseenErrors(enough.error[1:], np.ones(least - 1), False)
    with pytest.warns(UserWarning, match=f"need {least} samples .* and there are {least - 1}"):
        few.interval(np.zeros((1, 1)), coverage)
