"""City-block distances on a GPU: each program has a tile of pairs of rows, and goes through the features."""

from typing import Any

import torch
import triton
import triton.language as tl

ROWS, COLUMNS, WARPS = 8, 1024, 4  # of a tile: a thread has 8 × 8 distances, and loads 16 numbers for them
UNROLL = 8  # features of a turn of the loop


def city_block(X: Any, Y: Any, out: Any) -> None:
    """Put the distances ‖X[i] − Y[j]‖₁ into `out`."""
    x, y = pack(X, ROWS), pack(Y, COLUMNS)
    grid = (len(x), len(y))
    if len(x) and len(y):
        _city_block[grid](x, y, out, *out.shape, X.shape[1], ROWS, COLUMNS, UNROLL, num_warps=WARPS)


def pack(X: Any, size: int) -> Any:
    """Return the rows in groups, (groups, D, size): the numbers of one feature lie side by side."""
    filled = torch.nn.functional.pad(X, (0, 0, 0, -len(X) % size))
    return filled.reshape(-1, size, X.shape[1]).mT.contiguous()


@triton.jit
def _city_block(x, y, out, n, m, D, ROWS: tl.constexpr, COLUMNS: tl.constexpr, UNROLL: tl.constexpr):
    a, b = tl.program_id(0), tl.program_id(1)
    x += a.to(tl.int64) * D * ROWS + tl.arange(0, ROWS)
    y += b.to(tl.int64) * D * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), out.dtype.element_ty)
    for _ in tl.range(0, D, loop_unroll_factor=UNROLL):
        total += tl.abs(tl.load(x)[:, None] - tl.load(y)[None, :])
        x += ROWS
        y += COLUMNS
    i, j = a * ROWS + tl.arange(0, ROWS), b * COLUMNS + tl.arange(0, COLUMNS)
    place = out + i.to(tl.int64)[:, None] * m + j[None, :]
    tl.store(place, total, mask=(i < n)[:, None] & (j < m)[None, :])
