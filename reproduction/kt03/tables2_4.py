"""Tables 2 and 4 of [KT03]: errors of the nearest neighbour in learned metrics.

In Table 2 a metric is learned from pairs S of similar training rows (and D, which the paper does not define),
in Table 4 from their labels. ``Clip R`` is the paper's own: its QP, with negative eigenvalues set to zero,
and
no pair beyond the radius R. ``Exact`` is ours: the problem over PSD matrices, where all listed pairs count;
``Exact R`` has the radius for them, too, and ``rest`` has for D what is not in S.
What the paper leaves open is settled in `kt03.data` and `kt03.learning`, and here:

- Two tables, one set of splits: the paper's Euclidean columns agree in four cells to the digit.
- Xing's metric has the ridge of `XingMetric`, without which the problem is often unbounded. The paper has it
  for few features only; where rows are fewer than features, its numbers here are the ridge's work.
- The SVM is for orientation: RBF kernel, features standardised, C and γ by cross-validation, all labels of
  the training rows.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer.metrics import alignment, ideal_kernel
from mercer.pairs import Pairs
from reproduction.baselines import metric_learn
from reproduction.harness import Method, Table, published
from reproduction.kt03.data import NEEDS, ROWS, Draw, Rows, draw_split
from reproduction.kt03.in_paper import IN_PAPER, numbers_beside
from reproduction.kt03.learning import (
    GRID_IN_WORDS,
    N_FOLDS,
    Learning,
    learn_for_neighbours,
    neighbour_error,
    one_neighbour_error,
    pairs_of,
    xing_metric,
)

SVM_GRID = {"svc__C": [1, 10, 100, 1000], "svc__gamma": [2.0**-12, 2.0**-9, 2.0**-6, 2.0**-3]}
BEFORE, AFTER = ("before, train", "before, test"), ("after, train", "after, test")


def euclidean(draw: Draw, seed: int) -> Sequence[float]:
    """Return the error in the metric of the base kernel."""
    train, test = draw.train, draw.test
    return [one_neighbour_error(train.Z, train.y, test.Z, test.y)]


def from_pairs(draw: Draw, seed: int, *, psd: str, dissimilar: str, radius: str) -> Sequence[float]:
    """Return the error in the metric learned from pairs of similar training rows."""
    train, test = draw.train, draw.test
    pairs = pairs_of(train.y, draw.similar, dissimilar)
    metric = learn_for_neighbours(train.Z, train.y, pairs, Learning(psd, radius, seed))
    return [neighbour_error(metric, train.Z, train.y, test.Z, test.y)]


def from_labels(draw: Draw, seed: int, *, psd: str) -> Sequence[float]:
    """Return the error in the metric learned from the labels, and the learned kernel's alignments."""
    train, test = draw.train, draw.test
    how = Learning(psd, "median", seed)
    metric = learn_for_neighbours(train.Z, train.y, Pairs.from_labels(train.y), how)
    error = neighbour_error(metric, train.Z, train.y, test.Z, test.y)
    return [error, *(_alignment(metric.transform(rows.Z), rows) for rows in (train, test))]


def alignments(draw: Draw, seed: int) -> Sequence[float]:
    """Return the alignments of the base kernel, on training and on test rows."""
    return [_alignment(rows.Z, rows) for rows in (draw.train, draw.test)]


def _alignment(F: np.ndarray, rows: Rows) -> float:
    return alignment(F @ F.T, ideal_kernel(rows.y))


def xing(draw: Draw, seed: int, *, dissimilar: str | None) -> Sequence[float]:
    """Return the error in Xing's metric, learned from pairs or, if D is None, from labels."""
    train, test = draw.train, draw.test
    labels = Pairs.from_labels(train.y)
    pairs = labels if dissimilar is None else pairs_of(train.y, draw.similar, dissimilar)
    metric = xing_metric(seed).fit(train.Z, pairs=pairs)
    return [one_neighbour_error(metric.transform(train.Z), train.y, metric.transform(test.Z), test.y)]


