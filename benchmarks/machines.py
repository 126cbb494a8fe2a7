"""Kernel machines of any size: beside SVC, on landmarks, by log-loss, and from a Dask collection."""

import subprocess
import sys

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from benchmarks.measure import cpu_seconds, peak_memory, report
from mercer import KernelSVC, PerceptronSVC, StumpSVC, TreeSVC
from mercer.datasets import threenorm
from mercer.kernels import Perceptron

WIDTH = np.sqrt(20 / 2)  # of 20 standardised features: SVC's gamma="scale"
CS = 2.0 ** np.arange(-4, 13, 2)
SEEDS = (100, 101, 102)


def interactions(n: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Draw classes that depend on products of features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 20))
    f = np.sin(2.0 * X[:, 0]) * X[:, 1] + X[:, 2] * X[:, 3] + 0.5 * X[:, 4] + 0.5 * rng.normal(size=n)
    return X, (f > 0).astype(np.intp)


MODELS = {
    "KernelSVC(RBF)": lambda C: KernelSVC(RBF(WIDTH), C=C, random_state=0),
    "SVC": lambda C: SVC(C=C, gamma=1.0 / 20),
    "TreeSVC": lambda C: TreeSVC(C=C, random_state=0),
    "boosting": lambda C: HistGradientBoostingClassifier(random_state=0),
}


def fit(name: str, n: int, C: float, source: str = "interactions") -> str:
    """Fit in this process; return CPU seconds, peak memory in GB and test error in percent."""
    draw = interactions if source == "interactions" else lambda n, seed: threenorm(n, random_state=seed)
    (X, y), (X_new, y_new) = draw(n, 0), draw(20_000, 1)
    StumpSVC().fit(X[:100], y[:100])  # compile
    seconds, model = cpu_seconds(lambda: MODELS[name](C).fit(X, y))
    memory = peak_memory()
    return f"{seconds} {memory} {100 * (1 - model.score(X_new, y_new))}"


