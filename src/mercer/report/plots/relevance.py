"""How much each feature matters to a learned kernel."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer.array_api import to_numpy
from mercer.learners import RelevanceKernel
from mercer.parameters import check_count
from mercer.report.plots.additive_model import check_feature_names
from mercer.report.plots.style import COLOURS, make_axes

SIZE = (4.5, 3.6)  # inches


def plot_relevance(
    model: Any, *, feature_names: Sequence[str] | None = None, n_features: int = 15, ax: Any = None
) -> Any:
    """Draw the weights of the features that matter most to a `RelevanceKernel`.

    Parameters
    ----------
    model : RelevanceKernel, KernelSVC or Pipeline
        Fitted: the learner, an SVM that has it as its learner, or a pipeline that ends in one of them.
    feature_names : sequence of str, default=None
        Names of all features. None takes those that the model was fitted with.
    n_features : int, default=15
        Number of features to draw.
    ax : matplotlib Axes, default=None
        Where to draw. None makes a new figure with pyplot.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from mercer import RelevanceKernel
    >>> from mercer.report import plot_relevance
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> ax = plot_relevance(RelevanceKernel(random_state=0).fit(X, y), n_features=5)
    >>> len(ax.patches)
    5
    """
    check_count(n_features, "n_features")
    last = model[-1] if isinstance(model, Pipeline) else model
    check_is_fitted(last)
    learner: Any = getattr(last, "learner_", last)
    if not isinstance(learner, RelevanceKernel):
        raise TypeError(
            f"{type(learner).__name__} has no relevance_: give a RelevanceKernel, or a KernelSVC with one"
        )
    relevance = to_numpy(learner.relevance_)
    names = check_feature_names(model, len(relevance), feature_names)
    chosen = np.argsort(-relevance, kind="stable")[:n_features][::-1]
    ax = make_axes(ax, SIZE)
    ax.barh(np.arange(len(chosen)), relevance[chosen], color=COLOURS[0])
    ax.set_yticks(np.arange(len(chosen)), [names[d] for d in chosen])
    ax.set_xlabel("relevance")
    ax.set_xlim(0.0, 1.02)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
