"""The picture of a ranking shows the numbers of the result, whatever the metric."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from mercer import KernelSearchCV, KernelSVC, StumpSVC
from mercer.report import plot_leaderboard
from mercer.search import Metric
from mercer.search.pairs import AUC
from report.drawn import NAN, board, result_of


def dashed(ax):
    return [line for line in ax.lines if line.get_linestyle() == "--"]


def test_the_leaderboard_shows_errors_their_bars_and_the_rbf_svm():
    ax = plot_leaderboard(board())
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["boosted", "RBF-SVM", "stump"]
    (container,) = ax.containers
    assert_array_equal(container.lines[0].get_xdata(), [0.05, 0.08, 0.1])
    ends = np.array([segment[:, 0] for segment in container.lines[2][0].get_segments()])
    assert_allclose(ends, [[0.04, 0.06], [0.06, 0.1], [0.085, 0.115]])
    (reference,) = dashed(ax)
    assert list(reference.get_xdata()) == [0.08, 0.08]
    low, high = ax.get_ylim()
    assert low > high  # the first line is on top


@pytest.mark.parametrize(("place", "winner"), [(0, "boosted"), (1, "RBF-SVM"), (2, "stump")])
def test_the_winner_has_a_star_and_a_bold_name_wherever_it_stands(place, winner):
    result = board(winner=winner)
    ax = plot_leaderboard(result)
    (star,) = [line for line in ax.lines if line.get_marker() == "*"]
    assert (*star.get_xdata(), *star.get_ydata()) == (result.candidate(winner).measure.value, place)
    bold = [tick.get_text() for tick in ax.get_yticklabels() if tick.get_fontweight() == "bold"]
    assert bold == [winner]
    assert "selected" in ax.get_xlabel()
    assert star.get_color() != plot_leaderboard(board()).containers[0].lines[0].get_color()


def test_while_a_search_runs_no_winner_is_marked():
    ax = plot_leaderboard(board())
    assert not [line for line in ax.lines if line.get_marker() == "*"]
    assert "winner" not in ax.get_xlabel()


def test_a_leaderboard_of_pairs_shows_the_auc():
    values = {"boosted": (0.9, 0.01), "plain": (0.8, NAN), "idealized": (0.7, 0.01)}
    ax = plot_leaderboard(result_of(values, AUC, reference="plain"))
    assert ax.get_xlabel() == "AUC ± one standard error\ndashed: plain"
    assert_array_equal(ax.containers[0].lines[0].get_xdata(), [0.9, 0.8, 0.7])
    (reference,) = dashed(ax)
    assert list(reference.get_xdata()) == [0.8, 0.8]


@pytest.mark.parametrize(("percent", "text"), [(True, "20 %"), (False, "0.2")])
def test_a_metric_that_is_not_known_here_is_shown_by_its_own_name_and_unit(percent, text):
    metric = Metric("r2", "R²", "explained variance", "R² {measure}", percent, greater_is_better=True)
    ax = plot_leaderboard(result_of({"boosted": (0.2, 0.05)}, metric))
    assert "R²" in ax.get_xlabel()
    ax.figure.canvas.draw()
    assert text in [tick.get_text().replace("0.20", "0.2") for tick in ax.get_xticklabels()]


def test_a_leaderboard_without_a_reference_has_no_line():
    assert not dashed(plot_leaderboard(board(reference=None)))
    assert not dashed(plot_leaderboard(board(reference="late")))  # which was not scored


def test_a_fitted_search_is_drawn_as_its_result_is():
    some = {"linear": KernelSVC(), "stump": StumpSVC()}
    search = KernelSearchCV(some, cv=2, random_state=0).fit(*load_iris(return_X_y=True))
    first, second = plot_leaderboard(search), plot_leaderboard(search.result_)
    for ax in (first, second):
        without_baseline = search.leaderboard_["error"].drop(search.result_.baseline)
        assert_array_equal(ax.containers[0].lines[0].get_xdata(), without_baseline)
    assert first.get_xlabel() == second.get_xlabel()


def test_a_result_without_scores_or_another_value_is_refused():
    with pytest.raises(ValueError, match="nothing to draw"):
        plot_leaderboard(result_of({"late": (NAN, NAN)}))
    with pytest.raises(TypeError, match="KernelSearchCV or its result_, not a DataFrame"):
        plot_leaderboard(board().as_table())
