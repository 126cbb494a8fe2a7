"""Samples in chunks of rows, of a Dask array or DataFrame: what is in them, and lazy predictions.

Nothing here imports Dask before there is a collection of it.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import validate_data

from mercer._typing import Array
from mercer.machines.places import is_lazy
from mercer.validation import dense

Answer = Callable[[Any, Array], Any]  # of a model, to the decision values of rows


class RowChunks(NamedTuple):
    """Samples, labels and weights in the same chunks, not computed yet."""

    X: Sequence[Any]
    y: Sequence[Any]
    weight: Sequence[Any]
    lengths: Sequence[int]


def check_features(estimator: Any, X: Any, reset: bool) -> Any:
    """Return a collection whose chunks hold all features; number and names are kept, or compared."""
    if X.ndim != 2:
        raise ValueError(f"Expected a 2D array or a DataFrame of Dask, got one of {X.ndim} dimension(s).")
    empty = X._meta if hasattr(X, "columns") else np.empty((0, X.shape[1]))
    validate_data(estimator, empty, reset=reset, skip_check_array=True)
    return X if hasattr(X, "columns") else X.rechunk({1: -1})


def split_rows(X: Any, y: Any, sample_weight: Any) -> RowChunks:
    """Bring samples, labels and weights into the same chunks, those of the samples."""
    from dask import compute, delayed

    blocks = _blocks(X)
    lengths: Any = (np.nan,) if hasattr(X, "columns") else X.chunks[0]
    if np.isnan(lengths).any():
        lengths = compute(*(delayed(len)(block) for block in blocks))
    weight: list[Any] = [None] * len(blocks)
    if sample_weight is not None:
        weight = _align(sample_weight, lengths, "sample_weight")
    return RowChunks(blocks, _align(y, lengths, "y"), weight, lengths)


def _blocks(collection: Any) -> list[Any]:
    """Return the chunks, not computed yet; those of arrays under their own names, which X and y may share."""
    optimize = hasattr(collection, "to_dask_array")  # a DataFrame reads only the columns that it needs
    return list(np.ravel(collection.to_delayed(optimize_graph=optimize)))


def _align(values: Any, lengths: Sequence[int], name: str) -> list[Any]:
    """Return labels or weights in chunks of these lengths."""
    n = sum(lengths)
    if not is_lazy(values):
        values = column_or_1d(values)
    elif values.ndim != 1:
        raise ValueError(f"{name} must have one dimension, but has {values.ndim}.")
    elif hasattr(values, "to_dask_array") or np.isnan(values.chunks[0]).any():  # of unknown lengths
        blocks = _blocks(values)
        if len(blocks) != len(lengths):
            raise ValueError(
                f"{name} has {len(blocks)} chunks of unknown length, but X has {len(lengths)} chunks: split "
                f"them alike, or give {name} as an array in memory."
            )
        return blocks
    if len(values) != n:
        raise ValueError(f"X has {n} rows, but {name} has {len(values)}.")
    if is_lazy(values):
        return _blocks(values.rechunk((tuple(lengths),)))
    return np.split(values, np.cumsum(lengths)[:-1])


def check_chunk(X: Any, y: Any, weight: Any) -> tuple[Array, NDArray[Any], Array, tuple[int, str] | None]:
    """Return a chunk as arrays, and its first row that is wrong, and how, if there is one."""
    X, y = as_numbers(X), np.asarray(y)
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    if not len(X) == len(y) == len(weight):
        counts = f"{len(X)}, {len(y)} and {len(weight)}"
        raise ValueError(f"A chunk has {counts} rows of X, y and sample_weight: split them alike.")
    return X, y, weight, find_fault(X) or find_fault_beside(y, weight)


def as_numbers(X: Any) -> Array:
    """Return a chunk as a dense array of numbers, whatever these are."""
    options: dict[str, Any] = {"ensure_all_finite": False, "ensure_min_samples": 0}
    return np.asarray(check_array(dense(X), dtype=np.float64, **options))


def find_fault(X: Array) -> tuple[int, str] | None:
    """Return the first row that holds NaN or infinity, and where."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):  # as scikit-learn does: one sum shows it
            return None
    bad = np.argwhere(~np.isfinite(X))
    if len(bad) == 0:
        return None
    row, feature = (int(k) for k in bad[0])
    what = "NaN" if np.isnan(X[row, feature]) else "infinity"
    return row, f"Input X contains {what} in row {{row}}, feature {feature}"


def find_fault_beside(y: NDArray[Any], weight: Array) -> tuple[int, str] | None:
    """Return the first row whose y is NaN, or whose weight is none, and how."""
    missing = np.flatnonzero(y != y)
    if len(missing):
        return int(missing[0]), "Input y contains NaN in row {row}"
    wrong = np.flatnonzero(~((weight >= 0.0) & (weight < np.inf)))
    if len(wrong):
        value = weight[wrong[0]]
        return int(wrong[0]), f"sample_weight is {value:g} in row {{row}}, but must be at least zero"
    return None


def map_rows(model: Any, X: Any, answer: Answer) -> Any:
    """Return, not computed yet, what a model answers to the decision values of each row."""
    from dask import delayed

    X = check_features(model, X, reset=False)
    X = X.to_dask_array() if hasattr(X, "columns") else X
    like = answer(model, model._values(np.zeros((1, X.shape[1]))))
    shape: dict[str, Any] = {"drop_axis": 1} if like.ndim == 1 else {"chunks": (X.chunks[0], like.shape[1:])}
    options = {"model": delayed(model, traverse=False), "answer": answer, "like": like}
    return X.map_blocks(_answer_rows, **options, **shape, dtype=like.dtype, meta=like[:0])


def _answer_rows(
    X: Any, model: Any, answer: Answer, like: NDArray[Any], block_info: Any = None
) -> NDArray[Any]:
    X = as_numbers(X)
    fault = find_fault(X)
    if fault is not None:
        row, what = fault
        start = block_info[0]["array-location"][0][0]  # unknown if lengths of chunks are
        raise ValueError(what.format(row=row + start) + ".")
    return answer(model, model._values(X)) if len(X) else like[:0]
