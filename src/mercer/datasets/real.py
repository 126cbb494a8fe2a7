"""The papers' real data sets, from a folder, from scikit-learn or from OpenML, and checked."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml, load_breast_cancer, load_wine

FOLDER_VARIABLE = "MERCER_DATA"


@dataclass(frozen=True)
class Dataset:
    """A real data set: rows ``X`` and labels ``y``, which count from 0 into ``target_names``.

    ``n_train`` is set where a set has a customary split: its first ``n_train`` rows are the training part.
    ``feature_names`` is empty where they are unknown. ``extras`` holds whatever else the folder's file has.
    """

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    target_names: tuple[str, ...]
    source: str
    feature_names: tuple[str, ...] = ()
    n_train: int | None = None
    extras: Mapping[str, NDArray[Any]] = field(default_factory=dict)


class _Form(NamedTuple):
    """What a set must look like wherever it comes from, and how OpenML's copy is turned into that."""

    n_features: int
    counts: Mapping[str, int]  # the rows of each class, in the order of the labels
    train_counts: tuple[int, ...] = ()
    first_label: int = 0  # of the file in the folder
    openml_id: int | None = None
    openml_names: tuple[str, ...] = ()  # OpenML's names of the classes, where they are not ours
    coding: Mapping[str, float] | None = None  # numbers for nominal values, 0 for missing ones


def _digits(train: tuple[int, ...], test: tuple[int, ...]) -> dict[str, Any]:
    counts = {str(digit): sum(parts) for digit, parts in enumerate(zip(train, test, strict=True))}
    return {"counts": counts, "train_counts": train}


