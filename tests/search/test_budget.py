"""What is done when the time is over, or Ctrl-C is pressed, or a callback has seen enough, is ranked.

Time here is the journal's: it goes on when a classifier says so, and a test takes none.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.callback import ProgressBar

from mercer import KernelSearchCV, StumpSVC
from mercer.search import Candidate, schedule
from mercer.search.label_race import LabelRace
from mercer.search.label_task import LabelTask
from mercer.search.schedule import Clock, Schedule
from search.odd_classifiers import Sign, start_journal, two_blobs
from stand_ins import Stop

X, Y = two_blobs(60)


@pytest.fixture
def journal(monkeypatch):
    journal = start_journal()
    journal.replaces_time(monkeypatch)
    return journal


def search_among(*models, **options):
    options = {"cv": 5, "random_state": 0} | options
    return KernelSearchCV({model.name: model for model in models}, **options).fit(X, Y)


def test_a_clock_counts_down_and_without_a_budget_for_ever(journal):
    journal.now = 7.0
    assert Clock(5.0, 10.0).left() == 8.0
    assert Clock(5.0, None).left() == np.inf


def test_without_a_budget_the_slow_run_to_the_end(journal):
    search = search_among(Sign("quick", seconds=1.0, wrong=0.1), Sign("slow", seconds=1e5))
    assert search.best_name_ == "slow"
    assert search.stopped_ is None
    assert_array_equal(search.leaderboard_["folds"], 5)


def test_too_slow_a_candidate_is_withdrawn_with_a_note_and_the_search_ends_in_time(journal):
    search = search_among(Sign("slow", seconds=30.0), Sign("quick", seconds=1.0, wrong=0.1), budget=120.0)
    # trying it took a quarter of the time, and for three folds, with which it could win, there is not enough
    assert journal.names().count("slow") == 1
    table = search.leaderboard_
    assert list(table.loc["quick", ["folds", "note"]]) == [5, ""]
    assert table.loc["slow", "folds"] == 0
    assert "one fold takes about 30.0 s" in table.loc["slow", "note"]
    assert search.best_name_ == "quick"  # the other ran on too few rows
    assert journal.now <= 120.0
    assert_array_equal(search.predict(X), search.best_estimator_.predict(X))


def test_who_was_not_even_tried_says_so(journal):
    models = [Sign("first", seconds=60.0), Sign("second"), Sign("third")]
    search = search_among(*models, budget=100.0)
    assert list(search.leaderboard_.loc[["second", "third"], "note"]) == ["no time was left to try it"] * 2
    assert search.best_name_ == "first"


def test_cheap_candidates_come_first(journal):
    search_among(Sign("slow", seconds=3.0), Sign("quick", seconds=1.0), Sign("fair", seconds=2.0), budget=1e4)
    names = journal.names()[6:]  # after each was timed twice
    assert names[:15] == ["quick", "fair", "slow"] * 5


def test_who_learns_no_kernel_comes_before_who_does(journal):
    learns, knows = Sign("learns", seconds=1.0), Sign("knows", seconds=2.0)
    learns.learner = "a kernel's"  # as KernelSVC has one
    search_among(learns, knows, budget=1e4)
    assert journal.names()[:4] == ["knows", "knows", "learns", "learns"]  # when they are timed
    assert journal.names()[4:-1] == ["knows", "learns"] * 5


@pytest.mark.parametrize("budget", [1e-9, 0.1, 0.7])
def test_with_hardly_any_time_the_cheapest_still_gives_a_model(journal, budget):
    search = search_among(Sign("quick", seconds=0.4), Sign("slow", seconds=50.0), budget=budget)
    assert search.best_name_ == "quick"
    assert search.stopped_ == "budget"
    assert search.leaderboard_.loc["quick", "folds"] == 1
    assert "slow" not in journal.names()
    assert np.isfinite(search.error_)
    assert_array_equal(search.predict(X), Y)


def test_who_fails_when_it_is_timed_does_not_take_the_place_of_the_cheapest(journal):
    broken = Sign("broken", error=ValueError("odd"), seconds=0.01)
    search = search_among(broken, Sign("works", seconds=0.4), budget=1.0)
    assert search.best_name_ == "works"
    assert_array_equal(search.predict(X), Y)


@pytest.mark.parametrize("seconds", [0.7, 2.0, 5.0, 11.0])
def test_the_search_ends_near_its_budget(journal, seconds):
    models = [Sign(name, seconds=seconds * (1 + k / 3), wrong=0.04 * k) for k, name in enumerate("abcd")]
    search = search_among(*models, budget=60.0)
    slowest_of_all = 2 * seconds * 2.0
    assert journal.now <= 60.0 + slowest_of_all
    assert search.best_name_ == "a"


def test_when_the_time_runs_out_within_a_fold_the_best_so_far_wins_and_not_the_cheapest(journal):
    models = [Sign("cheap", seconds=1.0, wrong=0.3), Sign("good", seconds=11.0)]
    search = search_among(*models, budget=70.0)
    assert list(search.leaderboard_.loc[["cheap", "good"], "folds"]) == [5, 3]
    assert search.best_name_ == "good"


def pilot(race, rows, fold):
    return Schedule(race, Clock(0.0, 1e6), None, bool).pilot(rows, fold)


def test_the_time_of_a_fold_is_foretold_from_few_rows_and_how_it_grows(journal, rng):
    n = 2500
    rows = LabelTask(rng.normal(size=(n, 2)), np.arange(n) % 2, None)
    candidates = [
        Candidate(str(power), Sign(str(power), seconds=1e-6, power=power), {"C": [1.0, 2.0]}, growth=power)
        for power in (0.0, 1.0, 2.5)
    ]
    folds = rows.split(5, 0)
    found = pilot(LabelRace(candidates, rows, folds, 0), rows, folds[0])
    for i, power in enumerate((0.0, 1.0, 2.5)):
        assert_allclose(found[i].seconds(), 2 * 1e-6 * 2000**power, rtol=1e-9)
    assert max(len(X) for _, X, _ in journal.fits) == schedule.PILOT_ROWS


def test_what_a_fold_took_counts_more_than_what_was_foretold(journal):
    models = {
        "quick": Sign("quick", seconds=1e-3),
        "sudden": Candidate("sudden", Sign("sudden", seconds=8e-9, power=3.0), {}, growth=0.0),
    }
    # of 500 rows, on which it is timed, a second; of the 1000 of a fold, eight: not twice in 16
    search = KernelSearchCV(models, cv=2, budget=16.0, random_state=0).fit(*two_blobs(2000))
    assert search.leaderboard_.loc["sudden", "folds"] == 1
    assert "one fold takes about 8.0 s" in search.leaderboard_.loc["sudden", "note"]


@pytest.mark.parametrize("n", [60, 500, 799])
def test_where_there_are_not_many_rows_all_are_tried_and_nothing_is_added(journal, rng, n):
    rows = LabelTask(rng.normal(size=(n, 2)), np.arange(n) % 2, None)
    train, test = np.arange(n - 10), np.arange(n - 10, n)
    race = LabelRace([Candidate("a", Sign(seconds=1e-6, power=2.0), {})], rows, [(train, test)], 0)
    found = pilot(race, rows, (train, test))
    assert_allclose(found[0].seconds(), 1e-6 * (n - 10) ** 2.0)


def test_the_winner_is_fitted_to_all_rows_if_there_is_time_for_it(journal):
    X, y = two_blobs(400)

    def fit(budget):
        model = Candidate("a", Sign("a", seconds=1e-4, power=2.0), {}, growth=2.0)
        return KernelSearchCV({"a": model}, max_rows=100, cv=2, budget=budget, random_state=0).fit(X, y)

    # a fold of 50 rows takes 0.25 s, and 400 rows take 16 s
    assert fit(None).rows_used_ == fit(30.0).rows_used_ == 400
    assert fit(0.1).rows_used_ == 400  # so few in any case


def test_of_many_rows_the_winner_is_fitted_to_as_many_as_there_is_time_for(journal):
    X, y = two_blobs(4000)

    def fit(budget):
        model = Candidate("a", Sign("a", seconds=1e-6, power=2.0), {}, growth=2.0)
        return KernelSearchCV({"a": model}, max_rows=1500, cv=3, budget=budget, random_state=0).fit(X, y)

    # a fold of 1000 rows takes a second, and all rows take 16
    some = fit(12.0).rows_used_
    assert 2500 < some < 3400  # in the 8 or 9 s that are left
    assert len(journal.fits[-1][1]) == some
    assert fit(40.0).rows_used_ == 4000


def test_where_time_is_short_all_are_compared_on_fewer_rows_rather_than_some_on_all(journal):
    X, y = two_blobs(4000)
    models = {
        "quick": Candidate("quick", Sign("quick", seconds=1e-3, power=1.0, wrong=0.001), {}, growth=1.0),
        "slow": Candidate("slow", Sign("slow", seconds=1e-6, power=2.0), {}, growth=2.0),
    }
    # a fold of all takes 3.2 and 10 s, and five of them 67
    search = KernelSearchCV(models, budget=40.0, random_state=0).fit(X, y)
    assert search.stopped_ is None
    table = search.leaderboard_
    assert list(table["folds"]) == [5, 5, 5]
    assert search.best_name_ == "slow"
    n_rows = {len(X) for _, X, _ in journal.fits[6:-1]}
    assert min(n_rows) > 1000
    assert max(n_rows) < 2600
    assert search.rows_used_ > 3000  # for which the rest of the time suffices
    assert journal.now < 40.0 + 1.0
    start_journal()
    everything = KernelSearchCV(models, budget=1e3, random_state=0).fit(X, y)
    assert {len(X) for _, X, _ in journal.fits[6:-1]} == {3200}
    assert everything.rows_used_ == 4000


def test_if_it_took_less_time_than_foretold_those_that_are_not_far_behind_are_compared_with_more(journal):
    X, y = two_blobs(4000)
    # a fold of all takes 3.2 s, and is foretold to take 40 by what 400 samples take
    models = {
        name: Candidate(name, Sign(name, seconds=1e-3, power=1.0, wrong=wrong), {}, growth=2.0)
        for name, wrong in (("good", 0.002), ("better", 0.001), ("bad", 0.4))
    }
    search = KernelSearchCV(models, budget=160.0, random_state=0).fit(X, y)
    sizes = {name: [len(X) for who, X, _ in journal.fits if who == name] for name in models}
    assert 800 <= next(size for size in sizes["better"] if size > 400) < 2600
    assert search.result_.n_trained == 3200
    assert sizes["good"].count(3200) == 5
    assert max(sizes["bad"]) < 2600
    assert journal.now <= 160.0


def test_an_interrupt_after_some_results_ranks_and_fits_what_there_is():
    journal = start_journal()
    broken = Sign("broken", error=KeyboardInterrupt(), breaks_at=2)
    search = search_among(Sign("fair", wrong=0.2), Sign("good"), broken)
    assert search.stopped_ == "interrupt"
    assert list(search.leaderboard_.loc[["fair", "good", "broken"], "folds"]) == [2, 2, 1]
    assert journal.names()[-1] == search.best_name_ == "good"
    assert_array_equal(search.predict(X), Y)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError("it needs 2 TB")], ids=repr)
def test_a_last_fit_that_is_interrupted_or_too_large_is_made_again_with_fewer_rows(error):
    journal = start_journal()
    X, y = two_blobs(3000)
    model = Sign("one", error=error, error_above=2000)
    search = KernelSearchCV({"one": model}, max_rows=1500, cv=2, random_state=0)
    if isinstance(error, MemoryError):
        with pytest.warns(UserWarning, match="one is fitted to fewer samples: it needs 2 TB"):
            search.fit(X, y)
        assert search.stopped_ is None
    else:
        assert search.fit(X, y).stopped_ == "interrupt"
    assert [len(rows) for _, rows, _ in journal.fits[-2:]] == [3000, 1500]
    assert search.rows_used_ == 1500
    assert_array_equal(search.predict(X), y)


def test_an_interrupt_before_any_result_is_one():
    start_journal()
    with pytest.raises(KeyboardInterrupt):
        search_among(Sign("broken", error=KeyboardInterrupt()), Sign("good"))
    start_journal()
    with pytest.raises(KeyboardInterrupt):  # a failure is no result
        search_among(Sign("bad", error=ValueError("no")), Sign("broken", error=KeyboardInterrupt()))
    start_journal()
    with pytest.raises(KeyboardInterrupt):  # while candidates are timed
        search_among(Sign("good"), Sign("broken", error=KeyboardInterrupt()), budget=1e3)


class Watch(Stop):
    """A callback that looks at the leaderboard after each candidate, and stops after so many."""

    def __init__(self, n_steps):
        super().__init__(n_steps, "candidate")
        self.judged = []

    def on_fit_task_end(self, estimator, context, **more):
        if context.task_name == "candidate":
            self.judged.append(int(estimator.leaderboard_["folds"].drop("always 0").sum()))
        return super().on_fit_task_end(estimator, context, **more)


def test_callbacks_see_the_leaderboard_grow_and_may_stop():
    start_journal()
    watch = Watch(n_steps=5)
    models = {"a": Sign("a", wrong=0.1), "b": Sign("b"), "c": Sign("c", wrong=0.1)}
    search = KernelSearchCV(models, cv=4, random_state=0).set_callbacks(watch).fit(X, Y)
    assert watch.judged == [1, 2, 3, 4, 5]
    assert search.stopped_ == "callback"
    assert search.best_name_ == "b"
    everything = Watch(n_steps=100)
    search.set_callbacks(everything).fit(X, Y)
    assert everything.judged == list(range(1, 13))
    assert search.stopped_ is None


def test_callbacks_see_candidates_that_are_scored_again_with_more_samples():
    start_journal()
    X, y = two_blobs(3000)
    models = {name: Sign(name) for name in "abcde"}
    watch = Watch(n_steps=100)
    search = KernelSearchCV(models, cv=2, max_rows=1000, budget=1e3, random_state=0).set_callbacks(watch)
    search.fit(X, y)
    assert len(watch.judged) == 2 * len(models) + len(models)


def test_progress_is_shown(capsys):
    KernelSearchCV({"stump": StumpSVC()}, cv=2, random_state=0).set_callbacks(ProgressBar()).fit(X, Y)
    assert "KernelSearchCV" in capsys.readouterr().out


def test_if_the_best_cannot_be_fitted_to_all_samples_the_next_best_is():
    start_journal()
    best = Sign("best", error=ValueError("too many"), error_above=50)
    search = search_among(best, Sign("good", wrong=0.2), Sign("fair", wrong=0.4))
    assert search.best_name_ == "good"
    assert search.leaderboard_.loc["best", "note"] == "the last fit failed: too many"
    assert_array_equal(search.predict(X), search.best_estimator_.predict(X))
    start_journal()
    with pytest.raises(ValueError, match="too many"):  # nobody is left
        search_among(Sign("best", error=ValueError("too many"), error_above=50))


def test_if_the_last_one_fails_those_that_were_dropped_are_next():
    start_journal()
    search = search_among(Sign("good", error=ValueError("no"), breaks_at=3), Sign("bad", wrong=0.9))
    assert list(search.leaderboard_.loc[["good", "bad"], "note"]) == ["no", "dropped: far behind the best"]
    assert search.best_name_ == "bad"


def test_a_last_fit_that_is_interrupted_does_not_begin_again_with_as_many_samples():
    journal = start_journal()
    with pytest.raises(KeyboardInterrupt):
        search_among(Sign("one", error=KeyboardInterrupt(), error_above=50))
    assert len(journal.fits) == 5 + 1


def test_who_can_learn_from_all_samples_competes_with_all(journal):
    X, y = two_blobs(8000)
    models = {
        "slow": Candidate("slow", Sign("slow", seconds=1e-6, power=2.0, wrong=0.2), {}, growth=2.0),
        "quick": Candidate("quick", Sign("quick", seconds=1e-4, power=1.0, wrong=0.1), {}, growth=1.0),
    }
    search = KernelSearchCV(models, budget=60.0, random_state=0).fit(X, y)
    sizes = {name: [len(X) for who, X, _ in journal.fits if who == name] for name in models}
    assert sizes["quick"][-1] == 8000  # the last fit
    assert min(sizes["quick"][-6:-1]) > 6000
    assert max(sizes["slow"]) <= 3200
    assert search.result_.n_trained == sizes["quick"][-2]
    assert journal.now < 60.0
    plain = KernelSearchCV({"slow": models["slow"]}, random_state=0).fit(X, y)
    assert plain.result_.n_trained == 3200


def test_where_time_does_not_suffice_for_all_samples_it_is_more_of_them_on_half_of_the_folds(journal):
    X, y = two_blobs(20000)
    model = Candidate("quick", Sign("quick", seconds=1e-3, power=1.0), {}, growth=1.0)
    # a fold of 3200 takes 3.2 s, one of all 19 s, and the last fit 20 s
    search = KernelSearchCV({"quick": model}, budget=100.0, random_state=0).fit(X, y)
    assert search.result_.measure.n_folds == 3
    assert 4800 < search.result_.n_trained < 20000
    assert search.rows_used_ > search.result_.n_trained
    assert journal.now < 110.0


def test_the_last_fit_has_its_time(journal):
    models = {
        "a": Candidate("a", Sign("a", seconds=1.0), {}, growth=1.0),
        "b": Candidate("b", Sign("b", seconds=2.0, wrong=0.1), {}, growth=1.0),
    }
    for budget in (8.0, 12.0, 16.0, 20.0):
        start_journal()
        KernelSearchCV(models, cv=5, budget=budget, random_state=0).fit(X, Y)
        assert journal.now <= 1.25 * budget


@pytest.mark.parametrize("budget", [20.0, 40.0])
def test_some_of_the_budget_is_kept_for_those_that_can_learn_from_all_samples(journal, budget):
    X, y = two_blobs(20000)
    # of the 800 samples of a fold, the least, each slow one takes 2.6 s; of 19200, the quick one takes 1.9 s
    models = {
        f"slow {k}": Candidate("", Sign(f"slow {k}", 0.004 + 0.002 * k, 4e-6, power=2.0), {}, growth=2.0)
        for k in range(3)
    }
    models["quick"] = Candidate("", Sign("quick", seconds=1e-4, power=1.0), {}, growth=1.0)
    search = KernelSearchCV(models, budget=budget, blend=False, random_state=0).fit(X, y)
    assert search.result_.n_trained > 10_000
    assert search.result_.measure.n_folds >= 3
    assert journal.now <= budget


def test_cheap_candidates_are_tried_first_and_the_others_only_if_there_is_time(journal):
    models = {
        "learns": Candidate("learns", Sign("learns", seconds=12.0), {}, growth=1.0),
        "other": Candidate("other", Sign("other", seconds=12.0), {}, growth=2.0),
        "RBF-SVM": Candidate("RBF-SVM", Sign("RBF-SVM", seconds=0.5), {}, growth=2.0),
        "stump": Candidate("stump", Sign("stump", seconds=0.5), {}, growth=1.3),
        "linear": Candidate("linear", Sign("linear", seconds=0.5), {}, growth=1.2),
    }
    models["learns"].estimator.learner = "a kernel's"
    search = KernelSearchCV(models, cv=5, budget=40.0, random_state=0).fit(X, Y)
    tried = list(dict.fromkeys(journal.names()))
    assert tried[:4] == ["linear", "stump", "RBF-SVM", "other"]
    assert search.leaderboard_.loc["learns", "note"] == "no time was left to try it"
    assert list(search.leaderboard_.loc[["linear", "stump", "RBF-SVM"], "folds"]) == [5, 5, 5]


@pytest.mark.parametrize(("budget", "n_jobs"), [(5.0, 1), (14.0, 1), (20.0, 8), (None, 8)])
def test_where_there_are_few_seconds_no_processes_are_started(journal, budget, n_jobs):
    task = LabelTask(X, Y)
    race = LabelRace([Candidate("a", Sign(), {})], task, task.split(2, 0), 0)
    assert Schedule(race, Clock(0.0, budget), 8, bool).n_jobs == n_jobs
