"""The last fit ends in time, even if time grows faster with the samples than was foretold."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer import KernelSearchCV
from mercer.search import Candidate
from mercer.search.last_fit import DOUBT, STEEPEST, Timed
from search.odd_classifiers import Sign, start_journal, two_blobs

X, Y = two_blobs(20000)


@pytest.fixture
def journal(monkeypatch):
    journal = start_journal()
    journal.replaces_time(monkeypatch)
    return journal


def search_with(power, growth, budget, seconds_of_800=0.1, **options):
    """Search with one candidate whose time grows with some power, and is said to grow with another."""
    model = Sign("it", seconds=seconds_of_800 / 800**power, power=power)
    options = {"max_rows": 1000, "random_state": 0} | options
    candidates = {"it": Candidate("it", model, {}, growth=growth)}
    return KernelSearchCV(candidates, budget=budget, **options).fit(X, Y)


@pytest.mark.parametrize("growth", [1.0, 2.0, 2.3])
def test_seconds_and_samples_are_inverse_and_doubt_makes_seconds_more(growth):
    timed = Timed(800, 0.5, growth)
    for n_rows in (800, 3000, 20000):
        seconds = 0.5 * (n_rows / 800) ** growth
        assert timed.most_rows(seconds) == pytest.approx(n_rows)
        assert timed.foretell(n_rows) == pytest.approx(seconds * (n_rows / 800) ** (DOUBT * growth))
    assert timed.most_rows(np.inf) == np.inf
    assert timed.most_rows(-1.0) == 0.0


def test_time_goes_on_growing_as_it_did_but_no_slower_than_foretold():
    timed = Timed(1000, 1.0, 2.0)
    assert timed.then(4000, 4.0**2.5) == (4000, 4.0**2.5, pytest.approx(2.5))
    assert timed.then(4000, 5.0) == (4000, 5.0, 2.0)
    assert timed.then(4000, 4.0**5).growth == STEEPEST
    assert timed.then(1000, 1.0).growth == 2.0  # as many again say nothing


@pytest.mark.parametrize("power", [2.0, 2.4, 2.8, 3.2])
@pytest.mark.parametrize("budget", [20.0, 60.0, 200.0])
def test_a_budget_is_kept_where_time_grows_faster_than_foretold(journal, power, budget):
    search = search_with(power, 2.0, budget)
    assert journal.now <= 1.1 * budget
    assert search.rows_used_ >= 2000
    assert_array_equal(search.predict(X[:9]), Y[:9])


@pytest.fixture
def no_more_rows(monkeypatch):
    """A comparison that does not go on with more samples, which would time the candidate on these."""
    monkeypatch.setattr("mercer.search.more_rows.STEPS", 0)


@pytest.mark.usefixtures("no_more_rows")
def test_a_fit_to_many_more_samples_is_timed_on_a_part_first_and_only_then(journal):
    search_with(2.0, 2.0, 60.0)  # all take 62 s, and 17 000 what is left of the time
    part, used = (len(X) for _, X, _ in journal.fits[-2:])
    assert used == pytest.approx(4 * part, rel=0.1)
    n_before = len(journal.fits)
    search_with(2.0, 2.0, 2000.0)  # there is time even if it takes six times as long
    sizes = [len(X) for _, X, _ in journal.fits[n_before:]]
    assert sizes.count(20000) == 1
    assert 5000 not in sizes


@pytest.mark.usefixtures("no_more_rows")
def test_where_a_part_took_all_the_time_its_model_is_kept(journal):
    search = search_with(4.0, 2.0, 20.0)  # which is believed to end with a power of three
    sizes = [len(X) for _, X, _ in journal.fits]
    assert search.rows_used_ == sizes[-1] == max(sizes) < 6000
    assert journal.now < 20.0


def test_without_a_budget_the_last_fit_is_to_all_samples_at_once(journal):
    search = search_with(3.0, 1.5, None)
    assert [len(X) for _, X, _ in journal.fits] == [800] * 5 + [20000]
    assert search.rows_used_ == 20000


@pytest.mark.parametrize("power", [2.6, 3.2])
def test_the_first_of_the_folds_with_more_samples_does_not_use_up_the_time(journal, power):
    budget = 200.0
    search_with(power, 2.0, budget, refit=False)
    assert max(len(X) for _, X, _ in journal.fits) > 1200  # there was time for more
    assert journal.now <= budget
