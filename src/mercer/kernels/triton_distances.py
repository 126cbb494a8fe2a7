"""Distances on a GPU: each program has a tile of pairs of rows.

The layout of a tile is given by hand (Gluon, a part of Triton): each thread has 8 × 8 pairs, for which it
loads sixteen numbers of a feature. Triton's own choice would have it load one number for each distance.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

BLOCK = 1024


def city_block(X: Any, Y: Any, out: Any) -> None:
    """Put the distances ‖X[i] − Y[j]‖₁ into `out`."""
    # in double precision, the sums of more warps would not fit into the registers
    warps = (4, 4) if out.dtype == torch.float32 else (4, 2)
    tile = 8 * 4 * warps[0], 8 * 8 * warps[1]
    x, y = _pack(X, tile[0]), _pack(Y, tile[1])
    grid = len(x) - 1, len(y) - 1
    if all(grid):
        shape = *tile, *warps
        _city_block[grid](x, y, out, *out.shape, x.shape[1], *shape, num_warps=warps[0] * warps[1])


def _pack(X: Any, size: int) -> Any:
    """Return the rows in groups, (groups, D, size): the numbers of one feature lie side by side.

    D is made even. The loop reads one feature ahead: beyond the last group there is another one.
    """
    filled = torch.nn.functional.pad(X, (0, X.shape[1] % 2, 0, -len(X) % size + size))
    return filled.reshape(-1, size, filled.shape[1]).mT.contiguous()


@gluon.jit
def _city_block(
    x,
    y,
    out,
    n,
    m,
    D,
    ROWS: gl.constexpr,
    COLUMNS: gl.constexpr,
    WARPS_DOWN: gl.constexpr,
    WARPS_ACROSS: gl.constexpr,
):
    layout: gl.constexpr = gl.BlockedLayout([8, 8], [4, 8], [WARPS_DOWN, WARPS_ACROSS], [1, 0])
    a, b = gl.program_id(0), gl.program_id(1)
    row = gl.arange(0, ROWS, layout=gl.SliceLayout(1, layout))
    column = gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, layout))
    x += a.to(gl.int64) * D * ROWS + row
    y += b.to(gl.int64) * D * COLUMNS + column
    total = gl.zeros([ROWS, COLUMNS], out.dtype.element_ty, layout)
    even_x, even_y = gl.load(x), gl.load(y)
    for _ in range(D // 2):  # two features, of which each is loaded while the other one is summed up
        odd_x, odd_y = gl.load(x + ROWS), gl.load(y + COLUMNS)
        total += gl.abs(even_x[:, None] - even_y[None, :])
        x += 2 * ROWS
        y += 2 * COLUMNS
        even_x, even_y = gl.load(x), gl.load(y)
        total += gl.abs(odd_x[:, None] - odd_y[None, :])
    i, j = a * ROWS + row, b * COLUMNS + column
    place = out + i.to(gl.int64)[:, None] * m + j[None, :]
    gl.store(place, total, mask=(i < n)[:, None] & (j < m)[None, :])


def euclidean(products: Any, x_lengths: Any, y_lengths: Any, share: float, out: Any) -> Any:
    """Put (‖x‖² + ‖y‖² − 2 xᵀy)^½ into `out`; return the pairs where that is a share of the lengths alone.

    There it is −1.
    """
    n, m = out.shape
    count = torch.zeros(1, dtype=torch.int64, device=out.device)
    pairs = torch.empty((2, room := 4 * n + BLOCK), dtype=torch.int64, device=out.device)
    grid = (n, triton.cdiv(m, BLOCK))
    _roots[grid](products, x_lengths, y_lengths, out, count, pairs, room, m, share, BLOCK)
    if (found := int(count)) <= room:
        return pairs[0, :found], pairs[1, :found]
    return (out < 0.0).nonzero(as_tuple=True)


@triton.jit
def _roots(products, x_lengths, y_lengths, out, count, pairs, room, m, share, BLOCK: tl.constexpr):
    i, j = tl.program_id(0), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    place = i.to(tl.int64) * m + j
    size = tl.load(x_lengths + i) + tl.load(y_lengths + j, mask=j < m, other=0.0)
    squared = size - 2.0 * tl.load(products + place, mask=j < m, other=0.0)
    near = (squared <= share * size) & (j < m)
    root = tl.sqrt(tl.maximum(squared, 0.0).to(out.dtype.element_ty))
    tl.store(out + place, tl.where(near, -1.0, root), mask=j < m)
    if tl.max(near.to(tl.int32)) > 0:
        zero = tl.zeros((BLOCK,), tl.int64)
        number = tl.atomic_add(count + zero, zero + 1, mask=near)
        listed = near & (number < room)
        tl.store(pairs + number, zero + i, mask=listed)
        tl.store(pairs + room + number, j.to(tl.int64), mask=listed)
