"""What pairs are worth, and nothing else: nearest neighbours and clusters, of one learner and of the search.

The second part compares with metric-learn (ITML, MMC, RCA), which needs an older scikit-learn: set
MERCER_METRIC_LEARN to a Python interpreter that has metric-learn 0.7. Two data sets are in MERCER_DATA. MMC
takes minutes of some draws: what a rival has not done in `MOST_SECONDS` is left out, as is what it fails at
(RCA where pairs are too few for its inverse), and it is said of how many draws its mean is.

What the search proposes was decided on other data (`mercer.search.pairs.pair_candidates`).
"""

import os
import subprocess
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from benchmarks.measure import report
from mercer import IdealizedKernel, KernelSearchCV, Pairs
from mercer.datasets import load
from mercer.metrics import clustering_accuracy

N_DRAWS = 20
SEEDS = range(1000, 1005)
LOADERS = {"wine": load_wine, "iris": load_iris, "breast cancer": load_breast_cancer, "digits": load_digits}
SETS = (*LOADERS, "ionosphere", "sonar")
MOST_ROWS = 800
RIVALS = ("ITML", "MMC", "RCA")
MOST_SECONDS = 300  # of a rival and draw


def draw(data, n_rows, seed):
    """Return two halves of so many rows, standardised, and 5 % of the similar pairs of the first."""
    X, y = data
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(X))[:n_rows]
    X, X_new, y, y_new = train_test_split(X[rows], y[rows], test_size=0.5, random_state=seed)
    scaler = StandardScaler().fit(X)
    similar = Pairs.from_labels(y).similar
    known = similar[rng.permutation(len(similar))[: len(similar) // 20]]
    return scaler.transform(X), y, scaler.transform(X_new), y_new, known


def measure(X, y, X_new, y_new):
    """Return the errors of a nearest-neighbour classifier on new rows, and of k-means, in %."""
    nearest = 100 * (1 - KNeighborsClassifier(1).fit(X, y).score(X_new, y_new))
    clusters = KMeans(len(np.unique(y)), n_init=10, random_state=0).fit_predict(X)
    return nearest, 100 * (1 - clustering_accuracy(y, clusters))


def compare_one_learner() -> None:
    """Print by how many standard errors the distances of `IdealizedKernel` are better [KT03, 4.1]."""
    for name, loader, n_rows in (("wine", load_wine, 178), ("digits", load_digits, 1797)):
        plain, learned = [], []
        for seed in range(N_DRAWS):
            X, y, X_new, y_new, known = draw(loader(return_X_y=True), n_rows, seed)
            learner = IdealizedKernel(max_rank=45, random_state=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                learner.fit(X, pairs=Pairs(similar=known))
            plain.append(measure(X, y, X_new, y_new))
            learned.append(measure(learner.transform(X), y, learner.transform(X_new), y_new))
        gain = np.array(plain) - np.array(learned)
        for k, what in enumerate(("1-NN", "k-means")):
            t = gain[:, k].mean() / (gain[:, k].std(ddof=1) / np.sqrt(N_DRAWS))
            detail = f"error {np.mean(learned, axis=0)[k]:.2f} % against {np.mean(plain, axis=0)[k]:.2f} %"
            report(f"{name}, 5 % of the similar pairs: {what}, standard errors", t, "≥ 2", detail)


def load_set(name):
    """Return samples and classes."""
    if name in LOADERS:
        return LOADERS[name](return_X_y=True)
    data = load(name)
    return data.X, data.y


def draw_pairs(X, y, seed):
    """Return two halves, standardised, and 60 to 200 similar and as many dissimilar pairs of the first."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(X))[:MOST_ROWS]
    X, X_new, y, y_new = train_test_split(
        np.asarray(X)[rows], np.asarray(y)[rows], test_size=0.5, random_state=seed
    )
    scaler = StandardScaler().fit(X)
    n_pairs = int(np.clip(len(X) // 2, 60, 200))
    kinds = (kind[rng.permutation(len(kind))[:n_pairs]] for kind in Pairs.from_labels(y))
    return scaler.transform(X), y, scaler.transform(X_new), y_new, Pairs(*kinds)


def judge(F, y, F_new, y_new):
    """Return the accuracy of three nearest neighbours on new rows, and the adjusted Rand index of k-means."""
    accuracy = KNeighborsClassifier(3).fit(F, y).score(F_new, y_new)
    clusters = KMeans(len(np.unique(y)), n_init=10, random_state=0).fit_predict(F_new)
    return accuracy, adjusted_rand_score(y_new, clusters)


def features_of(kernel, X, X_new):
    """Return features of all rows whose inner products are the kernel."""
    both = np.vstack([X, X_new])
    values, vectors = np.linalg.eigh(np.asarray(kernel(both, both)))
    kept = values > 1e-10 * values[-1]
    F = vectors[:, kept] * np.sqrt(values[kept])
    return F[: len(X)], F[len(X) :]


def embeddings(X, X_new, pairs, seed):
    """Yield the name of each method and the rows as it sees them."""
    yield "plain", (X, X_new)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search = KernelSearchCV(random_state=seed).fit(X, pairs=pairs)
    yield "search", features_of(search.best_kernel_, X, X_new)
    interpreter = os.environ.get("MERCER_METRIC_LEARN")
    if not interpreter:
        return
    script = Path(__file__).with_name("metric_learn_rivals.py")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "draw.npz")
        np.savez(source, X=X, X_new=X_new, similar=pairs.similar, dissimilar=pairs.dissimilar)
        for name in RIVALS:
            target = Path(folder, f"{name}.npz")
            with suppress(subprocess.TimeoutExpired):
                command = [interpreter, "-P", str(script), str(source), str(target), name]
                subprocess.run(command, check=True, timeout=MOST_SECONDS)
            if target.exists():
                found = np.load(target)
                yield name, (found["X"], found["X_new"])


def compare_search() -> None:
    """Print how the search stands to the plain metric in neighbours, and to metric-learn in clusters."""
    if "MERCER_METRIC_LEARN" not in os.environ:
        print(
            "metric-learn is left out: set MERCER_METRIC_LEARN to an interpreter that has it", file=sys.stderr
        )
    for name in SETS:
        scores = {}
        for seed in SEEDS:
            X, y, X_new, y_new, pairs = draw_pairs(*load_set(name), seed)
            for method, (F, F_new) in embeddings(X, X_new, pairs, seed):
                scores.setdefault(method, []).append(judge(F, y, F_new, y_new))
        summarize(name, {method: np.array(values) for method, values in scores.items()})


def summarize(name, scores) -> None:
    """Report one data set; a method that failed on some draws is judged by the others."""
    gain = scores["search"][:, 0] - scores["plain"][:, 0]
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    means = {method: values.mean(axis=0) for method, values in scores.items()}
    detail = f"{means['search'][0]:.3f} against {means['plain'][0]:.3f}"
    t = gain.mean() / error if error > 0 else 0.0
    report(f"{name}: 3-NN of the search, standard errors over plain", t, "≥ -1", detail)
    rivals = {method: value[1] for method, value in means.items() if method in RIVALS}
    best = max(rivals.values(), default=means["plain"][1])
    counts = {method: "" if len(v) == len(gain) else f" ({len(v)})" for method, v in scores.items()}
    detail = ", ".join(f"{method} {value[1]:.2f}{counts[method]}" for method, value in means.items())
    report(f"{name}: adjusted Rand of the search by the best other", means["search"][1] - best, "≥ 0", detail)


def main() -> None:
    """Compare one learner with plain distances, and the search with metric-learn."""
    compare_one_learner()
    compare_search()
