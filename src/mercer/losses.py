"""Losses of a margin, and the weights that boosting derives from them [CKS02, Section 2].

A loss is a value with two functions of the margin m = y f: `value`, an upper bound on [m < 0] up to a
constant, and `weight`, minus its derivative. Both take numbers and arrays, and compiled code can call them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit


class Loss(NamedTuple):
    """A convex, decreasing loss of the margin, and minus its derivative."""

    name: str
    value: Callable[[Any], Any]
    weight: Callable[[Any], Any]


@njit(cache=True, nogil=True)
def exp_value(margin: Any) -> Any:
    """Return exp(−m), which is its own weight."""
    return np.exp(-margin)


@njit(cache=True, nogil=True)
def log_value(margin: Any) -> Any:
    """Return log(1 + exp(−m)), without overflow."""
    return np.maximum(-margin, 0.0) + np.log1p(np.exp(-np.abs(margin)))


@njit(cache=True, nogil=True)
def log_weight(margin: Any) -> Any:
    """Return 1 / (1 + exp(m)).

    [CKS02, Fig. 1] prints exp(−m), which would give the pairs that are right the larger weight; minus the
    derivative of the loss has the other sign.
    """
    return 1.0 / (1.0 + np.exp(margin))


EXP = Loss("exp", exp_value, exp_value)
LOG = Loss("log", log_value, log_weight)
LOSSES = {loss.name: loss for loss in (LOG, EXP)}
