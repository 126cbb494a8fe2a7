"""Gram matrices of low rank, by their factors."""

from collections.abc import Sequence
from typing import NamedTuple, final

import numpy as np

from mercer._typing import Array, Index
from mercer.solvers.superkernel.grams.dense import Grams


class FactoredSettings(NamedTuple):
    """What steers the inner products of all matrices, and what goes wrong without it."""

    single_from: int = 2000
    """Above this number of factors they are taken in single precision: double takes twice as long."""
    at_a_time: int = 32
    """Matrices whose products with all others are in memory together. All at once are p² numbers."""


SETTINGS = FactoredSettings()


@final
class FactoredGrams(Grams):
    """Matrices of low rank, K_i = F_i F_iᵀ."""

    def __init__(self, factors: Sequence[Array]) -> None:
        self.n_terms, self.n_rows = len(factors), len(factors[0])
        self.start = np.concatenate([[0], np.cumsum([F.shape[1] for F in factors])])
        self.F = np.concatenate(factors, axis=1)
        self.owner = np.repeat(np.arange(self.n_terms), np.diff(self.start))

    def combine(self, beta: Array, out: Array | None = None) -> Array:
        """Return K(β)."""
        used = beta[self.owner] != 0
        F = self.F[:, used] * np.sqrt(beta[self.owner][used])
        return np.matmul(F, F.T, out=out)

    def quadratics(self, v: Array) -> Array:
        """Return q_i(v) for each i."""
        forms: Array = np.bincount(self.owner, (v @ self.F) ** 2, minlength=self.n_terms).astype(np.float64)
        return forms

    def some_rows(self, i: int, rows: slice) -> Array:
        """Return some rows of K_i."""
        F = self.F[:, self.start[i] : self.start[i + 1]]
        return F[rows] @ F.T

    def products(self, T: Array) -> Array:
        """Return the inner products <K_i, T> with a symmetric matrix."""
        each = np.einsum("ij,ij->j", self.F, T @ self.F)
        sums: Array = np.bincount(self.owner, each, minlength=self.n_terms).astype(np.float64)
        return sums

    def centred_products(self, T: Array) -> tuple[Array, Array]:
        """Return ‖F_iᵀF_j‖² of all centred factors, and <K_i, T> for a centred T. O(n p²) for p factors.

        Where they are many, in single precision, of which the squares leave some six digits.
        """
        F = self.F - self.F.mean(axis=0)
        if F.shape[1] > SETTINGS.single_from:
            F, T = F.astype(np.float32), T.astype(np.float32)
        some = np.flatnonzero(np.diff(self.start))  # of rank one or more
        start = self.start[some]
        A = np.zeros((self.n_terms, self.n_terms))
        for k in range(0, len(some), SETTINGS.at_a_time):
            mine, first = some[k : k + SETTINGS.at_a_time], start[k]
            last = self.start[mine[-1] + 1]
            products = F[:, first:last].T @ F[:, first:]
            products *= products
            sums = np.add.reduceat(products, start[k:] - first, axis=1, dtype=np.float64)
            sums = np.add.reduceat(sums, start[k : k + SETTINGS.at_a_time] - first, axis=0)
            A[np.ix_(mine, some[k:])] = sums
            A[np.ix_(some[k:], mine)] = sums.T
        each = np.einsum("ij,ij->j", F, T @ F, dtype=np.float64)
        return A, np.bincount(self.owner, each, minlength=self.n_terms).astype(np.float64)

    def spreads(self) -> Array:
        """Return the mean squared distance of the rows from their mean, in the space of each matrix."""
        sums: Array = np.bincount(self.owner, self.F.var(axis=0), minlength=self.n_terms).astype(np.float64)
        return sums

    def take(self, rows: Index) -> "FactoredGrams":
        """Return the matrices of some of the rows."""
        return FactoredGrams(np.split(self.F[rows], self.start[1:-1], axis=1))
