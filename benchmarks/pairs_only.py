"""What 5 % of the similar pairs are worth, and nothing else: nearest neighbours and k-means [KT03, 4.1]."""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from benchmarks.measure import report
from mercer import IdealizedKernel, Pairs
from mercer.quality import clustering_accuracy

N_DRAWS = 20


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


def main() -> None:
    """Print by how many standard errors the learned distances are better, over draws of rows and pairs."""
    for name, load, n_rows in (("wine", load_wine, 178), ("digits", load_digits, 1797)):
        plain, learned = [], []
        for seed in range(N_DRAWS):
            X, y, X_new, y_new, known = draw(load(return_X_y=True), n_rows, seed)
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
