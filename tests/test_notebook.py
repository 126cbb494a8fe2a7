"""What notebooks show: results with bars, kernels with a formula, learners with their weights."""

import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris

from mercer import (
    BoostedKernel,
    KernelBoost,
    KernelSearchCV,
    KernelSVC,
    RelevanceKernel,
    StumpSVC,
    Superkernel,
    kernels,
)
from mercer.kernels.description import FORMULAS
from mercer.notebook import Line, show_bars

PAGES = pytest.mark.skipif(
    not hasattr(BaseEstimator, "_html_repr"), reason="before scikit-learn 1.7, notebooks show diagrams alone"
)


def test_bars_are_as_long_as_their_shares_and_names_are_text():
    shown = show_bars([Line("<b>", 0.5, ["a & b"], 0.25, 2.0), Line("c", -1.0, is_marked=True)])
    assert "<b>" not in shown
    assert "a &amp; b" in shown
    assert 'width="90.0"' in shown
    assert "M45.0 6.0H180.0" in shown
    assert 'width="0.0"' in shown
    assert shown.count("★") == 1


@PAGES
def test_a_search_shows_its_headline_and_ranking_and_before_its_fit_itself_alone():
    X, y = load_iris(return_X_y=True)
    search = KernelSearchCV({"stump": StumpSVC(), "<i>": KernelSVC()}, cv=2, random_state=0)
    assert "<svg" not in search._repr_html_().partition("sk-top-container")[0]
    shown = search.fit(X, y)._repr_mimebundle_()["text/html"]
    assert "Expected error on new samples" in shown
    assert shown.count("<rect") == 3
    assert "<i>" not in shown.partition("sk-top-container")[0]


@PAGES
@pytest.mark.parametrize(
    ("learner", "word"),
    [
        (RelevanceKernel(n_rounds=1, random_state=0), "petal"),
        (BoostedKernel(n_rounds=3, random_state=0), "direction 1"),
        (KernelBoost(n_rounds=2, random_state=0), "mixture 1"),
        (Superkernel(), "RBF"),
    ],
)
def test_a_learner_shows_its_kernel_and_the_largest_weights(learner, word):
    X, y = load_iris(return_X_y=True, as_frame=True)
    assert isinstance(X, pd.DataFrame)
    shown = learner.fit(X, y)._repr_html_().partition("sk-top-container")[0]
    assert word in shown
    assert 2 <= shown.count("<rect") <= 10


def test_every_kernel_has_a_formula_and_shows_it():
    kinds = {kind for name in kernels.__all__ if issubclass(kind := getattr(kernels, name), kernels.Kernel)}
    assert kinds - {kernels.Kernel, kernels.FeatureKernel} == set(FORMULAS)
    assert all(formula.startswith("k(x, x′) = ") for formula in FORMULAS.values())
    assert "<code>k(x, x′) = Δ − ‖x − x′‖</code>" in kernels.Perceptron()._repr_html_()
