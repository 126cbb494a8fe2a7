r"""The pairs that a kernel is boosted on: weights D, signs S, kernel values K, B = D ∘ S [CKS02, Fig. 1].

:math:`S_{ij}` is +1 for similar rows and −1 for others. Boosting asks of a table the product B v, how much
weight a new kernel has on either side, how the loss falls along it, and to add it. A new kernel comes as the
features G of the rows, :math:`K_t = G G^\top`.

- `AllPairs` hold every ordered pair (i, j), i = j included, of labelled rows: O(m²) memory and time.
- `ListedPairs` hold some pairs, i ≤ j, with a weight each: O(number of pairs).
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg.blas import dsymv

from mercer._typing import Array, Index
from mercer.compiled import let_compiled_code_call, njit
from mercer.losses import Loss, Terms

LARGE = 1e300  # of a product of numbers up to two: it may be doubled once more without overflow
SUMS_IN_ANY_ORDER = {"reassoc", "contract", "nsz"}  # infinite losses stay infinite, as they must to be seen


class Balance(NamedTuple):
    """What one similar, and one dissimilar pair weighs."""

    similar: float = 1.0
    dissimilar: float = 1.0


class PairTable(Protocol):
    """What boosting needs of pairs."""

    loss: float  # the mean over the pairs
    mass: float  # the sum of the weights D
    n_pairs: int  # ordered

    def multiply(self, v: Array) -> Array:
        """Return B v."""

    def scores(self, G: Array) -> Array:
        """Return gᵀBg of each column g."""

    def weigh(self, G: Array) -> tuple[float, float]:
        """Return the weights W⁺ and W⁻ of the pairs that G Gᵀ has right and wrong, times its size there."""

    def slope(self, G: Array, t: float) -> float:
        """Return the derivative of the loss, up to a positive factor, where t G Gᵀ is added."""

    def add(self, G: Array) -> None:
        """Add G Gᵀ to the kernel, and give every pair its new weight."""


class Loops(NamedTuple):
    """The passes over all pairs that depend on the loss."""

    # K, B, G, start, balance: update the lower halves of K and B, return the sums of losses and weights D
    add: Callable[[Array, Array, Array, Index, tuple[float, float]], tuple[float, float]]
    # K, G, start, balance, t: return −Σ D S ∘ G Gᵀ over all ordered pairs, with the weights D at K + t G Gᵀ
    slope: Callable[[Array, Array, Index, tuple[float, float], float], float]


class AllPairs:
    """Every pair of labelled rows, in two m × m arrays of which one half is used.

    Inside, the rows stand in the order of their labels: those that are similar to a row are neighbours.
    """

    def __init__(self, label: Index, balance: Balance, loss: Loss) -> None:
        m = len(label)
        self._order = np.argsort(label, kind="stable")
        self._start = np.searchsorted(label[self._order], label[self._order])  # of each row's class
        self._balance = (balance.similar, balance.dissimilar)
        self._loops = _compile_loops(loss.terms)
        self._K = np.zeros((m, m))
        self._B = np.zeros((m, m))
        self.n_pairs = m * m
        same = float(np.sum(np.bincount(label).astype(float) ** 2))
        self._total = balance.similar * same + balance.dissimilar * (m * m - same)
        self.add(np.zeros((m, 1)))

    def multiply(self, v: Array) -> Array:
        """Return B v."""
        out = np.empty_like(v)
        out[self._order] = dsymv(1.0, self._B.T, v[self._order])  # the upper half of Bᵀ is our lower one
        return out

    def scores(self, G: Array) -> Array:
        """Return gᵀBg of each column g."""
        return np.array([g @ self.multiply(g) for g in G.T])

    def weigh(self, G: Array) -> tuple[float, float]:
        """Return W⁺ and W⁻."""
        return _weigh_all(self._B, self._ordered(G))

    def slope(self, G: Array, t: float) -> float:
        """Return the derivative of the loss along G Gᵀ."""
        return self._loops.slope(self._K, self._ordered(G), self._start, self._balance, t)

    def add(self, G: Array) -> None:
        """Add G Gᵀ to the kernel, and give every pair its new weight."""
        loss, self.mass = self._loops.add(self._K, self._B, self._ordered(G), self._start, self._balance)
        self.loss = loss / self._total

    def _ordered(self, G: Array) -> Array:
        return np.ascontiguousarray(G[self._order].T)


class ListedPairs:
    """Pairs of rows i ≤ j, each with its sign S_ij and its weight D_ij = D_ji before the first round."""

    def __init__(self, rows: Index, sign: Array, weight: Array, n_rows: int, loss: Loss) -> None:
        self._rows = rows
        self._sign = sign
        self._weight = weight
        self._loss = loss
        self._K = np.zeros(len(rows))
        self._twice = np.where(rows[:, 0] == rows[:, 1], 1.0, 2.0)  # (i, j) stands for (j, i) as well
        self._n_rows = n_rows
        self.n_pairs = int(self._twice.sum())
        self.add(np.zeros((n_rows, 1)))

    def multiply(self, v: Array) -> Array:
        """Return B v."""
        out = np.zeros(self._n_rows)
        _multiply_listed(self._rows, self._B, v, out)
        return out

    def scores(self, G: Array) -> Array:
        """Return gᵀBg of each column g."""
        return np.array([g @ self.multiply(g) for g in G.T])

    def weigh(self, G: Array) -> tuple[float, float]:
        """Return W⁺ and W⁻."""
        gain = self._twice * self._B * self._evaluate(G)
        # [CKS02] Fig. 1: W⁺_t over S⁺_t and W⁻_t over S⁻_t
        return float(gain[gain > 0].sum()), float(-gain[gain < 0].sum())

    def slope(self, G: Array, t: float) -> float:
        """Return the derivative of the loss along G Gᵀ."""
        k = self._evaluate(G)
        weight = self._twice * self._weight * self._loss.weight(self._sign * (self._K + t * k))
        return -float(weight @ (self._sign * k))

    def add(self, G: Array) -> None:
        """Add G Gᵀ to the kernel, and give every pair its new weight."""
        self._K += self._evaluate(G)  # [CKS02] Fig. 1: K ← K + α_t K_t
        margin = self._sign * self._K
        value, D = self._loss.evaluate(margin)  # [CKS02] Fig. 1: D_t
        D *= self._weight
        self._B = self._sign * D
        weight = self._twice * self._weight
        self.mass = float(self._twice @ D)
        self.loss = float(weight @ value / weight.sum())

    def _evaluate(self, G: Array) -> Array:
        values: Array = np.einsum("ij,ij->i", G[self._rows[:, 0]], G[self._rows[:, 1]])
        return values


@njit(cache=True, nogil=True, fastmath=True)
def _weigh_all(B: Array, G: Array) -> tuple[float, float]:
    total, size = 0.0, 0.0
    k = np.empty(len(B))
    for i in range(len(B)):
        _row_of_product(G, i, k)
        for j in range(i):  # these count twice, in either order
            gain = 2.0 * B[i, j] * k[j]
            total += gain
            size += abs(gain)
        total += B[i, i] * k[i]
        size += abs(B[i, i] * k[i])
    return 0.5 * (size + total), 0.5 * (size - total)  # [CKS02] Fig. 1: W⁺_t and W⁻_t


@njit(cache=True, nogil=True)
def _kinds_of_row(
    i: int, start: int, balance: tuple[float, float]
) -> tuple[tuple[int, int, float, float, float], ...]:
    """Return the pairs (i, j ≤ i) of one kind: first and last j, S_ij, what one weighs, how often it counts.

    Rows of other classes come first. A pair of different rows counts twice, as (i, j) and (j, i).
    """
    similar, dissimilar = balance
    return (0, start, -1.0, dissimilar, 2.0), (start, i, 1.0, similar, 2.0), (i, i + 1, 1.0, similar, 1.0)


@cache
def _compile_loops(terms: Terms) -> Loops:
    """Return the loops for a loss. The closures hold a plain function, as in `mercer.losses`."""
    let_compiled_code_call(terms)

    @njit(cache=True, nogil=True, fastmath=SUMS_IN_ANY_ORDER)
    def add(K: Array, B: Array, G: Array, start: Index, balance: tuple[float, float]) -> tuple[float, float]:
        loss, mass = 0.0, 0.0
        k = np.empty(len(K))
        for i in range(len(K)):
            _row_of_product(G, i, k)
            for first, last, S, weight, times in _kinds_of_row(i, start[i], balance):
                losses, weights, product = 0.0, 0.0, 1.0
                for j in range(first, last):
                    K[i, j] += k[j]  # [CKS02] Fig. 1: K ← K + α_t K_t
                    a, b, q = terms(S * K[i, j])
                    B[i, j] = S * weight * q  # [CKS02] Section 3: B = D_t y yᵀ, D_t as in Fig. 1
                    losses += a
                    weights += q
                    product *= 1.0 + b
                    if product > LARGE:  # one logarithm for many factors
                        losses += np.log(product)
                        product = 1.0
                loss += times * weight * (losses + np.log(product))
                mass += times * weight * weights
        return loss, mass

    @njit(cache=True, nogil=True, fastmath=SUMS_IN_ANY_ORDER)
    def slope(K: Array, G: Array, start: Index, balance: tuple[float, float], t: float) -> float:
        total = 0.0
        k = np.empty(len(K))
        for i in range(len(K)):
            _row_of_product(G, i, k)
            for first, last, S, weight, times in _kinds_of_row(i, start[i], balance):
                part = 0.0
                for j in range(first, last):
                    part += terms(S * (K[i, j] + t * k[j]))[2] * k[j]
                total -= times * weight * S * part
        return total

    return Loops(add, slope)


@njit(cache=True, nogil=True, fastmath=True)
def _row_of_product(G: Array, i: int, out: Array) -> None:
    """Put (GᵀG)_ij for j ≤ i into `out`."""
    out[: i + 1] = 0.0
    for b in range(len(G)):
        g = G[b, i]
        for j in range(i + 1):
            out[j] += g * G[b, j]


@njit(cache=True, nogil=True)
def _multiply_listed(rows: Index, B: Array, v: Array, out: Array) -> None:
    for p in range(len(rows)):
        i, j = rows[p, 0], rows[p, 1]
        out[i] += B[p] * v[j]
        if i != j:
            out[j] += B[p] * v[i]
