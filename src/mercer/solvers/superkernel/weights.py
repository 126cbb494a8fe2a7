"""What a search for weights of Gram matrices is given beside a quality, and what it returns."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from mercer._typing import Array

Progress = Callable[[int], bool]

TINY = 1e-300  # keeps a division by zero away


class Stopping(NamedTuple):
    """When a search ends."""

    tol: float  # the relative gap that is asked for
    max_iter: int
    progress: Progress | None = None  # called after each step with its number; true: that was the last one


class KernelWeights(NamedTuple):
    """Where a search ended."""

    beta: Array
    objective: float  # the least value met
    bound: float  # the largest lower bound of the minimum; −∞ if there is none
    history: Array  # the least value met so far, after each step
    n_iter: int
    is_cut_off: bool = False  # the steps ran out before the tolerance was reached

    @property
    def gap(self) -> float:
        """How far the objective is above its minimum, at most, as a share of it."""
        return relative_gap(self.objective, self.bound)


def relative_gap(objective: float, bound: float) -> float:
    """Return how far the bound is below the objective, as a share of that."""
    return (objective - bound) / max(abs(objective), np.finfo(np.float64).tiny)


class Penalty:
    """½ βᵀMβ for a matrix M, or for the diagonal of one: the λ_s/2 ‖k‖² of [OSW02, (10)]."""

    def __init__(self, M: Array) -> None:
        self.M = M
        self.diagonal = M if M.ndim == 1 else np.diag(M)
        self.root = np.sqrt(M) if M.ndim == 1 else cholesky(M, lower=True)

    def value(self, beta: Array) -> float:
        """Return ½ βᵀMβ."""
        return 0.5 * float(beta @ self.slope(beta))

    def slope(self, beta: Array) -> Array:
        """Return Mβ."""
        return self.M * beta if self.M.ndim == 1 else self.M @ beta

    def sizes(self, beta: Array) -> Array:
        """Return the length of each term, which its unit does not change."""
        return beta * np.sqrt(self.diagonal)

    def whiten(self, W: Array) -> Array:
        """Return L⁻¹ W, for M = L Lᵀ."""
        if self.M.ndim == 1:
            return W / self.root[:, None]
        whitened: Array = solve_triangular(self.root, W, lower=True)
        return whitened

    def unwhiten(self, w: Array) -> Array:
        """Return L⁻ᵀ w."""
        if self.M.ndim == 1:
            return w / self.root
        unwhitened: Array = solve_triangular(self.root, w, lower=True, trans="T")
        return unwhitened
