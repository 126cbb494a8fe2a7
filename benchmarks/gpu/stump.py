"""`StumpSVC` on a device: from a tensor of floats to a fitted model, beside the floor of its passes.

Runs on a GPU where there is one, and then needs no numba; else on few rows of the CPU.
"""

import os
import time

os.environ["SCIPY_ARRAY_API"] = "1"  # scikit-learn asks for it, before SciPy is imported

import torch
from sklearn import clone, config_context

from mercer import StumpSVC
from mercer.machines.additive import TrainingRows
from mercer.solvers.newton.torch_tables import TorchTableRows

D, BINS = 20, 256
PENALTIES = (("hinge", 0.01), ("hinge", 1.0), ("log_loss", 0.01))
FITS = [(loss, C, tol) for loss, C in PENALTIES for tol in (1e-2, 1e-3)]


def draw(n: int, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw threenorm [Breiman 1998] on the device."""
    torch.manual_seed(0)
    a = 2.0 / D**0.5
    y = torch.where(torch.rand(n, device=device) < 0.5, 1, -1)
    X = torch.randn((n, D), device=device)
    side = torch.where(torch.rand(n, device=device) < 0.5, a, -a)
    alternating = a * torch.tensor([1.0, -1.0] * (D // 2), device=device)
    X += torch.where(y[:, None] > 0, side[:, None] * torch.ones(D, device=device), alternating)
    return X, y


def ceiling(device: str) -> float:
    """Return the bytes per second of a copy, read and written."""
    x = torch.empty(2**30, dtype=torch.uint8, device=device)
    return 2.0 * len(x) / min(timed(x.clone)[0] for _ in range(5))


def timed(work, *arguments):
    """Return seconds and result, the device's work included."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    start = time.perf_counter()
    result = work(*arguments)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start, result


def main(sizes: tuple[int, ...] = ()) -> None:
    """Print a line for each size and penalty."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    speed = ceiling(device)
    print(f"{name}: a copy moves {speed / 1e12:.2f} TB/s")
    with config_context(array_api_dispatch=True):
        StumpSVC(C=0.01, max_bins=BINS).fit(*draw(10_000, device))  # compile
        for n in sizes or ((10**6, 10**7, 10**8) if device == "cuda" else (3000,)):
            measure(n, device, speed)


def measure(n: int, device: str, speed: float) -> None:
    """Print the time of each fit to n rows, and of its parts."""
    X, y = draw(n, device)
    floor = X.numel() / (speed / 2)  # the codes, a byte each, read once
    print(f"{n:.0e} × {D}: {passes(X)} (floor of either: {1e3 * floor:.2f} ms)", flush=True)
    for loss, C, tol in FITS:
        model = StumpSVC(C=C, loss=loss, max_bins=BINS, tol=tol, random_state=0)
        seconds, _ = timed(model.fit, X, y)
        steps = int(model.n_iter_[0])
        least = (2 * steps + 1) * 2 * floor  # a look and a line search per step, two reads each
        predicting, predicted = timed(model.predict, X)
        wrong = float((predicted != y).double().mean())
        print(
            f"    {loss:8s} C = {C:<5g} tol = {tol:g}: {seconds:.2f} s with checks and bins; {steps} steps, "
            f"relative gap {0.1 * float(model.residual_[0]):.1e}, training error {100 * wrong:.2f} %, "
            f"predicted in {predicting:.2f} s; floor of its passes {100 * least / seconds:.0f} %",
            flush=True,
        )
    if device == "cuda":
        print(f"    peak memory {torch.cuda.max_memory_allocated() / 2**30:.0f} GiB")
        compare(X[:200_000], y[:200_000])


def passes(X: torch.Tensor) -> str:
    """Say what binning and the two loops of a pass take."""
    binning, rows = timed(TrainingRows.prepare, X, BINS, 0)
    ones = torch.ones(len(X), dtype=torch.float64, device=X.device)
    part = TorchTableRows.of(rows.columns, ones, ones)
    code = part.columns.code
    gather = min(timed(part.gather, code, part.value)[0] for _ in range(3))
    scatter = min(timed(part.scatter, code, ones)[0] for _ in range(3))
    return f"bins {binning:.2f} s, gather {1e3 * gather:.2f} ms, scatter {1e3 * scatter:.2f} ms"


def compare(X: torch.Tensor, y: torch.Tensor) -> None:
    """Print how many predictions are those of a fit on the CPU."""
    here = StumpSVC(C=0.01, max_bins=BINS, tol=1e-2, random_state=0).fit(X, y)
    there = clone(here).fit(X.cpu(), y.cpu())
    same = float((here.predict(X).cpu() == there.predict(X.cpu())).double().mean())
    print(f"    {len(X)} rows on the device and on the CPU: {100 * same:.2f} % predicted alike")
