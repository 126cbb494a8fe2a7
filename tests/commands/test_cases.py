"""What a new user met: each time the model that was handed over was not the one that was spoken of."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier

from benchmarks.simulated import CostlyClassifier, SimulatedClock, costly_candidates, make_truth
from commands.conftest import QUICK
from commands.tables_at_hand import make_table
from mercer import KernelSearchCV, KernelSearchRegressor, load
from mercer.persistence import describe
from mercer.search import Candidate, effects

pytestmark = pytest.mark.filterwarnings("ignore::mercer.search.SearchWarning")


def frame_of(X):
    return pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])


@pytest.fixture(scope="module")
def churn():
    """Return a table of which one in six leaves, and more of it."""
    X, y = make_classification(3000, 8, n_informative=4, weights=[0.84], class_sep=0.7, random_state=5)
    return frame_of(X), np.where(y, "yes", "no")


@pytest.mark.parametrize("scoring", [None, "average_precision", "roc_auc", "f1", "balanced_accuracy"])
def test_case_1_the_prediction_is_what_the_probabilities_say(churn, scoring):
    table, y = churn
    search = KernelSearchCV(["stump", "linear"], scoring=scoring, random_state=0).fit(table[:600], y[:600])
    chances, said = search.predict_proba(table[600:]), search.predict(table[600:])
    above = chances[:, 1] > search.model_.decision.threshold(1)
    assert_array_equal(said == "yes", above)
    if scoring not in ("f1", "balanced_accuracy"):
        assert search.result_.decision == ""
        assert_array_equal(said, search.classes_[chances.argmax(axis=1)])
        assert np.mean(said != y[600:]) <= 0.02 + np.mean(y == "yes")
    else:
        assert "probability is above" in search.result_.decision
    assert np.mean(chances[:, 1]) == pytest.approx(np.mean(y == "yes"), abs=0.04)


@pytest.mark.parametrize("budget", [0.5, 1.0, 3.0, 12.0])
def test_case_2_of_thirty_classes_the_error_is_that_of_the_members_that_were_fitted(budget):
    truth = make_truth(3, 30)
    X, y = truth.draw(2000, 0)
    X_new, y_new = truth.draw(5000, 1)
    clock = SimulatedClock()
    search = KernelSearchCV(costly_candidates(clock), budget=budget, random_state=0).fit(X, y, clock=clock)
    error, measure = np.mean(search.predict(X_new) != y_new), search.result_.measure
    assert measure.low <= error <= measure.high
    assert all(hasattr(one[-1], "fitted_") for _, one in search.model_.members)


def test_case_3_the_main_member_has_a_star_and_the_error_is_the_models(mercer):
    assert mercer("learn", "--candidates", "linear,stump,perceptron", "--model", "demo.mercer").exit_code == 0
    result, search = load("demo.mercer").result_, load("demo.mercer")
    assert result.winner in result.stars() == {name for name, _ in search.model_.members}
    assert search.best_name_ == max(result.blend, key=result.blend.get)
    assert search.best_estimator_ is search.model_.members[0][1]
    held, y = search.held_out_, np.asarray(mercer_demo_labels())
    wrong = search.classes_[search.model_.decision.choose(held.said)] != y[held.rows]
    assert np.mean(wrong) == pytest.approx(search.error_, abs=0.01)
    shown = mercer("show", "demo.mercer").stdout
    assert shown.count(" * ") == len(result.blend)
    assert f"The model: {'a blend of ' if len(result.blend) > 1 else ''}{result.winner}" in shown


def mercer_demo_labels():
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    return data.target_names[data.target]


def test_case_4_a_large_table_is_fitted_whole():
    truth = make_truth(2, 2)
    X, y = truth.draw(60_000, 0)
    rows = {}
    for budget in (5.0, 15.0, 45.0):
        clock = SimulatedClock()
        cheap = {k: costly_candidates(clock)[k] for k in ("line", "tree")}
        search = KernelSearchCV(cheap, budget=budget, random_state=0).fit(X, y, clock=clock)
        rows[budget] = search.rows_used_
        assert clock.time <= 1.25 * budget + 3.0
    assert list(rows.values()) == [60_000] * 3


def test_case_4_who_is_foretold_too_much_time_is_not_given_up_at_once():
    truth = make_truth(2, 2)
    X, y = truth.draw(60_000, 0)
    clock = SimulatedClock()
    some = {k: costly_candidates(clock)[k]._replace(growth=2.5) for k in ("line", "tree")}  # it is about one
    bad = CostlyClassifier(DummyClassifier(), clock, 1e-5, 1.0)  # for which there is time
    some["bad"] = Candidate("bad", bad, {}, growth=1.0)
    search = KernelSearchCV(some, budget=20.0, random_state=0).fit(X, y, clock=clock)
    assert search.rows_used_ == 60_000
    assert search.best_name_ != "bad"
    assert clock.time <= 28.0


def test_case_5_what_is_loaded_has_probabilities_and_says_what_the_command_prints(mercer):
    mercer("learn", "data.csv", "--target", "state", *QUICK, "--model", "out.mercer")
    table = make_table(3)
    table.to_csv("new.csv", index=False)
    printed = json.loads(mercer("predict", "out.mercer", "new.csv", "--json").stdout)
    search = load("out.mercer")
    said = [[row[f"probability {label}"] for label in search.classes_] for row in printed["predictions"]]
    new = pd.read_csv("new.csv", keep_default_na=False, na_values=[""], dtype=str)
    assert_array_equal(said, search.predict_proba(new))
    assert [row["prediction"] for row in printed["predictions"]] == search.predict(new).tolist()


def test_case_6_intervals_are_wide_where_errors_are(rng):
    X = rng.uniform(size=(1200, 3))
    y = np.exp(1.5 + 2.5 * X[:, 0] + X[:, 1] + 0.25 * rng.normal(size=1200))
    search = KernelSearchRegressor(["linear", "stump"], log=True, random_state=0).fit(X[:600], y[:600])
    for one in (search, KernelSearchRegressor(["stump"], random_state=0).fit(X[:600], y[:600])):
        low, high = one.predict_interval(X[600:], 0.9)
        inside, fifth = (low <= y[600:]) & (y[600:] <= high), np.argsort(np.argsort(y[600:])) // 120
        shares = [inside[fifth == k].mean() for k in range(5)]
        assert min(shares) > 0.75  # with one width for all: 1.00 of the cheapest fifth, 0.6 of the dearest
        width = high - low
        assert width[fifth == 4].mean() > 2.5 * width[fifth == 0].mean()


def test_case_7_a_column_that_looks_like_groups_is_named_before_time_is_spent(mercer, rng):
    patient = np.repeat(np.arange(90), 10)
    base = rng.normal(size=(90, 4))[patient]
    table = frame_of(base + 0.1 * rng.normal(size=base.shape))
    table = table.assign(patient=[f"p{k}" for k in patient], ill=rng.integers(2, size=90)[patient])
    table.to_csv("ten.csv", index=False)
    options = (
        "--target",
        "ill",
        "--task",
        "class",
        "--budget",
        "300",
        "--candidates",
        "RBF-SVM",
        "--jobs",
        "1",
    )
    alone = mercer("learn", "ten.csv", *options, "--quiet", "--model", "a.mercer")
    assert "'patient' (90 values in 900 rows) looks like groups" in alone.stderr
    grouped = mercer("learn", "ten.csv", *options, "--quiet", "--group", "patient", "--model", "b.mercer")
    assert "looks like groups" not in grouped.stderr
    errors = [describe(name).about["search"]["measure"]["value"] for name in ("a.mercer", "b.mercer")]
    assert errors[0] < 0.1 < 0.3 < errors[1]  # labels of patients are drawn: nothing can be learned


def test_rows_that_were_kept_from_the_search_are_told_of(mercer):
    make_table(7, 40).to_csv("test.csv", index=False)
    learned = mercer(
        "learn", "data.csv", "--target", "state", *QUICK, "--test", "test.csv", "--model", "m.mercer"
    )
    about, search = describe("m.mercer").about, load("m.mercer")
    table = pd.read_csv("test.csv", keep_default_na=False, na_values=[""], dtype=str)
    error = np.mean(search.predict(table) != table["state"])
    assert about["test"]["value"] == pytest.approx(error)
    assert f"On the 40 rows of test.csv: error {100 * error:.1f} % (95 % interval" in learned.stdout
    make_table(7).replace("raw", "rotten").to_csv("test.csv", index=False)
    strange = mercer("learn", "data.csv", "--target", "state", *QUICK, "--test", "test.csv")
    assert (strange.exit_code, "classes that data.csv has not: 'rotten'" in strange.stderr) == (2, True)
    assert mercer("learn", "data.csv", "--pairs", "pairs.csv", "--test", "test.csv").exit_code == 2


def test_explain_prints_what_columns_add(mercer, models):
    document = json.loads(
        mercer("explain", models / "out.mercer", "data.csv", "--row", "apple 17", "--json").stdout
    )
    search = load(models / "out.mercer")
    table = pd.read_csv("data.csv", keep_default_na=False, na_values=[""], dtype=str)
    found = effects.effects_of(search, table, 17)
    assert (document["row"], document["label"]) == (17, found.label)
    added = {one["column"]: one["adds"] for one in document["columns"]}
    assert_allclose([added[name] for name in found.names], found.added)
    text = mercer("explain", models / "out.mercer", "data.csv", "--row", "17", "--top", "1").stdout
    assert f"Row 17: log odds of {found.label}" in text
    assert "All others:" in text
    assert mercer("explain", models / "out.mercer", "data.csv", "--row", "99").exit_code == 2
    assert mercer("explain", models / "pairs.mercer", "data.csv", "--row", "1").exit_code == 2
