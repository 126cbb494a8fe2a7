"""Intervals: of shares, of means, and of what cross-validation says of new samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from mercer import KernelSearchCV, KernelSVC
from mercer.search.ranking import effective_rows, half_width, mean_variance, share_interval


@pytest.mark.parametrize(("wrong", "n"), [(0, 36), (1, 36), (18, 36), (36, 36), (5, 200)])
def test_the_interval_of_a_share_is_that_of_clopper_and_pearson(wrong, n):
    expected = stats.binomtest(wrong, n).proportion_ci(0.95, method="exact")
    assert_allclose(share_interval(wrong / n, n), expected, atol=1e-9)


def test_no_error_in_36_samples_is_not_an_error_of_zero():
    low, high = share_interval(0.0, 36)
    assert low == 0.0
    assert high > 0.09  # 1 − 0.025^(1/36)


def test_samples_count_for_less_the_fewer_were_fitted_to():
    assert_allclose(effective_rows(100, 80), 100 / (1 + 5 * (20 / 80)))  # five folds: [NB03]
    assert_allclose(effective_rows(36, 144), 36 / (1 + 36 / 144))  # one fold of five
    assert_allclose(effective_rows(50, 1e12), 50)


def test_the_variance_of_a_mean_is_that_of_independent_groups(rng):
    means, foretold, plain = [], [], []
    groups = np.repeat(np.arange(40), 5)
    for _ in range(400):
        losses = np.repeat(rng.normal(size=40), 5) + 0.3 * rng.normal(size=200)
        means.append(losses.mean())
        foretold.append(mean_variance(losses, groups))
        plain.append(mean_variance(losses))
    assert_allclose(np.mean(foretold), np.var(means), rtol=0.3)
    assert np.mean(plain) < 0.5 * np.var(means)
    assert_allclose(mean_variance(losses, np.arange(200)), mean_variance(losses) * 200 / 199)


def test_few_groups_have_wide_intervals_and_one_has_none():
    assert_allclose(half_width(1.0), 1.96, atol=1e-3)
    assert_allclose(half_width(1.0, 5), 2.7764, atol=1e-3)
    assert np.isnan(half_width(1.0, 1))


def test_intervals_hold_the_error_on_new_samples(rng):
    def draw(n):
        y = rng.integers(2, size=n)
        return rng.normal(size=(n, 3)) + 1.2 * y[:, None] * [1, 0, 0], y

    new, held = draw(4000), 0
    for seed in range(40):
        search = KernelSearchCV({"linear": (KernelSVC(), {"C": [0.01, 1.0]})}, random_state=seed).fit(
            *draw(60)
        )
        held += search.result_.measure.low <= 1 - search.score(*new) <= search.result_.measure.high
    assert held >= 34  # of 38 that are to be expected
