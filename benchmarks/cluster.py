"""StumpSVC on a Dask cluster: memory, two workers over one, a killed worker, and what a pass costs.

All data are threenorm, drawn chunk by chunk on the workers. The last lines are the table of docs/scaling.md.
"""

import os
import pickle
import signal
import time
from collections import Counter
from contextlib import contextmanager
from typing import NamedTuple

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, get_client, wait

from benchmarks.measure import peak_memory, report, wall_seconds
from mercer import StumpSVC
from mercer.datasets import threenorm
from mercer.machines import distributed
from mercer.solvers.newton.dask_rows import DaskRows

C, BINS, D = 0.01, 256, 20
LARGE, MEMORY = 20_000_000, 3.0  # rows, and GB of each of two workers
SIZES = (1_000_000, 2_000_000, 4_000_000)
CHUNK = 250_000  # rows
FAR_ROWS, FAR_WORKERS = 10**9, 100  # what the model foretells


def main(large: int = LARGE, sizes: tuple[int, ...] = SIZES, chunk: int = CHUNK) -> None:
    """Print four groups of lines, then the model of the costs."""
    fits, drawn = {}, []
    for n_workers in (1, 2):
        with cluster(n_workers):
            warm_up()
            for n in sizes:
                fits[n, n_workers] = measure_fit(n, chunk)
            drawn.append(wall_seconds(lambda: model().fit(*draw(sizes[-1], chunk)))[0])
            if n_workers == 2:
                per_task = seconds_of_a_task(sizes[0])
    compare_workers(fits, drawn)
    kill_a_worker(sizes[0])
    fit_large(large, chunk)
    print_model(fits, per_task)


@contextmanager
def cluster(n_workers: int):
    """Start workers of one thread each, with little memory."""
    options = {"threads_per_worker": 1, "memory_limit": f"{MEMORY}GB", "dashboard_address": ":0"}
    with LocalCluster(n_workers=n_workers, **options) as processes, Client(processes) as client:
        yield client


def draw(n: int, chunk: int):
    """Return samples and labels, not computed yet."""
    block = dask.delayed(draw_rows)
    ends = np.linspace(0, n, max(1, round(n / chunk)) + 1).astype(int)
    rows = [
        da.from_delayed(block(int(size), seed), (size, D + 1), dtype=float)
        for seed, size in enumerate(np.diff(ends))
    ]
    Z = da.concatenate(rows)
    return Z[:, :D], Z[:, D]


def draw_rows(n: int, seed: int):
    """Return samples with their labels as the last column."""
    X, y = threenorm(n, random_state=seed)
    return np.column_stack([X, y])


def model() -> StumpSVC:
    return StumpSVC(C=C, max_bins=BINS, random_state=0)


def warm_up() -> None:
    """Load compiled code on all workers, and here."""
    model().fit(*draw(40_000, 5_000))


class Pass(NamedTuple):
    """What a pass took, and what travelled."""

    name: str
    seconds: float
    sent: int  # bytes to each worker
    returned: int  # bytes to the driver


class Fit(NamedTuple):
    """What a fit took."""

    seconds: float
    passes: list[Pass]
    model: StumpSVC
    cpu: tuple[float, float]  # seconds of the process that called, with the scheduler, and of the workers


def measure_fit(n: int, chunk: int) -> Fit:
    """Fit samples that the workers hold as numbers, and note each pass."""
    X, y = dask.persist(*draw(n, chunk))
    wait([X, y])
    before = cpu_seconds()
    with noted_passes() as passes:
        begin = time.perf_counter()
        fitted = model().fit(X, y)
        seconds = time.perf_counter() - begin
    here, there = np.subtract(cpu_seconds(), before)
    return Fit(seconds, passes, fitted, (here, there))


def cpu_seconds() -> tuple[float, float]:
    """Return the CPU seconds of this process so far, and of all workers."""
    return time.process_time(), sum(get_client().run(time.process_time).values())


@contextmanager
def noted_passes():
    """Note the passes of the fits inside."""
    passes, add_up = [], DaskRows.add_up

    def noted(self, function, *arguments):
        begin = time.perf_counter()
        result = add_up(self, function, *arguments)
        seconds = time.perf_counter() - begin
        passes.append(Pass(function.__name__, seconds, *(len(pickle.dumps(x)) for x in (arguments, result))))
        return result

    DaskRows.add_up = noted
    try:
        yield passes
    finally:
        DaskRows.add_up = add_up


def compare_workers(fits: dict[tuple[int, int], Fit], drawn: list[float]) -> None:
    pairs = {f"{n:.0e} × {D}": (fits[n, 1].seconds, fits[n, 2].seconds) for n, k in fits if k == 1}
    largest = list(pairs)[-1]
    for name, (one, two) in {**pairs, f"{largest}, drawn in the fit": drawn}.items():
        wanted = "≥ 1.5" if name.startswith(largest) else ""
        report(f"2 workers over 1, {name}", one / two, wanted, f"{one:.1f} s and {two:.1f} s")


