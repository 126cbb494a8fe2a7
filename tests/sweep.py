"""Fits of ugly tables: each ends in numbers that can be, or in an error that says in words what to do.

``python tests/sweep.py 300`` fits every machine to 300 generated tables, ``1 --first 17`` to table 17 alone.
"""

import argparse
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, RationalQuadratic

import mercer
from mercer import (
    BoostedKernel,
    ClippedScaler,
    IdealizedKernel,
    KernelRegressor,
    KernelSVC,
    PerceptronRegressor,
    PerceptronSVC,
    RelevanceKernel,
    StumpRegressor,
    StumpSVC,
    TreeRegressor,
    TreeSVC,
)
from mercer._typing import Array
from mercer.kernels import Kernel

SLOW = 5.0  # seconds of a processor that no fit of so few samples may take; only the command looks at it
BEYOND = 100.0  # ranges of the targets that a prediction of a training sample may be outside of them
LARGEST = 1e9  # decision value of a training sample of features of one scale
BY_ROUNDING = 1e-6
OWN_WORDS = ("/mercer/", "/sklearn/")  # whose errors say what to do


class Table(NamedTuple):
    """A generated table, with classes and numbers as targets."""

    what: str
    X: Array
    label: Array
    number: Array
    weight: Array | None
    C: float


class Failure(NamedTuple):
    """What should not have come of a fit."""

    table: int
    what: str
    machine: str
    why: str


