"""The tables of SmallDataBenchmarks, its folds and its metric, and what its rivals scored."""

import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import label_binarize

SIDES = ("decide", "report", "all")  # drawn by a coin, tables of one family together
N_FOLDS = 4
PRETRAINED = (
    "tabicl",
    "tabpfn",
    "tabpfn3",
    "tabfm",
)  # foundation models, learned from other data


class Fold(NamedTuple):
    """A table in two parts."""

    X_train: pd.DataFrame
    y_train: np.ndarray
    X_test: pd.DataFrame
    y_test: np.ndarray


def folder() -> Path:
    """Return where the tables are."""
    return Path(os.environ.get("MERCER_DATA", "")) / "small_tables"


def is_at_hand() -> bool:
    """Return whether there are tables."""
    return (folder() / "scores.csv").exists()


@cache
def scores() -> pd.DataFrame:
    """Return what rivals scored: one line a side, table, model and fold."""
    return pd.read_csv(folder() / "scores.csv")


def names(side: str) -> list[str]:
    """Return the tables of a side, in alphabetical order."""
    known = scores()
    return sorted(known.table[(known.side == side) | (side == "all")].unique())


def load(name: str, fold: int) -> Fold:
    """Return a fold: classes are sorted and numbered, rows are in the order of the file."""
    table = pd.read_csv(folder() / f"{name}.csv.gz")
    y = np.unique(table.pop("Class"), return_inverse=True)[1]
    splits = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(table, y)
    train, test = list(splits)[fold]
    return Fold(table.iloc[train], y[train], table.iloc[test], y[test])


def judge(y: np.ndarray, P: np.ndarray) -> dict[str, float]:
    """Return the benchmark's score, the weighted average precision, and four more figures."""
    n_classes, sure = P.shape[1], P.max(axis=1)
    if n_classes == 2:
        truth, said = y, P[:, 1]
    else:
        truth, said = label_binarize(y, classes=np.arange(n_classes)), P
    right = P.argmax(axis=1) == y
    group = np.minimum((10 * sure).astype(int), 9)
    return {
        "score": float(average_precision_score(truth, said, average="weighted")),
        "error": float(1.0 - right.mean()),
        "log_loss": float(-np.log(np.maximum(P[np.arange(len(y)), y], 1e-15)).mean()),
        "auc": float(roc_auc_score(truth, said, average="weighted")),
        "calibration": float(np.abs(np.bincount(group, sure - right, minlength=10)).sum() / len(y)),
    }
