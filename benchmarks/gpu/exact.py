"""Exact kernel machines on a device: distances, all SVMs of ten classes at once, and boosting over all pairs.

On 60 000 × 784 samples of a generator with MNIST's shape, and on MNIST where MERCER_DATA has it; on a CPU, a
hundredth of that. Beside each time stands the floor: what the products of matrices, or the sums of
differences, would take at the speed that this device reaches with nothing else to do.
"""

import os
from itertools import combinations

os.environ["SCIPY_ARRAY_API"] = "1"  # scikit-learn asks for it, before SciPy is imported

import numpy as np
import torch
from joblib import Parallel, delayed
from sklearn import config_context
from sklearn.svm import SVC

from benchmarks.gpu.stump import ceiling, timed
from mercer import BoostedKernel, PerceptronSVC
from mercer.datasets import load
from mercer.kernels import Perceptron, Stump

D, CLASSES, C = 784, 10, 1.0
CS, FOLDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0), 5
PAIRS = ((0, 1), (3, 8), (4, 9))  # that LIBSVM solves as well
ROUNDS = 30


def main() -> None:
    """Print one line a figure."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    n = 60_000 if device == "cuda" else 600
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    speeds = {kind: product_speed(getattr(torch, kind), device) for kind in ("float64", "float32")}
    rates = ", ".join(f"{speed / 1e12:.1f} TFLOP/s in {kind}" for kind, speed in speeds.items())
    print(f"{name}: a copy moves {ceiling(device) / 1e12:.2f} TB/s, products make {rates}", flush=True)
    X, y = draw(n, device)
    new, _ = draw(n // 6, device, seed=1)
    with config_context(array_api_dispatch=True):
        some = slice(
            0, min(n, 3200)
        )  # a multiple of 16, as n is: Triton compiles other loops for other sizes
        PerceptronSVC(method="gram").fit(X[some], y[some])
        BoostedKernel(n_rounds=2).fit(X[some], y[some])
        multiply(X, speeds["float64"])
        for data, samples in (("made", (X, y, new)), ("MNIST", digits(n, device))):
            if samples is not None:
                print(f"{data}, {len(samples[0])} × {D}", flush=True)
                fit_pairs(*samples)
                fit_folds(*samples[:2])
                boost(*samples[:2], speeds["float32"])


def draw(n: int, device: str, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw images of ten classes: a smooth template, 20 directions of change for each class, and noise."""
    fixed, rng = torch.Generator(device).manual_seed(7), torch.Generator(device).manual_seed(seed)
    templates = torch.randn((CLASSES, 1, 28, 28), generator=fixed, device=device)
    changes = torch.randn((CLASSES * 20, 1, 28, 28), generator=fixed, device=device)
    blur = torch.full((1, 1, 7, 7), 1.0 / 49.0, device=device)
    templates, changes = (
        torch.nn.functional.conv2d(images, blur, padding=3).flatten(1) for images in (templates, changes)
    )
    y = torch.arange(n, device=device) % CLASSES
    amounts = torch.randn((n, 1, 20), generator=rng, device=device)
    X = 2.0 * templates[y] + (amounts @ changes.reshape(CLASSES, 20, D)[y])[:, 0]
    X += 0.2 * torch.randn((n, D), generator=rng, device=device)
    return X.clamp(0.0, 1.0), y


