"""The winner of a search, learned again from some of the rows, to be looked at on the others."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from mercer._typing import Array, Index
from mercer.kernels import Rescaled
from mercer.kernels.distance import DistanceKernel
from mercer.quality import alignment, ideal_kernel
from mercer.search.candidates import Candidate, kernel_of
from mercer.search.label_task import Rows, refit

HELD_OUT = 0.3  # of the rows of each class
MOST_ROWS = 2500  # that are looked at, learned from and held out together
N_NEIGHBOURS = 5


class HeldOut(NamedTuple):
    """A model and what it is looked at with."""

    model: Pipeline  # the scaler and the winner
    before: sk_kernels.Kernel  # a plain one that learns nothing, of rows as they are
    after: sk_kernels.Kernel | None  # the winner's; None: the winner has no kernel that is known here
    learned_rows: Index  # numbers of the rows that it was learned from
    rows: Index  # and of the others
    X_learned: Array
    y_learned: NDArray[Any]
    X: Array
    y: NDArray[Any]


class Figures(NamedTuple):
    """How well a kernel knows the classes, in numbers."""

    alignment: float
    centred_alignment: float
    neighbours_alike: float  # the share of the nearest learned rows that are of the row's class


def hold_out(search: Any, rows: Rows, rng: RandomState) -> HeldOut:
    """Learn the winner again from about two thirds of the rows, and keep the others."""
    some = thin_rows(rows.y, np.arange(len(rows.y)), MOST_ROWS, rng)
    learned, others = split_rows(rows.y, some, rng)
    if len(others) == 0:
        raise ValueError("every class has a single row: none can be held out")
    candidate = Candidate(search.best_name_, search.best_estimator_[-1], {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the search has gone through all of this before
        scaler, fitted = refit(candidate, {}, Rows(rows.X[learned], rows.y[learned], rows.unlabelled))
    kernel = kernel_of(fitted)
    if isinstance(kernel, DistanceKernel):  # with the constant that makes it positive semi-definite
        kernel = type(kernel).spanning(scaler.transform(rows.X[some]))
    return HeldOut(
        Pipeline([("scale", scaler), ("svm", fitted)]),
        usual_kernel(scaler),
        None if kernel is None else Rescaled(kernel, scaler.mean_, scaler.scale_),
        learned,
        others,
        *(rows.X[learned], rows.y[learned]),
        *(rows.X[others], rows.y[others]),
    )


def usual_kernel(scaler: StandardScaler) -> Rescaled:
    """Return the RBF kernel that people start with: on standardised columns, γ = 1 / their number."""
    width = float(np.sqrt(len(scaler.mean_) / 2.0))
    return Rescaled(sk_kernels.RBF(width, "fixed"), scaler.mean_, scaler.scale_)


def split_rows(y: NDArray[Any], rows: Index, rng: RandomState) -> tuple[Index, Index]:
    """Return rows to learn from and rows to hold out, by class; a class of a single row is learned from."""
    learned, others = [], []
    for label in np.unique(y[rows]):
        mine = rng.permutation(rows[y[rows] == label])
        n_others = min(len(mine) - 1, max(1, round(HELD_OUT * len(mine))))
        others.append(mine[:n_others])
        learned.append(mine[n_others:])
    return np.sort(np.concatenate(learned)), np.sort(np.concatenate(others))


def thin_rows(y: NDArray[Any], rows: Index, most: int, rng: RandomState) -> Index:
    """Return about so many of the rows, of every class its share, and two of each if there are."""
    if len(rows) <= most:
        return rows
    share, chosen = most / len(rows), []
    for label in np.unique(y[rows]):
        mine = rng.permutation(rows[y[rows] == label])
        chosen.append(mine[: max(2, round(share * len(mine)))])
    return np.sort(np.concatenate(chosen))


def measure(kernel: Any, data: HeldOut) -> Figures:
    """Return how well a kernel knows the classes of the held-out rows."""
    K, ideal = np.asarray(kernel(data.X)), ideal_kernel(data.y)
    nearest = nearest_rows(kernel, data.X, data.X_learned, count_neighbours(data))
    alike = data.y_learned[nearest] == data.y[:, None]
    return Figures(alignment(K, ideal), alignment(_centred(K), _centred(ideal)), float(alike.mean()))


def count_neighbours(data: HeldOut) -> int:
    """Return how many nearest rows are looked at: no more than the smallest class has rows.

    A class of which nothing is held out does not count.
    """
    classes, counts = np.unique(data.y_learned, return_counts=True)
    return min(N_NEIGHBOURS, int(counts[np.isin(classes, data.y)].min()))


def nearest_rows(kernel: Any, X: Array, others: Array, n: int) -> Index:
    """Return, for each row of X, the numbers of the n nearest of the others, by the kernel's distance."""
    # ‖φ(x) − φ(z)‖² without k(x, x), which changes no order
    D = np.asarray(kernel.diag(others))[None, :] - 2.0 * np.asarray(kernel(X, others))
    nearest: Index = np.argsort(D, axis=1, kind="stable")[:, :n]
    return nearest


def _centred(K: Array) -> Array:
    means = K.mean(axis=0)
    return K - means[:, None] - means[None, :] + K.mean()
