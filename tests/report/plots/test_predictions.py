"""Predicted against true: every sample is drawn once, and those outside their intervals apart."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.report import plot_predictions
from mercer.report.plots.predictions import draw_residuals


def points(ax):
    """What is drawn with markers, one array for each kind."""
    return [line.get_xydata() for line in ax.lines if line.get_marker() in ("o", "X")]


def test_samples_are_drawn_at_their_predictions_and_truths(rng):
    y, predicted = rng.normal(size=(2, 20))
    (drawn,) = points(plot_predictions(y, predicted))
    assert_array_equal(drawn, np.column_stack([predicted, y]))


def test_those_outside_their_intervals_are_drawn_apart(rng):
    y, predicted = np.array([0.0, 5.0, 1.0]), np.zeros(3)
    ax = plot_predictions(y, predicted, predicted - 2, predicted + 2)
    inside, outside = points(ax)
    assert_array_equal(inside[:, 1], [0.0, 1.0])
    assert_array_equal(outside[:, 1], [5.0])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["interval", "outside"]


def test_residuals_are_what_is_left(rng):
    from matplotlib import pyplot as plt

    y, predicted = rng.normal(size=(2, 20))
    ax = plt.figure().subplots()
    draw_residuals(y, predicted, ax)
    (drawn,) = points(ax)
    assert_array_equal(drawn, np.column_stack([predicted, y - predicted]))


def test_numbers_that_do_not_belong_together_are_refused():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        plot_predictions([1.0, 2.0], [1.0])
