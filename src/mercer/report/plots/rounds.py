"""How the error falls from round to round of a boosted kernel."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array, Index
from mercer.machines import KernelSVC
from mercer.report.plots.style import COLOURS, make_axes

SIZE = (4.5, 3.2)  # inches
MOST_ROUNDS = 12  # that an SVM is fitted for; the others lie between


class RoundErrors(NamedTuple):
    """The errors of SVMs on the kernels after each number of rounds."""

    rounds: Index
    learned: Array  # the error on the training samples
    held_out: Array  # and on held-out ones


def staged_errors(model: Any, X: Any, y: Any, X_new: Any, y_new: Any) -> RoundErrors:
    """Return the errors after 1, 2, … rounds: for each, that of an SVM with the kernel as it was then.

    Of many rounds only some are evaluated, closer together at the start.

    Parameters
    ----------
    model : KernelSVC
        Fitted, with a learner that has `staged_kernels`: `BoostedKernel` or `KernelBoost`.
    X, y : array-like of shape (n, n_features) and (n,)
        The training samples and their classes.
    X_new, y_new : array-like of shape (m, n_features) and (m,)
        Held-out samples and their classes.

    Returns
    -------
    RoundErrors
        For `plot_rounds`.
    """
    check_is_fitted(model)
    learner: Any = getattr(model, "learner_", None)
    if not isinstance(model, KernelSVC) or not hasattr(learner, "staged_kernels"):
        raise TypeError("only a KernelSVC whose learner is boosted (it has staged_kernels) has rounds")
    rounds = _some_rounds(learner.n_rounds_)
    if len(rounds) < 2:
        raise ValueError(f"there was {learner.n_rounds_} round: nothing falls")
    learned, held_out = [], []
    for n_rounds in rounds:
        stage = clone(model).set_params(learner=learner.kernel_after(int(n_rounds))).fit(X, y)
        learned.append(1.0 - stage.score(X, y))
        held_out.append(1.0 - stage.score(X_new, y_new))
    return RoundErrors(rounds, np.array(learned), np.array(held_out))


def plot_rounds(errors: RoundErrors, ax: Any = None) -> Any:
    """Draw how the error falls with the rounds of a boosted kernel, on training and on held-out samples.

    Parameters
    ----------
    errors : RoundErrors
        What `staged_errors` found.
    ax : matplotlib Axes, default=None
        Where to draw. None makes a new figure with pyplot.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import BoostedKernel, KernelSVC
    >>> from mercer.report import plot_rounds, staged_errors
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelSVC(BoostedKernel(n_rounds=5), relative_C=True).fit(X[::2], y[::2])
    >>> ax = plot_rounds(staged_errors(model, X[::2], y[::2], X[1::2], y[1::2]))
    >>> ax.get_xlabel()
    'rounds'
    """
    ax = make_axes(ax, SIZE)
    ax.plot(errors.rounds, errors.learned, "s--", color=COLOURS[1], ms=4, label="training samples")
    ax.plot(errors.rounds, errors.held_out, "o-", color=COLOURS[0], ms=5, label="held-out samples")
    ax.set_xlabel("rounds")
    ax.set_ylabel("error")
    ax.set_ylim(bottom=0.0)
    if ax.get_ylim()[1] < 0.01:  # no error at all: not a scale of nothings
        ax.set_ylim(0.0, 0.1)
    ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    ax.locator_params(axis="x", integer=True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def _some_rounds(n_rounds: int) -> Index:
    if n_rounds <= MOST_ROUNDS:
        return np.arange(1, n_rounds + 1)
    return np.unique(np.geomspace(1, n_rounds, MOST_ROUNDS).round().astype(np.intp))
