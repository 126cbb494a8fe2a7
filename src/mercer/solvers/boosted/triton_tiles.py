"""Passes over pairs of rows on a GPU: a program has a tile of pairs, whose kernel values it never stores."""

from typing import Any

import torch
import triton
import triton.language as tl

from mercer.solvers.boosted.pair_table import Balance

TILE, STEP, WARPS = 128, 32, 8
PRECISION = "tf32x3"  # of products of features


def weigh_tile(
    G: Any, label: Any, start: int, stop: int, balance: Balance, loss: str
) -> tuple[Any, tuple[float, float]]:
    """Do what `tiled_pairs.weigh_tile` does."""
    G, n = _padded(G), len(label)
    B = torch.empty((stop - start, n - start), device=G.device)
    grid = (triton.cdiv(stop - start, TILE), triton.cdiv(n - start, TILE))
    sums = torch.empty((2, *grid), device=G.device)
    _weigh[grid](
        G,
        label,
        B,
        sums,
        start,
        stop,
        n,
        *balance,
        G.shape[1],
        loss == "exp",
        TILE,
        STEP,
        PRECISION,
        num_warps=WARPS,
    )
    loss_sum, mass = sums.sum((1, 2), dtype=torch.float64).tolist()
    return B, (loss_sum, mass)


def find_slopes(G: Any, more: Any, label: Any, balance: Balance, loss: str, shares: list[float]) -> Any:
    """Do what `tiled_pairs.find_slopes` does."""
    G, more, n = _padded(G), _padded(more), len(label)
    t = torch.tensor(shares, device=G.device)
    grid = (triton.cdiv(n, TILE), triton.cdiv(n, TILE))
    sums = torch.zeros((len(shares) + 1, *grid), device=G.device)
    widths = G.shape[1], more.shape[1], len(shares)
    _slopes[grid](
        G, more, label, t, sums, n, *balance, *widths, loss == "exp", TILE, STEP, PRECISION, num_warps=WARPS
    )
    return sums.sum((1, 2), dtype=torch.float64)


def _padded(G: Any) -> Any:
    """Return features with zeros up to a multiple of the loops' step."""
    return torch.nn.functional.pad(G, (0, max(STEP, -(-G.shape[1] // STEP) * STEP) - G.shape[1])).contiguous()


@triton.jit
def _products(G, i, j, n, WIDTH, TILE: tl.constexpr, STEP: tl.constexpr, PRECISION: tl.constexpr):
    d = tl.arange(0, STEP)
    total = tl.zeros((TILE, TILE), tl.float32)
    for first in range(0, WIDTH, STEP):
        a = tl.load(G + i[:, None] * WIDTH + first + d[None, :], mask=(i < n)[:, None], other=0.0)
        b = tl.load(G + j[None, :] * WIDTH + first + d[:, None], mask=(j < n)[None, :], other=0.0)
        total = tl.dot(a, b, total, input_precision=PRECISION)
    return total


@triton.jit
def _evaluate(margin, EXP: tl.constexpr):
    if EXP:
        q = tl.exp(-margin)
        value = q
    else:
        e = tl.exp(-tl.abs(margin))
        q = tl.where(margin > 0.0, e, 1.0) / (1.0 + e)
        value = tl.maximum(-margin, 0.0) + tl.log(1.0 + e)
    return value, q


@triton.jit
def _weigh(
    G,
    label,
    B,
    sums,
    start,
    stop,
    n,
    similar,
    dissimilar,
    WIDTH,
    EXP: tl.constexpr,
    TILE: tl.constexpr,
    STEP: tl.constexpr,
    PRECISION: tl.constexpr,
):
    i = start + tl.program_id(0) * TILE + tl.arange(0, TILE)
    j = start + tl.program_id(1) * TILE + tl.arange(0, TILE)
    K = _products(G, i, j, n, WIDTH, TILE, STEP, PRECISION)
    mine, theirs = tl.load(label + i, mask=i < n, other=0), tl.load(label + j, mask=j < n, other=0)
    same = mine[:, None] == theirs[None, :]
    sign, weight = tl.where(same, 1.0, -1.0), tl.where(same, similar, dissimilar)
    value, q = _evaluate(sign * K, EXP)
    real = (i < stop)[:, None] & (j < n)[None, :]
    place = B + (i - start).to(tl.int64)[:, None] * (n - start) + (j - start)[None, :]
    tl.store(place, sign * weight * q, mask=real)
    counted = tl.where(real, weight * tl.where(j < stop, 1.0, 2.0)[None, :], 0.0)
    tile = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    tl.store(sums + tile, tl.sum(counted * value))
    tl.store(sums + tl.num_programs(0) * tl.num_programs(1) + tile, tl.sum(counted * q))


@triton.jit
def _slopes(
    G,
    more,
    label,
    shares,
    sums,
    n,
    similar,
    dissimilar,
    WIDTH,
    MORE,
    SHARES: tl.constexpr,
    EXP: tl.constexpr,
    TILE: tl.constexpr,
    STEP: tl.constexpr,
    PRECISION: tl.constexpr,
):
    if tl.program_id(1) >= tl.program_id(0):  # the others are these once more
        i = tl.program_id(0) * TILE + tl.arange(0, TILE)
        j = tl.program_id(1) * TILE + tl.arange(0, TILE)
        K = _products(G, i, j, n, WIDTH, TILE, STEP, PRECISION)
        k = _products(more, i, j, n, MORE, TILE, STEP, PRECISION)  # zero beyond the rows
        mine, theirs = tl.load(label + i, mask=i < n, other=0), tl.load(label + j, mask=j < n, other=0)
        same = mine[:, None] == theirs[None, :]
        times = tl.where(tl.program_id(0) == tl.program_id(1), 1.0, 2.0)
        sign = tl.where(same, 1.0, -1.0)
        part = times * tl.where(same, similar, -dissimilar) * k
        tile = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
        n_tiles = tl.num_programs(0) * tl.num_programs(1)
        for s in tl.static_range(SHARES):
            _, q = _evaluate(sign * (K + tl.load(shares + s) * k), EXP)
            tl.store(sums + s * n_tiles + tile, tl.sum(part * q))
            if s == 0:
                tl.store(sums + SHARES * n_tiles + tile, tl.sum(tl.abs(part * q)))
