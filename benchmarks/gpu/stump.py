"""The stump solver on a device: from a tensor of floats to a fitted model, beside the floor of its passes.

Runs on a GPU where there is one, and then needs neither numba nor scikit-learn; else on few rows of the CPU.
"""

import time
from functools import partial

import numpy as np
import torch

from mercer.solvers.stump_svm.columns import choose_knots
from mercer.solvers.stump_svm.driver import solve, start_from_sample
from mercer.solvers.stump_svm.losses import HINGE, LogLoss
from mercer.solvers.stump_svm.torch_rows import TorchRows, bin_tensor

D, BINS, SAMPLE = 20, 256, 200_000
FITS = [
    (loss, C, tol) for loss, C in ((HINGE, 0.01), (HINGE, 1.0), (LogLoss(), 0.01)) for tol in (1e-2, 1e-3)
]


def draw(n: int, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw threenorm [Breiman 1998] on the device."""
    torch.manual_seed(0)
    a = 2.0 / D**0.5
    y = torch.where(torch.rand(n, device=device) < 0.5, 1.0, -1.0)
    X = torch.randn((n, D), device=device)
    side = torch.where(torch.rand(n, device=device) < 0.5, a, -a)
    alternating = a * torch.tensor([1.0, -1.0] * (D // 2), device=device)
    X += torch.where(y[:, None] > 0, side[:, None] * torch.ones(D, device=device), alternating)
    return X, y


def ceiling(device: str) -> float:
    """Return the bytes per second of a copy, read and written."""
    x = torch.empty(2**30, dtype=torch.uint8, device=device)
    seconds = min(timed(lambda: x.clone(), device)[0] for _ in range(5))
    return 2.0 * len(x) / seconds


def timed(work, device):
    """Return seconds and result, the device's work included."""
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    result = work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start, result


def prepare(X: torch.Tensor, y: torch.Tensor) -> TorchRows:
    """Choose bins on a sample, and code the rows in units of the mean range."""
    sample = X[:: max(1, len(X) // SAMPLE)][:SAMPLE].cpu().double().numpy()
    scale = float(np.ptp(sample, axis=0).mean())
    knots = torch.tensor(np.stack([choose_knots(x, BINS) for x in sample.T]), device=X.device)
    code = bin_tensor(X, knots)
    return TorchRows.on_device(code, (knots - knots[:, :1]) / scale, y, scale * torch.ones_like(y))


def fit(rows: TorchRows, C: float, loss=HINGE, tol: float = 1e-3):
    """Fit from the start that a sample gives, to a relative gap of a tenth of tol."""
    start = start_from_sample(rows, loss, C)
    return solve(rows.with_penalty(loss, C), loss, start=start, tol=tol)


def main(sizes: tuple[int, ...] = ()) -> None:
    """Print a line for each size and penalty."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    speed = ceiling(device)
    print(f"{name}: a copy moves {speed / 1e12:.2f} TB/s")
    sizes = sizes or ((10**6, 10**7, 10**8) if device == "cuda" else (3000,))
    fit(prepare(*draw(10_000, device)), 0.01)  # compile
    for n in sizes:
        X, y = draw(n, device)
        binning, rows = timed(lambda X=X, y=y: prepare(X, y), device)
        part = rows.parts[0]
        table = torch.randn(rows.value.shape, device=device)
        gather = min(timed(partial(part.gather, table), device)[0] for _ in range(3))
        scatter = min(timed(partial(part.scatter, part.y, BINS), device)[0] for _ in range(3))
        floor = part.code.numel() / (speed / 2)  # the codes, read once
        print(
            f"{n:.0e} × {D}: bins {binning:.2f} s, gather {1e3 * gather:.2f} ms, scatter "
            f"{1e3 * scatter:.2f} ms (floor of either: {1e3 * floor:.2f} ms)"
        )
        before = part.y > 0
        for loss, C, tol in FITS:
            seconds, found = timed(partial(fit, rows, C, loss, tol), device)
            least = (2 * found.n_iter + 1) * 2 * floor  # a look and a line search per step, two reads each
            f = part.gather(found.function.g) + found.bias
            alike = 100 * float(((f > 0) == before).double().mean())
            before = f > 0
            wrong = float((before != (part.y > 0)).double().mean())
            print(
                f"    {type(loss).__name__:8s} C = {C:<5g} tol = {tol:g}: {binning + seconds:.2f} s with "
                f"bins; {found.n_iter} steps, relative gap {0.1 * found.residual:.1e}, training error "
                f"{100 * wrong:.2f} %; floor of its passes {100 * least / seconds:.0f} %; "
                f"{alike:.3f} % predicted as in the line before"
            )
        if n <= 10**6 and device == "cuda":
            compare(X[:200_000], y[:200_000])


def compare(X: torch.Tensor, y: torch.Tensor) -> None:
    """Print how many predictions are those of the CPU in double precision."""
    here = fit(prepare(X, y), 0.01)
    rows = prepare(X.cpu().double(), y.cpu().double())
    there = fit(rows, 0.01)
    f, g = (rows.parts[0].gather(s.function.g.cpu()) + s.bias for s in (here, there))
    same = float(((f > 0) == (g > 0)).double().mean())
    print(
        f"    single precision on the device and double on the CPU, {len(X)} rows: {100 * same:.2f} % alike"
    )
