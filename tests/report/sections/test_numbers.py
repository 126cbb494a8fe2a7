"""The page of a numeric target: sections, and figures that can be computed by hand."""

import re

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from sklearn.datasets import make_friedman1

from mercer import KernelRegressor, KernelSearchRegressor, StumpRegressor
from mercer.report.targets import NumberTarget
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


def test_a_matrix_is_sorted_from_low_to_high_and_says_so(rng):
    y = rng.permutation(np.arange(-10.0, 11.0))
    K = np.minimum.outer(y, y)
    ax = NumberTarget(0, 1).plot(K, y, Figure().subplots(), (-10.0, 10.0))
    assert_allclose(ax.images[0].get_array(), np.minimum.outer(np.sort(y), np.sort(y)))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["−10", "−5", "0", "5", "10"]


@pytest.mark.parametrize(
    ("y", "names"),
    [
        (np.arange(11.0), ["0 to 2", "2 to 4", "4 to 6", "6 to 8", "8 to 10"]),
        (np.repeat([0.0, 1.0, 2.5], [8, 1, 1]), ["0.0 to 0.2", "0.2 to 2.5"]),
        (np.full(5, 3.0), ["3.00"]),
    ],
)
def test_samples_of_a_map_are_in_the_part_that_has_their_target(y, names):
    groups = NumberTarget(0, 1).group(y)
    assert [key.name for key in groups.keys] == names
    assert len({(key.mark, key.colour) for key in groups.keys}) == len(names)
    for value, part in zip(y, groups.of_row, strict=True):
        low, *high = (float(end) for end in names[part].split(" to "))
        assert low <= value <= max([low, *high])