def fit_collection(n: int, lost: bool) -> str:
    """Fit a Dask collection in two workers of 3 GB, one of which may be lost; return what `fit` does."""
    import time

    import dask.array as da
    from distributed import Client, LocalCluster

    X_new, y_new = interactions(20_000, 1)
    options = {"threads_per_worker": 1, "memory_limit": "3GB", "dashboard_address": ":0"}
    with LocalCluster(n_workers=2, **options) as cluster, Client(cluster) as client:
        chunks = [interactions(50_000, 10 + k) for k in range(n // 50_000)]
        X = da.concatenate([da.from_array(X, chunks=X.shape) for X, _ in chunks])
        y = da.concatenate([da.from_array(y, chunks=y.shape) for _, y in chunks])
        if lost:
            import threading

            def lose() -> None:
                time.sleep(20.0)
                next(iter(cluster.workers.values())).process.process.kill()

            threading.Thread(target=lose, daemon=True).start()
        begin = time.perf_counter()
        model = TreeSVC(random_state=0).fit(X, y)
        seconds, most = time.perf_counter() - begin, max(client.run(peak_memory).values())
    values = " ".join(f"{value:.6f}" for value in model.decision_function(X_new[:5]))
    return f"{seconds} {most} {100 * (1 - model.score(X_new, y_new))} {values}"


def in_a_process(call: str) -> list[float]:
    """Return the numbers of a call in a process of its own, so that the memory is its own."""
    program = f"from benchmarks.machines import *\nif __name__ == '__main__': print({call})"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return [float(number) for number in out.stdout.split()]


def beside_svc() -> None:
    """Compare a Gaussian machine with SVC: the same problem, and landmarks."""
    for n, source in (
        (16_000, "interactions"),
        (16_000, "threenorm"),
        (30_000, "interactions"),
        (30_000, "threenorm"),
    ):
        for C in (1.0, 10.0):
            ours, theirs = (
                in_a_process(f"fit({name!r}, {n}, {C}, {source!r})") for name in ("KernelSVC(RBF)", "SVC")
            )
            detail = (
                f"{ours[0]:.1f} s, {ours[1]:.2f} GB, error {ours[2]:.2f} %; SVC {theirs[0]:.1f} s, "
                f"{theirs[1]:.2f} GB, {theirs[2]:.2f} %"
            )
            report(
                f"SVC over KernelSVC(RBF), {source} {n} × 20, C = {C:g}", theirs[0] / ours[0], "≥ 1", detail
            )


def by_log_loss() -> None:
    """Probabilities of the log-loss machine beside a calibrated SVC, C of both from the same grid."""
    for n_classes, flip in ((2, 0.01), (2, 0.1), (10, 0.01), (10, 0.1)):
        for name in ("RBF", "perceptron"):
            rows = []
            for seed in SEEDS:
                X, y = make_classification(
                    4000,
                    20,
                    n_informative=8,
                    n_classes=n_classes,
                    flip_y=flip,
                    class_sep=1.2,
                    random_state=seed,
                )
                X_new, y_new, X, y = X[1000:], y[1000:], X[:1000], y[:1000]
                kernel = RBF(np.sqrt(10.0 * X.var())) if name == "RBF" else Perceptron.spanning(X)
                options = {"C": "cv", "Cs": CS, "loss": "log_loss", "random_state": 0}
                # whose C is not relative to the kernel's scale, as SVC's is not
                machine = KernelSVC(kernel, **options) if name == "RBF" else PerceptronSVC(**options)
                ours, model = cpu_seconds(lambda machine=machine, X=X, y=y: machine.fit(X, y))
                theirs, rival = cpu_seconds(lambda kernel=kernel, X=X, y=y: _calibrate(kernel, X, y))
                losses = [log_loss(y_new, one.predict_proba(X_new)) for one in (model, rival)]
                rows.append([ours, theirs, *losses])
            ours, theirs, loss, other = np.mean(rows, axis=0)
            detail = f"log loss {loss:.3f}, calibrated SVC {other:.3f}; time ratio {ours / theirs:.2f} (≤ 2)"
            report(
                f"log loss over SVC's, {name}, {n_classes} classes, {100 * flip:g} % flipped",
                loss / other,
                "< 1",
                detail,
            )


def _calibrate(kernel: object, X: NDArray[np.float64], y: NDArray[np.intp]) -> CalibratedClassifierCV:
    """Choose C, then calibrate by five folds: the cheapest way that scikit-learn has."""
    search = GridSearchCV(SVC(kernel=kernel), {"C": CS}, cv=5).fit(X, y)
    return CalibratedClassifierCV(search.best_estimator_, cv=5, ensemble=False).fit(X, y)


def of_a_million() -> None:
    """Fit the tree kernel on landmarks, in memory and in a cluster, beside boosting."""
    n = 1_000_000
    boosting, ours = (in_a_process(f"fit({name!r}, {n}, 4.0)") for name in ("boosting", "TreeSVC"))
    detail = f"TreeSVC {ours[0]:.0f} CPU s, {ours[1]:.1f} GB, {ours[2]:.2f} %; boosting {boosting[2]:.2f} %"
    report("error of TreeSVC less boosting's, 10⁶ × 20, points", ours[2] - boosting[2], "≤ 1", detail)
    whole, lost = (in_a_process(f"fit_collection({n}, {lost})") for lost in (False, True))
    detail = f"{whole[0]:.0f} s, {whole[1]:.2f} GB in a worker, error {whole[2]:.2f} %"
    report("… from a Dask collection, points", whole[2] - boosting[2], "≤ 1", detail)
    report(
        "… with a worker lost: decision values differ by",
        float(np.abs(np.subtract(whole[3:], lost[3:])).max()),
        "0",
        "",
    )


def main() -> None:
    """Run all of them."""
    beside_svc()
    by_log_loss()
    of_a_million()