def draw_table(seed: int) -> Table:
    """Draw a table; one in three has several faults at once."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 41)), int(rng.integers(1, 7))
    shape = str(rng.choice(list(SHAPES)))
    X = SHAPES[shape](rng, n, d)
    n = len(X)
    n_classes = int(rng.choice([2, 2, 3, 4]))
    label = rng.integers(0, n_classes, n)
    label[:n_classes] = np.arange(n_classes)
    number = rng.standard_normal(n) + (X - X.mean(axis=0)).sum(axis=1)
    faults = rng.choice(list(FAULTS), size=int(rng.choice([0, 1, 1, 3])), replace=False)
    table = Table(shape, X, label, number, None, float(rng.choice([0.1, 1.0, 10.0])))
    for fault in faults:
        table = FAULTS[str(fault)](rng, table)._replace(what=f"{table.what}, {fault}")
    return table


def _duplicated(rng: Any, n: int, d: int) -> Array:
    return rng.standard_normal((max(1, n // 4), d))[rng.integers(0, max(1, n // 4), n)]


def _with_constant(rng: Any, n: int, d: int) -> Array:
    X = rng.standard_normal((n, d))
    X[:, rng.integers(d)] = rng.choice([0.0, 1.0, -3.7e8])
    return X


SHAPES: dict[str, Callable[[Any, int, int], Array]] = {
    "zeros and ones": lambda rng, n, d: rng.integers(0, 2, (n, d)).astype(float),
    "few values": lambda rng, n, d: rng.integers(0, 4, (n, d)) / 3.0,
    "normal": lambda rng, n, d: rng.standard_normal((n, d)),
    "constant": lambda rng, n, d: np.full((n, d), rng.choice([0.0, 1.0, 1e8, 0.1])),
    "a constant column": _with_constant,
    "duplicated rows": _duplicated,
    "collinear": lambda rng, n, d: np.outer(rng.standard_normal(n), rng.standard_normal(d)),
    "wide": lambda rng, n, d: rng.standard_normal((max(4, n // 6), 8 * d)),
    "wild values": lambda rng, n, d: rng.standard_cauchy((n, d)) ** 3,
}


def _extreme_weights(rng: Any, table: Table) -> Table:
    n = len(table.X)
    kinds = [
        np.where(rng.random(n) < 0.3, 0.0, 1.0),
        10.0 ** rng.uniform(-300.0, 300.0, n),
        np.full(n, 1e300),
        np.full(n, 1e-300),
        np.where(rng.random(n) < 0.2, 1e300, 1.0),
        10.0 ** rng.uniform(-8.0, 8.0, n),
    ]
    return table._replace(weight=kinds[int(rng.integers(len(kinds)))])


def _other_scale(rng: Any, table: Table) -> Table:
    power = rng.choice([-320, -200, -150, -30, -15, 15, 30, 120, 150, 200, 300])
    with np.errstate(over="ignore"):
        X = np.clip(table.X, -1e7, 1e7) * 10.0 ** float(max(power, -300)) * (1e-20 if power < -300 else 1.0)
    return table._replace(X=X)


def _own_scales(rng: Any, table: Table) -> Table:
    return table._replace(
        X=np.clip(table.X, -1e7, 1e7) * 10.0 ** rng.choice([-120.0, -8.0, 0.0, 8.0, 120.0], table.X.shape[1])
    )


def _one_sample_a_class(_: Any, table: Table) -> Table:
    label = np.arange(len(table.X))
    return table._replace(label=np.minimum(label, 4) if len(label) > 12 else label)


def _odd_targets(rng: Any, table: Table) -> Table:
    n = len(table.X)
    kinds = [
        np.full(n, 3.3),
        rng.integers(0, 2, n).astype(float),
        table.number * 1e100,
        table.number * 1e-100,
        table.number + 1e12,
        rng.standard_cauchy(n) ** 3,
    ]
    return table._replace(number=kinds[int(rng.integers(len(kinds)))])


FAULTS: dict[str, Callable[[Any, Table], Table]] = {
    "extreme weights": _extreme_weights,
    "another scale": _other_scale,
    "a scale for each column": _own_scales,
    "one sample a class": _one_sample_a_class,
    "odd targets": _odd_targets,
    "a C of 1e±300": lambda rng, t: t._replace(C=float(rng.choice([1e-300, 1e-30, 1e30, 1e300]))),
    "a C of 1e±6": lambda rng, t: t._replace(C=float(rng.choice([1e-6, 1e6]))),
}


def make_machines(table: Table) -> Iterator[Any]:
    """Yield every machine with each of its losses and ways to compute, unfitted."""
    C = table.C
    for loss in ("hinge", "log_loss", "squared_error"):
        yield StumpSVC(C=C, loss=loss)
        yield PerceptronSVC(C=C, loss=loss)
        yield TreeSVC(C=C, loss=loss)
        yield KernelSVC(RBF(1.0), C=C, loss=loss)
        yield KernelSVC(C=C, loss=loss, relative_C=True)
    yield StumpSVC(C=C, max_bins=8)
    yield StumpSVC(C=C, multi_class="ovr", class_weight="balanced")
    yield PerceptronSVC(C=C, method="sliced", n_directions=8, random_state=0)
    yield TreeSVC(C=C, ranks=True)
    yield TreeSVC(C=C, method="landmarks", n_landmarks=5, random_state=0)
    yield KernelSVC(RationalQuadratic(), C=C, method="landmarks", n_landmarks=5, random_state=0)
    yield KernelSVC(IdealizedKernel(), C=C)
    yield KernelSVC(BoostedKernel(n_rounds=3), C=C)
    for loss in ("squared_error", "absolute_error", "quantile", "epsilon_insensitive"):
        yield StumpRegressor(C=C, loss=loss)
        yield PerceptronRegressor(C=C, loss=loss)
        yield TreeRegressor(C=C, loss=loss)
        yield KernelRegressor(RBF(1.0), C=C, loss=loss)
    yield KernelRegressor(C=C)
    yield KernelRegressor(RelevanceKernel(), C=C)
    yield KernelRegressor(RBF(1.0), C=C, method="landmarks", n_landmarks=5, random_state=0)
    yield StumpRegressor(C=C, loss="poisson")
    yield TreeRegressor(C=C, ranks=True)
    yield PerceptronRegressor(C=C, method="sliced", n_directions=8, random_state=0)
    yield ClippedScaler()


def make_selecting_machines() -> Iterator[Any]:
    """Yield machines that choose C: of one table in ten, as they take longer."""
    yield StumpSVC(C="cv", cv=3, random_state=0)
    yield PerceptronSVC(C="cv", cv=3, loss="log_loss", random_state=0)
    yield TreeSVC(C="cv", cv=3, random_state=0)
    yield KernelSVC(RBF(1.0), C="cv", cv=3, random_state=0)
    yield StumpRegressor(C="cv", random_state=0)
    yield PerceptronRegressor(C="cv", random_state=0)
    yield TreeRegressor(C="cv", cv=3, random_state=0)
    yield KernelRegressor(RBF(1.0), C="cv", random_state=0)


def sweep(tables: range, slow: float = np.inf) -> tuple[int, list[Failure]]:
    """Fit every machine to some tables; return how many fits that were, and what should not have come."""
    n_fits, failures = 0, []
    for seed in tables:
        table = draw_table(seed)
        machines = list(make_machines(table)) + (list(make_selecting_machines()) if seed % 10 == 0 else [])
        for machine in machines:
            n_fits += 1
            if (why := judge(machine, table, slow)) is not None:
                failures.append(Failure(seed, table.what, repr(machine).replace("\n", " "), why))
    return n_fits, failures


def judge(machine: Any, table: Table, slow: float = np.inf) -> str | None:
    """Fit a machine, and return what is wrong with what comes of it."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        try:
            why = (
                _look_at_scaler(machine, table)
                if isinstance(machine, ClippedScaler)
                else _look(machine, table)
            )
        except ValueError as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            in_words = any(own in last.filename for own in OWN_WORDS) and len(str(error).split()) > 4
            why = None if in_words else _name(error)
        except Exception as error:  # whatever it is, it is a finding
            why = _name(error)
    seconds = time.process_time() - start
    return why if why is not None or seconds < slow else f"took {seconds:.0f} s"


