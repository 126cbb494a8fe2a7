"""Distances between rows, of NumPy or tensors: what kernels are made of.

Tensors of single precision have distances of single precision, with sums in double precision.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils import gen_batches

from mercer._typing import Array
from mercer.array_api import at_once, is_of_numpy, is_of_torch, matching, namespace
from mercer.compiled import njit
from mercer.kernels.base import check_columns, not_negative, squared_lengths

FEW = 10**7  # differences that SciPy sums up before numba would be loaded
BLOCK = 512  # columns of distances that are summed up while they are in the cache
ROWS = 64  # of distances of NumPy's arrays that are summed up while they are in the cache
NUMBERS = 2**20  # of a block of rows
NEAR = 1e-6  # a squared distance below this share of ‖x‖² + ‖y‖² is computed again: it has lost its digits


def squared_distances(X: Array, Y: Array, shape: tuple[float, ...] = ()) -> Array:
    """Return the squared distances of all rows, columns being divided by their shape first."""
    if shape:
        X, Y = X / matching(X, shape), Y / matching(Y, shape)
    if X.shape[1] == 1:
        return (X - Y.T) ** 2
    centre = X.mean(axis=0)
    X, Y = X - centre, Y - centre
    if is_of_numpy(X):
        return _squared_distances_in_blocks(X, Y)
    return not_negative(squared_lengths(X)[:, None] + squared_lengths(Y)[None, :] - 2.0 * (X @ Y.T))


def _squared_distances_in_blocks(X: Array, Y: Array) -> Array:
    """Return ‖x‖² + ‖y‖² − 2 xᵀy; all sums of a few rows are done while they are in the cache."""
    D = np.empty((len(X), len(Y)), dtype=np.result_type(X, Y))
    doubled, lengths, others = -2.0 * X, squared_lengths(X), squared_lengths(Y)
    for block in gen_batches(len(X), ROWS):
        part = np.matmul(doubled[block], Y.T, out=D[block])
        part += lengths[block, None] + others  # this sum first: so it is symmetric to the last digit
        not_negative(part)
    return D


def euclidean(X: Array, Y: Array) -> Array:
    """Return the distances ‖X[i] − Y[j]‖₂. Those of tensors are products, but where rows nearly coincide."""
    if is_of_numpy(X):
        distances: Array = cdist(X, Y)
        return distances
    xp = namespace(X)
    centre = xp.mean(X, axis=0, dtype=xp.float64)
    Z = xp.astype(Y, xp.float64) - centre
    lengths, out = squared_lengths(Z), xp.empty((len(X), len(Y)), dtype=X.dtype, device=X.device)
    for block in gen_batches(len(X), max(1, at_once(X, NUMBERS) // max(1, len(Y)))):
        x = xp.astype(X[block], xp.float64) - centre
        i, j = _expand(x, Z, lengths, out[block])
        size = max(1, at_once(X, NUMBERS) // X.shape[1])
        for start in range(0, len(i), size):
            a, b = i[start : start + size], j[start : start + size]
            out[block][a, b] = xp.astype(xp.linalg.vector_norm(x[a] - Z[b], axis=1), X.dtype, copy=False)
    return cast(Array, out)


def _expand(x: Any, Z: Any, lengths: Any, out: Any) -> tuple[Any, Any]:
    """Put the roots of ‖x‖² + ‖z‖² − 2 xᵀz into `out`; return the pairs that have lost digits by that."""
    if gpu := _triton_distances(x):
        near: tuple[Any, Any] = gpu.euclidean(x @ Z.T, squared_lengths(x), lengths, NEAR, out)
        return near
    xp = namespace(x)
    both = squared_lengths(x)[:, None] + lengths
    D = both - 2.0 * (x @ Z.T)
    out[...] = xp.sqrt(not_negative(D))
    return cast(tuple[Any, Any], xp.nonzero(both * NEAR >= D))


def city_block(X: Array, Y: Array) -> Array:
    """Return the distances ‖X[i] − Y[j]‖₁; many of them, in a third of the time of SciPy's ``cdist``."""
    if not is_of_numpy(X):
        return _city_block_of_tensors(X, Y)
    if X.size * len(Y) <= FEW:
        distances: Array = cdist(X, Y, "cityblock")
        return distances
    check_columns(X, Y.shape[1])  # compiled code would read beyond the end
    out = np.zeros((len(X), len(Y)))
    add_distances(np.ascontiguousarray(X, dtype=np.float64), np.array(Y.T, np.float64, order="C"), out)
    return out


def _city_block_of_tensors(X: Any, Y: Any) -> Array:
    xp = namespace(X)
    out = xp.empty((len(X), len(Y)), dtype=X.dtype, device=X.device)
    if gpu := _triton_distances(X):
        gpu.city_block(X, Y, out)
        return cast(Array, out)
    for block in gen_batches(len(X), max(1, at_once(X, NUMBERS) // (8 * max(1, len(Y))))):
        x = xp.astype(X[block], xp.float64)
        total = xp.zeros((len(x), len(Y)), dtype=xp.float64, device=X.device)
        for d in range(X.shape[1]):
            total += xp.abs(x[:, d, None] - Y[None, :, d])
        out[block] = total
    return cast(Array, out)


def _triton_distances(X: Any) -> Any:
    """Return the loops for a GPU, if that is where the rows are, and a Triton with Gluon is installed."""
    if not (is_of_torch(X) and X.is_cuda and find_spec("triton") and find_spec("triton.experimental.gluon")):
        return None
    return import_module("mercer.kernels.triton_distances")


@njit(cache=True, nogil=True)
def add_distances(X: Array, columns: Array, out: Array) -> None:
    """Add ‖x − z‖₁ of each row and each column of `columns`, which are rows too."""
    for start in range(0, columns.shape[1], BLOCK):
        stop = min(start + BLOCK, columns.shape[1])
        for i in range(X.shape[0]):
            row = out[i, start:stop]
            for d in range(X.shape[1]):
                x, column = X[i, d], columns[d, start:stop]
                for j in range(stop - start):  # no sum over j: this loop is vectorised as it stands
                    row[j] += abs(x - column[j])
