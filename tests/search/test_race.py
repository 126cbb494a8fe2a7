"""Who is dropped, who may win, and the table."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC

from mercer import KernelSearchCV, StumpSVC
from mercer.search import Candidate
from mercer.search.bootstrap import draw_rows
from mercer.search.race import Fate, Outcome
from mercer.search.result import DROPPED, FAILED, OUT_OF_TIME
from search.made_races import outcome_of, race_on
from search.odd_classifiers import Sign, start_journal, two_blobs
from search.test_bootstrap import slow_choice, slow_judgement

N = 100
HALVES = np.arange(50), np.arange(50, 100)


def errors_at(rate, seed=0):
    """Return as many errors as the rate says, at random rows."""
    wrong = np.zeros(50)
    wrong[np.random.default_rng(seed).permutation(50)[: round(50 * rate)]] = 1.0
    return wrong


def run(race, candidate, half, *rates, seconds=1.0):
    """Enter a fold of a candidate, whose settings that go on have these rates of errors."""
    entries = race.of(candidate, alive=True)
    wrong = np.column_stack([errors_at(rate, seed=candidate) for rate in rates])
    times = np.full(len(rates), seconds)
    race.record(candidate, entries, half, outcome_of(wrong, times, seconds))


def make_race(*n_settings, reference=None, seed=0):
    """Return a race of candidates called a, b, … with so many settings."""
    names = "abcdef"
    race = race_on(
        [Candidate(names[i], SVC(), {"C": list(range(1, n + 1))}) for i, n in enumerate(n_settings)], N, seed
    )
    race.reference = reference
    return race


def test_settings_far_behind_are_dropped_and_others_stay():
    race = make_race(2, 2)
    run(race, 0, 0, 0.1, 0.9)
    run(race, 1, 0, 0.16, 0.7)
    race.drop_hopeless()
    assert_array_equal(race.alive, [True, False, True, False])
    assert race.fates == {}  # of either, a setting goes on
    assert_array_equal(race.finalists(), [0, 2])


@pytest.mark.parametrize("n_more", range(20))
def test_dropped_is_who_is_three_standard_errors_and_a_row_behind(n_more):
    race = make_race(1, 1)
    wrong = np.zeros((50, 2))
    wrong[:5, 0] = 1.0  # the best: five rows, which the other has right
    wrong[10 : 15 + n_more, 1] = 1.0
    for i in range(2):
        race.record(i, race.of(i), 0, outcome_of(wrong[:, [i]]))
    race.drop_hopeless()
    difference = wrong[:, 1] - wrong[:, 0]
    behind = difference.sum() > 3.0 * np.sqrt(np.sum(difference**2)) + 1.0
    assert race.alive[1] == (not behind)
    assert race.alive[0]


def test_the_best_setting_of_the_reference_stays_however_bad_it_is():
    race = make_race(1, 2)
    run(race, 0, 0, 0.0)
    run(race, 1, 0, 0.9, 0.8)
    race.reference = 1
    race.drop_hopeless()
    assert_array_equal(race.alive, [True, False, True])


def test_a_candidate_without_settings_left_says_so():
    race = make_race(1, 2)
    run(race, 0, 0, 0.0)
    run(race, 1, 0, 0.9, 0.8)
    race.drop_hopeless()
    assert_array_equal(race.alive, [True, False, False])
    assert race.fates == {1: Fate(DROPPED, "dropped: far behind the best")}


def test_the_winner_is_never_dropped_and_is_the_best_of_those_that_ran_to_the_end(rng):
    for _ in range(50):
        race = make_race(3, 3)
        wrong = (rng.random((N, 6)) < rng.uniform(0.1, 0.9, size=6)).astype(float)
        for fold, half in enumerate(HALVES):
            for i in range(2):
                entries = race.of(i, alive=True)
                race.record(i, entries, fold, outcome_of(wrong[np.ix_(half, entries)]))
            race.drop_hopeless()
        assert race.alive[race.winner()]
        finalists = race.finalists()
        assert (
            race.winner() == finalists[slow_choice(range(N), wrong[:, finalists], race.rule.among(finalists))]
        )


@pytest.mark.parametrize("n_more", [-1, 0, 1])
def test_the_candidate_with_the_fewest_errors_wins_and_of_equals_the_first(n_more):
    race = make_race(1, 1)
    wrong = np.zeros((N, 2))
    wrong[: 9 + n_more, 0] = 1.0
    wrong[50:59, 1] = 1.0
    for i in range(2):
        for fold, half in enumerate(HALVES):
            race.record(i, race.of(i), fold, outcome_of(wrong[half][:, [i]]))
    assert race.winner() == int(n_more > 0)


def test_who_had_no_time_for_the_last_fold_may_win_and_is_compared_on_the_rows_of_all():
    race = make_race(1, 1)
    run(race, 0, 0, 0.3)  # the cheap one comes first, and is the only one that runs twice
    run(race, 1, 0, 0.1)
    run(race, 0, 1, 0.0)
    race.withdraw(1, Fate(OUT_OF_TIME, "no time"))
    assert_array_equal(race.finalists(), [0, 1])
    assert race.winner() == 1
    assert_allclose(race.errors(race.finalists()), [0.3, 0.1])
    _, error, noise, *_ = race.measure_selection()
    wrong = race.losses[HALVES[0]]
    assert_allclose(error, slow_judgement(wrong, draw_rows(50, 0), race.rule)[0])
    n = 1 / (1 / 50 + 1 / 50)  # as many were scored as fitted to
    assert_allclose(noise, np.sqrt(error * (1 - error) / n))


def test_who_ran_on_less_than_half_of_the_rows_may_not_win():
    race = race_on([Candidate(name, SVC(), {}) for name in "ab"], N, n_folds=4)
    for k in range(4):
        race.record(0, race.of(0), k, outcome_of(np.full((25, 1), k % 2)))
        if k == 0:
            race.record(1, race.of(1), k, outcome_of(np.zeros((25, 1))))
            race.withdraw(1, Fate(OUT_OF_TIME, "no time"))
    assert_array_equal(race.finalists(), [0])


def test_of_a_candidate_that_fails_with_some_settings_the_others_go_on():
    race = make_race(2, 1)
    values = np.column_stack([np.full(50, np.nan), errors_at(0.1)])
    race.record(0, race.of(0), 0, outcome_of(values, failures={0: "no"}))
    run(race, 1, 0, 0.3)
    assert_array_equal(race.alive, [False, True, True])
    assert_array_equal(race.finalists(), [1, 2])
    assert race.winner() == 1
    assert race.fates == {0: Fate(FAILED, "some settings failed: no")}


def test_who_fails_is_out_whatever_it_did_before():
    race = make_race(1, 1)
    run(race, 0, 0, 0.3)
    run(race, 1, 0, 0.1)
    nothing = outcome_of(np.full((50, 1), np.nan), failures={0: "no"})
    race.record(1, race.of(1), 1, nothing)
    assert race.winner() == 0
    assert race.fates == {1: Fate(FAILED, "no")}
    line = race.result().candidates[0]
    assert (line.name, line.measure.n_folds, line.status, line.note) == ("b", 1, FAILED, "no")


def test_the_table_is_sorted_and_says_how_far_each_is_from_the_reference_on_the_same_rows():
    race = make_race(2, 1, 2, 1, reference=0, seed=7)
    for half in range(2):
        run(race, 0, half, 0.3, 0.34, seconds=2.0)
        run(race, 1, half, 0.5)
        run(race, 2, half, 0.2, 0.22, seconds=4.0)
    race.withdraw(3, Fate(OUT_OF_TIME, "too slow"))
    table = race.result(race.winner()).as_table()
    assert list(table.index) == ["c", "a", "b", "d"]
    counts = draw_rows(N, 7)
    for name, entries in [("a", [0, 1]), ("b", [2]), ("c", [3, 4])]:
        line, error = table.loc[name], slow_judgement(race.losses[:, entries], counts)[0]
        assert_allclose(line["error"], error)
        n = 1 / (1 / N + 1 / 50)  # scored and fitted to
        deviation = np.sqrt(error * (1 - error) / n)
        raw = race.losses[:, entries].mean(axis=0).min()  # the spread is that of the one that is chosen
        assert_allclose(line["std_error"], deviation, rtol=2 * abs(raw - error) / error)
        if name == "a":
            assert np.isnan(line[["difference", "low", "high"]].astype(float)).all()
            continue
        assert_allclose(line["difference"], error - slow_judgement(race.losses[:, [0, 1]], counts)[0])
        paired = race.losses[:, entries[0]] - race.losses[:, 0]  # the best of each
        half_width = 1.96 * np.std(paired) / np.sqrt(N) * np.sqrt(1 + N / 50)
        assert_allclose([line["low"], line["high"]], line["difference"] + np.array([-1, 1]) * half_width)
    assert table.loc["c", "difference"] < 0 < table.loc["b", "difference"]
    assert table.loc["c", "settings"] == {"C": 1}
    assert_array_equal(table["fit_seconds"], [4.0, 2.0, 1.0, np.nan])
    assert_array_equal(table["predict_seconds"], [0.4, 0.2, 0.1, np.nan])
    assert_array_equal(table["folds"], [2, 2, 2, 0])
    assert list(table["note"]) == ["", "", "", "too slow"]
    assert np.isnan(table.loc["d", "error"])


def test_equal_predictions_differ_by_nothing_with_an_interval_around_it():
    race = make_race(1, 1)
    wrong = errors_at(0.2)[:, None]
    for i in range(2):
        for fold in range(2):
            race.record(i, race.of(i), fold, outcome_of(wrong))
    race.reference = 0
    line = race.result().as_table().loc["b"]
    assert line["difference"] == 0
    assert line["low"] < 0 < line["high"]


def test_in_a_search_the_hopeless_are_dropped_after_a_fold_and_the_reference_is_not():
    journal = start_journal()
    X, y = two_blobs(100)
    some = {"good": Sign("good"), "RBF-SVM": Sign("RBF-SVM", wrong=0.9), "bad": Sign("bad", wrong=0.8)}
    search = KernelSearchCV(some, cv=5, random_state=0).fit(X, y)
    assert search.best_name_ == "good"
    assert [journal.names().count(name) for name in some] == [6, 5, 1]
    table = search.leaderboard_
    assert list(table["folds"].drop("always 0")) == [5, 1, 5]
    assert list(table["note"].drop("always 0")) == ["", "dropped: far behind the best", ""]
    assert_allclose(table.loc["good", "difference"], -0.9, atol=0.02)
    assert table.loc["good", "high"] < 0


def test_without_a_reference_there_are_no_differences():
    X, y = two_blobs(40)
    table = KernelSearchCV({"stump": StumpSVC()}, cv=2, random_state=0).fit(X, y).leaderboard_
    assert np.isnan(table.loc["stump", "difference"])


def said_by(race, decisions):
    """Let each setting of the first candidate say a column of decision values of the first fold."""
    wrong = (decisions > 0) != (race.rows[race.fold == 0] % 2 == 1)[:, None]
    ones = np.ones(decisions.shape[1])
    race.record(0, race.of(0), 0, Outcome(np.stack([wrong, decisions], axis=-1), ones, ones, 1.0, {}))
    race.drop_hopeless()


def test_of_settings_that_say_the_same_the_first_goes_on(rng):
    race = race_on([Candidate("svm", SVC(), {"C": [1.0, 2.0, 3.0, 4.0]})], 60)
    signs = np.where(np.arange(30) % 2 == 1, 1.0, -1.0)
    first = 10 * (signs + 0.3 * rng.normal(size=30))
    slightly, clearly = first + 1e-3 * rng.normal(size=30), first + rng.normal(size=30)
    said_by(race, np.column_stack([first, slightly, clearly, clearly]))
    assert race.alive.tolist() == [True, False, True, False]
    assert not race.fates  # the candidate goes on


def test_settings_that_say_nothing_at_all_are_not_taken_for_the_same():
    race = race_on([Candidate("svm", SVC(), {"C": [1.0, 2.0]})], 60)
    said_by(race, np.zeros((30, 2)))
    assert race.alive.all()
