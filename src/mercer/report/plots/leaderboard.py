"""The ranking of a search as a picture: errors with error bars, the winner, and the RBF-SVM to beat."""

from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.report.plots.style import COLOURS, ink, make_axes, plain_text
from mercer.search.candidates import REFERENCE
from mercer.search.pair_task import PLAIN

REFERENCES = (REFERENCE, PLAIN)  # what the others are compared with: classifiers, and metrics of pairs
WIDTH, LINE_HEIGHT = 5.6, 0.36  # inches
MARKED = COLOURS[5]
STAR = r"$\bigstar$"  # of matplotlib's own fonts, which the user's may lack


class Measure(NamedTuple):
    """The column that ranks, and what it is called."""

    column: str
    label: str


ERROR = Measure("error", "cross-validated error ± one standard error")
AUC = Measure("auc", "AUC of held-out pairs ± one standard error")


def plot_leaderboard(leaderboard: Any, ax: Any = None, *, winner: str | None = None) -> Any:
    """Draw the errors of all candidates with their standard errors, the best one on top.

    A line shows where the tuned RBF-SVM is, and a star which candidate was chosen: it need not be the one on
    top. Bars that overlap do not say that two candidates are alike: they were measured on the same rows, and
    the column `difference` of the leaderboard has the paired comparison. Candidates that were not measured
    are not drawn.

    Parameters
    ----------
    leaderboard : pandas.DataFrame
        `KernelSearchCV.leaderboard_`: indexed by candidate, with `error` (or `auc`) and `std_error`.
    ax : matplotlib Axes, default=None
        Where to draw. None makes a new figure with pyplot.
    winner : str or None, default=None
        The candidate to mark: `KernelSearchCV.best_name_`. None marks none.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelSearchCV, PerceptronSVC, StumpSVC
    >>> from mercer.report import plot_leaderboard
    >>> some = {"stump": StumpSVC(), "perceptron": PerceptronSVC()}
    >>> search = KernelSearchCV(some, cv=2, random_state=0).fit(*load_iris(return_X_y=True))
    >>> ax = plot_leaderboard(search.leaderboard_, winner=search.best_name_)
    >>> sorted(tick.get_text() for tick in ax.get_yticklabels())
    ['perceptron', 'stump']
    """
    measure = measure_of(leaderboard)
    if winner is not None and winner not in leaderboard.index:
        raise ValueError(f"there is no candidate {winner!r} in the leaderboard to mark as the winner")
    measured = leaderboard[np.isfinite(leaderboard[measure.column].astype(float))]
    if len(measured) == 0:
        raise ValueError("no candidate was measured: there is nothing to draw")
    ax = make_axes(ax, figure_size(len(measured)))
    values = measured[measure.column].to_numpy(dtype=float)
    bars = np.nan_to_num(measured["std_error"].to_numpy(dtype=float))
    names = [str(name) for name in measured.index]
    _draw_reference(ax, names, values)
    heights = np.arange(len(names))
    ax.errorbar(values, heights, xerr=bars, fmt="o", color=COLOURS[0], ms=6, lw=1.8, capsize=3)
    ax.set_yticks(heights, [plain_text(name) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)  # the first line on top
    ax.set_xlabel(measure.label)
    if winner in names:
        _mark(ax, names.index(winner), values, bars)
    if measure is ERROR:
        ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    ax.tick_params(left=False)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.locator_params(axis="x", nbins=6)
    return ax


def measure_of(leaderboard: Any) -> Measure:
    """Return what the candidates are ranked by."""
    for measure in (ERROR, AUC):
        if measure.column in leaderboard.columns:
            return measure
    raise ValueError("a leaderboard has a column `error` or `auc`, and this table has neither")


def figure_size(n_candidates: int) -> tuple[float, float]:
    """Return the inches that so many lines need."""
    return WIDTH, 1.25 + LINE_HEIGHT * n_candidates


def _mark(ax: Any, k: int, values: Array, bars: Array) -> None:
    """Draw the k-th line over again, as that of the winner: with a star, in its own colour, its name bold."""
    ax.errorbar(values[k], k, xerr=bars[k], fmt="*", color=MARKED, ms=15, lw=2.4, capsize=3, capthick=2.0)
    ax.get_yticklabels()[k].set_fontweight("bold")
    ax.set_xlabel(f"{ax.get_xlabel()}\n{STAR} the winner")


def _draw_reference(ax: Any, names: list[str], values: Array) -> None:
    found = next((name for name in REFERENCES if name in names), None)
    if found is None:
        return
    value = values[names.index(found)]
    ax.axvline(value, color=ink(), lw=1.0, ls=(0, (4, 3)), alpha=0.6, zorder=1)
    ax.annotate(
        found,
        (value, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(3, 1),
        textcoords="offset points",
        fontsize="small",
        alpha=0.8,
    )
