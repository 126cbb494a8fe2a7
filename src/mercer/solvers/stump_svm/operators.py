"""What a solver asks of a Gram matrix K: products with it, and K on some of the rows.

An *operator* is a `NamedTuple` of arrays that stands for K. Each kind (`stump_svm.columns`) gives the
functions below a compiled body with `numba.extending.overload`; only compiled code can call them. An SVM has
an intercept, and coefficients that sum to zero: K v may be off by one constant for all rows.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mercer._typing import Array


def multiply(operator: Any, v: Array) -> Any:
    """Return K v, up to one constant for all rows."""


def multiply_at(operator: Any, v: Array, rows: NDArray[np.intp]) -> Any:
    """Return K v at some rows."""


def restrict(operator: Any, rows: NDArray[np.intp]) -> Any:
    """Return an operator of some rows alone (ascending, at least one) that can be multiplied."""


def n_features(operator: Any) -> Any:
    """Return how many features a restricted operator has."""


def coarsen(operator: Any, n_bins: int) -> Any:
    """Return the `mercer.solvers.stump_svm.preconditioner.CoarseColumns` of a restricted operator."""


@njit(cache=True, nogil=True)
def product(operator: Any, v: Array) -> Array:
    """Return K v, up to one constant for all rows: `multiply` for those who are not compiled."""
    return multiply(operator, v)
