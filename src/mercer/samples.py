"""Samples as an estimator takes them: dense numbers. Whoever has something else is told what to do."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from mercer.limits import check_memory

COPIES = 2  # of the samples that are in memory at once: those given, and those scaled or sorted
NO_NUMBERS = ("could not convert string", "Input X contains NaN", "Cannot cast object dtype")


def check_rows(estimator: Any, X: Any, *y: Any, reset: bool = True) -> Any:
    """Return samples, and labels if they are given, checked by scikit-learn; sparse ones become dense.

    Parameters
    ----------
    estimator : estimator
        Whose `n_features_in_` and `feature_names_in_` are set, or compared.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples.
    *y : array-like of shape (n_samples,)
        Their labels, if there are any.
    reset : bool
        Whether it is a fit.
    """
    try:
        return validate_data(estimator, dense(X), *y, dtype=np.float64, reset=reset)
    except ValueError as error:
        if not str(error).startswith(NO_NUMBERS):
            raise
        first = str(error).split("\n")[0].rstrip(".")
        raise ValueError(
            f"{first}: {type(estimator).__name__} takes numbers alone. For texts, categories and missing "
            "values put mercer.TableEncoder before it: make_pipeline(TableEncoder(), ClippedScaler(), …)."
        ) from error


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
