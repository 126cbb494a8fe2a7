"""A thousand kernels at a thousand rows: Superkernel beside MKLpy's EasyMKL on the same kernels.

EasyMKL is optional, and GPL (mercer itself never imports it): ``pip install MKLpy`` (it brings torch along).
It needs 8 GB for the Gram matrices. Without it there is a message in its place.
"""

import importlib.util
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.measure import cpu_seconds, report
from mercer import Superkernel
from mercer.superkernels import Alignment, Widths

Array = NDArray[np.float64]

N_TRAIN, N_TEST, N_FEATURES, N_RELEVANT, N_DRAWS = 1000, 2000, 250, 10, 3
WIDTHS = (0.5, 1.0, 2.0, 4.0)  # in standard deviations of a feature
CS = (0.1, 0.3, 1.0, 3.0, 10.0, 100.0)  # for kernels of spread one
LEARNERS = {
    "risk": Superkernel(Widths((), feature_widths=WIDTHS)),
    "risk, penalty 1000 C²": Superkernel(Widths((), feature_widths=WIDTHS), penalty=1e7),
    "alignment": Superkernel(Widths((), feature_widths=WIDTHS), quality=Alignment()),
}
LAMBDAS = (0.1, 1.0)  # EasyMKL's default, and its other end


def draw(seed: int) -> tuple[Array, NDArray[np.int_], Array, NDArray[np.int_]]:
    """Return rows of 250 features of which ten count: four in waves, three squared, three straight."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_TRAIN + N_TEST, N_FEATURES))
    waves, squares, straight = X[:, :4], X[:, 4:7], X[:, 7:N_RELEVANT]
    score = np.sin(2 * waves).sum(axis=1) + 0.7 * (squares**2 - 1).sum(axis=1) + 0.7 * straight.sum(axis=1)
    y = (score + 0.5 * rng.normal(size=len(X)) > 0).astype(int)
    return X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:], y[N_TRAIN:]


def judge(K: Array, y: NDArray[np.int_], K_test: Array, y_test: NDArray[np.int_]) -> float:
    """Return the test error in % of an SVM on a Gram matrix, its C chosen by five folds."""
    spread = np.trace(K) / len(K) - K.mean()
    search = GridSearchCV(SVC(kernel="precomputed"), {"C": CS}).fit(K / spread, y)
    return 100 * float(np.mean(search.predict(K_test / spread) != y_test))


def of_the_relevant(weights: Array, X: Array) -> tuple[float, int]:
    """Return the share of the kernel that the relevant features make, and how many of the ten heaviest are.

    A weight counts as much as its kernel spreads the rows: wide kernels are nearly constant.
    """
    some = X[:300]
    spreads = [np.trace(K) / len(K) - K.mean() for K in grams(some, some, X.std(axis=0))]
    a_feature = (weights * spreads).reshape(N_FEATURES, -1).sum(axis=1)
    heaviest = np.argsort(-a_feature)[:N_RELEVANT]
    return float(a_feature[:N_RELEVANT].sum() / a_feature.sum()), int(np.sum(heaviest < N_RELEVANT))


def run_ours(name: str, data: tuple[Array, Any, Array, Any]) -> tuple[float, float, float, int]:
    """Return CPU seconds with the kernel matrix, the error, and what `of_the_relevant` does."""
    X, y, X_test, y_test = data

    def fit() -> tuple[Any, Array]:
        learner = LEARNERS[name].fit(X, y)
        return learner, learner.kernel_(X)

    seconds, (learner, K) = cpu_seconds(fit)
    error = judge(K, y, learner.kernel_(X_test, X), y_test)
    return seconds, error, *of_the_relevant(learner.beta_, X)


def grams(X: Array, Y: Array, deviation: Array) -> Iterator[Array]:
    """Give the Gram matrices of the same kernels."""
    for j in range(N_FEATURES):
        D = ((X[:, None, j] - Y[None, :, j]) / deviation[j]) ** 2
        for width in WIDTHS:
            yield np.exp(-0.5 / width**2 * D)


def run_easymkl(data: tuple[Array, Any, Array, Any]) -> Iterator[tuple[float, float, float, float, int]]:
    """Give, for each λ, that λ and what `run_ours` returns; the Gram matrices count in the time."""
    torch, algorithms = (importlib.import_module(name) for name in ("torch", "MKLpy.algorithms"))
    torch.set_num_threads(1)
    X, y, X_test, y_test = data
    deviation = X.std(axis=0)
    seconds, list_of = cpu_seconds(lambda: [torch.from_numpy(K) for K in grams(X, X, deviation)])
    found = []
    for lam in LAMBDAS:
        model = algorithms.EasyMKL(lam=lam, learner=SVC())
        found.append(cpu_seconds(partial(model.combine_kernels, list_of, y)))
    weights = np.array([solution.weights.numpy() for _, solution in found])
    K_test = np.zeros((len(LAMBDAS), N_TEST, N_TRAIN))
    for i, K in enumerate(grams(X_test, X, deviation)):
        for each, weight in zip(K_test, weights[:, i], strict=True):
            each += weight * K
    for lam, (more, solution), each, weight in zip(LAMBDAS, found, K_test, weights, strict=True):
        error = judge(solution.ker_matrix.numpy(), y, each, y_test)
        yield lam, seconds + more, error, *of_the_relevant(weight, X)


def main() -> None:
    """Print times and errors, means of some draws, and what falls to the relevant features."""
    with threadpool_limits(1):
        found: dict[str, list[Any]] = {f"Superkernel, {name}": [] for name in LEARNERS}
        for seed in range(N_DRAWS):
            data = draw(seed)
            for name in LEARNERS:
                found[f"Superkernel, {name}"].append(run_ours(name, data))
            if importlib.util.find_spec("MKLpy") is None:
                continue
            for lam, *figures in run_easymkl(data):
                found.setdefault(f"EasyMKL, λ = {lam:g}", []).append(figures)
    means = {name: np.mean(figures, axis=0) for name, figures in found.items()}
    for name, (seconds, error, share, hits) in means.items():
        detail = (
            f"{seconds:.1f} CPU s; relevant features: {share:.0%} of the kernel, {hits:.1f} of the top ten"
        )
        report(f"{name}: test error in %", error, "", detail)
    theirs = [figures for name, figures in means.items() if name.startswith("EasyMKL")]
    if not theirs:
        print("EasyMKL is not here to compare with: pip install MKLpy (GPL, for this benchmark only)")
        return
    best = np.min(theirs, axis=0)
    for name in LEARNERS:
        seconds, error, _, _ = means[f"Superkernel, {name}"]
        report(f"{name}: time over EasyMKL's", seconds / best[0], "≤ 1", f"{seconds:.1f} and {best[0]:.1f} s")
        report(
            f"{name}: error over EasyMKL's best", error / best[1], "≤ 1", f"{error:.2f} and {best[1]:.2f} %"
        )
