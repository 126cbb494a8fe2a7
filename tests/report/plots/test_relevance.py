"""`plot_relevance` draws the features that matter most, by their names."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelSVC, RelevanceKernel, StumpSVC
from mercer.report import plot_relevance


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal(size=(80, 6))
    return X, (X[:, 4] + 0.5 * X[:, 2] > 0).astype(int)


def labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_the_bars_are_the_largest_weights_from_the_top(rows):
    learner = RelevanceKernel(n_rounds=1, random_state=0).fit(*rows)
    ax = plot_relevance(learner, n_features=3)
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == sorted(learner.relevance_)[-3:]
    assert labels(ax)[-1] == "x4"


def test_a_pipeline_and_an_svm_have_their_learners_relevance(rows):
    X, y = rows
    model = make_pipeline(StandardScaler(), KernelSVC(RelevanceKernel(n_rounds=1, random_state=0))).fit(X, y)
    ax = plot_relevance(model, feature_names=list("abcdef"))
    assert labels(ax)[-1] == "e"
    assert len(ax.patches) == 6


def test_what_has_no_relevance_is_refused(rows):
    with pytest.raises(TypeError, match="StumpSVC has no relevance_"):
        plot_relevance(StumpSVC().fit(*rows))
    with pytest.raises(NotFittedError):
        plot_relevance(RelevanceKernel())
