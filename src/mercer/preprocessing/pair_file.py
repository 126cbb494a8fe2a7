"""Pairs of similar and dissimilar rows, from a file."""

import os
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mercer.pairs import Pairs
from mercer.preprocessing.errors import TableError, listed, quote
from mercer.preprocessing.missing import QUOTED
from mercer.preprocessing.numbers import parse_numbers
from mercer.preprocessing.reading import check_column, read_table

ANSWERS = {"1": True, "0": False, "similar": True, "dissimilar": False}


def read_pairs(path: str | os.PathLike[str], n_rows: int, ids: "pd.Series | None" = None) -> Pairs:
    """Read pairs: two columns of rows, and a third that says whether they are similar, if not all are.

    Parameters
    ----------
    path : str or path-like
        A table with a line of column names, whatever they are.
    n_rows : int
        The number of rows that the pairs are about; they are numbered from 0.
    ids : Series, optional
        The ids of these rows, if the file has ids and not numbers.
    """
    table = read_table(path)
    if len(table.columns) not in (2, 3):
        raise TableError(
            f"{path} has {len(table.columns)} columns: it should have two of row numbers or ids, and a third "
            "with 1 or 0 if not all pairs are similar."
        )
    rows = np.column_stack(
        [row_numbers(table.iloc[:, k], path, n_rows, ids) for k in (0, 1)],
    )
    similar = _answers(table.iloc[:, 2], path) if len(table.columns) == 3 else np.ones(len(table), dtype=bool)
    try:
        return Pairs(rows[similar], rows[~similar]).check(n_rows)
    except ValueError as error:
        raise TableError(f"{path}: {error}.") from error


def find_ids(table: pd.DataFrame, name: str, path: object) -> pd.Series:
    """Return the column of ids as texts, having checked that they are unique."""
    check_column(table, name, "the ids", path)
    ids = table[name]
    if ids.isna().any():
        raise TableError(f"Row {int(ids.isna().to_numpy().argmax())} of {path} has no id in {quote(name)}.")
    texts = ids.map(id_text)
    twice = texts[texts.duplicated()].unique()
    if len(twice):
        raise TableError(
            f"Column {quote(name)} of {path} has duplicate ids, {listed(twice)}: ids must be unique."
        )
    return texts


def find_row(text: str, n_rows: int, ids: "pd.Series | None") -> int:
    """Return the number of a row, given its id if there are ids, or else its number."""
    if ids is not None:
        found = np.flatnonzero(ids.to_numpy() == text)
        if not len(found):
            raise TableError(f"No row has the id {quote(text)}: ids are such as {listed(ids[:3])}.")
        return int(found[0])
    if not text.isdecimal() or int(text) >= n_rows:
        raise TableError(f"There is no row {quote(text)}: rows are numbered 0 to {n_rows - 1}.")
    return int(text)


def id_text(value: Any) -> str:
    """Return an id as a text, as ids are compared."""
    return f"{value:.17g}" if isinstance(value, float) else str(value).removeprefix(QUOTED).strip()


def row_numbers(column: pd.Series, path: object, n_rows: int, ids: "pd.Series | None") -> NDArray[np.intp]:
    """Return the rows that a column of a file of pairs names, by number or by id."""
    if column.isna().any():
        raise TableError(f"Line {_line(column.isna())} of {path} lacks a row: complete the pair.")
    if ids is not None:
        places = pd.Series(np.arange(n_rows), index=ids)
        found = places.reindex(column.map(id_text)).to_numpy(dtype=float)
        _refuse_first(np.isnan(found), column, path, "no row has that id")
        return found.astype(np.intp)
    numbers = parse_numbers(column)
    if numbers is None:
        raise TableError(
            f"{path} holds {quote(column.iloc[0])} where a row number should be: number the rows from 0, or "
            "name their column of ids with --id."
        )
    is_row = (numbers == np.round(numbers)) & (numbers >= 0) & (numbers < n_rows)
    _refuse_first(~is_row, column, path, f"rows are numbered 0 to {n_rows - 1}")
    return numbers.astype(np.intp)


def _refuse_first(wrong: NDArray[np.bool_], column: pd.Series, path: object, why: str) -> None:
    if wrong.any():
        line, cell = _line(wrong), column.iloc[int(wrong.argmax())]
        raise TableError(f"Line {line} of {path} names the row {quote(cell)}, but {why}: correct it.")


def _line(wrong: Any) -> int:
    """Return the line of the file in which the first wrong row stands, if no line is empty."""
    return int(np.asarray(wrong).argmax()) + 2


def _answers(column: pd.Series, path: object) -> NDArray[np.bool_]:
    texts = column.map(id_text, na_action="ignore").replace({"1.0": "1", "0.0": "0"})
    answers = texts.map(ANSWERS)
    if answers.isna().any():
        cell = column[answers.isna()].iloc[0]
        raise TableError(
            f"Line {_line(answers.isna())} of {path} has {quote(cell)} in its third column: write 1 for "
            "similar rows, 0 for dissimilar ones."
        )
    found: NDArray[np.bool_] = answers.to_numpy(dtype=bool)
    return found
