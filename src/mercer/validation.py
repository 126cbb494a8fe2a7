"""Samples and targets as estimators take them: dense numbers. Who has something else is told what to do."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import check_X_y, validate_data

from mercer._typing import Array, Index
from mercer.array_api import detached, is_tensor, namespace
from mercer.limits import check_memory
from mercer.scikit import supported_float_dtypes

COPIES = 2  # of the samples that are in memory at once: those given, and those scaled or sorted
DENSE = "torch.strided"  # the layout of dense tensors of torch
LEAST_SQUARE = 1e-290  # a smaller one is, divided by some million samples, no number of full precision
NO_NUMBERS = ("could not convert string", "Input X contains NaN", "Cannot cast object dtype")


def check_rows(estimator: Any, X: Any, *y: Any, reset: bool = True) -> Any:
    """Return samples, and labels if they are given, checked by scikit-learn; sparse ones become dense.

    Parameters
    ----------
    estimator : estimator
        Whose `n_features_in_` and `feature_names_in_` are set, or compared.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples. A tensor stays one, where scikit-learn's array API dispatch is on.
    *y : array-like of shape (n_samples,)
        Their labels, if there are any.
    reset : bool
        Whether it is a fit.
    """
    X = from_frame(X)
    kind = _tensor_kinds(estimator, X) if is_tensor(X) else np.float64
    try:
        return validate_data(estimator, detached(dense(X)), *y, dtype=kind, reset=reset)
    except ValueError as error:
        if not str(error).startswith(NO_NUMBERS):
            raise
        raise no_numbers(estimator, str(error)) from error


def no_numbers(estimator: Any, what: str) -> ValueError:
    """Return an error that says what to do about samples that are not numbers."""
    first = what.split("\n")[0].rstrip(".")
    return ValueError(
        f"{first}: {type(estimator).__name__} takes numbers alone. For texts, categories and missing "
        "values put mercer.TableEncoder before it: make_pipeline(TableEncoder(), ClippedScaler(), …)."
    )


def _tensor_kinds(estimator: Any, X: Any) -> list[Any]:
    """Return the kinds of numbers that a tensor may stay of; complain if it cannot be computed with."""
    name = type(estimator).__name__
    if not get_tags(estimator).array_api_support:
        raise TypeError(f"{name} takes arrays of NumPy, and no tensors: give X.cpu().numpy().")
    return float_kinds(name, X)


def float_kinds(name: str, X: Any) -> list[Any]:
    """Return single and double precision, the latter of which a device must have."""
    xp = namespace(X)
    if str(getattr(X, "layout", DENSE)) != DENSE:
        raise TypeError(f"{name} takes dense tensors: give X.to_dense().")
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError(f"Complex data not supported: {name} takes real numbers.")
    if xp.float64 not in supported_float_dtypes(xp, X.device):
        raise TypeError(f"{name} computes in double precision, which {X.device} does not have: give X.cpu().")
    return [xp.float64, xp.float32]


def encode_rows(
    estimator: Any, X: Any, *y: Any, reset: bool = True, encoder: Any = "auto", more: Any = None
) -> Any:
    """Return samples as `check_rows` does, but of a table with texts, dates or gaps encoded ones.

    The encoder, if there is need of one ("auto"), or the one that is given, is kept as the `encoder_` of the
    estimator. It sees `more` samples of a table, too.
    """
    X, more = from_frame(X), from_frame(more)
    if reset:
        table = X if more is None or not hasattr(X, "columns") else _with_more(X, more)
        if isinstance(encoder, str):
            estimator.encoder_ = _fit_encoder(table)
        else:
            estimator.encoder_ = None if encoder is None else clone(encoder).fit(table)
    if estimator.encoder_ is None:
        return check_rows(estimator, X, *y, reset=reset)
    if reset or not hasattr(X, "columns"):  # of a table, the encoder takes the columns that it needs
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    rows = estimator.encoder_.transform(X)
    return check_X_y(rows, *y) if y else rows


def _with_more(table: Any, more: Any) -> Any:
    """Return all rows of two tables, by the columns of the first."""
    import pandas as pd  # which is here if there is a table

    rows = pd.concat([table, pd.DataFrame(more).reindex(columns=table.columns)], ignore_index=True)
    rows.attrs = dict(table.attrs)
    return rows


def from_frame(X: Any) -> Any:
    """Return a table of pyarrow or polars as one of pandas, and anything else as it is."""
    library = type(X).__module__.partition(".")[0]
    if library == "pyarrow":
        return X.to_pandas()
    if library == "polars" and hasattr(X, "columns"):
        import pandas as pd  # only where there is a table

        return pd.DataFrame({name: X[name].to_numpy() for name in X.columns})
    return X


def _fit_encoder(X: Any) -> Any:
    """Return an encoder of a table that is not all numbers, or of an array with gaps, or else None."""
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f":
        if not np.isnan(X).any() or np.isinf(X).any():
            return None
    elif not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return None
    else:
        is_number = all(getattr(kind, "kind", "O") in "biuf" for kind in X.dtypes)
        if is_number and not X.isna().to_numpy().any():
            return None
    from mercer.preprocessing import TableEncoder  # and pandas, which is here if there is a table

    return TableEncoder().fit(X)


def some_rows(n: int, about: int) -> Index:
    """Return all of n rows, or of twice as many and more `about` that many, the same ones each time.

    They are drawn, as every k-th row may be of one kind where rows have a rhythm.
    """
    return np.arange(n) if n < 2 * about else np.sort(np.random.RandomState(0).permutation(n)[:about])


def dense(X: Any) -> Any:
    """Return a sparse matrix as a dense array, if there is memory for it, and anything else as it is."""
    if not issparse(X):
        return X
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    check_memory(
        COPIES * 8 * np.prod(X.shape, dtype=float),
        f"A sparse matrix of {X.shape[0]} samples and {X.shape[1]} features, as a dense array,",
        "Reduce the features first, for example by sklearn.decomposition.TruncatedSVD.",
    )
    return X.toarray()


def check_target(y: Any) -> Array:
    """Return the target as finite numbers, of one dimension or two; say what to do where it is not."""
    values = np.asarray(y)
    if values.dtype.kind in "Mm":
        raise ValueError(
            "The target holds dates or times, a regressor needs numbers: convert them, for example to days "
            "since the first."
        )
    if values.dtype.kind in "OUS":
        values = _convert_objects(values)
    Y: Array = check_array(values, ensure_2d=False, dtype=np.float64, input_name="y")
    with np.errstate(over="ignore"):
        if Y.ndim > 2:
            raise ValueError(
                f"The target has {Y.ndim} dimensions, but needs one, or two for several targets."
            )
        if Y.size and not np.isfinite(np.ptp(Y) ** 2 * len(Y)):
            raise ValueError("The target is too large to compute with: divide it by its standard deviation.")
    range_of = np.ptp(Y, axis=0)
    if np.any((range_of > 0.0) & (range_of**2 < LEAST_SQUARE)):
        raise ValueError("The target is too small to compute with: divide it by its standard deviation.")
    return Y


def _convert_objects(values: NDArray[Any]) -> Array:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        wrong = next(value for value in values.astype(object).ravel() if not _is_number(value))
        raise ValueError(
            f"The target holds {wrong!r}, a regressor needs numbers: for classes use a classifier such as "
            "StumpSVC, dates convert to days since the first."
        ) from None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
