"""What a solver asks of a Gram matrix K: the product K v, and K on some of the rows.

An *operator* is a `NamedTuple` of arrays that stands for K. Each kind (`mercer.solvers.columns`)
gives the two functions below a compiled body with `numba.extending.overload`; only
compiled code can call them. Both are needed for the vectors of an SVM alone, whose entries sum to zero:
K v is right up to one constant for all rows, which the intercept takes up.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]


def multiply(operator: Any, v: Array) -> Any:
    """Return K v, up to one constant for all rows."""


def restrict(operator: Any, rows: NDArray[np.intp]) -> Any:
    """Return the operator of some rows alone (ascending, at least one)."""


@njit(cache=True, nogil=True)
def product(operator: Any, v: Array) -> Array:
    """Return K v, up to one constant for all rows: `multiply` for those who are not compiled."""
    return multiply(operator, v)
