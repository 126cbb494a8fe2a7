"""Table 3 of [KT03]: k-means in metrics learned from similar pairs.

A metric is learned from pairs S of similar rows (and D, which the paper does not define; ``rest`` has what is
not in S), then k-means clusters all rows. What the paper leaves open is settled in `kt03.data` and
`kt03.learning`, and here:

- The start of k-means. From the means of the true classes, its Euclidean numbers of colon, lymphoma and wine
  come out to the digit: so that is what was done, though no one who clusters knows them. ``free`` columns
  have the best of 20 random starts instead.
- The error is one less the share of pairs of rows on which clusters and classes agree (footnote 9).
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
from sklearn.cluster import KMeans

from mercer._typing import Array
from mercer.metrics import clustering_accuracy
from reproduction.harness import Method, Table
from reproduction.kt03.data import NEEDS, ROWS, Draw, draw_whole
from reproduction.kt03.in_paper import IN_PAPER, numbers_beside
from reproduction.kt03.learning import (
    GRID_IN_WORDS,
    N_FOLDS,
    Learning,
    learn_for_clusters,
    pairs_of,
    xing_metric,
)

KEY, EXPERIMENT = "kt03-table3", "kt03-clustering"
N_STARTS = 20


def features_of(name: str, draw: Draw, seed: int) -> Array:
    """Return features of all rows in the metric of a method."""
    rows = draw.train
    method, _, which = name.partition(" ")
    pairs = pairs_of(rows.y, draw.similar, "rest" if which == "rest" else "other")
    if method == "Euclidean":
        return rows.Z
    if method == "Xing":
        return xing_metric(seed).fit(rows.Z, pairs=pairs).transform(rows.Z)
    how = Learning(method.lower(), "median" if which == "R" else "auto", seed)
    return learn_for_clusters(rows.Z, pairs, how).transform(rows.Z)


def score(draw: Draw, seed: int, *, name: str) -> Sequence[float]:
    """Return the clustering errors from the true class means, and from the best of random starts."""
    F, y = features_of(name, draw, seed), draw.train.y
    classes = np.unique(y)
    means = np.array([F[y == label].mean(axis=0) for label in classes])
    starts = (
        KMeans(len(classes), init=means, n_init=1),
        KMeans(len(classes), n_init=N_STARTS, random_state=seed),
    )
    return [100 * (1 - clustering_accuracy(y, start.fit_predict(F))) for start in starts]


def columns_of(name: str) -> tuple[str, str]:
    """Return the columns of a method: k-means from the true class means, and from random starts."""
    return name, f"{name}, free"


NUMBERS = """
toy-linear       44.67   0.00   1.89
toy-rbf          49.84   0.00   -
colon-linear     22.85  17.72   -
colon-rbf        17.77  14.87   -
lymphoma-linear  20.50  11.14   -
lymphoma-rbf     20.50  15.08   -
soybean-linear   16.37   0.00   0.00
soybean-rbf      15.55   0.00   -
wine-linear      28.13  22.37  26.54
wine-rbf         27.96  26.88   -
"""
PUBLISHED = numbers_beside(
    {column: IN_PAPER[name] for name in IN_PAPER for column in columns_of(name)}, NUMBERS
)
CHOICE = f"{GRID_IN_WORDS}, by {N_FOLDS}-fold cross-validation of the AUC of pairs"

TABLE = Table(
    key=KEY,
    title="[KT03] Table 3, k-means in metrics learned from similar pairs",
    experiment=EXPERIMENT,
    quantity="pairs of rows put together or apart wrongly, in %",
    rows=ROWS,
    methods=tuple(
        Method(name, columns_of(name), partial(score, name=name), f"{CHOICE}; best of {N_STARTS} free starts")
        for name in IN_PAPER
    ),
    published=PUBLISHED,
    repeats=50,
    draw=draw_whole,
    protocol="all rows; preprocessing and pairs of kt03.data",
    needs=NEEDS,
    ours=("Clip R",),
    beside=tuple(
        column
        for name in IN_PAPER
        for column in columns_of(name)
        if column not in ("Clip R", "Euclidean", "Xing")
    ),
    causes={
        (row, ""): (
            "The paper's 0.00 is below the error of the Bayes classifier on such draws (0.27): "
            "it probably had a "
            "single toy data set, ours are drawn anew. R and clipping do the rest, see the next."
        )
        for row in ("toy-linear", "toy-rbf")
    }
    | {
        ("wine-linear", ""): (
            "Clipping: the clipped QP clusters as the plain metric does (28.13). Over PSD "
            "matrices it is 4.1, and "
            "with R, too, once the penalties may grow (4.0 on five draws)."
        ),
        ("", ""): (
            "R, as we read it, drops part of a short S, and clipping is not optimal: with R "
            "but over PSD matrices "
            "(`Exact R`) these are nearer, with all listed pairs as well (`Exact`) as "
            "published or better. What "
            "the paper did with pairs beyond R and with negative eigenvalues is not known."
        ),
    },
)
