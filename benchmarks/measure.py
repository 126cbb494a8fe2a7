"""Clocks, memory and the one line that a benchmark prints."""

import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist


def cpu_seconds(work: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Return the least CPU time of some runs (of all threads), and the last result."""
    best, result = np.inf, None
    for _ in range(repeats):
        begin = time.process_time()
        result = work()
        best = min(best, time.process_time() - begin)
    return best, result


def wall_seconds(work: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Return the least wall-clock time of some runs, and the last result."""
    best, result = np.inf, None
    for _ in range(repeats):
        begin = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - begin)
    return best, result


def peak_memory() -> float:
    """Return the most memory this process has held, in GB.

    From /proc where there is one: the figure of getrusage is inherited from the parent process.
    """
    try:
        with open("/proc/self/status") as status:
            return next(float(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1e6
    except FileNotFoundError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def stump_gram(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the simplified stump kernel's Gram matrix."""
    K = cdist(X, X, "cityblock")
    return np.negative(K, out=K)


def report(what: str, ratio: float, wanted: str, detail: str) -> None:
    """Print a benchmark's line."""
    print(f"{what:<58} {ratio:8.2f}   wanted {wanted:<8} {detail}", flush=True)
