"""What sections show is what the search has kept of the samples that it held out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import KernelSearchCV, KernelSearchRegressor
from mercer.report import Report


def section(report, key):
    return next(one for chapter in report.chapters for one in chapter.sections if one.key == key)


@pytest.fixture(scope="module")
def searched():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=240) > 1.2, "yes", "no")
    search = KernelSearchCV(["linear", "stump"], scoring="f1", random_state=0, cv=3).fit(X, y)
    return search, X, y, Report(search, X, y, questions=["good", "uses", "fails"])


def test_the_confusions_are_those_of_held_out_predictions(searched, coarse_pictures):
    search, _, y, report = searched
    said = search.classes_[search.model_.decision.choose(search.held_out_.said)]
    wrong = int(np.sum(said != y[search.held_out_.rows]))
    assert f"Predicted wrong: {wrong} of 240 samples" in " ".join(section(report, "confusion").text)


def test_a_campaign_that_flags_the_surest_tenth_finds_what_sorting_says(searched):
    search, _, y, report = searched
    order = np.argsort(-search.held_out_.said[:, 1], kind="stable")[:24]
    truth = y[search.held_out_.rows] == "yes"
    line = next(row for row in section(report, "thresholds").tables[0].rows if row[0] == "10 %")
    assert line[2:] == [
        f"{100 * truth[order].sum() / truth.sum():.1f} %",
        f"{100 * truth[order].mean():.1f} %",
    ]


def test_the_column_that_decides_matters_most(searched):
    assert section(searched[3], "effects").tables[-1].rows[0][0] == "x0"


def test_every_member_of_the_model_has_its_share_in_the_ranking(searched):
    search, *_, report = searched
    (table,) = section(report, "leaderboard").tables
    shares = {row[0]: row[table.columns.index("share")] for row in table.rows}
    assert {name for name, share in shares.items() if share} == search.result_.stars()
    assert (
        search.result_.decision
        in {question: answer for question, _, answer in report.answers}["Which threshold?"]
    )


def test_numbers_are_those_that_were_held_out(coarse_pictures, rng):
    X = rng.normal(size=(150, 2))
    y = X[:, 0] + rng.normal(size=150)
    search = KernelSearchRegressor(["linear"], random_state=0, cv=3).fit(X, y)
    report = Report(search, X, y, questions=["good"])
    assert_array_equal(np.sort(search.held_out_.rows), np.arange(150))
    low, high = search.model_.interval_of(search.held_out_.said, 0.9)
    inside = np.mean((low <= y[search.held_out_.rows]) & (y[search.held_out_.rows] <= high))
    line = next(row for row in section(report, "intervals").tables[0].rows if row[0] == "90 %")
    assert line[1] == f"{100 * inside:.1f} %"
    assert_allclose(inside, 0.9, atol=0.03)


def test_neighbours_are_the_nearest_other_samples_by_the_main_kernel(coarse_pictures, rng):
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    search = KernelSearchCV(["RBF-SVM"], random_state=0, cv=3).fit(X, y)
    report = Report(search, X, y, questions=["sees"])
    for line in section(report, "neighbours").tables[0].rows:
        row = int(line[0].split()[1])
        similarity = search.best_kernel_(X[[row]], X)[0]
        similarity[row] = -np.inf
        assert int(line[3].split()[1].rstrip(":")) == np.argmax(similarity)


def test_other_samples_than_those_of_the_search_are_refused(searched):
    search, X, y, _ = searched
    with pytest.raises(ValueError, match="fewer than the search was fitted to"):
        Report(search, X[:20], y[:20])
