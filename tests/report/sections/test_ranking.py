"""What the page says of the result is what the search found."""

import re

import matplotlib
import numpy as np
import pytest
from sklearn.svm import SVC

from mercer import KernelBoost, KernelSVC
from mercer.report.plots import leaderboard
from mercer.report.sections.ranking import tabulate_candidates
from mercer.search import Difference, Metric
from mercer.search.words import describe_comparison
from report.drawn import result_of
from report.html_page import report, search_for

pytestmark = pytest.mark.usefixtures("coarse_pictures")


def change(search, place, **fields):
    """Let the result say something else of a candidate."""
    candidates = list(search.result_.candidates)
    candidates[place] = candidates[place]._replace(**fields)
    search.result_ = search.result_._replace(candidates=tuple(candidates))


def test_a_metric_that_is_not_known_here_is_shown_by_its_own_name_unit_and_direction(tmp_path, iris):
    """The page asks the result's metric, not for an error or an AUC."""
    metric = Metric("r2", "R²", "explained variance", "R² {measure}", percent=True, greater_is_better=True)
    values = {"linear": (0.9, 0.01), "plain": (0.7, 0.02)}
    result = result_of(values, metric, reference="plain", winner="linear")
    first, second = result.candidates
    first = first._replace(difference=Difference(0.2, 0.1, 0.3))
    search = search_for({"linear": KernelSVC()}, *iris)
    search.result_ = result._replace(candidates=(first, second))
    found = report(tmp_path, search, *iris)
    assert found.heads("All candidates")[:3] == ["candidate", "R²", "against plain"]
    rows = [[cell.replace("\N{NO-BREAK SPACE}", " ") for cell in row] for row in found.rows("All candidates")]
    assert [row[1:3] for row in rows] == [["90.0 ± 1.0 %", "+20.0 [+10.0, +30.0]"], ["70.0 ± 2.0 %", ""]]
    assert "R²: explained variance, ± one standard error." in found.text
    assert "above zero is better" in found.text
    assert "highest R² first" in found.html


def test_the_winner_is_marked_and_its_honest_error_is_at_the_top(tmp_path, iris):
    search = search_for({"linear": KernelSVC(), "RBF-SVM": SVC(C=1e-9)}, *iris)
    found = report(tmp_path, search, *iris)
    assert len(re.findall('class="best"', found.html)) == 1
    (pixels,) = found.pixels("The error of 2 candidates")
    star = matplotlib.colors.to_rgb(leaderboard.MARKED)
    assert (np.abs(pixels - star).max(axis=2) < 0.05).any()
    assert re.search('<tr[^>]* class="best"><th [^>]*>linear</th>', found.html)
    top = found.text[: found.text.index("Ranking")].replace("\N{NO-BREAK SPACE}", " ")
    measure = search.result_.measure
    assert f"{100 * search.error_:.1f} %" in top
    assert f"95 % interval {100 * measure.low:.1f} to {100 * measure.high:.1f} %" in top
    assert "Significantly better than a tuned RBF-SVM" in top  # whose error is 2/3: it may do nothing


def test_the_kernel_is_described_in_words(tmp_path, iris):
    boost = KernelSVC(KernelBoost(n_rounds=3, random_state=0), relative_C=True)
    search = search_for({"kernelboost": boost}, *iris)
    found = report(tmp_path, search, *iris)
    n_mixtures, n_components, _ = search.best_kernel_.base.means.shape
    words = f"{n_mixtures} Gaussian mixtures of {n_components} components on 4 columns"
    assert "The model is kernelboost: which samples share" in found.text
    assert f"Its kernel: {words}." in found.text
    assert "array" not in found.text


@pytest.mark.parametrize("folds", [(5, 5), (5, 2)])
def test_numbers_of_folds_are_in_the_table_where_they_differ(folds):
    """Then a difference, which is of the folds that both have, is not that of the two scores."""
    result = result_of({"linear": (0.1, 0.01), "RBF-SVM": (0.2, 0.01)}, reference="RBF-SVM", winner="linear")
    first, second = (
        one._replace(measure=one.measure._replace(n_folds=n), difference=Difference(-0.1, -0.2, -0.05))
        for one, n in zip(result.candidates, folds, strict=True)
    )
    result = result._replace(candidates=(first, second))
    table = tabulate_candidates(result)
    differ = folds[0] != folds[1]
    assert ("folds" in table.columns) == differ
    assert ("on the folds that both have" in describe_comparison(result)) == differ
    if differ:
        assert [row[table.columns.index("folds")] for row in table.rows] == ["5", "2"]
