"""Learned kernels on 30 000 and 100 000 rows: CPU seconds, memory, and errors beside an exact SVM of 4000."""

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from benchmarks.measure import cpu_seconds, peak_memory, report
from mercer import BoostedKernel, IdealizedKernel, KernelBoost, KernelSVC, RelevanceKernel, Superkernel

WIDTH = 5.0  # of RBF kernels on 20 standardised columns
LEARNERS = {
    "BoostedKernel()": BoostedKernel(random_state=0),
    "BoostedKernel(RBF)": BoostedKernel(RBF(WIDTH), random_state=0),
    "KernelBoost()": KernelBoost(random_state=0),
    "Superkernel()": Superkernel(random_state=0),
    "IdealizedKernel(RBF, max_rank=30)": IdealizedKernel(RBF(WIDTH), max_rank=30, random_state=0),
    "IdealizedKernel()": IdealizedKernel(random_state=0),
    "RelevanceKernel()": RelevanceKernel(random_state=0),
    "RBF": RBF(WIDTH),
}
EXACT, SIZES = 4000, (30_000, 100_000)


def draw(n: int, seed: int) -> tuple[Any, Any]:
    """Return rows of 20 columns, of which 7 matter, four of them in pairs, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 20))
    f = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + np.sin(2 * X[:, 4]) + X[:, 5] / 2 + np.abs(X[:, 6]) - 0.8
    return X, f + 0.3 * rng.normal(size=n) > 0


def fit(name: str, n: int) -> str:
    """Fit n rows in this process; return CPU seconds, peak memory and test error."""
    warnings.simplefilter("ignore")  # γ of zero: the penalties are the defaults, whatever the data are
    X, y = draw(n, 0)
    X_new, y_new = draw(10_000, 1)
    method = "gram" if n == EXACT else "auto"
    model = KernelSVC(LEARNERS[name], method=method, random_state=0)
    KernelSVC(LEARNERS[name], random_state=0).fit(X[:200], y[:200])  # compile
    seconds, _ = cpu_seconds(lambda: model.fit(X, y))
    return f"{seconds} {peak_memory()} {100 * (1 - model.score(X_new, y_new))}"


def main(sizes: tuple[int, ...] = SIZES) -> None:
    """Each fit runs in a process of its own, so that the memory is its own."""
    for name in LEARNERS:
        exact = None
        for n in (EXACT, *sizes):
            program = f"from benchmarks.sizes import fit; print(fit({name!r}, {n}))"
            out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
            seconds, memory, error = map(float, out.stdout.split())
            exact = error if exact is None else exact
            detail = f"{seconds:.1f} s of CPU time, {memory:.2f} GB, test error {error:.2f} %"
            wanted = "" if n == EXACT else "≤ 1"
            report(f"KernelSVC of {name}, {n} rows: error / that of {EXACT}", error / exact, wanted, detail)
