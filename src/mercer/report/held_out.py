"""Samples that the search held out, with what the model says of them without having seen them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.metrics import r2_score
from sklearn.preprocessing import KernelCenterer

from mercer._typing import Array, Index
from mercer.kernels import Rescaled
from mercer.kernels.distance import DistanceKernel
from mercer.metrics import alignment, ideal_kernel
from mercer.preprocessing.scaling import ClippedScaler
from mercer.search.task import order_by_class

MOST_ROWS = 2500  # among which neighbours are looked for
N_NEIGHBOURS = 5


class HeldOut(NamedTuple):
    """What was held out, what is said of it, and the kernel to look at it with."""

    rows: Index  # numbers of the samples
    X: Array
    y: NDArray[Any]
    predicted: NDArray[Any]
    chances: Array | None  # (n_samples, n_classes)
    before: sk_kernels.Kernel  # a plain one that learns nothing, of samples as they are
    after: sk_kernels.Kernel | None  # the main member's; None: it has no kernel that is known here
    other_rows: Index  # of samples among which neighbours are looked for
    X_others: Array
    y_others: NDArray[Any]


class Figures(NamedTuple):
    """How well a kernel knows the targets, in numbers that are at most 1."""

    alignment: float  # both matrices centred: it does not depend on a constant added to a kernel
    neighbours: float  # how well the nearest other samples say what a sample is


def hold_out(search: Any, X: Array, y: NDArray[Any], seed: int) -> HeldOut:
    """Return what the search has kept of the samples that it held out, each once."""
    found, first = np.unique(search.held_out_.rows, return_index=True)
    said = search.held_out_.said[first]
    is_label = said.ndim == 2
    predicted = search.classes_[search.model_.decision.choose(said)] if is_label else said
    others = draw_rows(y, MOST_ROWS, seed, by_class=is_label)
    scaler = search.best_estimator_[0]
    return HeldOut(
        found,
        X[found],
        y[found],
        predicted,
        said if is_label else None,
        usual_kernel(scaler),
        _spanning(search.best_kernel_, scaler, X[others]),
        others,
        X[others],
        y[others],
    )


def draw_rows(y: NDArray[Any], n: int, seed: int, *, by_class: bool) -> Index:
    """Return at most n samples at random; by class, of each as large a share as of all, but some."""
    if by_class:
        place = order_by_class(np.unique(y, return_inverse=True)[1], seed)
        return np.sort(np.argsort(place, kind="stable")[:n])
    return np.sort(RandomState(seed).permutation(len(y))[:n])


def usual_kernel(scaler: ClippedScaler) -> Rescaled:
    """Return the RBF kernel that people start with: on standardised features, γ = 1 / their number."""
    width = float(np.sqrt(len(scaler.mean_) / 2.0))
    base = sk_kernels.RBF(width, "fixed")
    return Rescaled(base, scaler.mean_, scaler.scale_, scaler.low_, scaler.high_)


def _spanning(kernel: Any, scaler: ClippedScaler, X: Array) -> Any:
    """Return a distance kernel with the constant that makes it positive semi-definite on X."""
    if not isinstance(kernel, Rescaled) or not isinstance(kernel.base, DistanceKernel):
        return kernel
    return kernel.with_base(type(kernel.base).spanning(scaler.transform(X)))


def measure(kernel: Any, data: HeldOut, some: Index) -> Figures:
    """Return how well a kernel knows the classes of some held-out samples."""
    nearest = nearest_rows(kernel, data, some, N_NEIGHBOURS)
    alike = data.y_others[nearest] == data.y[some][:, None]
    return Figures(_aligned(kernel, data.X[some], ideal_kernel(data.y[some])), float(alike.mean()))


def measure_numbers(kernel: Any, data: HeldOut, some: Index) -> Figures:
    """Return how well a kernel knows the numbers of held-out samples: neighbours, by the R² of their mean."""
    y = data.y[some]
    from_mean, guess = (
        y - y.mean(),
        data.y_others[nearest_rows(kernel, data, some, N_NEIGHBOURS)].mean(axis=1),
    )
    return Figures(_aligned(kernel, data.X[some], np.outer(from_mean, from_mean)), float(r2_score(y, guess)))


def _aligned(kernel: Any, X: Array, ideal: Array) -> float:
    return alignment(*(KernelCenterer().fit_transform(K) for K in (np.asarray(kernel(X)), ideal)))


def nearest_rows(kernel: Any, data: HeldOut, some: Any, n: int) -> Index:
    """Return, for some held-out samples, which n of the others are nearest by the kernel's distance."""
    # ‖φ(x) − φ(z)‖² without k(x, x), which changes no order
    D = np.asarray(kernel.diag(data.X_others))[None, :] - 2.0 * np.asarray(
        kernel(data.X[some], data.X_others)
    )
    D[data.rows[some][:, None] == data.other_rows[None, :]] = np.inf  # nobody is a neighbour of itself
    nearest: Index = np.argsort(D, axis=1, kind="stable")[:, :n]
    return nearest
