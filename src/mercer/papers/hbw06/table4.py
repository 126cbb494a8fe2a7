"""Table 4 of [HBW06]: face retrieval.

Kernels are learned from half of the pictures of 20 subjects. Each query then orders the pictures of all 30
subjects by similarity, and its ROC curve says how early those of its own subject come. The queries are

- ``supervised``: the other half of the pictures of the 20 subjects;
- ``semi-supervised``: half of the pictures of the other ten, the other halves of which were unlabelled rows;
- ``unsupervised``: all pictures of the other ten, of whom nothing was known.

What the paper leaves open is settled here:

- Cropped pictures of 32 × 32 pixels, of the first 30 subjects that have 64; no optical flow. Which 20 of them
  are known is drawn at random, and so are the halves.
- Fisher discriminants are computed from the labelled pictures; principal components from these alone or, in
  the columns ``… all``, from all pictures, which is how a representation is usually computed.
- The mixtures have 30 components with one covariance (as the paper says) in each, also where 20 would do.
- The query itself is left out of its database. Ties count half.
- The Euclidean metric is that of the pixels: its column is the paper's, more or less. In the coordinates of
  the Fisher discriminants it would be RCA's, since these make what varies within a class round.
- ``Tuned`` is not in the paper: an RBF-SVM of the labelled pictures' discriminants, C and γ chosen by
  cross-validation; pictures are alike if the angle between their decision values of 20 subjects is small.
- Rows ``…-ranks`` are not in the paper either: the pixels of each picture are replaced by their ranks,
  which takes away much of what the light does.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from mercer import datasets
from mercer._typing import Array, Index
from mercer.baselines import RCA
from mercer.learners import KernelBoost
from mercer.papers.harness import Method, Table, published
from mercer.quality import retrieval_auc

KEY = "hbw06-table4"
SETTINGS = ("supervised", "semi-supervised", "unsupervised")
EQUALIZED = "-ranks"
ROWS = (*SETTINGS, *(f"{setting}{EQUALIZED}" for setting in SETTINGS))
N_KNOWN = 20
N_PRINCIPAL, N_FISHER = 150, 9
N_ROUNDS, N_COMPONENTS = 10, 30
SVM_GRID = {"C": [1.0, 10.0, 100.0], "gamma": [0.01, 0.03, 0.1, 0.3]}
N_FOLDS = 4


class Faces(NamedTuple):
    """One repeat: all pictures, and the part that each has in it."""

    pixels: Array
    subject: NDArray[np.int64]
    labelled: Index
    unlabelled: Index
    queries: Index
    Z: Array = np.empty((0, 0))  # Fisher's discriminants of all pictures, see `represent`


def load_faces() -> tuple[Array, NDArray[np.int64]]:
    """Return the pictures of 30 subjects, 64 of each, and whose they are."""
    dataset = datasets.load("yaleb")
    chosen = dataset.extras["subset30_idx"]
    return dataset.X[chosen] / 255, np.unique(dataset.y[chosen], return_inverse=True)[1]


def draw(row: str, seed: int) -> Faces:
    """Return the pictures with the subjects that are known, and the queries, drawn at random."""
    stream = np.random.RandomState(seed)
    pixels, subject = load_faces()
    if row.endswith(EQUALIZED):
        pixels = rankdata(pixels, axis=1) / pixels.shape[1]
    known = np.isin(subject, stream.permutation(subject.max() + 1)[:N_KNOWN])
    first = first_halves(subject, stream)
    setting = row.removesuffix(EQUALIZED)
    wanted = {"supervised": known & ~first, "semi-supervised": ~known & ~first, "unsupervised": ~known}
    unlabelled = ~known & first & (setting == "semi-supervised")
    labelled = np.flatnonzero(known & first)
    return Faces(pixels, subject, labelled, np.flatnonzero(unlabelled), np.flatnonzero(wanted[setting]))


def first_halves(subject: NDArray[np.int64], stream: np.random.RandomState) -> NDArray[np.bool_]:
    """Return half of the pictures of each subject, at random."""
    chosen = np.zeros(len(subject), dtype=bool)
    for number in np.unique(subject):
        pictures = stream.permutation(np.flatnonzero(subject == number))
        chosen[pictures[: len(pictures) // 2]] = True
    return chosen


def represent(faces: Faces, everything: bool = False) -> Faces:
    """Return the same with Fisher's discriminants of all pictures, found in the labelled ones.

    The principal components before them are those of the labelled pictures, or of all.
    """
    labelled = faces.labelled
    principal = PCA(N_PRINCIPAL, svd_solver="covariance_eigh")
    P = principal.fit(faces.pixels if everything else faces.pixels[labelled]).transform(faces.pixels)
    fisher = LinearDiscriminantAnalysis(n_components=N_FISHER).fit(P[labelled], faces.subject[labelled])
    return faces._replace(Z=fisher.transform(P))


def by_kernelboost(faces: Faces, seed: int) -> Array:
    """Return similarities of all pictures to the queries in the learned kernel."""
    learner = KernelBoost(
        n_rounds=N_ROUNDS, n_components=N_COMPONENTS, covariance_type="tied", random_state=seed
    )
    unlabelled = faces.Z[faces.unlabelled] if len(faces.unlabelled) else None
    learner.fit(faces.Z[faces.labelled], faces.subject[faces.labelled], unlabelled=unlabelled)
    F = learner.transform(faces.Z)
    return F[faces.queries] @ F.T


def by_rca(faces: Faces, seed: int) -> Array:
    """Return similarities in the metric of relevant component analysis."""
    metric = RCA(ridge=0.0).fit(faces.Z[faces.labelled], faces.subject[faces.labelled])
    return -metric.kernel_.squared_distance(faces.Z[faces.queries], faces.Z)


def by_pixels(faces: Faces, seed: int) -> Array:
    """Return similarities in the Euclidean metric of the pixels."""
    X, Q = faces.pixels, faces.pixels[faces.queries]
    return 2 * Q @ X.T - np.sum(X**2, axis=1)  # less the square of the query, the same for all


def by_svm(faces: Faces, seed: int) -> Array:
    """Return cosines of the angles between the decision values of a tuned RBF-SVM."""
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    model = GridSearchCV(SVC(), SVM_GRID, cv=folds)
    model.fit(faces.Z[faces.labelled], faces.subject[faces.labelled])
    D = model.decision_function(faces.Z)
    D = D - D.mean(axis=1, keepdims=True)
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    return D[faces.queries] @ D.T


def rank(faces: Faces, similarity: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return the similarities without those of queries to themselves, and which pictures are wanted."""
    ranked = similarity.copy()
    ranked[np.arange(len(ranked)), faces.queries] = np.nan
    return ranked, faces.subject[faces.queries][:, None] == faces.subject


