"""The SVM of all decision trees on many rows: exact to 20 000, on landmarks to a million; time and memory."""

import subprocess
import sys

from benchmarks.measure import cpu_seconds, peak_memory, report, wall_seconds
from mercer import TreeSVC
from mercer.datasets import threenorm

SIZES = (20_000, 100_000, 1_000_000)


def fit(n: int) -> str:
    """Fit n rows of 20 features in this process; return seconds, CPU seconds, peak memory and test error."""
    X, y = threenorm(n, random_state=0)
    X_new, y_new = threenorm(5000, random_state=1)
    TreeSVC().fit(X[:2000], y[:2000])  # compile
    cpu, (wall, model) = cpu_seconds(lambda: wall_seconds(lambda: TreeSVC(random_state=0).fit(X, y)))
    return f"{wall} {cpu} {peak_memory()} {100 * (1 - model.score(X_new, y_new))}"


def main(sizes: tuple[int, ...] = SIZES) -> None:
    """Each fit runs in a process of its own, so that the memory is its own."""
    for n in sizes:
        program = f"from benchmarks.trees import fit; print(fit({n}))"
        out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        wall, cpu, memory, error = map(float, out.stdout.split())
        detail = f"{cpu:.1f} s of CPU time, {memory:.1f} GB, test error {error:.2f} %"
        wanted = "≤ 1" if n <= 20_000 else ""
        report(f"TreeSVC, {n} rows of 20 features: minutes", wall / 60, wanted, detail)
