"""The input of a search: a table as numeric features, with classes or pairs."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer

from mercer._typing import Array
from mercer.commands.errors import WrongRequestError
from mercer.pairs import Pairs
from mercer.tables import (
    Columns,
    TableError,
    choose_columns,
    find_ids,
    find_labels,
    make_encoder,
    prepare,
    read_pairs,
    read_table,
)
from mercer.tables.encoding import check_no_others
from mercer.tables.errors import quote
from mercer.tables.reading import check_column

MOST_CLASSES = 100  # each two of them get a decision of their own
EMBEDDED = "scikit-learn's breast cancer data"


class Request(NamedTuple):
    """Which files and columns a user names."""

    data: Path | None = None
    target: str | None = None
    unlabelled: Path | None = None
    pairs: Path | None = None
    ids: str | None = None
    drop: tuple[str, ...] = ()


class Task(NamedTuple):
    """What a search is given, and how it came from the table."""

    encoder: ColumnTransformer  # fitted to all rows
    X: Array  # the rows with classes, or all
    y: NDArray[Any] | None
    pairs: Pairs | None
    unlabelled: Array | None
    columns: Columns
    n_missing: int  # cells
    source: str
    target: str | None
    ids: str | None
    row_names: list[int] | list[str]  # of X: numbers of rows in the file, from 0, or ids


def check_request(request: Request) -> None:
    """Refuse options that exclude each other, before anything is read."""
    if request.data is None:
        others = {"--target": request.target, "--unlabelled": request.unlabelled, "--pairs": request.pairs}
        named = [option for option, value in {**others, "--id": request.ids}.items() if value is not None]
        if named or request.drop:
            raise WrongRequestError(f"{(named or ['--drop'])[0]} needs a table: name its file as DATA.")
    elif request.target is None and request.pairs is None:
        raise WrongRequestError(
            f"Name the column of classes in {request.data} with --target, or a file of similar and "
            "dissimilar pairs of rows with --pairs."
        )
    elif request.target is not None and request.pairs is not None:
        raise WrongRequestError(
            "Give --target or --pairs, not both: with classes, pairs are not needed (--drop excludes a "
            "column of classes)."
        )
    elif request.target is not None and request.target == request.ids:
        raise WrongRequestError("--target and --id name the same column: name two columns.")


def read_task(request: Request) -> Task:
    """Read the files, decide what each column is, and encode the columns as numbers.

    Medians and categories are those of all rows, unlabelled ones included. They do not depend on the classes.
    """
    table, source, target = _read_data(request)
    ids = None if request.ids is None else find_ids(table, request.ids, source)
    y, has_class, pairs = None, np.ones(len(table), dtype=bool), None
    if target is not None:
        check_column(table, target, "--target", source)
        y, has_class = find_labels(table[target], target)
        _check_number_of_classes(y, target)
    if request.pairs is not None:
        pairs = read_pairs(request.pairs, len(table), ids)
    columns = choose_columns(table, {target or "", request.ids or ""})
    columns.dropped.update(dict.fromkeys(request.drop, "it is listed in --drop"))
    if not columns.used:
        raise TableError(f"No column of {source} can be used as a feature: {_reasons(columns)}.")
    rows = pd.concat([prepare(table, columns, source), *_read_unlabelled(request, columns)])
    encoder = make_encoder(columns).fit(rows)
    Z: Array = encoder.transform(rows)
    is_known = np.append(has_class, np.zeros(len(rows) - len(table), dtype=bool))
    return Task(
        encoder=encoder,
        X=Z[is_known],
        y=y,
        pairs=pairs,
        unlabelled=None if is_known.all() else Z[~is_known],
        columns=columns,
        n_missing=int(rows.isna().to_numpy().sum()),
        source=source,
        target=target,
        ids=request.ids,
        row_names=np.flatnonzero(has_class).tolist() if ids is None else ids[has_class].to_list(),
    )


def _check_number_of_classes(y: NDArray[Any], target: str) -> None:
    n_classes = len(np.unique(y))
    if n_classes > MOST_CLASSES:
        raise WrongRequestError(
            f"Column {quote(target)} has {n_classes} classes; mercer takes at most {MOST_CLASSES}: merge "
            "some, or name another column with --target (a numeric quantity is not a class)."
        )


def _read_data(request: Request) -> tuple[pd.DataFrame, str, str | None]:
    """Return the table without what is to be dropped, where it comes from, and its column of classes."""
    if request.data is None:
        embedded = load_breast_cancer(as_frame=True)
        table = embedded.data.assign(diagnosis=embedded.target_names[embedded.target].astype(object))
        return table, EMBEDDED, "diagnosis"
    table = read_table(request.data)
    for name in request.drop:
        check_column(table, name, "--drop", request.data)
    return table.drop(columns=list(request.drop)), str(request.data), request.target


def _read_unlabelled(request: Request, columns: Columns) -> list[pd.DataFrame]:
    """Return the rows of the second file, which has the columns of the first, classes or not."""
    if request.unlabelled is None:
        return []
    table = read_table(request.unlabelled)
    others = {request.target or "", request.ids or ""}
    check_no_others(table, columns, others, request.unlabelled)
    return [prepare(table, columns, request.unlabelled)]


def _reasons(columns: Columns) -> str:
    if not columns.dropped:
        return "it has no columns besides those named by options; add some"
    name, reason = next(iter(columns.dropped.items()))
    in_all = f" ({len(columns.dropped)} columns were dropped in all)" if len(columns.dropped) > 1 else ""
    return f"{quote(name)} was dropped because {reason}{in_all}; add numeric or categorical columns"
