"""What every superkernel is: a value that is a kernel on pairs of rows, and spans kernels on rows [OSW02]."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from sklearn.base import BaseEstimator

from mercer._typing import Array
from mercer.kernels import Kernel
from mercer.kernels.base import same
from mercer.solvers.superkernel.grams import Grams

HELD = 2**28  # entries of Gram matrices that are held in memory: 2 GB; of more, each is computed anew


class Expansion(NamedTuple):
    """The terms of which a kernel is to be made, on given rows."""

    grams: Grams  # of the terms
    penalty: Array  # M of ‖k‖² = βᵀMβ (10), or its diagonal
    kernel: Callable[[Array], Kernel]  # Σ_i β_i K_i of the weights β, Corollary 6


class Value(BaseEstimator):
    """What is made of its parameters alone, and equals what has the same ones."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        mine, theirs = (one.get_params(deep=False) for one in (self, other))
        return all(same(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]  # set_params may change it


class PairKernel(Value, ABC):
    """A superkernel [OSW02, Definition 5]: a kernel on pairs that is, for a fixed pair, a kernel on rows.

    It is a value, made of its parameters alone. Called on pairs it gives their Gram matrix; `expand` gives
    the terms that `mercer.Superkernel` weighs.
    """

    @abstractmethod
    def __call__(self, P: Any, Q: Any = None) -> Array:
        """Return the Gram matrix of pairs, arrays of shape (n, 2, n_features), of P with itself without Q."""

    @abstractmethod
    def expand(self, X: Array, others: Array, *, tol: float, max_rank: int, rng: RandomState) -> Expansion:
        """Return the terms on the rows X; pairs with `others` may serve to expand in, too."""

    def fitted_to(self, X: Array) -> "PairKernel":
        """Return this superkernel with what is to be taken from the rows, such as widths, filled in."""
        return self


def as_pairs(P: Any, name: str = "P") -> Array:
    """Return pairs of rows as an array of shape (n, 2, n_features), refusing anything else."""
    pairs: Array = np.asarray(P, dtype=np.float64)
    if pairs.ndim != 3 or pairs.shape[1] != 2:
        raise ValueError(f"{name} must hold pairs of rows, an array of shape (n, 2, n_features)")
    if not np.all(np.isfinite(pairs)):
        raise ValueError(f"{name} has values that are not finite")
    return pairs


def finite_values(kernel: Any, X: Array, Y: Array) -> Array:
    """Return the Gram matrix of a kernel, all of it finite."""
    K: Array = np.asarray(kernel(X, Y), dtype=np.float64)
    if not np.all(np.isfinite(K)):
        raise ValueError(f"the kernel {kernel} has values on these rows that are not finite")
    return K


def values_of_pairs(kernel: Any, P: Array) -> Array:
    """Return k(x, x') of each pair."""
    return np.array([float(kernel(x[None], y[None])[0, 0]) for x, y in P])
