"""Time at a million rows over time at 100 000, and the memory it takes."""

import subprocess
import sys

from benchmarks.measure import cpu_seconds, peak_memory, report
from mercer import StumpSVC
from mercer.datasets import threenorm

C = 0.05  # about the best for threenorm


def fit(n: int, max_bins: int | None) -> str:
    """Fit n rows in this process; return CPU seconds, peak memory and test error."""
    X, y = threenorm(n, random_state=0)
    X_new, y_new = threenorm(50_000, random_state=1)
    StumpSVC(C=C, max_bins=max_bins).fit(X[:3000], y[:3000])  # compile
    seconds, model = cpu_seconds(lambda: StumpSVC(C=C, max_bins=max_bins).fit(X, y), 3 if n <= 100_000 else 1)
    return f"{seconds} {peak_memory()} {100 * (1 - model.score(X_new, y_new))}"


def main() -> None:
    """Each fit runs in a process of its own, so that the memory is its own."""
    for max_bins, wanted in ((None, "≤ 14"), (256, "")):
        rows = []
        for n in (100_000, 1_000_000):
            program = f"from benchmarks.growth import fit; print(fit({n}, {max_bins}))"
            out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
            rows.append([float(number) for number in out.stdout.split()])
        (small, _, _), (large, memory, error) = rows
        detail = f"{small:.2f} s and {large:.1f} s; {memory:.2f} GB (≤ 3), test error {error:.2f} %"
        kind = "exact" if max_bins is None else "binned"
        report(f"growth from 10⁵ to 10⁶ rows, {kind}", large / small, wanted, detail)