def kill_a_worker(n: int) -> None:
    """Fit twice; the second time a worker process is killed at the tenth Newton step."""
    with cluster(2) as client:
        X, y = draw(n, CHUNK)
        before = model().fit(X, y)
        with killed_at(10, client) as lost:
            after = model().fit(X, y)
    X_new = threenorm(10_000, random_state=10**6)[0]
    difference = np.abs(before.decision_function(X_new) - after.decision_function(X_new)).max()
    detail = f"largest change of 10⁴ decision values; {len(lost)} results were lost with the process"
    report(f"a worker killed in a fit, {n:.0e} × {D}: change / 1e-6", difference / 1e-6, "≤ 1", detail)


@contextmanager
def killed_at(step: int, client: Client):
    """Kill the worker process that holds most, before a Newton step of a fit inside; give what it held."""
    pids, lost = client.run(os.getpid), []
    newton_step, count = DaskRows.newton_step, Counter()

    def killing(self, *arguments):
        count["steps"] += 1
        if count["steps"] == step:
            held = client.has_what()
            address = max(held, key=lambda worker: len(held[worker]))
            lost.extend(held[address])
            os.kill(pids[address], signal.SIGKILL)
        return newton_step(self, *arguments)

    DaskRows.newton_step = killing
    try:
        yield lost
    finally:
        DaskRows.newton_step = newton_step


def fit_large(n: int, chunk: int) -> None:
    """Fit more rows than the workers could hold as numbers."""
    some = slice(0, 4 * chunk)
    with cluster(2) as client:
        warm_up()
        X, y = draw(n, chunk)
        begin = time.perf_counter()
        fitted = model().fit(X, y)
        seconds = time.perf_counter() - begin
        most = max(client.run(peak_memory).values())
        part = model().fit(X[some], y[some])
        X_some, y_some = dask.compute(X[some], y[some])
    size = f"{n:.0e} × {D} on 2 workers of {MEMORY:g} GB"
    detail = f"{most:.2f} GB in a worker; as numbers the rows take {8 * n * D / 1e9:.1f} GB; {seconds:.0f} s"
    report(f"{size}: memory", most / MEMORY, "≤ 1", detail)
    gap = 0.1 * float(fitted.residual_[0])  # as a share of the objective, or of the penalty if that is less
    report(
        f"{size}: relative duality gap / 1e-3", gap / 1e-3, "≤ 1", f"{int(fitted.n_iter_[0])} Newton steps"
    )
    alone = model().fit(X_some, y_some)
    difference = abs(part.objective_[0] / alone.objective_[0] - 1.0)
    name = f"{len(y_some):.0e} of these rows, objective over one machine's − 1"
    report(
        f"{name} / 1e-3", difference / 1e-3, "≤ 1", f"{part.objective_[0]:.3f} and {alone.objective_[0]:.3f}"
    )
    same = np.mean(fitted.predict(X_some) == alone.predict(X_some))
    report("   its predictions that all rows' model shares, %", 100 * same, "", "")


def seconds_of_a_task(n: int) -> float:
    """Return what one more task adds to a pass: the same rows in few and in many groups of chunks."""
    groups, means = distributed.GROUPS, []
    for distributed.GROUPS in (groups, 25 * groups):
        means.append(mean_pass(measure_fit(n, n // 200)))
    distributed.GROUPS = groups
    return max((means[1] - means[0]) / (24 * groups * 2), 0.0)


def print_model(fits: dict[tuple[int, int], Fit], per_task: float) -> None:
    """Fit seconds = latency + rate × rows of a worker + overhead × tasks to one worker; check it on two."""
    tasks = distributed.GROUPS  # for each worker of one thread
    ones = {n: mean_pass(fit) - per_task * tasks for (n, k), fit in fits.items() if k == 1}
    rate, latency = np.polyfit(list(ones), list(ones.values()), 1)
    print("\n| rows | workers | passes | s a pass | by the model | s outside ", end="")
    print("| CPU s here, there | kB sent, back |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for (n, k), fit in sorted(fits.items()):
        by_model = latency + rate * n / k + per_task * tasks * k
        sent, back = (np.mean([one[i] for one in fit.passes]) / 1e3 for i in (2, 3))
        cells = (f"{n:.0e}", k, len(fit.passes), f"{mean_pass(fit):.3f}", f"{by_model:.3f}")
        here, there = fit.cpu
        print("|", " | ".join(map(str, cells)), f"| {outside(fit):.1f} | {here:.1f}, {there:.1f}", end=" ")
        print(f"| {sent:.0f}, {back:.0f} |")
    n_passes = np.mean([len(fit.passes) for fit in fits.values()])
    n_tasks = max(tasks * FAR_WORKERS, FAR_ROWS / distributed.GROUP_ROWS)
    one = latency + rate * FAR_ROWS / FAR_WORKERS + per_task * n_tasks
    parts = f"{1e3 * latency:.0f} ms, {1e9 * rate:.1f} ns a row of a worker, {1e3 * per_task:.2f} ms a task"
    total = f"{n_passes:.0f} passes of {one:.2f} s: {n_passes * one:.0f} s"
    print(f"\na pass: {parts}\n{FAR_ROWS:.0e} rows on {FAR_WORKERS} workers: {total};")
    print(f"{outside(fits[max(fits)]):.0f} s or more outside of them, and the time to read the rows twice")


def mean_pass(fit: Fit) -> float:
    return float(np.mean([one.seconds for one in fit.passes]))


def outside(fit: Fit) -> float:
    """Return the seconds of a fit before, between and after its passes."""
    return fit.seconds - sum(one.seconds for one in fit.passes)
