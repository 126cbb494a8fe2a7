r"""Every pair of labelled rows where a tensor lives, in tiles: no m × m matrix is kept [CKS02, Fig. 1].

The kernel's value on a pair is the product of the features that were added, :math:`K = G G^\top`, and its
weight a function of that. A pass over the pairs computes both anew, a tile at a time: of m rows with t
features it costs O(m² t), and O(m t) memory. Pairs (i, j) and (j, i) are alike, and half are passed over.
On a GPU the tiles of single precision are a Triton kernel's, where Triton is installed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch

from mercer.solvers.boosted.directions import Directions
from mercer.solvers.boosted.pair_table import Balance

AT_ONCE = 2**29  # pairs of a tile: 2 GB in single precision
ROUNDING = {torch.float32: 1e-6, torch.float64: 1e-14}  # of the largest score
SHARES = 4  # steps, each three times the one before, whose slopes are found in one pass


class Tile(NamedTuple):
    """The pairs of rows `start` … `stop` with those from `start` on."""

    start: int
    stop: int
    B: Any  # D ∘ S
    loss: float  # sums over the tile's pairs, those that stand for two counted twice
    mass: float


class TiledPairs:
    """Every pair of labelled rows, with O(m t) numbers in memory: the features that were added, and F."""

    def __init__(self, F: Any, label: Any, balance: Balance, loss: str) -> None:
        self._F, self._label, self._balance, self._loss = F, label.int(), balance, loss
        self._G = F.new_zeros((len(F), 0))
        self.n_pairs = len(F) ** 2
        same = float((torch.bincount(label).double() ** 2).sum())
        self._total = balance.similar * same + balance.dissimilar * (self.n_pairs - same)
        self.add(self._G)

    def best_directions(self, n_directions: int, start: Any = None) -> Directions:
        """Return the directions of the largest scores: leading eigenvectors of FᵀBF, where F are the rows."""
        scores, u = torch.linalg.eigh(self._coupling)
        best = torch.arange(len(scores) - 1, max(len(scores) - 1 - n_directions, -1), -1, device=u.device)
        self._best = Directions(scores[best], u[:, best], self._F @ u[:, best].to(self._F.dtype))
        self._rounding = ROUNDING[self._F.dtype] * scores.abs().max()
        return self._best

    def scores(self, G: Any) -> Any:
        """Return gᵀBg of each column g of the best directions, and zero where that is all rounding."""
        assert G is self._best.values, "scores are known of the directions that were found last"
        return torch.where(self._best.scores > self._rounding, self._best.scores, 0.0).cpu().numpy()

    def weigh(self, G: Any) -> tuple[float, float]:
        """Return W⁺ and W⁻."""
        (slope,), size = self._slopes(G, [0.0])
        return 0.5 * (size - slope), 0.5 * (size + slope)  # [CKS02] Fig. 1: W⁺_t and W⁻_t

    def slope(self, G: Any, t: float) -> float:
        """Return the derivative of the loss along G Gᵀ; those at longer steps may be asked for next."""
        if t not in self._known:
            shares = [t]
            for _ in range(SHARES - 1):
                shares.append(3 * shares[-1])
            self._known |= zip(shares, self._slopes(G, shares)[0], strict=True)
        return self._known[t]

    def add(self, G: Any) -> None:
        """Add G Gᵀ to the kernel; find the loss, and FᵀBF for the directions of the next round."""
        self._G, self._known = torch.cat([self._G, G.to(self._F.dtype)], 1), dict[float, float]()
        loss, mass, F = 0.0, 0.0, self._F
        coupling = torch.zeros((F.shape[1], F.shape[1]), dtype=torch.float64, device=F.device)
        for tile in self._tiles():
            above, right = F[tile.start : tile.stop], F[tile.stop :]
            with fewer_digits(F):
                inside, across = tile.B[:, : len(above)] @ above, tile.B[:, len(above) :] @ right
            inside, across = above.T @ inside, above.T @ across
            coupling += inside.double() + across.double() + across.T.double()
            loss, mass = loss + tile.loss, mass + tile.mass
        self._coupling = 0.5 * (coupling + coupling.T)
        self.loss, self.mass = loss / self._total, mass

    def _tiles(self) -> Iterator[Tile]:
        compute = loops.weigh_tile if (loops := _triton_loops(self._F)) else weigh_tile
        n = len(self._F)
        for start, stop in _ranges(n):
            B, sums = compute(self._G, self._label, start, stop, self._balance, self._loss)
            yield Tile(start, stop, B, *sums)

    def _slopes(self, G: Any, shares: list[float]) -> tuple[list[float], float]:
        """Return the derivatives of the loss where shares of G Gᵀ are added, and Σ |D ∘ G Gᵀ|."""
        compute = loops.find_slopes if (loops := _triton_loops(self._F)) else find_slopes
        sums = compute(self._G, G.to(self._F.dtype), self._label, self._balance, self._loss, shares)
        slopes: list[float] = (-sums[:-1]).tolist()
        return slopes, float(sums[-1])


@contextmanager
def fewer_digits(F: Any) -> Iterator[None]:
    """Let a GPU round numbers of single precision to eleven digits (TF32) before it multiplies them.

    For sums over all pairs, of which the errors of single numbers hardly change the digits that are left.
    """
    before = torch.get_float32_matmul_precision()
    if F.is_cuda:
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _triton_loops(F: Any) -> Any:
    """Return the loops for a GPU, if that is where single precision is, and Triton is installed."""
    if not F.is_cuda or F.dtype != torch.float32 or find_spec("triton") is None:
        return None
    return import_module("mercer.solvers.boosted.triton_tiles")


def _ranges(n: int, multiple: int = 128) -> Iterator[tuple[int, int]]:
    """Return the rows of each tile."""
    size = max(multiple, AT_ONCE // max(n, 1) // multiple * multiple)
    for start in range(0, n, size):
        yield start, min(start + size, n)


def weigh_tile(
    G: Any, label: Any, start: int, stop: int, balance: Balance, loss: str
) -> tuple[Any, tuple[float, float]]:
    """Return B of rows `start` … `stop` with those from `start` on, and sums of losses and weights."""
    sign, weight, times = _kinds(G, label, start, stop, balance)
    value, q = evaluate_loss(loss, sign * (G[start:stop] @ G[start:].T))
    D = weight * q
    sums = (float((times * part).sum(dtype=torch.float64)) for part in (weight * value, D))
    loss_sum, mass = sums
    return (sign * D).to(G.dtype), (loss_sum, mass)


def find_slopes(G: Any, more: Any, label: Any, balance: Balance, loss: str, shares: list[float]) -> Any:
    """Return Σ D ∘ S ∘ k over all pairs, at K + t k for each share t; then Σ |D ∘ k| at the first.

    k is the product of `more` features.
    """
    total = torch.zeros(len(shares) + 1, dtype=torch.float64, device=G.device)
    for start, stop in _ranges(len(G)):
        sign, weight, times = _kinds(G, label, start, stop, balance)
        K, k = G[start:stop] @ G[start:].T, more[start:stop] @ more[start:].T
        for s, t in enumerate(shares):
            gain = times * weight * evaluate_loss(loss, sign * (K + t * k))[1] * sign * k
            total[s] += gain.sum(dtype=torch.float64)
            if s == 0:
                total[-1] += gain.abs().sum(dtype=torch.float64)
    return total


def _kinds(G: Any, label: Any, start: int, stop: int, balance: Balance) -> tuple[Any, Any, Any]:
    """Return S and what a pair weighs, and for each column whether its pairs stand for two."""
    same = label[start:stop, None] == label[None, start:]
    weight = torch.where(same, *(G.new_tensor(one) for one in balance))
    times = G.new_full((len(label) - start,), 2.0)
    times[: stop - start] = 1.0
    return torch.where(same, G.new_tensor(1.0), G.new_tensor(-1.0)), weight, times


def evaluate_loss(loss: str, margin: Any) -> tuple[Any, Any]:
    """Return the loss of each margin, and the weight, as `mercer.losses` has them."""
    if loss == "exp":
        q = torch.exp(-margin)
        return q, q
    e = torch.exp(-margin.abs())
    return (-margin).clamp(min=0.0) + torch.log1p(e), torch.where(margin > 0.0, e, 1.0) / (1.0 + e)
