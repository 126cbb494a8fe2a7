"""A learned kernel on a Dask cluster: 5 million rows in two workers of 3 GB, a killed worker, one machine.

The rows are those of `benchmarks.sizes`, drawn chunk by chunk on the workers.
"""

import time
import warnings
from typing import Any

import dask
import dask.array as da
import numpy as np

from benchmarks.cluster import CHUNK, MEMORY, cluster, killed_at
from benchmarks.measure import peak_memory, report
from benchmarks.sizes import draw
from mercer import KernelSVC, RelevanceKernel
from mercer.kernels import Projected
from mercer.machines.feature_samples import FeatureMap

LARGE, SMALL, D = 5_000_000, 1_000_000, 20


def main(large: int = LARGE, small: int = SMALL) -> None:
    """Print memory and error of a large fit; what a killed worker changes, and what one machine says."""
    warnings.simplefilter("ignore")
    X_new, y_new = draw(10_000, 10**6)
    with cluster(2) as client:
        begin = time.perf_counter()
        model = machine().fit(*chunks(large))
        seconds = time.perf_counter() - begin
        most = max(client.run(peak_memory).values())
    error = 100 * (1 - model.score(X_new, y_new))
    what = f"{large:.0e} × {D} on 2 workers of {MEMORY:g} GB"
    n_landmarks = len(model.machines_[0].coef)
    detail = f"{most:.2f} GB, {seconds:.0f} s by the clock, {n_landmarks} landmarks, error {error:.2f} %"
    report(f"{what}: memory of a worker", most / MEMORY, "≤ 1", detail)
    with cluster(2) as client:
        before = machine().fit(*chunks(small))
        with killed_at(3, client) as lost:
            after = machine().fit(*chunks(small))
    changed = np.abs(before.decision_function(X_new) - after.decision_function(X_new)).max()
    what = f"a worker killed in a fit, {small:.0e} × {D}: change / 1e-6"
    report(what, changed / 1e-6, "≤ 1", f"{len(lost)} results were lost with the process")
    X, y = dask.compute(*chunks(small))
    said = one_machine(before, X, y).predict(X_new)
    agreed = 100 * np.mean(said == before.predict(X_new))
    report(f"one machine, {small:.0e} × {D}: predictions that agree, %", agreed, "≥ 99.5", "same landmarks")


def machine(**options: Any) -> KernelSVC:
    return KernelSVC(RelevanceKernel(random_state=0), loss="log_loss", random_state=0, **options)


def one_machine(model: KernelSVC, X: Any, y: Any) -> KernelSVC:
    """Fit rows in memory, with the kernel that another model has learned, and its landmarks."""
    Z = model.machines_[0].anchors
    kernel = Projected(FeatureMap.of_landmarks(model.kernel_, Z).whiten, model.kernel_, Z)
    return KernelSVC(kernel, C=model.C_, loss="log_loss", method="features").fit(X, y)


def chunks(n: int) -> tuple[Any, Any]:
    """Return samples and labels, not computed yet."""
    sizes = [CHUNK] * (n // CHUNK) or [n]
    rows = [
        da.from_delayed(dask.delayed(draw_rows)(size, seed), (size, D + 1), dtype=float)
        for seed, size in enumerate(sizes)
    ]
    Z = da.concatenate(rows)
    return Z[:, :D], Z[:, D]


def draw_rows(n: int, seed: int) -> Any:
    """Return samples with their labels as the last column."""
    return np.column_stack(draw(n, seed))
