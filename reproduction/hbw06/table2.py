"""Table 2 of Hertz, Bar-Hillel & Weinshall [HBW06]: four sets of UCI, a tenth of the labels.

All kernels see the same rows, and KernelBoost the others too, without their labels: these are the test rows
(the transductive setting of the paper). What the paper leaves open is settled in `hbw06.classifiers`, and
here:

- Splits are plain random ones, drawn again until each class has two labels, without which there is no
  cross-validation.
- The features are standardised over all rows, for every kernel.
- The degree of the polynomial is not given for this table. It is 5 here as in Section 4.1, which comes nearer
  to the published column than 2, as in Section 3.1.
- "breast" is the Wisconsin set of 683 complete rows.
- The column of Zhang et al. has three numbers for four rows, and is left out.
"""

from collections.abc import Sequence

import numpy as np
from sklearn.preprocessing import scale

from mercer import datasets
from reproduction.harness import Result, Table, by_column, published
from reproduction.hbw06.classifiers import Draw, Settings, methods_of, score_votes

KEY = "hbw06-table2"
ROWS = ("wine", "ionosphere", "breast-w", "balance-scale")
SHARE, LEAST = 0.1, 2  # of the rows, and rows of each class, that are labelled
SETTINGS = Settings(C=300.0, n_rounds=30, degree=5)
OURS = ("KB", "KB-dis")
IN_PAPER = (*OURS, "Lin.", "Poly.", "RBF")


def draw(row: str, seed: int) -> Draw:
    """Return a tenth of the rows with their labels, and the others as unlabelled and as test rows."""
    dataset = datasets.load(row)
    labelled = choose_rows(dataset.y, np.random.RandomState(seed))
    X, y = scale(dataset.X), dataset.y
    return Draw(X[labelled], y[labelled], X[~labelled], X[~labelled], y[~labelled])


def choose_rows(y: np.ndarray, stream: np.random.RandomState) -> np.ndarray:
    """Return which rows are labelled: a tenth at random, and at least two of each class."""
    while True:
        labelled = np.zeros(len(y), dtype=bool)
        labelled[stream.permutation(len(y))[: round(SHARE * len(y))]] = True
        if np.bincount(y[labelled], minlength=len(np.unique(y))).min() >= LEAST:
            return labelled


def summarize(results: Sequence[Result]) -> list[str]:
    """Return the mean over the sets that have results, and how many come near the paper's better variant."""
    sentences = []
    for name in (*IN_PAPER, "KB C=1", "Tuned"):
        means = means_of(results, name)
        if not means:
            continue
        mean = f"{name}: {np.mean(list(means.values())):.2f} %"
        theirs = [PUBLISHED[row, name][0] for row in means if (row, name) in PUBLISHED]
        sentences.append(f"{mean} (published {np.mean(theirs):.2f})" if theirs else mean)
    sentences = [f"Mean over the sets: {'; '.join(sentences)}."] if sentences else []
    for name in OURS:
        if means := means_of(results, name):
            near = [row for row in means if means[row] >= better_variant(row) - 1]
            sentences.append(
                f"{name}: within one point of the better of the paper's two variants, or above it, on "
                f"{len(near)} of {len(means)} sets."
            )
    return sentences


def means_of(results: Sequence[Result], column: str) -> dict[str, float]:
    """Return the mean of a column for each set that has it."""
    values = by_column(results)
    return {row: float(np.mean([*values[row, column].values()])) for row in ROWS if (row, column) in values}


def better_variant(row: str) -> float:
    """Return the better of the published numbers of KernelBoost, with and without dissolving labels."""
    return max(PUBLISHED[row, name][0] for name in OURS)


PUBLISHED = published(
    IN_PAPER,
    """
wine           95.1  95.4  91.9  78.3  90.8
ionosphere     85.9  90.4  79.7  72.3  84.5
breast-w       94.2  92.6  94.8  93.9  95.7
balance-scale  83.5  86.4  84.4  77.4  85.0
""",
)
TABLE = Table(
    key=KEY,
    title="[HBW06] Table 2, four UCI data sets with 10 % of the labels",
    experiment=KEY,
    quantity="accuracy in %",
    rows=ROWS,
    methods=methods_of(SETTINGS, lambda name: (name,), score_votes),
    published=PUBLISHED,
    repeats=10,
    draw=draw,
    protocol=(
        f"{SHARE:.0%} of the rows at random, at least {LEAST} of each class, labelled; the others unlabelled "
        "and test rows; features standardised over all rows"
    ),
    needs={row: row for row in ROWS if row != "wine"},  # which scikit-learn ships
    better="higher",
    summarize=summarize,
    ours=OURS,
    causes={
        ("", ""): (
            "Not known. The paper says nothing of the mixtures' components, covariances and "
            "prior; and the usual "
            "kernels, which have none, are above their published numbers in 9 of 12 cells, too."
        )
    },
)
