"""What the page says equals what the model predicts, and what the search has measured."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import KernelSearchCV, KernelSearchRegressor
from mercer.report import Report
from mercer.report.sections.headline import _missed_classes
from mercer.report.subject import HeldOut
from report.html_page import Page

pytestmark = pytest.mark.usefixtures("coarse_pictures")


def answers_of(report):
    return {question: answer for question, _, answer in report.answers}


@pytest.fixture(scope="module")
def classified():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    y = np.where(X["a"] + 0.8 * rng.normal(size=200) > 0.9, "yes", "no")
    options = {"random_state": 0, "cv": 3}
    return KernelSearchCV(["linear", "stump"], cost={"FP": 1, "FN": 5}, **options).fit(X, y), X, y


@pytest.fixture(scope="module")
def regressed():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    y = 1e5 * np.exp(0.4 * X["a"] + 0.2 * rng.normal(size=200)).to_numpy()
    return KernelSearchRegressor(["linear"], log=True, random_state=0, cv=3).fit(X, y), X, y


def test_the_top_says_what_the_search_has_measured_and_what_its_decision_finds(classified):
    search, X, y = classified
    report = Report(search, X, y, questions=["good", "fails"])
    measure = search.result_.measure
    assert float(report.headline.value) == pytest.approx(measure.value, abs=5e-4)
    ends = [float(end) for end in re.findall(r"[\d.]+", report.headline.more.removeprefix("95 % interval"))]
    assert ends == pytest.approx([measure.low, measure.high], abs=5e-4)
    truth = y[search.held_out_.rows]
    said = search.classes_[search.model_.decision.choose(search.held_out_.said)]
    found, false = (said == "yes") & (truth == "yes"), (said == "yes") & (truth == "no")
    threshold = answers_of(report)["Which threshold?"]
    assert f"{found.sum()} of {(truth == 'yes').sum()} 'yes' found, {false.sum()} false alarms" in threshold
    assert search.result_.decision in threshold
    limit = float(re.search(r"above ([\d.]+\d)", search.result_.decision)[1])
    said_yes = search.predict(X) == "yes"  # as the model does, of any samples
    assert np.all(search.predict_proba(X)[said_yes, 1] >= limit - 1e-3)
    assert np.all(search.predict_proba(X)[~said_yes, 1] <= limit + 1e-3)
    assert answers_of(report)["Where is it wrong?"].startswith(f"{(said != truth).sum()} of 200 ")


def test_the_number_at_the_top_is_half_of_the_held_out_errors(regressed):
    search, X, y = regressed
    report = Report(search, X, y, questions=["good"], about={"target": "price"})
    off = np.abs(y[search.held_out_.rows] - search.held_out_.said)
    assert float(re.sub(r"\s", "", report.headline.value)) == pytest.approx(np.median(off), rel=1e-3)
    assert report.headline.what == "half of the predictions of price are off by less"
    assert f"{search.result_.measure.value:.3f}" in report.headline.more


@pytest.mark.parametrize("which", ["classified", "regressed"])
def test_a_search_that_was_loaded_gives_the_same_page(which, tmp_path, request):
    search, X, y = request.getfixturevalue(which)
    mercer.save(search, tmp_path / "a.mercer")
    loaded = mercer.load(tmp_path / "a.mercer")
    asked = {"questions": ["good", "fails", "data"]}
    first, second = (Page(Report(one, X, y, **asked).html()) for one in (search, loaded))
    assert first.images == second.images
    assert first.text.partition("How to get the model")[0] == second.text.partition("How to get the model")[0]


def test_each_question_is_answered_and_how_to_use_the_model_is_said(classified, regressed):
    asked = {"Better than what?", "Can I trust it?", "What drives it?", "Where is it wrong?"}
    for (search, X, y), more in ((classified, {"Which threshold?"}), (regressed, set())):
        report = Report(search, X, y, about={"model": "a b.mercer"})
        assert set(answers_of(report)) == asked | more
        page = Page(report.html())
        assert "mercer predict 'a b.mercer' NEW.csv" in page.text
        assert "mercer.load('a b.mercer')" in page.text


@pytest.mark.parametrize(
    ("predicted", "warned"),
    [
        (["a", "a", "a", "a"], "It predicts 'a' for every held-out sample."),
        (["a", "b", "a", "b"], "It never predicts 'c' (2 samples), which are there among held-out samples."),
        (["a", "b", "c", "a"], None),
    ],
)
def test_classes_that_are_never_predicted_are_warned_of(predicted, warned):
    held_out = HeldOut(np.arange(4), np.array(["a", "b", "c", "c"]), np.array(predicted), None)
    search = SimpleNamespace(classes_=np.array(["a", "b", "c"]))
    found = _missed_classes(SimpleNamespace(held_out=held_out, search=search))
    assert found == ([] if warned is None else [warned])
