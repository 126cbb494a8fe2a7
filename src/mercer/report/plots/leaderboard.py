"""The ranking of a search as a picture: each candidate with its error bar, the winner, and the reference."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.report.plots.style import COLOURS, ink, make_axes, plain_text
from mercer.search import CandidateResult, Measure, SearchResult

WIDTH, LINE_HEIGHT = 5.6, 0.36  # inches
MARKED = COLOURS[5]
FAR = 1.5  # times the others' range: what is farther away is a number at the edge
STAR = r"$\bigstar$"  # of matplotlib's own fonts, which the user's may lack


def plot_leaderboard(search: Any, ax: Any = None) -> Any:
    """Draw the cross-validated error (or AUC) of all candidates with standard errors, the best one on top.

    A star marks members of the model, and a line the candidate that the others are compared
    with: the tuned RBF-SVM, or the plain distance. Bars that overlap do not mean that two candidates are
    equally good: they were scored on the same samples, and the paired comparison is in
    `CandidateResult.difference`. Candidates that were not scored are not drawn.

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
    result = _read_result(search)
    scored = scored_candidates(result)
    if not scored:
        raise ValueError("no candidate was scored: there is nothing to draw")
    ax = make_axes(ax, figure_size(len(scored)))
    _draw_bars(ax, scored)
    _keep_room(ax, scored, result)
    for place, one in enumerate(scored):
        if one.name == result.reference:
            _draw_reference(ax, one)
        if one.name in result.stars():
            _mark(ax, place, one.measure)
    if result.stars():
        ax.set_xlabel(f"{ax.get_xlabel()}\n{STAR} {'a member of the model' if result.blend else 'selected'}")
    if result.metric.percent:
        ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    ax.tick_params(left=False)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.locator_params(axis="x", nbins=6)
    return ax


def scored_candidates(result: SearchResult) -> list[CandidateResult]:
    """Return the candidates that there is something to draw of, the best first."""
    return [one for one in result.candidates if one.measure.is_known]


def figure_size(n_candidates: int) -> tuple[float, float]:
    """Return the inches that this many lines need."""
    return WIDTH, 1.25 + LINE_HEIGHT * n_candidates


def _read_result(search: Any) -> SearchResult:
    result = getattr(search, "result_", search)
    if not isinstance(result, SearchResult):
        raise TypeError(f"give a fitted KernelSearchCV or its result_, not a {type(search).__name__}")
    return result


def _draw_bars(ax: Any, scored: Sequence[CandidateResult]) -> None:
    values, bars = [one.measure.value for one in scored], [_bar(one.measure) for one in scored]
    places = np.arange(len(scored))
    ax.errorbar(values, places, xerr=bars, fmt="o", color=COLOURS[0], ms=6, lw=1.8, capsize=3)
    ax.set_yticks(places, [plain_text(one.name) for one in scored])
    ax.set_ylim(len(scored) - 0.5, -0.5)  # the first line on top
    ax.set_xlabel(f"cross-validated {scored[0].measure.metric.name} ± one standard error")


def _keep_room(ax: Any, scored: Sequence[CandidateResult], result: SearchResult) -> None:
    """Leave what takes no learning outside, as a number, where it would press the others together."""
    others = [one.measure for one in scored if one.name != result.baseline]
    if len(others) == len(scored) or not others:
        return
    low = min(one.value - _bar(one) for one in others)
    high = max(one.value + _bar(one) for one in others)
    room = FAR * ((high - low) or abs(high) or 1.0)
    place = [one.name for one in scored].index(result.baseline or "")
    value = scored[place].measure.value
    if low - room <= value <= high + room:
        return
    is_right = value > high
    edge = (high - low or abs(high)) * 0.35
    ax.set_xlim((low - 0.15 * edge, high + edge) if is_right else (low - edge, high + 0.15 * edge))
    text = f"{100 * value:.1f} %" if result.metric.percent else f"{value:.3g}".replace("-", "−")
    ax.annotate(
        f"{text} →" if is_right else f"← {text}",
        (1.0 if is_right else 0.0, place),
        xycoords=("axes fraction", "data"),
        ha="right" if is_right else "left",
        va="center",
    )


def _bar(measure: Measure) -> float:
    return float(np.nan_to_num(measure.std_error))


def _mark(ax: Any, place: int, measure: Measure) -> None:
    """Draw a line over again, as that of a member: with a star, in its own colour, its name bold."""
    bar = _bar(measure)
    ax.errorbar(measure.value, place, xerr=bar, fmt="*", color=MARKED, ms=15, lw=2.4, capsize=3, capthick=2.0)
    ax.get_yticklabels()[place].set_fontweight("bold")


def _draw_reference(ax: Any, reference: CandidateResult) -> None:
    value = reference.measure.value
    ax.axvline(value, color=ink(), lw=1.0, ls=(0, (4, 3)), alpha=0.6, zorder=1)
    ax.annotate(
        plain_text(reference.name),
        (value, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(3, 1),
        textcoords="offset points",
        fontsize="small",
        alpha=0.8,
    )
