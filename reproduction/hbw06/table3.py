"""Table 3 of [HBW06]: four MNIST digits, two of which have three labels each.

One kernel is learned from all four digits: 100 labels of each of the two 'large' ones, k of each 'small' one,
and 1000 unlabelled rows of each. Then there is an SVM for every pair of digits. What the paper leaves open is
settled in `hbw06.classifiers`, and here:

- A trial draws four digits, and which two of them are large, at random (the paper: 1000 sets of digits, all
  six ways to divide each, and five splits). Labelled and unlabelled rows come from MNIST's training part, 200
  test rows of each digit from its test part.
- The 30 principal components are those of all training images, pixels in [0, 1].
- The paper's numbers are medians. Tables here show means, which some hard trials draw down: the medians are
  in the sentences below the table, and in Figure 3.
- 'small vs. large' is the mean of its four pairs in a trial.
- The last value of k in the paper's list cannot be read in our copy; it is 20 here.
"""

from collections.abc import Sequence
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from mercer import datasets
from mercer._typing import Array, Labels
from reproduction.harness import Result, Table, by_column, published
from reproduction.hbw06.classifiers import (
    FITS,
    Draw,
    Fit,
    Settings,
    methods_of,
    pair_decisions,
    percent_right,
)

N_LARGE, N_UNLABELLED, N_TEST, N_COMPONENTS = 100, 1000, 200, 30
SETTINGS = Settings(C=300.0, n_rounds=10, degree=5, balanced=True)
KINDS = ("small-small", "small-large", "large-large", "ECOC")
LABELS = (3, 4, 5, 6, 10, 20)  # k: three in the table, all in Figure 3
ROWS = tuple(f"k={k}" for k in LABELS)
IN_PAPER = ("KB", "KB-dis", "Lin.", "Poly.", "RBF")


@cache
def digits() -> tuple[tuple[Array, Labels], tuple[Array, Labels]]:
    """Return the principal components and digits of MNIST's training and test images."""
    dataset = datasets.load("mnist")
    n = dataset.n_train
    images = (dataset.X / 255).astype(np.float32)
    axes = PCA(N_COMPONENTS, svd_solver="covariance_eigh").fit(images[:n])
    Z = axes.transform(images).astype(np.float64)
    return (Z[:n], dataset.y[:n]), (Z[n:], dataset.y[n:])


def draw(row: str, seed: int) -> Draw:
    """Return labelled, unlabelled and test rows of four digits; classes 0 and 1 are the large ones."""
    k = int(row.removeprefix("k="))
    stream = np.random.RandomState(seed)
    (X, y), (X_test, y_test) = digits()
    parts: dict[str, list[NDArray[np.intp]]] = {"labelled": [], "unlabelled": [], "test": []}
    for digit, n_labels in zip(stream.permutation(10)[:4], (N_LARGE, N_LARGE, k, k), strict=True):
        order = stream.permutation(np.flatnonzero(y == digit))
        parts["labelled"].append(order[:n_labels])
        parts["unlabelled"].append(order[n_labels : n_labels + N_UNLABELLED])
        parts["test"].append(stream.permutation(np.flatnonzero(y_test == digit))[:N_TEST])
    labels = {name: np.repeat(np.arange(4), list(map(len, rows))) for name, rows in parts.items()}
    rows = {name: np.concatenate(chosen) for name, chosen in parts.items()}
    return Draw(
        X[rows["labelled"]], labels["labelled"], X[rows["unlabelled"]], X_test[rows["test"]], labels["test"]
    )


def score(draw: Draw, seed: int, *, fit: Fit, settings: Settings) -> Sequence[float]:
    """Return the accuracies in % of the pairs of each kind, and of the votes of all pairs."""
    decisions = pair_decisions(fit(draw, seed, settings), draw.X_test)
    accuracies = pair_accuracies(decisions, draw.y_test)
    return [
        *map(float, (np.mean(accuracies[kind]) for kind in KINDS[:3])),
        percent_right(decisions, draw.y_test),
    ]


def pair_accuracies(decisions: Array, y: Labels) -> dict[str, list[float]]:
    """Return the accuracies in % of the SVMs on the test rows of their own two classes, by kind of pair."""
    accuracies: dict[str, list[float]] = {kind: [] for kind in KINDS[:3]}
    for (a, b), values in zip(combinations(range(4), 2), decisions.T, strict=True):
        kind = KINDS[2] if b <= 1 else KINDS[0] if a >= 2 else KINDS[1]
        own = (y == a) | (y == b)
        accuracies[kind].append(100 * float(np.mean((values[own] > 0) == (y[own] == b))))
    return accuracies


def columns(name: str) -> tuple[str, ...]:
    """Return the columns of a method."""
    return tuple(f"{name} {kind}" for kind in KINDS)


def medians_of(results: Sequence[Result]) -> dict[tuple[str, str], float]:
    """Return the median over the trials of each row and column."""
    return {place: float(np.median([*values.values()])) for place, values in by_column(results).items()}


def summarize(results: Sequence[Result]) -> list[str]:
    """Return the medians of each kind, beside the paper's where it has them."""
    medians = medians_of(results)
    sentences = []
    for row in ROWS:
        for kind in KINDS:
            parts = [
                f"{name} {medians[place]:.1f}"
                + (f" (published {MEDIANS[place][0]:.1f})" if place in MEDIANS else "")
                for name in FITS
                if (place := (row, f"{name} {kind}")) in medians
            ]
            if parts:
                sentences.append(f"Medians, {row}, {kind}: {', '.join(parts)}.")
    return sentences


_PUBLISHED = """
small-small  84.80±0.40  85.01±0.46  81.70±0.31  56.45±0.37  79.20±0.33
small-large  92.90±0.13  89.60±0.21  72.70±0.17  51.10±0.13  77.60±0.19
large-large  96.70±0.15  96.40±0.23  96.50±0.10  97.90±0.08  97.70±0.08
ECOC         79.30±0.23  72.33±0.27  64.90±0.22  50.35±0.17  67.83±0.23
"""
MEDIANS = {
    (ROWS[0], f"{name} {kind}"): number for (kind, name), number in published(IN_PAPER, _PUBLISHED).items()
}


TABLE = Table(
    key="hbw06-table3",
    title="[HBW06] Table 3, four MNIST digits, two of them with three labels",
    experiment="hbw06-digits",
    quantity="accuracy in %",
    rows=ROWS[:1],
    methods=methods_of(SETTINGS, columns, score),
    published=MEDIANS,
    average="median",
    repeats=40,
    draw=draw,
    protocol=(
        f"four random digits, two with {N_LARGE} labels and two with k, {N_UNLABELLED} unlabelled and "
        f"{N_TEST} test rows of each; {N_COMPONENTS} principal components of all training images"
    ),
    needs=dict.fromkeys(ROWS, "mnist"),
    better="higher",
    summarize=summarize,
    ours=tuple(f"{name} {kind}" for name in IN_PAPER[:2] for kind in KINDS),
    repeats_in_paper="30 000: 1000 sets of digits, 5 splits, 6 ways to divide each",
    causes={
        ("", ""): (
            "Not known. Every baseline is above its published number, too, by 1 to 19 points: "
            "the protocol is "
            "easier here in a way that was not found."
        )
    },
)
