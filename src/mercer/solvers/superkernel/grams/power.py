r"""Gram matrices that are powers of one: Gaussian kernels whose widths are in ratios of √2, 2, 4 and so on.

.. math:: K_i = E^{\,2^{s_i}} \text{ entry by entry}, \qquad
          \exp\Bigl(-\frac{d^2}{2 (w / \sqrt2)^2}\Bigr) = \exp\Bigl(-\frac{d^2}{2 w^2}\Bigr)^2 .

Only the widest is kept, and the others are squares of squares: that takes less time than to read them from
memory.
"""

from typing import final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from mercer._typing import Array, Index
from mercer.compiled import njit
from mercer.solvers.superkernel.grams.dense import Grams

ROWS = 64  # of a block of the symmetric sum, which is mirrored as a whole
NOTHING = 1e-70  # squares of less count as zero: below 1e-308 a processor would take a hundred times as long
AT_ONCE = 256  # numbers whose powers stay in the nearest cache


@final
class PowerGrams(Grams):
    """Matrices K_i = E^(2^s_i), entry by entry."""

    def __init__(self, E: Array, squarings: NDArray[np.int64]) -> None:
        self.E, self.squarings = E, squarings
        self.order = np.argsort(squarings, kind="stable")
        self.n_terms, self.n_rows = len(squarings), len(E)

    def combine(self, beta: Array, out: Array | None = None) -> Array:
        """Return K(β)."""
        K = np.empty_like(self.E) if out is None else out
        _sum_powers(self.E, self.squarings[self.order], beta[self.order], K, True)
        for rows in gen_batches(self.n_rows, ROWS):
            K[rows.stop :, rows] = K[rows, rows.stop :].T
        return K

    def quadratics(self, v: Array) -> Array:
        """Return q_i(v) for each i."""
        support = np.flatnonzero(v)
        forms = np.empty(self.n_terms)
        forms[self.order] = _forms_of_powers(self.E, self.squarings[self.order], v[support], support)
        return forms

    def some_rows(self, i: int, rows: slice) -> Array:
        """Return some rows of K_i."""
        total = np.empty_like(self.E[rows])
        weights = np.eye(self.n_terms)[i][self.order]
        _sum_powers(self.E[rows], self.squarings[self.order], weights, total, False)
        return total

    def spreads(self) -> Array:
        """Return the mean squared distance of the rows from their mean, in the space of each matrix."""
        diagonal = np.diag(self.E)[None, :] ** np.exp2(self.squarings)[:, None]
        return diagonal.mean(axis=1) - self.quadratics(np.full(self.n_rows, 1.0 / self.n_rows))

    def take(self, rows: Index) -> "PowerGrams":
        """Return the matrices of some of the rows."""
        return PowerGrams(self.E[np.ix_(rows, rows)], self.squarings)


@njit(cache=True, nogil=True, fastmath=True)
def _sum_powers(E: Array, squarings: NDArray[np.int64], weights: Array, total: Array, upper: bool) -> None:
    """Fill in the sums, all of them or, a block of rows at a time, those from the diagonal on."""
    powers = np.empty(AT_ONCE)
    for row in range(len(E)):
        for start in range(row // ROWS * ROWS if upper else 0, E.shape[1], AT_ONCE):
            some = total[row, start : start + AT_ONCE]
            power = powers[: len(some)]
            power[:] = E[row, start : start + AT_ONCE]
            some[:] = 0.0
            done = 0
            for i in range(len(weights)):
                if weights[i] == 0.0:
                    continue
                while done < squarings[i] - 1:  # two at a time: half as often through the numbers
                    for k in range(len(power)):
                        square = power[k] * power[k] if power[k] > NOTHING else 0.0
                        power[k] = square * square
                    done += 2
                if done < squarings[i]:
                    for k in range(len(power)):
                        power[k] = power[k] * power[k] if power[k] > NOTHING else 0.0
                    done += 1
                for k in range(len(power)):
                    some[k] += weights[i] * power[k]


@njit(cache=True, nogil=True, fastmath=True)
def _forms_of_powers(E: Array, squarings: NDArray[np.int64], v: Array, places: Index) -> Array:
    """Return vᵀ K_i v over some rows for each i, squarings ascending; E is symmetric."""
    forms = np.zeros(len(squarings))
    power = np.empty(len(v))
    for row in range(len(v)):
        some, numbers = power[: row + 1], E[places[row]]
        for k in range(row + 1):
            some[k] = numbers[places[k]]
        done = 0
        for i in range(len(squarings)):
            while done < squarings[i]:
                for k in range(row + 1):
                    some[k] = some[k] * some[k] if some[k] > NOTHING else 0.0
                done += 1
            below = 0.0
            for k in range(row + 1):
                below += v[k] * some[k]
            forms[i] += v[row] * (2.0 * below - v[row] * some[row])
    return forms
