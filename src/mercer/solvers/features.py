"""The Gram matrix of a finite feature map, by the features."""

from typing import NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from mercer.solvers.operators import multiply, restrict


class FeatureRows(NamedTuple):
    """K = F Fᵀ for p features a row: 8 n p bytes, O(n p) a product."""

    F: NDArray[np.float64]


@overload(multiply)
def _multiply(operator, v):  # type: ignore[no-untyped-def]  # numba compares the signatures
    if operator.instance_class is FeatureRows:
        return lambda operator, v: operator.F @ (operator.F.T @ v)
    return None


@overload(restrict)
def _restrict(operator, rows):  # type: ignore[no-untyped-def]
    if operator.instance_class is FeatureRows:
        return lambda operator, rows: FeatureRows(operator.F[rows])
    return None
