"""KernelBoost: EM beside scikit-learn's, growth in unlabelled rows, and what those are worth on digits."""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from benchmarks.measure import cpu_seconds, peak_memory, report
from mercer import KernelBoost, KernelSVC
from mercer.solvers.kernelboost import Gaussians, chunk_labels, run_em, state_problem

Array = NDArray[np.float64]
Labels = NDArray[np.int_]

N_DRAWS, N_LABELS, N_UNLABELLED, N_COMPONENTS = 20, 3, 1000, 15
OURS = "KernelBoost"
UNKNOWN = -1  # scikit-learn's mark of an unlabelled row


def blobs(n: int, n_features: int = 30, n_classes: int = 10) -> tuple[Array, Labels]:
    """Return rows of overlapping Gaussians, each with a covariance of its own, and their numbers."""
    rng = np.random.default_rng(0)
    centres = 2.0 * rng.normal(size=(n_classes, n_features))
    shapes = rng.normal(size=(n_classes, n_features, n_features)) / np.sqrt(n_features)
    y = rng.permutation(np.arange(n) % n_classes)
    X = rng.normal(size=(n, n_features))
    for j, (centre, shape) in enumerate(zip(centres, shapes, strict=True)):
        X[y == j] = centre + X[y == j] @ shape
    return X, y


def time_em() -> None:
    """Print the CPU time of a step of EM over that of scikit-learn, from the same mixture."""
    X, _ = blobs(10_000)
    rival = GaussianMixture(10, max_iter=1, init_params="random_from_data", random_state=0).fit(X)
    rival.reg_covar = 0.0  # it was needed for the start alone; ours has none
    start = Gaussians(rival.weights_, rival.means_, rival.precisions_cholesky_)
    free = chunk_labels(np.empty(0, dtype=np.intp))  # no row has a label
    problem = state_problem(X, free, 10)

    def theirs(n_steps: int) -> None:
        for _ in range(n_steps):
            _, log_shares = rival._e_step(X)
            rival._m_step(X, log_shares)

    run_em(problem, start, max_iter=1, tol=0.0)  # compile
    slow, _ = cpu_seconds(lambda: theirs(10), 5)
    # ten steps are eleven E-steps, the last for the likelihood alone: as a difference they are ten
    long, _ = cpu_seconds(lambda: run_em(problem, start, max_iter=11, tol=0.0), 5)
    short, _ = cpu_seconds(lambda: run_em(problem, start, max_iter=1, tol=0.0), 5)
    detail = f"{100 * (long - short):.1f} ms and {100 * slow:.1f} ms, 10 000 × 30, 10 full components"
    report("a step of EM against GaussianMixture", (long - short) / slow, "≤ 1.2", detail)


def time_growth() -> None:
    """Print how the time of a fit grows with the unlabelled rows, and what memory it takes."""
    X, y = blobs(40_200)

    def fit(n_unlabelled: int) -> KernelBoost:
        learner = KernelBoost(n_rounds=10, random_state=0)
        return learner.fit(X[:200], y[:200], unlabelled=X[200 : 200 + n_unlabelled])

    small, _ = cpu_seconds(lambda: fit(4000), 2)
    before = peak_memory()
    large, _ = cpu_seconds(lambda: fit(40_000))
    report("fit, 4000 to 40 000 unlabelled rows", large / small, "≤ 12", f"{small:.1f} s and {large:.1f} s")
    detail = f"GB more than before, {peak_memory():.2f} in all; an array of n × n would be 12.9"
    report("its memory at 40 000 unlabelled rows", peak_memory() - before, "≪ 12.9", detail)


def draw_digits(seed: int) -> tuple[Array, Labels, Array, Array, Labels]:
    """Return three labelled rows of each digit, a thousand unlabelled ones, and the others."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    labelled = np.concatenate([order[y[order] == digit][:N_LABELS] for digit in range(10)])
    rest = order[~np.isin(order, labelled)]
    seen, test = np.concatenate([labelled, rest[:N_UNLABELLED]]), rest[N_UNLABELLED:]
    Z = PCA(N_COMPONENTS, svd_solver="full").fit(X[seen]).transform(X)
    return Z[labelled], y[labelled], Z[seen[len(labelled) :]], Z[test], y[test]


def tune(model: object, grid: dict[str, list], X: Array, y: Labels, seed: int) -> GridSearchCV:
    """Return the model with what cross-validation of the labelled rows finds best."""
    folds = StratifiedKFold(N_LABELS, shuffle=True, random_state=seed)
    return GridSearchCV(model, grid, cv=folds).fit(X, y)


def compare_on_digits(seed: int) -> dict[str, float]:
    """Return the accuracies in % on the test rows."""
    X, y, unlabelled, X_test, y_test = draw_digits(seed)
    widths = [2.0**k / X.var(axis=0).sum() for k in range(-4, 6)]
    everything = np.vstack([X, unlabelled])
    marked = np.concatenate([y, np.full(len(unlabelled), UNKNOWN)])
    machine = tune(SVC(), {"C": [0.1, 1.0, 10.0, 100.0, 1000.0], "gamma": widths}, X, y, seed)
    student = SelfTrainingClassifier(make_pipeline(StandardScaler(), LogisticRegression()), max_iter=None)
    spreading = {
        f"LabelSpreading, {k} neighbours": LabelSpreading(kernel="knn", n_neighbors=k) for k in (5, 10, 20)
    }
    learner = KernelBoost(n_rounds=10, random_state=seed)
    truncated = KernelSVC(learner, C=300.0, kernel_per_class_pair=True)
    truncated.fit(X, y, unlabelled=unlabelled)
    models = {
        OURS: KernelSVC(truncated.learner_.kernel_, C=300.0).fit(X, y),
        "its truncations for each pair": truncated,
        "RBF-SVM": machine,
        "SelfTraining": student.fit(everything, marked),
        **{name: model.fit(everything, marked) for name, model in spreading.items()},
    }
    return {name: 100 * model.score(X_test, y_test) for name, model in models.items()}


def compare() -> None:
    """Print by how many points KernelBoost is better than its peers, over draws of labels."""
    scores = [compare_on_digits(seed) for seed in range(N_DRAWS)]
    ours = np.array([score[OURS] for score in scores])
    for name in scores[0]:
        if name != OURS:
            theirs = np.array([score[name] for score in scores])
            error = (ours - theirs).std(ddof=1) / np.sqrt(N_DRAWS)
            detail = f"{ours.mean():.1f} % against {theirs.mean():.1f} %, gain ± {error:.1f}"
            wanted = "≥ 10" if name == "RBF-SVM" else "≥ 0"
            report(f"digits, 30 labels: points over {name}", (ours - theirs).mean(), wanted, detail)


def main() -> None:
    """Print all of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of peers that have not converged
        time_em()
        time_growth()
        compare()
