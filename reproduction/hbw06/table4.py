"""Table 4 of [HBW06]: face retrieval.

Kernels are learned from half of the pictures of 20 subjects. Each query then orders the pictures of all 30
subjects by similarity, and its ROC curve says how early those of its own subject come. The queries are

- ``supervised``: the other half of the pictures of the 20 subjects;
- ``semi-supervised``: half of the pictures of the other ten, the other halves of which were unlabelled rows;
- ``unsupervised``: all pictures of the other ten, of whom nothing was known.

What the paper leaves open is settled here:

- Cropped pictures of 32 × 32 pixels, of the first 30 subjects that have 64; no optical flow. Which 20 of them
  are known is drawn at random, and so are the halves.
- Principal components and Fisher discriminants are computed from the labelled pictures: the others were "not
  present during the training stage at all". RCA and the Euclidean metric compare pictures before the
  discriminants: RCA by the principal components, the Euclidean metric by the pixels, which is the same but
  for what the components leave out. In the discriminants the Euclidean metric would be RCA's, since these
  make what varies within a class round, and its published column is far from that.
- Other readings: RCA of the discriminants (``RCA Fisher``); principal components of all pictures, and RCA of
  their discriminants (``… all``); discriminants from both halves of the pictures of the known subjects (``KB
  both``), whose queries have then been seen, with their labels.
- The mixtures have 30 components with one covariance (as the paper says) in each, also where 20 would do.
- The query itself is left out of its database. Ties count half.
- ``Tuned`` is not in the paper: an RBF-SVM of the labelled pictures' discriminants, C and γ chosen by
  cross-validation; pictures are alike if the angle between their decision values of 20 subjects is small.
- Other rows are not in the paper either. They take away some of what the light does, with a number that was
  chosen on other draws so that one of the two columns that the paper compares with is as published:
  ``…-flat`` a part of the blurred picture (Euclidean), ``…-even`` a part of its contrast (RCA). ``…-ranks``
  replaces the pixels of a picture by their ranks. KernelBoost had no part in the choice.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from scipy.stats import rankdata
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from mercer import datasets
from mercer._typing import Array, Index
from mercer.learners import KernelBoost
from mercer.metrics import retrieval_auc
from reproduction.baselines import RCA
from reproduction.harness import Method, Table, published

KEY = "hbw06-table4"
SETTINGS = ("supervised", "semi-supervised", "unsupervised")
BLUR, FLATTENED, EVENED = 4.0, 0.9, 0.25  # deviation in pixels, share of the blur, power of the contrast
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
    P: Array = np.empty((0, 0))  # principal components of all pictures, see `represent`
    Z: Array = np.empty((0, 0))  # Fisher's discriminants of them


def flatten_light(pixels: Array) -> Array:
    """Return pictures less a part of what is left of them when they are blurred."""
    side = math.isqrt(pixels.shape[1])
    blurred = gaussian_filter(pixels.reshape(-1, side, side), (0, BLUR, BLUR))
    return pixels - FLATTENED * blurred.reshape(pixels.shape)


def even_contrast(pixels: Array) -> Array:
    """Return pictures of mean zero whose contrasts, the deviations of their pixels, differ less."""
    contrast = pixels.std(axis=1, keepdims=True)
    return (pixels - pixels.mean(axis=1, keepdims=True)) / contrast**EVENED


def rank_pixels(pixels: Array) -> Array:
    """Return the rank of each pixel in its picture, from 0 to 1."""
    return rankdata(pixels, axis=1) / pixels.shape[1]


LIGHTS: dict[str, Callable[[Array], Array]] = {
    "": lambda pixels: pixels,
    "-flat": flatten_light,
    "-even": even_contrast,
    "-ranks": rank_pixels,
}
ROWS = tuple(f"{setting}{light}" for light in LIGHTS for setting in SETTINGS)


def load_faces() -> tuple[Array, NDArray[np.int64]]:
    """Return the pictures of 30 subjects, 64 of each, and whose they are."""
    dataset = datasets.load("yaleb")
    chosen = dataset.extras["subset30_idx"]
    return dataset.X[chosen] / 255, np.unique(dataset.y[chosen], return_inverse=True)[1]


def draw(row: str, seed: int) -> Faces:
    """Return the pictures with the subjects that are known, and the queries, drawn at random."""
    stream = np.random.RandomState(seed)
    setting = next(setting for setting in SETTINGS if row.startswith(setting))
    pixels, subject = load_faces()
    pixels = LIGHTS[row.removeprefix(setting)](pixels)
    known = np.isin(subject, stream.permutation(subject.max() + 1)[:N_KNOWN])
    first = first_halves(subject, stream)
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


def represent(faces: Faces, *, everything: bool = False, both: bool = False) -> Faces:
    """Return the same with principal components and Fisher's discriminants of all pictures.

    The components are those of the labelled pictures, or of everything; the discriminants are found in the
    labelled pictures, or in both halves of those of the known subjects.
    """
    labelled, subject = faces.labelled, faces.subject
    principal = PCA(N_PRINCIPAL, svd_solver="covariance_eigh")
    P = principal.fit(faces.pixels if everything else faces.pixels[labelled]).transform(faces.pixels)
    seen = np.flatnonzero(np.isin(subject, subject[labelled])) if both else labelled
    fisher = LinearDiscriminantAnalysis(n_components=N_FISHER).fit(P[seen], subject[seen])
    return faces._replace(P=P, Z=fisher.transform(P))


Measure = Callable[[Faces, int], Array]


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
    """Return similarities in the metric of relevant component analysis of the principal components."""
    return _similarity_of_rca(faces, faces.P)


def by_rca_of_discriminants(faces: Faces, seed: int) -> Array:
    """Return similarities in the metric of relevant component analysis of the discriminants."""
    return _similarity_of_rca(faces, faces.Z)


def _similarity_of_rca(faces: Faces, coordinates: Array) -> Array:
    metric = RCA(ridge=0.0).fit(coordinates[faces.labelled], faces.subject[faces.labelled])
    return -metric.kernel_.squared_distance(coordinates[faces.queries], coordinates)


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
    faces: Faces, seed: int, *, measure: Measure, everything: bool = False, both: bool = False
) -> Sequence[float]:
    """Return the area in % under the ROC curve of the average query."""
    if measure is not by_pixels:
        faces = represent(faces, everything=everything, both=both)
    return [100 * retrieval_auc(*rank(faces, measure(faces, seed)))]


MEASURES: dict[str, tuple[Measure, str]] = {
    "KB": (by_kernelboost, f"KernelBoost, tied, {N_COMPONENTS} components, {N_ROUNDS} rounds"),
    "RCA": (by_rca, "RCA without a ridge, from labels; of principal components"),
    "Euclidean": (by_pixels, "Euclidean metric of the pixels"),
    "Tuned": (by_svm, f"RBF-SVM, {SVM_GRID}, {N_FOLDS} folds; angles between decision values"),
}
KB_WORDS, RCA_WORDS = MEASURES["KB"][1], "RCA without a ridge, from labels"
OF_ALL = "principal components of all pictures"
OTHER_READINGS = {
    "KB both": (
        partial(score, measure=by_kernelboost, both=True),
        f"{KB_WORDS}; discriminants of both halves of the known subjects' pictures",
    ),
    "KB all": (partial(score, measure=by_kernelboost, everything=True), f"{KB_WORDS}; {OF_ALL}"),
    "RCA Fisher": (partial(score, measure=by_rca_of_discriminants), RCA_WORDS),
    "RCA all": (
        partial(score, measure=by_rca_of_discriminants, everything=True),
        f"{RCA_WORDS}; {OF_ALL}",
    ),
}
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
        *(Method(name, (name,), scorer, words) for name, (scorer, words) in OTHER_READINGS.items()),
    ),
    published=_NUMBERS
    | {(row, name): _NUMBERS[row, name.split()[0]] for row in SETTINGS for name in OTHER_READINGS},
    repeats=20,
    repeats_in_paper="not said",
    draw=draw,
    protocol=(
        f"{N_KNOWN} of 30 subjects labelled, half of their pictures; {N_FISHER} Fisher discriminants of "
        f"{N_PRINCIPAL} principal components, of labelled pictures or of all; a database of all pictures"
    ),
    needs=dict.fromkeys(ROWS, "yaleb"),
    better="higher",
    ours=("KB",),
    beside=tuple(OTHER_READINGS),
    causes={
        ("unsupervised", "KB"): (
            "The images are smaller and not aligned by optical flow. The paper's ± 0.06 is also "
            "hardly a standard "
            "error in %: between draws the Euclidean metric alone varies by 1.4 points."
        ),
        ("supervised", "KB"): (
            "Fisher's discriminants, here of the labelled half of the known subjects' pictures: of both "
            "halves (`KB both`) it is 98.1, and 98.6 on pictures of evened contrast, where RCA is nearly as "
            "published (`supervised-even`). Other settings of KernelBoost and another database add less than "
            "a point."
        ),
    },
)
