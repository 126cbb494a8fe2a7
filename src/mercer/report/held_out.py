"""The winner of a search and its blend, fitted to a part of the samples, to be looked at on the others."""

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import KernelCenterer

from mercer._typing import Array, Index
from mercer.kernels import Rescaled
from mercer.kernels.distance import DistanceKernel
from mercer.metrics import alignment, ideal_kernel
from mercer.preprocessing.scaling import ClippedScaler
from mercer.search.blend import Blend, NumberBlend
from mercer.search.candidates import Candidate
from mercer.search.label_task import LabelTask, draw_by_class
from mercer.search.number_task import NumberTask
from mercer.search.task import Fitted

HELD_OUT = 0.3  # of the samples of each class
MOST_ROWS = 2500  # that are looked at, fitted to and held out together
N_NEIGHBOURS = 5


class HeldOut(NamedTuple):
    """A model and the samples that it is looked at with."""

    model: Pipeline  # the scaler and the winner
    predictor: Any  # what predicts: the same, or the blend
    before: sk_kernels.Kernel  # a plain one that learns nothing, of samples as they are
    after: sk_kernels.Kernel | None  # the winner's; None: the winner has no kernel that is known here
    learned_rows: Index  # numbers of the samples that it was fitted to
    rows: Index  # and of those held out
    X_learned: Array
    y_learned: NDArray[Any]
    X: Array
    y: NDArray[Any]


class Figures(NamedTuple):
    """How well a kernel knows the targets, in numbers that are at most 1."""

    alignment: float  # both matrices centred: it does not depend on a constant added to a kernel
    neighbours: float  # how well the nearest training samples say what a sample is


def hold_out(search: Any, task: LabelTask | NumberTask, seed: int) -> HeldOut:
    """Fit the winner to about 70 % of the samples, and keep the others."""
    X, y = task.X, task.y
    if isinstance(task, NumberTask):
        some = task.draw(np.arange(len(y)), MOST_ROWS, seed)
        learned, others = train_test_split(some, test_size=HELD_OUT, random_state=seed)
    else:
        some = draw_by_class(y, MOST_ROWS, seed, least=2)
        learned, others = (some[part] for part in split_rows(y[some], seed))
    if len(others) == 0:
        raise ValueError("every class has a single sample: none can be held out")
    winner = Candidate(search.best_name_, search.best_estimator_[-1], {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the search has given all of these before
        part = replace(task, X=X[learned], y=y[learned])
        fitted = part.fit(winner, {})
        blend = getattr(search, "predictor_", search.blend_)  # of numbers, it has intervals
        predictor = fitted.pipeline if blend is None else _blend(blend, part)
    return HeldOut(
        fitted.pipeline,
        predictor,
        usual_kernel(fitted.scaler),
        _spanning(fitted, X[some]).unscaled_kernel,
        learned,
        others,
        *(X[learned], y[learned]),
        *(X[others], y[others]),
    )


def _blend(blend: Blend | NumberBlend, task: LabelTask | NumberTask) -> Any:
    """Return the blend with its members fitted to other samples."""
    members = [task.fit(Candidate(name, one[-1], {}), {}).pipeline for name, one in blend.estimators]
    return clone(blend).use(members, *([task.classes] if isinstance(task, LabelTask) else []))


def split_rows(y: NDArray[Any], seed: int) -> tuple[Index, Index]:
    """Return samples to fit to and samples to hold out, by class; a class of a single sample is fitted to."""
    _, label, counts = np.unique(y, return_inverse=True, return_counts=True)
    several = np.flatnonzero(counts[label] > 1)
    others = several[draw_by_class(y[several], round(HELD_OUT * len(several)), seed)]
    return np.setdiff1d(np.arange(len(y)), others), others


def usual_kernel(scaler: ClippedScaler) -> Rescaled:
    """Return the RBF kernel that people start with: on standardised features, γ = 1 / their number."""
    width = float(np.sqrt(len(scaler.mean_) / 2.0))
    base = sk_kernels.RBF(width, "fixed")
    return Rescaled(base, scaler.mean_, scaler.scale_, scaler.low_, scaler.high_)


def _spanning(fitted: Fitted, X: Array) -> Fitted:
    """Return a distance kernel with the constant that makes it positive semi-definite on X."""
    if not isinstance(fitted.kernel, DistanceKernel):
        return fitted
    return fitted._replace(kernel=type(fitted.kernel).spanning(fitted.scaler.transform(X)))


def measure(kernel: Any, data: HeldOut) -> Figures:
    """Return how well a kernel knows the classes of the held-out samples."""
    nearest = nearest_rows(kernel, data.X, data.X_learned, count_neighbours(data))
    alike = data.y_learned[nearest] == data.y[:, None]
    return Figures(_aligned(kernel, data, ideal_kernel(data.y)), float(alike.mean()))


def measure_numbers(kernel: Any, data: HeldOut) -> Figures:
    """Return how well a kernel knows the numbers of held-out samples: neighbours, by the R² of their mean."""
    nearest = nearest_rows(kernel, data.X, data.X_learned, N_NEIGHBOURS)
    from_mean = data.y - data.y.mean()
    guess = data.y_learned[nearest].mean(axis=1)
    return Figures(_aligned(kernel, data, np.outer(from_mean, from_mean)), float(r2_score(data.y, guess)))


def _aligned(kernel: Any, data: HeldOut, ideal: Array) -> float:
    return alignment(*(KernelCenterer().fit_transform(K) for K in (np.asarray(kernel(data.X)), ideal)))


def count_neighbours(data: HeldOut) -> int:
    """Return how many nearest samples are looked at: no more than the smallest class has.

    A class of which nothing is held out does not count.
    """
    classes, counts = np.unique(data.y_learned, return_counts=True)
    return min(N_NEIGHBOURS, int(counts[np.isin(classes, data.y)].min()))


def nearest_rows(kernel: Any, X: Array, others: Array, n: int) -> Index:
    """Return, for each sample of X, the numbers of the n nearest of the others, by the kernel's distance."""
    # ‖φ(x) − φ(z)‖² without k(x, x), which changes no order
    D = np.asarray(kernel.diag(others))[None, :] - 2.0 * np.asarray(kernel(X, others))
    nearest: Index = np.argsort(D, axis=1, kind="stable")[:, :n]
    return nearest
