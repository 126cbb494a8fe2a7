"""Table 3 and Figure 1 of [KT03]: k-means, and kernel matrices, in metrics learned from similar pairs.

A metric is learned from pairs S of similar rows (and D, which the paper does not define; ``rest`` has what is
not in S), then k-means clusters all rows. What the paper leaves open is settled in `kt03_data` and
`kt03_learning`, and here:

- The start of k-means. From the means of the true classes, its Euclidean numbers of colon, lymphoma and wine
  come out to the digit: so that is what was done, though no one who clusters knows them. ``free`` columns
  have the best of 20 random starts instead.
- The error is one less the share of pairs of rows on which clusters and classes agree (footnote 9).
- Figure 1 is drawn for the first repeat; its rows are in the order of the classes.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from mercer._typing import Array
from mercer.papers.harness.experiment import Figure, Method, Table, seed_of
from mercer.papers.harness.store import Result
from mercer.papers.kt03.data import NEEDS, ROWS, Draw, draw_whole
from mercer.papers.kt03.learning import N_FOLDS, PRICES_IN_WORDS, learn_for_clusters, pairs_of, xing_metric
from mercer.papers.kt03.verdicts import numbers_beside, say_how_many_are_met
from mercer.quality import clustering_accuracy

KEY, EXPERIMENT = "kt03-table3", "kt03-clustering"
N_STARTS = 20
TYPICAL = "toy-linear"  # the row of Figure 1


def features_of(name: str, draw: Draw, seed: int) -> Array:
    """Return features of all rows in the metric of a method."""
    rows = draw.train
    method, _, which = name.partition(" ")
    pairs = pairs_of(rows.y, draw.similar, which or "other")
    if method == "Euclidean":
        return rows.Z
    if method == "Xing":
        return xing_metric(seed).fit(rows.Z, pairs=pairs).transform(rows.Z)
    return learn_for_clusters(rows.Z, pairs, method.lower(), seed).transform(rows.Z)


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


def summarize(results: Sequence[Result]) -> list[str]:
    """Say on how many rows the published numbers are met."""
    columns = [column for name in ("Exact", "Clip", "Exact rest") for column in columns_of(name)]
    return say_how_many_are_met(results, PUBLISHED, columns)


def columns_of(name: str) -> tuple[str, str]:
    """Return the columns of a method: k-means from the true class means, and from random starts."""
    return name, f"{name}, free"


def draw_figure1(path: Path) -> None:
    """Draw the kernel matrices of the toy data before and after learning into a PNG file."""
    from matplotlib.figure import Figure as Canvas  # not needed to run the tables

    draw = draw_whole(TYPICAL, seed_of(EXPERIMENT, TYPICAL, 0, "data"))
    seed = seed_of(EXPERIMENT, TYPICAL, 0, "fit")
    canvas = Canvas(figsize=(16, 4.4), layout="constrained")
    axes = canvas.subplots(1, len(PANELS))
    for ax, (name, title) in zip(axes, PANELS.items(), strict=True):
        F = features_of(name, draw, seed)
        image = draw_matrix(ax, F @ F.T, draw.train.y)
        ax.set_title(title)
    canvas.colorbar(image, ax=axes, shrink=0.8, label="value, in units of the 99th percentile")
    canvas.savefig(path, dpi=150, format="png")


def draw_matrix(ax: Any, K: Array, y: NDArray[np.int64]) -> Any:
    """Draw a kernel matrix in grey, white the largest, with lines between the classes."""
    order = np.argsort(-y, kind="stable")
    # the scale of a learned kernel means nothing, and a few extreme values would leave the others in one grey
    K = K[np.ix_(order, order)] / np.percentile(np.abs(K), 99)
    image = ax.imshow(K, cmap="gray", vmin=-1, vmax=1, interpolation="nearest")
    for border in np.flatnonzero(np.diff(y[order])) + 0.5:
        ax.axvline(border, color="#c44e52", lw=0.8)
        ax.axhline(border, color="#c44e52", lw=0.8)
    ax.set(xlabel="rows, class +1 then −1", ylabel="rows, class +1 then −1")
    return image


PANELS = {
    "Euclidean": "(a) inner product",
    "Exact": "(b) learned kernel, exact PSD",
    "Clip": "(b′) learned kernel, QP clipped",
    "Xing": "(c) Xing et al.",
}
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
IN_PAPER = {"Euclidean": "Euclidean", "Exact": "learned", "Clip": "learned", "Exact rest": "learned"}
IN_PAPER |= {"Xing": "Xing", "Xing rest": "Xing"}
PUBLISHED = numbers_beside(
    {column: IN_PAPER[name] for name in IN_PAPER for column in columns_of(name)}, NUMBERS
)
CHOICE = f"{PRICES_IN_WORDS}, by {N_FOLDS}-fold cross-validation of the AUC of pairs"

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
    protocol="all rows; preprocessing and pairs of kt03_data",
    needs=NEEDS,
    summarize=summarize,
)
FIGURE = Figure("kt03-figure1", "[KT03] Figure 1, kernel matrices of the toy data", draw_figure1)
