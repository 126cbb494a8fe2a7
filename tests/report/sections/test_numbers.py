"""The page of a numeric target: sections, and figures that can be computed by hand."""

import re

import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_friedman1

from mercer import KernelRegressor, KernelSearchRegressor, StumpRegressor
from report.html_page import report


def search_of(candidates):
    X, y = make_friedman1(120, n_features=5, noise=1.0, random_state=0)
    return KernelSearchRegressor(candidates, cv=2, random_state=0).fit(X, y), X, y


def test_a_page_shows_predictions_and_intervals(tmp_path, coarse_pictures):
    search, X, y = search_of({"stump": (StumpRegressor(), {"C": [1.0, 8.0]}), "linear": KernelRegressor()})
    page = report(tmp_path, search, X, y)
    assert {"leaderboard", "predictions", "intervals", "effects"} <= page.sections
    assert "R²" in page.text
    again = report(tmp_path, search, X, y)
    assert again.html == page.html


def test_the_worst_numbers_stand_above_their_neighbours_with_the_columns_that_matter(
    tmp_path, coarse_pictures
):
    search, X, y = search_of({"stump": StumpRegressor()})
    page = report(tmp_path, search, X, y)
    columns = page.heads("The largest difference first")[5:]
    assert set(columns) == {f"x{d}" for d in range(5)}
    *rows, typical = page.rows("The largest difference first")
    assert len(rows) == 6 * 4
    for k, (name, target, predicted, difference, interval, *values) in enumerate(rows):
        i = int(re.fullmatch(r"(?:near: )?row (\d+)", name)[1])
        assert name.startswith("near: ") == (k % 4 > 0)
        assert y[i] == pytest.approx(number(target), abs=0.01)
        assert_allclose([number(value) for value in values], X[i, [int(c[1:]) for c in columns]], atol=0.01)
        assert bool(predicted) == bool(difference) == bool(interval) == (k % 4 == 0)
    assert typical[0] == "typical"


def number(text):
    return float(text.replace("−", "-"))