def score(
    faces: Faces, seed: int, *, measure: Callable[[Faces, int], Array], everything: bool = False
) -> Sequence[float]:
    """Return the area in % under the ROC curve of the average query."""
    if measure is not by_pixels:
        faces = represent(faces, everything)
    return [100 * retrieval_auc(*rank(faces, measure(faces, seed)))]


MEASURES: dict[str, tuple[Callable[[Faces, int], Array], str]] = {
    "KB": (by_kernelboost, f"KernelBoost, tied, {N_COMPONENTS} components, {N_ROUNDS} rounds"),
    "RCA": (by_rca, "RCA without a ridge, from labels"),
    "Euclidean": (by_pixels, "Euclidean metric of the pixels"),
    "Tuned": (by_svm, f"RBF-SVM, {SVM_GRID}, {N_FOLDS} folds; angles between decision values"),
}
LABELLED_ALONE = (
    "Not known. With principal components of the labelled pictures alone it is not worse, but then RCA is "
    "six to eight points above its published number."
)
_NUMBERS = published(
    ("KB", "RCA", "Euclidean"),
    """
supervised       98.94±0.01  93.88±0.01  60.84±0.01
semi-supervised  84.57±0.04  77.37±0.03  59.00±0.00
unsupervised     79.74±0.06  76.62±0.04  58.92±0.01
""",
)
TABLE = Table(
    key=KEY,
    title="[HBW06] Table 4, face retrieval",
    experiment=KEY,
    quantity="area under the ROC curve in %",
    rows=ROWS,
    methods=(
        *(
            Method(name, (name,), partial(score, measure=measure), words)
            for name, (measure, words) in MEASURES.items()
        ),
        *(
            Method(
                f"{name} all",
                (f"{name} all",),
                partial(score, measure=MEASURES[name][0], everything=True),
                f"{MEASURES[name][1]}; principal components of all pictures",
            )
            for name in ("KB", "RCA")
        ),
    ),
    published=_NUMBERS
    | {(row, f"{name} all"): number for (row, name), number in _NUMBERS.items() if name != "Euclidean"},
    repeats=20,
    draw=draw,
    protocol=(
        f"{N_KNOWN} of 30 subjects labelled, half of their pictures; {N_FISHER} Fisher discriminants of "
        f"{N_PRINCIPAL} principal components, of labelled pictures or of all; a database of all pictures"
    ),
    needs=dict.fromkeys(ROWS, "yaleb"),
    better="higher",
    ours=("KB all",),
    beside=("KB", "RCA"),
    causes={
        ("supervised", "KB all"): (
            "The pictures, which are smaller than the paper's and not aligned: in their nine discriminants a "
            "linear classifier errs on one query in nine."
        ),
        ("semi-supervised", "KB all"): LABELLED_ALONE,
        ("unsupervised", "KB all"): LABELLED_ALONE,
    },
)