_USPS = _digits(
    (1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644),
    (359, 264, 198, 166, 200, 160, 170, 147, 166, 177),
)
_MNIST = _digits(
    (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
    (980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009),
)
_FACES = dict.fromkeys(map(str, range(1, 39)), 64)  # images of each subject, of whom seven have fewer:
_FACES |= {"11": 60, "12": 59, "13": 60, "14": 63, "15": 62, "16": 63, "17": 63}
_PIMA = ("tested_negative", "tested_positive")

_FORMS: Mapping[str, _Form] = {
    "australian": _Form(14, {"0": 383, "1": 307}, openml_id=40981),
    "balance-scale": _Form(4, {"B": 49, "L": 288, "R": 288}, openml_id=11),
    "breast-w": _Form(9, {"benign": 444, "malignant": 239}, openml_id=15),
    "colon": _Form(2000, {"normal": 22, "tumour": 40}),  # OpenML's copy is not the raw intensities
    "german": _Form(24, {"good": 700, "bad": 300}),  # OpenML's credit-g has 20 columns, most nominal
    "heart": _Form(13, {"absent": 150, "present": 120}, openml_id=53),
    "ionosphere": _Form(34, {"b": 126, "g": 225}, openml_id=59),
    "lymphoma": _Form(4026, {"other": 34, "malignant_DLCL_FL_CLL": 62}),  # OpenML's has 45 of the 96 rows
    "mnist": _Form(784, **_MNIST, openml_id=554),
    "pima": _Form(8, {"negative": 500, "positive": 268}, openml_id=37, openml_names=_PIMA),
    "sonar": _Form(60, {"M": 111, "R": 97}, openml_id=40, openml_names=("Mine", "Rock")),
    "soybean-small": _Form(35, {"D1": 10, "D2": 10, "D3": 10, "D4": 17}),
    "usps": _Form(256, **_USPS, openml_id=41082, openml_names=tuple(map(str, range(1, 11)))),
    "votes84": _Form(16, {"democrat": 267, "republican": 168}, openml_id=56, coding={"y": 1.0, "n": -1.0}),
    "wdbc": _Form(30, {"malignant": 212, "benign": 357}),
    "wine": _Form(13, {"1": 59, "2": 71, "3": 48}),
    "yaleb": _Form(1024, _FACES, first_label=1),
}
_SHIPPED: Mapping[str, Callable[[], Any]] = {"wdbc": load_breast_cancer, "wine": load_wine}


def names() -> tuple[str, ...]:
    """Return the names that `load` knows."""
    return tuple(_FORMS)


def load(name: str) -> Dataset:
    """Load a real data set of the papers by its name.

    It is looked for as ``<name>.npz`` in the folder that the environment variable MERCER_DATA names, then
    among the sets that scikit-learn ships, then on OpenML under a pinned id (which needs the
    network; scikit-learn keeps the download). Wherever it comes from, shape and class counts are checked.

    Parameters
    ----------
    name : str
        One of `names`.

    Raises
    ------
    ValueError
        If the name is unknown, or what was found does not have the known shape and class counts.
    OSError
        If the set cannot be found; the message says where to put it.

    Examples
    --------
    >>> from mercer.datasets import load
    >>> wine = load("wine")
    >>> wine.X.shape, wine.target_names
    ((178, 13), ('1', '2', '3'))
    """
    if name not in _FORMS:
        raise ValueError(f"There is no data set {name!r}; choose from {', '.join(names())}.")
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder and (path := Path(folder) / f"{name}.npz").is_file():
        dataset = _from_file(name, path)
    elif name in _SHIPPED:
        dataset = _from_scikit_learn(name)
    else:
        dataset = _from_openml(name)
    _check_form(dataset)
    return dataset


def _from_file(name: str, path: Path) -> Dataset:
    form = _FORMS[name]
    with np.load(path, allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files}
    parts = ("_train", "_test") if form.train_counts else ("",)
    needed = [letter + part for letter in "Xy" for part in parts]
    if missing := [key for key in needed if key not in arrays]:
        raise ValueError(
            f"{path} lacks the array {missing[0]!r}; a file for {name!r} needs {', '.join(needed)}."
        )
    X, y = (np.concatenate([arrays.pop(letter + part) for part in parts]) for letter in "Xy")
    arrays.pop("target_names", None)
    feature_names = arrays.pop("feature_names", arrays.pop("gene_names", ()))
    return _dataset(name, X, y - form.first_label, f"{path.name} in {FOLDER_VARIABLE}", feature_names, arrays)


def _from_scikit_learn(name: str) -> Dataset:
    shipped = _SHIPPED[name]()
    return _dataset(name, shipped.data, shipped.target, "scikit-learn", shipped.feature_names)


def _from_openml(name: str) -> Dataset:
    form = _FORMS[name]
    frame, target = _download(name, form.openml_id)
    if form.coding is not None:  # nominal columns: a missing value stands between the two answers
        frame = frame.apply(lambda column: column.astype(object).map(form.coding)).fillna(0.0)
    X = frame.astype(np.float64).to_numpy()
    numbers = {label: number for number, label in enumerate(form.openml_names or form.counts)}
    y = np.array([numbers.get(str(label), -1) for label in target])
    complete = ~np.isnan(X).any(axis=1)
    return _dataset(name, X[complete], y[complete], f"OpenML, data_id={form.openml_id}", frame.columns)


def _download(name: str, openml_id: int | None) -> tuple[Any, Any]:
    remedy = f"set the environment variable {FOLDER_VARIABLE} to a folder that holds {name}.npz"
    if openml_id is None:
        raise FileNotFoundError(
            f"The data set {name!r} was not found, and OpenML has no copy in the papers' form: {remedy}."
        )
    try:
        bunch = fetch_openml(data_id=openml_id, as_frame=True, parser="pandas")
    except (OSError, ImportError) as error:
        raise OSError(
            f"The data set {name!r} was not found, and OpenML (data_id={openml_id}) could not be reached "
            f"({error}): {remedy}, or connect to the network."
        ) from error
    return bunch.data, bunch.target


def _dataset(name: str, X: Any, y: Any, source: str, feature_names: Any, extras: Any = None) -> Dataset:
    form = _FORMS[name]
    return Dataset(
        name=name,
        X=np.asarray(X, dtype=np.float64),
        y=np.asarray(y, dtype=np.int64),
        target_names=tuple(form.counts),
        source=source,
        feature_names=tuple(str(feature) for feature in feature_names),
        n_train=sum(form.train_counts) or None,
        extras=extras or {},
    )


def _check_form(dataset: Dataset) -> None:
    form = _FORMS[dataset.name]
    expected = [("all rows", dataset.y, tuple(form.counts.values()))]
    if form.train_counts:
        expected.append(("the training part", dataset.y[: dataset.n_train], form.train_counts))
    shape = (sum(form.counts.values()), form.n_features)
    if dataset.X.shape != shape or dataset.y.shape != shape[:1]:
        raise ValueError(f"{_described(dataset)} has the shape {dataset.X.shape}, expected {shape}.")
    if not np.isfinite(dataset.X).all():
        raise ValueError(f"{_described(dataset)} holds values that are not finite.")
    for part, y, counts in expected:
        found = tuple(int((y == label).sum()) for label in range(len(counts)))
        if found != counts:
            raise ValueError(
                f"{_described(dataset)} has the class counts {found} in {part}, expected {counts}."
            )


def _described(dataset: Dataset) -> str:
    return f"The data set {dataset.name!r} from {dataset.source}"
