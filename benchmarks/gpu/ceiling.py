"""How fast a GPU sums up absolute differences that are in its registers: no loop over rows is faster."""

import torch
import triton
import triton.language as tl

from benchmarks.gpu.stump import timed

PROGRAMS, SIZE, TURNS = 132 * 64, 8192, 2000


def difference_speed(device: torch.device) -> float:
    """Return the number of absolute differences per second."""
    out = torch.empty(PROGRAMS * SIZE, device=device)

    def work() -> None:
        _sum_up[(PROGRAMS,)](out, 0.5, TURNS, SIZE, num_warps=4)

    return PROGRAMS * SIZE * TURNS / min(timed(work)[0] for _ in range(4))


@triton.jit
def _sum_up(out, step, turns, SIZE: tl.constexpr):
    x = tl.arange(0, SIZE).to(tl.float32)
    total = tl.zeros((SIZE,), tl.float32)
    y = step
    for _ in tl.range(0, turns, loop_unroll_factor=8):
        total += tl.abs(x - y)
        y += step
    tl.store(out + tl.program_id(0) * SIZE + tl.arange(0, SIZE), total)