def _name(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    own = [f for f in traceback.extract_tb(error.__traceback__) if "/mercer/" in f.filename]
    place = f"{own[-1].filename.split('/mercer/')[-1]}:{own[-1].lineno}" if own else last.filename
    return f"{type(error).__name__}: {str(error)[:90]} ({place})"


def _look(machine: Any, table: Table) -> str | None:
    y = table.label if is_classifier(machine) else table.number
    if getattr(machine, "loss", None) == "poisson":
        y = np.abs(y)
    model = clone(machine).fit(table.X, y, sample_weight=table.weight)
    new = np.column_stack([np.roll(column, k) for k, column in enumerate(table.X.T)])
    X = np.concatenate([table.X, new])
    why = _look_at_classes(model, X, table) if is_classifier(model) else _look_at_numbers(model, X, y, table)
    return why or _look_at_kernel(model, table)


def _look_at_classes(model: Any, X: Array, table: Table) -> str | None:
    values = model.decision_function(X)
    if not np.all(np.isfinite(values)):
        return "decision values that are not finite"
    largest = np.abs(values[: len(table.X)][_counted(table)]).max()
    if values.ndim == 1 and largest > LARGEST and "scale" not in table.what and "wild" not in table.what:
        return f"a decision value of {largest:.0e}"
    if not np.all(np.isin(model.predict(X), model.classes_)):
        return "a class that is none"
    if hasattr(model, "predict_proba"):
        P = model.predict_proba(X)
        if not np.all((P >= 0.0) & (P <= 1.0)) or np.abs(P.sum(axis=1) - 1.0).max() > BY_ROUNDING:
            return "probabilities that are none"
    return None


def _look_at_numbers(model: Any, X: Array, y: Array, table: Table) -> str | None:
    predicted = model.predict(X)
    if not np.all(np.isfinite(predicted)):
        return "predictions that are not finite"
    counted = _counted(table)
    known, low, high = predicted[: len(y)][counted], y.min(), y.max()
    room = BEYOND * (high - low) + BY_ROUNDING * max(abs(low), abs(high))
    beyond = max(low - known.min(), known.max() - high)
    return f"a prediction {beyond:.0e} beyond targets of range {high - low:.0e}" if beyond > room else None


def _counted(table: Table) -> Any:
    """Return the samples that count: what a model says of the others is up to the others."""
    if table.weight is None:
        return np.ones(len(table.X), dtype=bool)
    return table.weight >= 0.1 * table.weight.max()


def _look_at_kernel(model: Any, table: Table) -> str | None:
    far = np.full((2, table.X.shape[1]), 1e30, dtype=np.float32)
    far[1] *= -1.0
    kernel = getattr(model, "kernel_", None)
    if not isinstance(kernel, Kernel) or np.all(np.isfinite(kernel(far))):
        return None
    return "a kernel of float32 rows of 1e30 that is not finite"


def _look_at_scaler(scaler: ClippedScaler, table: Table) -> str | None:
    Z = scaler.fit(table.X, sample_weight=table.weight).transform(table.X)
    if not np.all(np.isfinite(Z)):
        return "scaled values that are not finite"
    weight = np.ones(len(Z)) if table.weight is None else table.weight / table.weight.max()
    if np.any(np.sqrt(weight)[:, None] * np.abs(Z) > 1.01 * np.sqrt(weight.sum())):
        return "scaled values that are no standard deviations"
    return None


def main() -> int:
    """Sweep, and print what should not have come."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", type=int)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    print(f"mercer of {mercer.__file__}", file=sys.stderr)
    sweep(range(1))  # what is compiled takes its time once
    start, n_fits, n_failures = time.perf_counter(), 0, 0
    for seed in range(given.first, given.first + given.tables):
        some, failures = sweep(range(seed, seed + 1), SLOW)
        n_fits, n_failures = n_fits + some, n_failures + len(failures)
        for failure in failures:
            print(*failure, sep=" | ", flush=True)
    print(
        f"{n_fits} fits of {given.tables} tables, {n_failures} failures, {time.perf_counter() - start:.0f} s"
    )
    return 1 if n_failures else 0


if __name__ == "__main__":
    sys.exit(main())
