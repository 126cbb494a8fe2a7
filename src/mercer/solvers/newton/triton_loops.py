"""The two loops of a pass for a GPU: each program has a block of rows, and goes through the features."""

import triton
import triton.language as tl


@triton.jit
def gather(code, table, out, n, D: tl.constexpr, B: tl.constexpr, BLOCK: tl.constexpr):
    """Put Σ_d table_d at each row's codes into `out`."""
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), out.dtype.element_ty)
    for d in range(D):
        c = tl.load(code + i, mask=i < n, other=0).to(tl.int32)
        total += tl.load(table + d * B + c)
        code += n
    tl.store(out + i, total, mask=i < n)


@triton.jit
def scatter(code, v, sums, n, D: tl.constexpr, B: tl.constexpr, BLOCK: tl.constexpr, COPIES: tl.constexpr):
    """Add Σv of the rows at each value to one of the copies of the sums."""
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(v + i, mask=i < n, other=0.0)
    mine = sums + (tl.program_id(0) % COPIES) * D * B
    for d in range(D):
        c = tl.load(code + i, mask=i < n, other=0).to(tl.int32)
        tl.atomic_add(mine + d * B + c, x, mask=(i < n) & (x != 0.0), sem="relaxed")
        code += n