def digits(n: int, device: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None:
    """Return MNIST, and its test images; None if it is not at hand."""
    if not os.environ.get("MERCER_DATA"):
        return None
    data = load("mnist")
    X = torch.tensor(data.X, device=device, dtype=torch.float32) / 255.0
    y = torch.tensor(np.asarray(data.y).astype(int), device=device)
    return X[:60_000][:n], y[:60_000][:n], X[60_000:][:n]


def product_speed(kind: torch.dtype, device: str) -> float:
    """Return the operations per second of a large product of matrices."""
    size = 8192 if device == "cuda" else 1024
    A = torch.randn((size, size), dtype=kind, device=device)
    return 2.0 * size**3 / min(timed(torch.matmul, A, A)[0] for _ in range(5))


def multiply(X: torch.Tensor, speed: float) -> None:
    """Print what a product of a Gram matrix and a vector takes, without the matrix."""
    v = torch.randn(len(X), dtype=torch.float64, device=X.device)
    differences = 1.0 * len(X) ** 2 * D
    floors = {"products alone": 2.0 * differences / speed}
    if X.is_cuda:
        from benchmarks.gpu.ceiling import difference_speed

        floors = {**floors, "sums of differences alone": differences / difference_speed(X.device)}
    for kernel, (what, floor) in zip((Perceptron(), Stump()), floors.items(), strict=False):
        seconds = min(timed(kernel.product, X, X, v)[0] for _ in range(3))
        print(
            f"{type(kernel).__name__} kernel of {len(X)} × {D} times a vector, without the Gram matrix: "
            f"{1e3 * seconds:.0f} ms; {what} {1e3 * floor:.0f} ms, {100 * floor / seconds:.0f} %",
            flush=True,
        )


def fit_pairs(X: torch.Tensor, y: torch.Tensor, new: torch.Tensor) -> None:
    """Print the time of the SVMs of all pairs of classes, and how three of them compare with LIBSVM."""
    model = PerceptronSVC(C=C, method="gram")
    seconds, _ = timed(model.fit, X, y)
    peak = f", peak memory {torch.cuda.max_memory_allocated() / 2**30:.0f} GiB" if X.is_cuda else ""
    print(
        f"    {len(model.n_iter_)} exact SVMs, C = {C:g}: {seconds:.2f} s with the Gram matrix, at most "
        f"{int(model.n_iter_.max())} steps, {len(model.support_)} support vectors, LIBSVM's residual at most "
        f"{float(model.residual_.max()):.1e}{peak}",
        flush=True,
    )
    predicting, _ = timed(model.predict, new)
    print(f"    {len(new)} predictions: {predicting:.2f} s", flush=True)
    places = [list(combinations(range(CLASSES), 2)).index(pair) for pair in PAIRS]
    mine = model._decisions(new).cpu().numpy()[:, places]
    theirs = Parallel(n_jobs=len(PAIRS), prefer="threads")(
        delayed(solve_by_libsvm)(*pair_of(X, y, pair), new.double().cpu()) for pair in PAIRS
    )
    for k, (pair, (objective, decisions)) in enumerate(zip(PAIRS, theirs, strict=True)):
        ours, same = float(model.objective_[places[k]]), np.mean((mine[:, k] > 0) == (decisions > 0))
        print(
            f"    {pair} and LIBSVM on the CPU, in double precision: objectives {ours:.6f}, {objective:.6f}, "
            f"relative difference {abs(ours / objective - 1):.1e}; {100 * same:.2f} % predicted alike",
            flush=True,
        )


def pair_of(X: torch.Tensor, y: torch.Tensor, pair: tuple[int, int]) -> tuple[torch.Tensor, np.ndarray]:
    rows = (y == pair[0]) | (y == pair[1])
    return X[rows].double().cpu(), np.where(y[rows].cpu().numpy() == pair[1], 1.0, -1.0)


def solve_by_libsvm(X: torch.Tensor, sign: np.ndarray, new: torch.Tensor) -> tuple[float, np.ndarray]:
    """Return the objective of a pair of classes, and the decisions on other samples."""
    K = Perceptron().gram(X, X).numpy()
    means = K.mean(axis=1) - K.mean() / 2
    K -= means[:, None] + means  # LIBSVM has single precision
    svc = SVC(kernel="precomputed", C=C, tol=1e-4, cache_size=4000).fit(K, sign)
    coef = svc.dual_coef_[0]
    objective = 0.5 * coef @ K[np.ix_(svc.support_, svc.support_)] @ coef - sign[svc.support_] @ coef
    values = Perceptron().gram(new, X[svc.support_]).numpy() @ coef
    return float(objective), values + svc.intercept_ - means[svc.support_] @ coef


def fit_folds(X: torch.Tensor, y: torch.Tensor) -> None:
    """Print the time of the choice of C."""
    model = PerceptronSVC("cv", Cs=CS, cv=FOLDS, method="gram")
    seconds, _ = timed(model.fit, X, y)
    scores = ", ".join(f"{score:.4f}" for score in model.scores_.mean(0).tolist())
    print(
        f"    the same with {FOLDS} folds × {len(CS)} values of C, scored, and a last fit: {seconds:.1f} s; "
        f"C = {model.C_:g} (scores {scores})",
        flush=True,
    )


def boost(X: torch.Tensor, y: torch.Tensor, speed: float) -> None:
    """Print the time of boosting over all pairs."""
    model = BoostedKernel(n_rounds=ROUNDS, max_rows=len(X))
    seconds, _ = timed(model.fit, X - X.mean(0), y)
    features = np.cumsum([0, *model.n_directions_.tolist()])
    # FᵀBF in each round, and the kernel values of three passes, of half of the pairs
    operations = float(len(X)) ** 2 * (D * len(features) + 3.0 * features.sum())
    print(
        f"    BoostedKernel: {model.n_rounds_} rounds, {features[-1]} directions: {seconds:.1f} s, "
        f"loss {model.losses_[0]:.4f} to {model.losses_[-1]:.4f}; products alone {operations / speed:.1f} s, "
        f"{100 * operations / speed / seconds:.0f} %",
        flush=True,
    )
