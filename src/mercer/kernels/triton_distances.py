"""City-block distances on a GPU: each program has a tile of pairs of rows, and goes through the features."""

from typing import Any

import triton
import triton.language as tl

TILE = 128  # rows and columns: with fewer of them than threads, each thread loads those that it needs
WARPS = 8


def city_block(X: Any, Y: Any, out: Any) -> None:
    """Put the distances ‖X[i] − Y[j]‖₁ into `out`."""
    grid = (triton.cdiv(len(X), TILE), triton.cdiv(len(Y), TILE))
    columns = X.T.contiguous(), Y.T.contiguous()  # a tile's numbers of one feature lie side by side
    if grid[0] and grid[1]:
        _city_block[grid](*columns, out, len(X), len(Y), X.shape[1], TILE, num_warps=WARPS)


@triton.jit
def _city_block(x, y, out, n, m, D, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    j = tl.program_id(1) * TILE + tl.arange(0, TILE)
    total = tl.zeros((TILE, TILE), out.dtype.element_ty)
    x, y = x + tl.minimum(i, n - 1), y + tl.minimum(j, m - 1)
    for _ in range(D):
        total += tl.abs(tl.load(x)[:, None] - tl.load(y)[None, :])
        x += n
        y += m
    place = out + i.to(tl.int64)[:, None] * m + j[None, :]
    tl.store(place, total, mask=(i < n)[:, None] & (j < m)[None, :])