def elsewhere(draw: Draw, seed: int, *, name: str, labels: bool) -> Sequence[float]:
    """Return the error in the metric of ITML or LMNN, from labels or from the pairs of Table 2."""
    train, test = draw.train, draw.test
    pairs = Pairs.from_labels(train.y) if labels else pairs_of(train.y, draw.similar, "other")
    L = metric_learn.learn(name, train.Z, train.y, pairs)
    return [one_neighbour_error(train.Z @ L.T, train.y, test.Z @ L.T, test.y)]


def svm(draw: Draw, seed: int) -> Sequence[float]:
    """Return the error of an SVM with an RBF kernel, tuned on the training rows."""
    train, test = draw.train, draw.test
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    model = GridSearchCV(make_pipeline(StandardScaler(), SVC()), SVM_GRID, cv=folds)
    return [100 * float(np.mean(model.fit(train.X, train.y).predict(test.X) != test.y))]


TABLE2 = """
toy-linear       28.25   9.83   9.83
toy-rbf          27.75  16.50   -
colon-linear     28.75  17.08   -
colon-rbf        27.83  22.67   -
lymphoma-linear  14.17   8.50   -
lymphoma-rbf     11.00   9.94   -
soybean-linear    2.82   0.11   0.71
soybean-rbf       1.76   0.94   -
wine-linear      28.03  12.00  13.00
wine-rbf         27.36  26.28   -
"""
TABLE4 = """
toy-linear       28.50   3.08   3.33
toy-rbf          27.75   7.92   -
colon-linear     29.83  14.67   -
colon-rbf        27.83  16.83   -
lymphoma-linear  14.17   8.11   -
lymphoma-rbf     13.67  11.17   -
soybean-linear    2.82   0.12   0.59
soybean-rbf       2.82   1.17   -
wine-linear      28.03  10.13  22.58
wine-rbf         27.62  26.82   -
"""
ALIGNMENTS = published(
    (BEFORE[0], AFTER[0], BEFORE[1], AFTER[1]),
    """
toy-linear       0.17  0.62  0.15  0.53
toy-rbf          0.70  0.77  0.69  0.73
colon-linear     0.15  0.28  0.31  0.33
colon-rbf        0.74  0.70  0.76  0.68
lymphoma-linear  0.19  0.30  0.18  0.20
lymphoma-rbf     0.68  0.69  0.70  0.75
soybean-linear   0.60  0.70  0.61  0.68
soybean-rbf      0.77  0.86  0.79  0.84
wine-linear      0.53  0.54  0.55  0.56
wine-rbf         0.71  0.58  0.66  0.50
""",
)

CHOICE = f"{GRID_IN_WORDS}, by {N_FOLDS}-fold cross-validation of the nearest neighbour"
OTHER, REST = "D = pairs of other classes", "D = five pairs per row that are not in S"
EUCLIDEAN = Method("Euclidean", ("Euclidean",), euclidean, "the base kernel's metric")
SVM = Method("SVM", ("SVM",), svm, f"standardised; {SVM_GRID}, by {N_FOLDS}-fold cross-validation")


def _learned_from_pairs(name: str, psd: str, dissimilar: str, radius: str = "auto") -> Method:
    score = partial(from_pairs, psd=psd, dissimilar=dissimilar, radius=radius)
    words = f"from S and {OTHER if dissimilar == 'other' else REST}, radius={radius}"
    return Method(name, (name,), score, f"IdealizedKernel, psd={psd}, {words}; {CHOICE}")


def _learned_from_labels(name: str, psd: str) -> Method:
    columns = (name, *(f"{name} {column}" for column in AFTER))
    return Method(
        name, columns, partial(from_labels, psd=psd), f"IdealizedKernel, psd={psd}, from labels; {CHOICE}"
    )


