"""Every machine beside what it was before the rewrite, on random problems: objective, values, predictions.

`git worktree add /tmp/before 70cabb2`, then `python -m benchmarks.before /tmp/before`.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

REPEATS = 10
TIGHT = {"tol": 1e-8}
# what is fitted, to classes or numbers, and its parameters; its name and parameters before, if others
SVC: dict[str, Any] = {"Cs": [2.0**-6, 2.0**-3, 1.0], "cv": 3}
CASES: list[tuple[str, str, dict[str, Any], str, dict[str, Any]]] = [
    ("StumpSVC", "classes", {"C": 0.1, **TIGHT}, "", {}),
    ("StumpSVC", "classes", {"C": 0.5, "multi_class": "ovr", **TIGHT}, "", {}),
    ("StumpSVC", "classes", {"C": 0.1, "max_bins": 16, **TIGHT}, "", {}),
    ("StumpSVC", "classes", {"C": 0.3, "loss": "log_loss", "multi_class": "ovo", **TIGHT}, "", {}),
    (
        "StumpSVC",
        "classes",
        {"C": 0.3, "loss": "log_loss", "multi_class": "ovr", "max_bins": 32, **TIGHT},
        "",
        {},
    ),
    ("StumpSVC", "classes", {"C": "cv", **SVC, **TIGHT}, "StumpSVCCV", {**SVC, **TIGHT}),
    ("PerceptronSVC", "classes", {"C": 0.5, **TIGHT}, "", {}),
    ("PerceptronSVC", "classes", {"C": 0.5, "method": "sliced", "random_state": 0, **TIGHT}, "", {}),
    ("PerceptronSVC", "classes", {"C": "cv", **SVC, **TIGHT}, "PerceptronSVCCV", {**SVC, **TIGHT}),
    ("TreeSVC", "classes", {"C": 4.0, **TIGHT}, "", {}),
    ("TreeSVC", "classes", {"C": 4.0, "ranks": True, **TIGHT}, "", {}),
    ("TreeSVC", "classes", {"C": "cv", "cv": 3, **TIGHT}, "TreeSVCCV", {"cv": 3, **TIGHT}),
    ("KernelSVC", "classes", {"learner": "RBF", "C": 2.0, "method": "gram", **TIGHT}, "", {"solver": "gram"}),
    (
        "KernelSVC",
        "classes",
        {"learner": "product", "C": 2.0, "method": "features", **TIGHT},
        "",
        {"solver": "features"},
    ),
    (
        "KernelSVC",
        "classes",
        {"learner": "IdealizedKernel", "C": 1.0, "method": "gram", **TIGHT},
        "",
        {"solver": "gram"},
    ),
    (
        "KernelSVC",
        "classes",
        {"learner": "RBF", "C": 2.0, "relative_C": True, "method": "gram", **TIGHT},
        "",
        {"solver": "gram"},
    ),
    ("StumpRegressor", "numbers", {"C": 4.0, **TIGHT}, "", {}),
    ("StumpRegressor", "numbers", {"C": 4.0, "max_bins": 16, **TIGHT}, "", {}),
    ("StumpRegressor", "numbers", {"C": 1.0, "loss": "absolute_error", **TIGHT}, "", {}),
    ("StumpRegressor", "numbers", {"C": 1.0, "loss": "quantile", "quantile": 0.8, **TIGHT}, "", {}),
    ("StumpRegressor", "numbers", {"C": 1.0, "loss": "epsilon_insensitive", **TIGHT}, "", {}),
    ("StumpRegressor", "counts", {"C": 1.0, "loss": "poisson", **TIGHT}, "", {}),
    (
        "StumpRegressor",
        "numbers",
        {"C": "cv", "random_state": 0, **TIGHT},
        "StumpRegressorCV",
        {"random_state": 0, **TIGHT},
    ),
    ("PerceptronRegressor", "numbers", {"C": 4.0, **TIGHT}, "", {}),
    ("PerceptronRegressor", "numbers", {"C": 4.0, "method": "sliced", "random_state": 0, **TIGHT}, "", {}),
    (
        "PerceptronRegressor",
        "numbers",
        {"C": "cv", "random_state": 0, **TIGHT},
        "PerceptronRegressorCV",
        {"random_state": 0, **TIGHT},
    ),
    ("TreeRegressor", "numbers", {"C": 16.0, **TIGHT}, "", {}),
    ("TreeRegressor", "numbers", {"C": 4.0, "loss": "absolute_error", **TIGHT}, "", {}),
    (
        "TreeRegressor",
        "numbers",
        {"C": "cv", "random_state": 0, **TIGHT},
        "TreeRegressorCV",
        {"random_state": 0, **TIGHT},
    ),
    ("KernelRegressor", "numbers", {"learner": "RBF", "C": 4.0, **TIGHT}, "", {}),
]


def draw(seed: int, kind: str) -> tuple[NDArray[np.float64], ...]:
    """Draw samples, their targets, their weights, and new samples."""
    rng = np.random.default_rng(seed)
    n, D, n_classes = int(rng.integers(40, 300)), int(rng.integers(2, 8)), int(rng.integers(2, 5))
    X = rng.normal(size=(n + 200, D)) * rng.uniform(0.5, 2.0, D)
    signal = np.sin(2.0 * X[:, 0]) + X[:, 1] * np.abs(X[:, -1]) + 0.5 * rng.normal(size=n + 200)
    edges = np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1])
    y = {
        "classes": np.searchsorted(edges, signal),
        "numbers": 30.0 * signal,
        "counts": rng.poisson(np.exp(0.5 * signal)),
    }[kind]
    return X[:n], y[:n], rng.uniform(0.5, 2.0, n), X[n:]


def learner_of(name: str) -> Any:
    """Return a kernel, or a learner of one."""
    from sklearn.gaussian_process.kernels import RBF, DotProduct

    from mercer import IdealizedKernel

    learners = {
        "RBF": RBF(1.5),
        "product": DotProduct(sigma_0=0.0),
        "IdealizedKernel": IdealizedKernel(RBF(1.5)),
    }
    return learners[name]


def fit_all(path: str, is_before: bool) -> None:
    """Fit every case to every draw in this process, and write what came of it."""
    import warnings

    import mercer

    warnings.simplefilter("ignore")
    found = {}
    for k, (name, kind, now, name_before, before) in enumerate(CASES):
        options = dict(now)
        if is_before:
            name = name_before or name
            options = dict(before) if name_before else {**now, **before}
            if name == "KernelSVC":
                del options["method"]
        if "learner" in options:
            options["learner"] = learner_of(options["learner"])
        for r in range(REPEATS):
            X, y, weight, X_new = draw(1000 * k + r, kind)
            model = getattr(mercer, name)(**options).fit(X, y, sample_weight=weight)
            about = f"{k} {r}"
            said = model.predict(X_new)
            values = model.decision_function(X_new) if kind == "classes" else said
            if options.get("loss") == "log_loss":  # of several classes `predict` was of votes
                values = model.predict_proba(X_new)
                said = values.argmax(axis=1)
            found[f"{about} said"], found[f"{about} values"] = said, values
            found[f"{about} C"] = np.array(
                getattr(model, "C_", 0.0) if options.get("C", "cv") == "cv" else 0.0
            )
            if hasattr(model, "objective_"):
                found[f"{about} objective"] = np.atleast_1d(model.objective_)
    np.savez(path, **found)


def describe(k: int) -> str:
    """Return the parameters of a case that say which it is."""
    name, _, options, *_ = CASES[k]
    told = ", ".join(f"{key}={value}" for key, value in options.items() if key not in ("tol", "Cs", "cv"))
    return f"{name}({told})"


def compare(new: Any, old: Any) -> Iterator[tuple[str, float, float, float, int]]:
    """Yield, of each case, the worst relative differences, the share of equal predictions, and other C."""
    for k, (_, kind, *_) in enumerate(CASES):
        worst, furthest, same, others = 0.0, 0.0, [], 0
        for r in range(REPEATS):
            about = f"{k} {r}"
            if not np.isclose(new[f"{about} C"], old[f"{about} C"]):
                others += 1  # another C was chosen: another problem
                continue
            f, g = new[f"{about} values"], old[f"{about} values"]
            furthest = max(furthest, float(np.abs(f - g).max() / np.abs(g - g.mean()).max()))
            if kind == "classes":
                same.append(float(np.mean(new[f"{about} said"] == old[f"{about} said"])))
            if f"{about} objective" in new and f"{about} objective" in old:
                a, b = new[f"{about} objective"], old[f"{about} objective"]
                worst = max(worst, float(np.nanmax(np.abs(a - b) / np.abs(b), initial=0.0)))
        yield describe(k), worst, furthest, float(np.mean(same)) if same else np.nan, others


def main(before: str) -> None:
    """Fit in two processes, of the tree as it is and of one before, and compare."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for is_before, tree in ((False, Path.cwd()), (True, Path(before))):
            out = str(Path(folder) / f"{is_before}.npz")
            path = os.pathsep.join([str(tree / "src"), str(Path.cwd())])
            call = f"from benchmarks.before import fit_all; fit_all({out!r}, {is_before})"
            subprocess.run([sys.executable, "-c", call], check=True, env={**os.environ, "PYTHONPATH": path})
            found.append(dict(np.load(out)))
    print(f"{len(CASES) * REPEATS} problems: objective, values (relative), equal predictions, other C chosen")
    for name, objective, values, same, others in compare(*found):
        print(f"{objective:8.1e} {values:8.1e} {100 * same:7.2f} % {others:3}  {name}")


if __name__ == "__main__":
    main(sys.argv[1])
