r"""Many Gram matrices of the same rows, and what a search for their best sum asks of them.

.. math:: K(\beta) = \sum_i \beta_i K_i, \qquad q_i(v) = v^\top K_i v .

How they are kept decides what that costs: as they are, computed anew each time, by their factors, or (if all
are functions of one number per pair) by that number.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import final

import numpy as np

from mercer._typing import Array, Index
from mercer.power_series import PowerSum, add_terms, quadratic_forms

Computation = Callable[[int, Index, Index], Array]  # K_i between some rows and others

BLOCK = 2**22  # entries of all matrices in a part of `parts`; all at once would take the memory of a stack


class Grams(ABC):
    """Gram matrices K_1 … K_r of n rows."""

    n_terms: int
    n_rows: int

    @abstractmethod
    def combine(self, beta: Array, out: Array | None = None) -> Array:
        """Return K(β), in the array `out` or in one of its own: new memory takes as long as the sums do."""

    @abstractmethod
    def quadratics(self, v: Array) -> Array:
        """Return q_i(v) for each i."""

    @abstractmethod
    def some_rows(self, i: int, rows: slice) -> Array:
        """Return some rows of K_i."""

    @abstractmethod
    def take(self, rows: Index) -> "Grams":
        """Return the matrices of some of the rows."""

    @final
    def term(self, i: int) -> Array:
        """Return K_i."""
        return self.some_rows(i, slice(None))

    def spreads(self) -> Array:
        """Return the mean squared distance of the rows from their mean, in the space of each matrix."""
        terms = map(self.term, range(self.n_terms))
        return np.array([np.trace(K) / self.n_rows - K.mean() for K in terms])

    def products(self, T: Array) -> Array:
        """Return the inner products <K_i, T> with a symmetric matrix."""
        return np.array([np.vdot(self.term(i), T) for i in range(self.n_terms)])

    def apply(self, v: Array) -> Array:
        """Return K_i v, one row for each i."""
        return np.stack([self.term(i) @ v for i in range(self.n_terms)])

    def centred_products(self, T: Array) -> tuple[Array, Array]:
        """Return <HK_iH, HK_jH> of all matrices, and <K_i, T> for a centred T. O(n² r²)."""
        A, b = np.zeros((self.n_terms, self.n_terms)), np.zeros(self.n_terms)
        means = self.apply(np.full(self.n_rows, 1.0 / self.n_rows))  # of the rows of each matrix
        means -= 0.5 * means.mean(axis=1, keepdims=True)
        for rows, part in self.parts():
            # centred before they are multiplied: of nearly constant matrices little would be left after
            part = part.reshape(self.n_terms, -1, self.n_rows) - means[:, None, :] - means[:, rows, None]
            part = part.reshape(self.n_terms, -1)
            A += part @ part.T
            b += part @ T[rows].ravel()
        return A, b

    def parts(self) -> Iterator[tuple[slice, Array]]:
        """Give some rows of all matrices at a time, those of each matrix as one row."""
        size = max(1, BLOCK // (self.n_terms * self.n_rows))
        for start in range(0, self.n_rows, size):
            rows = slice(start, min(start + size, self.n_rows))
            yield rows, np.stack([self.some_rows(i, rows).ravel() for i in range(self.n_terms)])


@final
class HeldGrams(Grams):
    """Matrices that are in memory."""

    def __init__(self, stack: Array) -> None:
        self.stack = stack
        self.n_terms, self.n_rows = stack.shape[:2]

    def combine(self, beta: Array, out: Array | None = None) -> Array:
        """Return K(β)."""
        K = np.empty(self.stack.shape[1:]) if out is None else out
        np.matmul(beta, self.stack.reshape(self.n_terms, -1), out=K.reshape(-1))
        return K

    def quadratics(self, v: Array) -> Array:
        """Return q_i(v) for each i."""
        support = np.flatnonzero(v)
        forms = [v[support] @ (K[support][:, support] @ v[support]) for K in self.stack]
        return np.array(forms)

    def some_rows(self, i: int, rows: slice) -> Array:
        """Return some rows of K_i."""
        return np.asarray(self.stack[i, rows])

    def take(self, rows: Index) -> "HeldGrams":
        """Return the matrices of some of the rows."""
        return HeldGrams(np.stack([K[np.ix_(rows, rows)] for K in self.stack]))


@final
class ComputedGrams(Grams):
    """Matrices that are computed anew each time, because they would not all fit into memory."""

    def __init__(self, compute: Computation, n_terms: int, n_rows: int) -> None:
        self.compute = compute
        self.n_terms, self.n_rows = n_terms, n_rows

    def combine(self, beta: Array, out: Array | None = None) -> Array:
        """Return K(β)."""
        K = np.empty((self.n_rows, self.n_rows)) if out is None else out
        K[:] = 0.0
        for i in np.flatnonzero(beta):
            K += beta[i] * self.term(int(i))
        return K

    def quadratics(self, v: Array) -> Array:
        """Return q_i(v) for each i."""
        support = np.flatnonzero(v)
        part = v[support]
        return np.array([part @ (self.compute(i, support, support) @ part) for i in range(self.n_terms)])

    def some_rows(self, i: int, rows: slice) -> Array:
        """Return some rows of K_i."""
        every = np.arange(self.n_rows)
        return self.compute(i, every[rows], every)

    def take(self, rows: Index) -> "ComputedGrams":
        """Return the matrices of some of the rows."""

        def compute(i: int, some: Index, others: Index) -> Array:
            return self.compute(i, rows[some], rows[others])

        return ComputedGrams(compute, self.n_terms, len(rows))


@final
class SeriesGrams(Grams):
    """Matrices of a power series, K_i = w_i f(c_i κ), all of them functions of one matrix κ."""

    def __init__(self, terms: PowerSum, kappa: Array) -> None:
        self.terms, self.kappa = terms, kappa
        self.n_terms, self.n_rows = len(terms.weights), len(kappa)

    def combine(self, beta: Array, out: Array | None = None) -> Array:
        """Return K(β)."""
        K = np.empty_like(self.kappa) if out is None else out
        K[:] = 0.0
        add_terms(self.terms._replace(weights=beta * self.terms.weights), self.kappa, K)
        return K

    def quadratics(self, v: Array) -> Array:
        """Return q_i(v) for each i."""
        support = np.flatnonzero(v)
        kappa = self.kappa if len(support) == len(v) else self.kappa[np.ix_(support, support)]
        return self.terms.weights * quadratic_forms(self.terms, kappa, v[support])

    def some_rows(self, i: int, rows: slice) -> Array:
        """Return some rows of K_i."""
        K = np.zeros_like(self.kappa[rows])
        weights = np.eye(self.n_terms)[i] * self.terms.weights
        add_terms(self.terms._replace(weights=weights), self.kappa[rows], K)
        return K

    def spreads(self) -> Array:
        """Return the mean squared distance of the rows from their mean, in the space of each matrix."""
        diagonal = np.ascontiguousarray(np.diag(self.kappa))[:, None]
        each = np.empty((self.n_terms, self.n_rows, 1))
        for i, weights in enumerate(np.diag(self.terms.weights)):
            each[i] = 0.0
            add_terms(self.terms._replace(weights=weights), diagonal, each[i])
        return each.mean(axis=(1, 2)) - self.quadratics(np.full(self.n_rows, 1.0 / self.n_rows))

    def take(self, rows: Index) -> "SeriesGrams":
        """Return the matrices of some of the rows."""
        return SeriesGrams(self.terms, self.kappa[np.ix_(rows, rows)])


@final
class JointGrams(Grams):
    """Several kinds, each with the places of its matrices among all."""

    def __init__(self, kinds: Sequence[tuple[Sequence[int], Grams]]) -> None:
        self.kinds = [(np.asarray(places, dtype=np.intp), grams) for places, grams in kinds]
        self.n_rows = self.kinds[0][1].n_rows
        self.n_terms = sum(grams.n_terms for _, grams in self.kinds)

    def combine(self, beta: Array, out: Array | None = None) -> Array:
        """Return K(β)."""
        (places, first), *others = self.kinds
        K = first.combine(beta[places], out)
        for places, grams in others:
            K += grams.combine(beta[places])
        return K

    def quadratics(self, v: Array) -> Array:
        """Return q_i(v) for each i."""
        return self._gather([grams.quadratics(v) for _, grams in self.kinds])

    def spreads(self) -> Array:
        """Return the mean squared distance of the rows from their mean, in the space of each matrix."""
        return self._gather([grams.spreads() for _, grams in self.kinds])

    def some_rows(self, i: int, rows: slice) -> Array:
        """Return some rows of K_i."""
        for places, grams in self.kinds:
            if i in places:
                return grams.some_rows(int(np.flatnonzero(places == i)[0]), rows)
        raise IndexError(i)

    def take(self, rows: Index) -> "JointGrams":
        """Return the matrices of some of the rows."""
        return JointGrams([(places.tolist(), grams.take(rows)) for places, grams in self.kinds])

    def _gather(self, parts: Sequence[Array]) -> Array:
        numbers = np.empty(self.n_terms)
        for (places, _), part in zip(self.kinds, parts, strict=True):
            numbers[places] = part
        return numbers