def _table(key: str, title: str, methods: tuple[Method, ...], numbers: str) -> Table:
    columns = [column for method in methods for column in method.columns]
    in_paper = numbers_beside({column: IN_PAPER[column] for column in columns if column in IN_PAPER}, numbers)
    for column in columns:  # of Table 4
        _, _, last = column.partition(" after")
        of = f"after{last}" if last else column
        in_paper |= {(row, column): number for (row, name), number in ALIGNMENTS.items() if name == of}
    return Table(
        key=key,
        title=title,
        experiment="kt03-classification",  # both tables share the splits
        quantity="test error in % (alignments: from 0 to 1)",
        rows=ROWS,
        methods=methods,
        published=in_paper,
        repeats=50,
        draw=draw_split,
        protocol="the splits, preprocessing and pairs of kt03.data",
        needs=NEEDS,
        ours=("Clip R", *(f"Clip R {part}" for part in AFTER)),
        beside=("Exact", *(f"Exact {part}" for part in AFTER), "Exact R", "Exact rest", "Xing rest"),
        causes=CAUSES,
        higher=(*BEFORE, *(f"{name} {part}" for name in ("Clip R", "Exact") for part in AFTER)),
    )


CAUSES = {
    ("colon-linear", "Clip R"): (
        "Our copy of colon or its preprocessing is not the paper's: the plain metric has 25.5 here, 28.8 and "
        "29.8 there."
    ),
    ("wine-linear", "Clip R"): (
        "Clipping: over PSD matrices it is 5.4 in Table 2 (with R 6.1) and 5.7 in Table 4. The "
        "paper has 12 of "
        "the 13 features; which is not known."
    ),
    ("", ""): (
        "Not known. Preprocessing, penalties, the width of the RBF kernel and what was done with negative "
        "eigenvalues are not given."
    ),
}
METHODS2 = (
    EUCLIDEAN,
    _learned_from_pairs("Clip R", "clip", "other", "median"),
    _learned_from_pairs("Exact", "exact", "other"),
    _learned_from_pairs("Exact R", "exact", "other", "median"),
    _learned_from_pairs("Exact rest", "exact", "rest"),
    Method("Xing", ("Xing",), partial(xing, dissimilar="other"), f"XingMetric, {OTHER}"),
    Method("Xing rest", ("Xing rest",), partial(xing, dissimilar="rest"), f"XingMetric, {REST}"),
    SVM,
)
METHODS4 = (
    EUCLIDEAN,
    _learned_from_labels("Clip R", "clip"),
    _learned_from_labels("Exact", "exact"),
    Method("Xing", ("Xing",), partial(xing, dissimilar=None), "XingMetric, from labels"),
    SVM,
    Method("Alignment", BEFORE, alignments, "the base kernel's alignment"),
)
TABLES = (
    _table(
        "kt03-table2",
        "[KT03] Table 2, nearest neighbours in metrics learned from similar pairs",
        METHODS2,
        TABLE2,
    ),
    _table(
        "kt03-table4", "[KT03] Table 4, nearest neighbours in metrics learned from labels", METHODS4, TABLE4
    ),
)
LATER = replace(  # metrics of later years, where there are fewer features than rows
    TABLES[0],
    key="kt03-later",
    title="[KT03] Tables 2 and 4, with metrics that came later",
    rows=("toy-linear", "soybean-linear", "wine-linear"),
    methods=(
        EUCLIDEAN,
        Method("ITML", ("ITML",), partial(elsewhere, name="ITML", labels=False), f"metric-learn's, {OTHER}"),
        Method(
            "ITML, labels",
            ("ITML, labels",),
            partial(elsewhere, name="ITML", labels=True),
            "metric-learn's, from labels",
        ),
        Method(
            "LMNN, labels",
            ("LMNN, labels",),
            partial(elsewhere, name="LMNN", labels=True),
            "metric-learn's, from labels",
        ),
    ),
    published={},  # the paper has neither
    ours=(),
    beside=(),
    causes={},
)
