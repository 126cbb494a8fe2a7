"""What a candidate takes on many samples: a power of their number, and a part that is the same."""

import numpy as np
import pytest

from mercer.search.candidates import Candidate
from mercer.search.forecast import SPENT, Forecast, Trial, affordable_share, foretell
from mercer.search.race import Outcome
from search.odd_classifiers import Sign


def trial(n_rows, n_settings, law, learning=0.0, n_all=8000):
    """A trial of settings that take as long as a law says, after a kernel that they share was learned."""
    each = np.full(n_settings, law(n_rows))
    fit, predict = learning + 0.75 * each, 0.25 * each
    outcome = Outcome(np.zeros((1, n_settings)), fit, predict, learning + each.sum(), {})
    return Trial(outcome, n_all / n_rows)


@pytest.mark.parametrize("growth", [1.0, 1.3, 2.0])
@pytest.mark.parametrize("overhead", [0.0, 0.01, 0.05])
def test_two_trials_tell_the_part_that_does_not_grow(growth, overhead):
    def law(n):
        return overhead + 1e-4 * n**growth

    candidate = Candidate("a", Sign("a"), {"C": [1.0, 2.0, 3.0, 4.0, 5.0]}, growth=growth)
    found = foretell(candidate, trial(400, 2, law), trial(100, 1, law))
    for share in (0.125, 0.5, 1.0):
        assert found.seconds(share) == pytest.approx(5 * law(share * 8000))
    assert found.once == pytest.approx(0.75 / 5)


def test_one_trial_is_all_growth():
    candidate = Candidate("a", Sign("a"), {"C": [1.0, 2.0]}, growth=2.0)
    found = foretell(candidate, trial(100, 1, lambda n: 1.0))
    assert found.seconds() == pytest.approx(2 * 80.0**2)


def test_times_that_do_not_grow_between_trials_may_yet_grow():
    candidate = Candidate("a", Sign("a"), {}, growth=2.0)
    found = foretell(candidate, trial(400, 1, lambda n: 1.0), trial(100, 1, lambda n: 3.0))
    assert found.seconds() > 50.0


def test_a_kernel_that_settings_share_is_learned_once():
    candidate = Candidate("a", Sign("a"), {"C": [1.0, 2.0, 3.0]}, growth=0.0)
    found = foretell(candidate, trial(400, 2, lambda n: 0.5, learning=7.0))
    assert found.seconds() == pytest.approx(7.0 + 3 * 0.5)


@pytest.mark.parametrize("n_tried", [1, 2])
def test_who_draws_some_of_many_samples_takes_no_longer_for_more(n_tried):
    grid = {"C": [1.0, 2.0]}
    candidate, settles = (Candidate("a", Sign("a"), grid, growth=2.0, settles=n) for n in (np.inf, 1000))

    def learning(n):  # a kernel, which settings share
        return 2e-6 * n**2

    def machine(n):
        return 1e-7 * n**2 if n_tried > 1 else 0.0  # of one setting it is not known what is shared

    tried = trial(400, n_tried, machine, learning=learning(400))
    found, grown = foretell(settles, tried, None, 8000), foretell(candidate, tried, None, 8000)
    n_kernels = 1 if n_tried > 1 else 2
    for n in (800, 1000, 4000, 8000):
        seconds = n_kernels * learning(min(n, 1000)) + 2 * machine(n)
        assert found.seconds(n / 8000) == pytest.approx(seconds)
        assert grown.seconds(n / 8000) == pytest.approx(n_kernels * learning(n) + 2 * machine(n))
    assert foretell(settles, tried, None, 1000).seconds() == foretell(candidate, tried, None, 1000).seconds()


def test_the_share_is_the_largest_of_a_few_that_keeps_to_the_limit_and_leaves_time_for_the_winner():
    forecasts = {0: Forecast(0.0, 10.0, 1.0), 1: Forecast(2.0, 38.0, 2.0, once=0.5)}
    halves = {0: 0.5, 1: 0.5}

    def total(share):
        return 0.5 * (10.0 * share + 2.0 + 38.0 * share**2)

    for limit in (5.0, 20.0, 60.0, 70.0):
        share = affordable_share(forecasts, limit, halves)
        allowed = SPENT * (limit - min(20.0, limit / 2))
        assert total(share) <= allowed
        more = share * 1e3 ** (1 / 60)
        assert share == 1.0 or total(more) > allowed
    assert affordable_share(forecasts, 200.0, halves) == 1.0
    assert affordable_share(forecasts, 1e-9, halves) == 1e-3
