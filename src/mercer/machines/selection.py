"""The choice of C, and of one of several kernels, by cross-validation: grids, folds and scores."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length

from mercer._typing import Array, Flags, Index
from mercer.array_api import is_of_torch, to_numpy
from mercer.machines.problems import Solved
from mercer.machines.samples import run_in_threads
from mercer.shown import shown

SURE_OF_A_CLASS = 20  # rows of each class that are among those that choose, if it has as many
PATIENCE = 2  # values of C in a row that are worse than the best, after which larger ones are not tried, …
CLEARLY = 5.0  # … or one, by so many standard errors: the next would take the longest of all
Folds = list[tuple[Index, Index]]


class Trial(NamedTuple):
    """What a fold has shown for one C."""

    scores: list[float]  # of its test samples, for each factor of f
    short: Solved | None  # the solution, if it is not as accurate as asked for
    predicted: Array | None = None  # of its test samples, if these are numbers


class Tried(NamedTuple):
    """What is best of all that was tried."""

    kernel: Any
    C: float
    factor: int
    trials: list[Trial]  # of each fold, with this kernel and C


def go_along(
    walks: Sequence[Iterator[Trial]], n_Cs: int, n_jobs: int | None
) -> tuple[Array, list[list[Trial]]]:
    """Return the scores of each fold, C and factor, and for each C that was tried what each fold has shown.

    All folds go along their paths together, until larger C are worse: these take the longest.
    """
    trials: list[list[Trial]] = []
    for _ in range(n_Cs):
        trials.append(run_in_threads(n_jobs, [partial(next, walk) for walk in walks]))
        scores = np.array([[trial.scores for trial in tried] for tried in trials]).swapaxes(0, 1)
        best = scores.mean(axis=0).argmax(axis=1)  # factor, of each C
        if is_past_the_best(np.take_along_axis(scores, best[None, :, None], axis=2)[:, :, 0]):
            break
    missing = np.full((len(walks), n_Cs - len(trials), scores.shape[2]), np.nan)
    return np.concatenate([scores, missing], axis=1), trials


def make_grid(Cs: int | ArrayLike, low: int, high: int) -> Array:
    """Return ascending C: those given, or that number of them from 2^low to 2^high in equal ratios."""
    if isinstance(Cs, bool):
        raise TypeError(f"Cs must be a number of values, or the values of C; got {Cs}.")
    if isinstance(Cs, Integral):
        if Cs < 1:
            raise ValueError(f"Cs={Cs}: give at least one value of C, or the number of values.")
        return np.logspace(low, high, int(Cs), base=2.0)
    return check_grid(Cs, "Cs")


def check_grid(values: ArrayLike, name: str) -> Array:
    """Return positive numbers, ascending; there must be one at least."""
    grid = np.unique(np.asarray(values, dtype=np.float64))
    if grid.size == 0 or not (np.all(np.isfinite(grid)) and grid[0] > 0):
        raise ValueError(f"{name} must be one positive number or more, got {values!r}.")
    return grid


def split_classes(
    cv: Any, X: Array, label: Index, counts: Flags, classes: NDArray[Any], groups: ArrayLike | None
) -> Folds:
    """Return the rows of each fold that count; each class must be in every training part."""
    from sklearn.model_selection import check_cv  # to predict, it need not be imported

    check_consistent_length(X, groups)
    groups = to_numpy(groups) if is_of_torch(groups) else groups
    folds = _count(check_cv(cv, label, classifier=True).split(X, label, groups), np.arange(len(X)), counts)
    for k, (train, _) in enumerate(folds):
        missing = np.setdiff1d(np.arange(len(classes)), label[train])
        if len(missing) > 0:
            raise ValueError(
                f"The training part of fold {k} holds no row of class {shown(classes[missing[0]])}. Use "
                "stratified folds (an integer cv), fewer folds, or more rows of that class."
            )
    return folds


def split_numbers(cv: Any, X: Array, Y: Array, counts: Flags, groups: ArrayLike | None, seed: int) -> Folds:
    """Return the rows of each fold that count; of a number of folds, rows in random order."""
    from sklearn.model_selection import KFold, check_cv

    check_consistent_length(X, groups)
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        rows = np.flatnonzero(counts)
        return _count(KFold(int(cv), shuffle=True, random_state=seed).split(rows), rows, counts)
    return _count(check_cv(cv).split(X, Y, groups), np.arange(len(X)), counts)


def _count(split: Iterable[tuple[Any, Any]], rows: Index, counts: Flags) -> Folds:
    """Return which rows of each fold count; there must be some."""
    folds = []
    for k, fold in enumerate(split):
        train, test = (part[counts[part]] for part in (rows[np.asarray(f)] for f in fold))
        if len(train) == 0 or len(test) == 0:
            raise ValueError(f"Fold {k} holds no training or no test sample of positive weight.")
        folds.append((train, test))
    return folds


def thin_folds(folds: Folds, some: Flags) -> Folds:
    """Return the folds among some of the rows; as they are, if one would have none of them."""
    thinned = [(train[some[train]], test[some[test]]) for train, test in folds]
    return thinned if all(len(part) for fold in thinned for part in fold) else folds


def draw_some(label: Index, counts: Flags, n: int, rng: Any) -> Flags:
    """Return the rows that count, or some n of them: of each class the same share, but twenty or all."""
    if counts.sum() <= n:
        return counts
    some, order = np.zeros(len(label), dtype=bool), rng.permutation(np.flatnonzero(counts))
    for k in range(label.max() + 1):
        rows = order[label[order] == k]
        some[rows[: max(SURE_OF_A_CLASS, round(n * len(rows) / len(order)))]] = True
    return some


def check_score(score: Any, scoring: Any, n_tested: int) -> float:
    """Return the score of a fold; raise if it is none, as of a fold that tests too few samples for it."""
    if np.isnan(score):
        raise ValueError(
            f"scoring={scoring!r} gives no number for a fold that tests {n_tested} sample(s). Use fewer "
            "folds (cv=5), or another scoring."
        )
    return float(score)


def is_past_the_best(scores: Array) -> bool:
    """Return whether the scores (n_folds, n_tried) have been worse than the best, surely or clearly.

    Surely is twice in a row by more than a standard error of the difference, clearly is once by five.
    """
    n_folds, n_tried = scores.shape
    n_since = n_tried - 1 - int(np.argmax(scores.mean(axis=0)))
    if n_folds < 2 or n_since == 0:
        return False
    lost = scores[:, [n_tried - 1 - n_since]] - scores[:, -min(n_since, PATIENCE) :]
    wanted = 1.0 if n_since >= PATIENCE else CLEARLY
    return bool(np.all(lost.mean(axis=0) > wanted * lost.std(axis=0, ddof=1) / np.sqrt(n_folds)))
