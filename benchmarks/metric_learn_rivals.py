"""What metric-learn makes of pairs: run by an interpreter that has it, on the draws of `pairs_only`.

It reads X, X_new and pairs from an npz file, and writes the rows that one of its methods has transformed. It
imports nothing of mercer, whose scikit-learn is too new for metric-learn 0.7.
"""

import sys
import warnings

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components


def fit_all(X, similar, dissimilar):
    """Yield the name of each method and the method, fitted, with its defaults."""
    from metric_learn import ITML, MMC, RCA  # here, as what lists the benchmarks imports them without it

    pairs = np.concatenate([X[similar], X[dissimilar]])
    sign = np.repeat([1, -1], [len(similar), len(dissimilar)])
    yield "ITML", lambda: ITML(random_state=0).fit(pairs, sign)
    yield "MMC", lambda: MMC(random_state=0).fit(pairs, sign)
    n = len(X)
    graph = coo_array((np.ones(len(similar)), (similar[:, 0], similar[:, 1])), shape=(n, n))
    _, chunks = connected_components(graph, directed=False)
    chunks = np.where(np.bincount(chunks)[chunks] > 1, chunks, -1)
    yield "RCA", lambda: RCA().fit(X, chunks)


def main(source: str, target: str, name: str) -> None:
    """Transform the rows of one file into another by a method; one that fails writes nothing."""
    data = np.load(source)
    X, X_new = data["X"], data["X_new"]
    varies = X.std(axis=0) > 0
    X, X_new = X[:, varies], X_new[:, varies]
    fit = dict(fit_all(X, data["similar"], data["dissimilar"]))[name]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            method = fit()
        rows, new = method.transform(X), method.transform(X_new)
    except (ValueError, np.linalg.LinAlgError, RuntimeError):
        return
    if np.isfinite(rows).all() and np.isfinite(new).all():
        np.savez(target, X=rows, X_new=new)


if __name__ == "__main__":
    main(*sys.argv[1:])
