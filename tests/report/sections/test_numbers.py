"""The page of a numeric target: sections, and figures that can be computed by hand."""

import numpy as np
from sklearn.datasets import make_friedman1

from mercer import KernelRegressor, KernelSearchRegressor, StumpRegressor
from mercer.report.held_out import hold_out
from mercer.search.number_task import NumberTask
from mercer.search.words import percent
from report.html_page import report


def search_of(candidates):
    X, y = make_friedman1(120, n_features=5, noise=1.0, random_state=0)
    return KernelSearchRegressor(candidates, cv=2, random_state=0).fit(X, y), X, y


def test_a_page_shows_predictions_intervals_and_shapes_of_stumps(tmp_path, coarse_pictures):
    search, X, y = search_of({"stump": (StumpRegressor(), {"C": [1.0, 8.0]}), "linear": KernelRegressor()})
    page = report(tmp_path, search, X, y)
    assert {"leaderboard", "predictions", "intervals", "shapes"} <= page.sections
    assert "R²" in page.text
    again = report(tmp_path, search, X, y)
    assert again.html == page.html


def test_what_there_is_nothing_of_is_left_out_with_a_reason(tmp_path, coarse_pictures):
    search, X, y = search_of({"linear": KernelRegressor()})
    page = report(tmp_path, search, X, y)
    assert "shapes" not in page.sections
    assert "no stump regressor" in page.text


def test_the_shares_of_the_intervals_are_those_of_held_out_samples(tmp_path, coarse_pictures):
    search, X, y = search_of({"linear": KernelRegressor(C=1.0), "stump": StumpRegressor()})
    seed = int(np.random.RandomState(0).randint(2**31 - 1))  # as the report draws it
    data = hold_out(search, NumberTask(X, y), seed)
    assert not set(data.rows) & set(data.learned_rows)
    assert len(data.rows) == 36
    low, high = data.predictor.predict_interval(data.X, 0.5)
    inside = np.mean((low <= data.y) & (data.y <= high))
    assert percent(inside) in report(tmp_path, search, X, y).text
