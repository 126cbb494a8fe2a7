"""The ranking of a search as a picture: each candidate with its error bar, the winner, and the reference."""

from typing import Any

import numpy as np

from mercer.report.plots.style import COLOURS, dashed, make_axes, plain_text, tidy
from mercer.search import CandidateResult, SearchResult

WIDTH, LINE_HEIGHT = 5.6, 0.36  # inches
MARKED = COLOURS[5]
STAR = r"$\bigstar$"  # of matplotlib's own fonts, which the user's may lack


def plot_leaderboard(search: Any, ax: Any = None) -> Any:
    """Draw the cross-validated error (or AUC) of all candidates with standard errors, the best one on top.

    A star marks members of the model, and a line the candidate that the others are compared
    with: the tuned RBF-SVM, or the plain distance. Bars that overlap do not mean that two candidates are
    equally good: they were scored on the same samples, and the paired comparison is in
    `CandidateResult.difference`. Candidates that were not scored are not drawn, nor is the line of no model.

    Parameters
    ----------
    search : SearchResult, or a fitted KernelSearchCV
        What to draw.
    ax : matplotlib Axes, default=None
        Where to draw. None makes a new figure with pyplot.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelSearchCV, PerceptronSVC, StumpSVC
    >>> from mercer.report import plot_leaderboard
    >>> some = {"stump": StumpSVC(), "perceptron": PerceptronSVC()}
    >>> search = KernelSearchCV(some, cv=2, random_state=0).fit(*load_iris(return_X_y=True))
    >>> ax = plot_leaderboard(search)
    >>> sorted(tick.get_text() for tick in ax.get_yticklabels())
    ['perceptron', 'stump']
    """
    result = getattr(search, "result_", search)
    if not isinstance(result, SearchResult):
        raise TypeError(f"give a fitted KernelSearchCV or its result_, not a {type(search).__name__}")
    scored = scored_candidates(result)
    if not scored:
        raise ValueError("no candidate was scored: there is nothing to draw")
    ax = make_axes(ax, figure_size(len(scored)))
    values = np.array([one.measure.value for one in scored])
    bars, places = np.nan_to_num([one.measure.std_error for one in scored]), np.arange(len(scored))
    ax.errorbar(values, places, xerr=bars, fmt="o", color=COLOURS[0], ms=6, lw=1.8, capsize=3)
    ax.set_yticks(places, [plain_text(one.name) for one in scored])
    ax.set_ylim(len(scored) - 0.5, -0.5)  # the first line on top
    for k, one in enumerate(scored):
        if one.name == result.reference:
            ax.axvline(values[k], zorder=1, **dashed())
        if one.name in result.stars():  # drawn over again
            star = {"fmt": "*", "color": MARKED, "ms": 15, "lw": 2.4, "capsize": 3, "capthick": 2.0}
            ax.errorbar(values[k], k, xerr=bars[k], **star)
            ax.get_yticklabels()[k].set_fontweight("bold")
    signs = [f"{STAR} {'a member of the model' if result.blend else 'selected'}"] if result.stars() else []
    signs += [f"dashed: {plain_text(one.name)}" for one in scored if one.name == result.reference]
    ax.set_xlabel(f"{plain_text(result.metric.name, 36)} ± one standard error\n{',  '.join(signs)}".rstrip())
    ax.locator_params(axis="x", nbins=6)
    if result.metric.percent:
        ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    ax.tick_params(left=False)
    tidy(ax, "left")
    return ax


def scored_candidates(result: SearchResult) -> list[CandidateResult]:
    """Return the candidates that there is something to draw of, the best first."""
    unlikely = {result.baseline} - result.stars()
    return [one for one in result.candidates if one.measure.is_known and one.name not in unlikely]


def figure_size(n_candidates: int) -> tuple[float, float]:
    """Return the inches that this many lines need."""
    return WIDTH, 1.25 + LINE_HEIGHT * n_candidates
