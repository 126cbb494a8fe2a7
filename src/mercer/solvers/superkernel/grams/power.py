r"""Gram matrices that are powers of one: Gaussian kernels whose widths are in ratios of √2, 2, 4 and so on.

.. math:: K_i = E^{\,2^{s_i}} \text{ entry by entry}, \qquad
          \exp\Bigl(-\frac{d^2}{2 (w / \sqrt2)^2}\Bigr) = \exp\Bigl(-\frac{d^2}{2 w^2}\Bigr)^2 .

Only the widest is kept, and the others are squares of squares: that takes less time than to read them from
memory.
"""

from typing import final

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array, Index
from mercer.compiled import njit
from mercer.solvers.superkernel.grams.dense import Grams


@final
class PowerGrams(Grams):
    """Matrices K_i = E^(2^s_i), entry by entry."""

    def __init__(self, E: Array, squarings: NDArray[np.int64]) -> None:
        self.E, self.squarings = E, squarings
        self.order = np.argsort(squarings, kind="stable")
        self.n_terms, self.n_rows = len(squarings), len(E)

    def combine(self, beta: Array) -> Array:
        """Return K(β)."""
        return self._sum(beta, slice(None))

    def quadratics(self, v: Array) -> Array:
        """Return q_i(v) for each i."""
        support = np.flatnonzero(v)
        E = self.E if len(support) == len(v) else self.E[np.ix_(support, support)]
        forms = np.empty(self.n_terms)
        forms[self.order] = _forms_of_powers(E, self.squarings[self.order], v[support])
        return forms

    def some_rows(self, i: int, rows: slice) -> Array:
        """Return some rows of K_i."""
        return self._sum(np.eye(self.n_terms)[i], rows)

    def spreads(self) -> Array:
        """Return the mean squared distance of the rows from their mean, in the space of each matrix."""
        diagonal = np.diag(self.E)[None, :] ** np.exp2(self.squarings)[:, None]
        return diagonal.mean(axis=1) - self.quadratics(np.full(self.n_rows, 1.0 / self.n_rows))

    def take(self, rows: Index) -> "PowerGrams":
        """Return the matrices of some of the rows."""
        return PowerGrams(self.E[np.ix_(rows, rows)], self.squarings)

    def _sum(self, beta: Array, rows: slice) -> Array:
        total = np.empty_like(self.E[rows])
        _sum_powers(self.E[rows], self.squarings[self.order], beta[self.order], total)
        return total


@njit(cache=True, nogil=True, fastmath=True)
def _sum_powers(E: Array, squarings: NDArray[np.int64], weights: Array, total: Array) -> None:
    power = np.empty(E.shape[1])
    for row in range(len(E)):
        power[:] = E[row]
        total[row] = 0.0
        done = 0
        for i in range(len(weights)):
            if weights[i] == 0.0:
                continue
            while done < squarings[i]:
                power *= power
                done += 1
            for k in range(len(power)):
                total[row, k] += weights[i] * power[k]


@njit(cache=True, nogil=True, fastmath=True)
def _forms_of_powers(E: Array, squarings: NDArray[np.int64], v: Array) -> Array:
    """Return vᵀ K_i v for each i, squarings ascending; E is symmetric."""
    forms = np.zeros(len(squarings))
    power = np.empty(len(v))
    for row in range(len(v)):
        some = power[: row + 1]
        some[:] = E[row, : row + 1]
        done = 0
        for i in range(len(squarings)):
            while done < squarings[i]:
                some *= some
                done += 1
            below = 0.0
            for k in range(row + 1):
                below += v[k] * some[k]
            forms[i] += v[row] * (2.0 * below - v[row] * some[row])
    return forms
