"""The classes in the column of a table, as they are written, and what makes a column one of classes."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mercer._typing import Flags
from mercer.preprocessing.errors import QuantityError, TableError, listed, quote
from mercer.preprocessing.missing import as_written, is_word
from mercer.preprocessing.numbers import find_format, parse_numbers

FEWEST_ROWS = 2  # of a class: one to learn from, one to test on
MANY_CLASSES = 10  # of whole numbers: more are rather a quantity
MOST_CLASSES = 100  # each two of them get a decision of their own
WHOLE = r"-?[1-9]\d{0,14}|0"  # as Python writes it; 007 is not 7


class ClassColumn(NamedTuple):
    """The classes of the rows that have one."""

    y: NDArray[Any]  # texts, or whole numbers
    known: Flags  # for each row of the table
    notes: list[str]  # what was decided where the column can be read in two ways


def find_labels(column: pd.Series, name: str, *, are_classes: bool = False) -> ClassColumn:
    """Return the classes in a column, or raise TableError if it holds none.

    Labels are texts as they are written ("007" and "7" are two), or whole numbers if all are. Empty cells are
    rows without a class. Words such as NA are too, unless they are in quotation marks, or no cell is empty.

    Parameters
    ----------
    column : Series
        As `read_table` gives it.
    name : str
        The name of the column, for error messages.
    are_classes : bool
        Whether numbers are classes even if they look like a quantity.
    """
    known, notes = _known(column, name)
    if not known.any():
        raise TableError(f"Column {quote(name)} is empty: it should hold the classes of the rows.")
    cells = as_written(column)[known]
    if not are_classes:
        _check_not_a_quantity(cells, name)
    y = _labels(cells)
    _check_classes(y, name)
    return ClassColumn(y, known, [*notes, *_notes(y, name)])


def _known(column: pd.Series, name: str) -> tuple[Flags, list[str]]:
    """Return which rows have a class, and what words for missing values are taken for."""
    filled: Flags = column.notna().to_numpy()
    words = is_word(column)
    marks = words & (column.astype(str).str.strip() == "?").to_numpy()  # which is never a class
    words = words & ~marks
    if not words.any():
        return filled & ~marks, []
    shown, n_rows = listed(column[words].str.strip().unique()), int(words.sum())
    if (filled & ~marks).all():
        return filled, [
            f"{shown} in column {quote(name)} is a class, of {n_rows} rows, because no cell is empty: if it "
            "means that the class is unknown, empty these cells."
        ]
    return filled & ~marks & ~words, [
        f"{shown} in column {quote(name)} is taken for an empty cell, in {n_rows} rows: if it is a class, "
        "put it in quotation marks."
    ]


def _labels(cells: pd.Series) -> NDArray[Any]:
    if pd.api.types.is_numeric_dtype(cells):
        values = cells.to_numpy(dtype=np.float64)
        if np.all(values == np.round(values)) and np.all(np.abs(values) < 2**53):
            return values.astype(np.int64)
        return np.array([f"{value:.17g}" for value in values], dtype=str)
    texts = cells.astype(str).str.strip()
    if texts.str.fullmatch(WHOLE).all():
        return texts.astype(np.int64).to_numpy()
    return texts.to_numpy(dtype=str)


def _check_not_a_quantity(cells: pd.Series, name: str) -> None:
    """Ask what numbers are that are no few whole ones. Codes that begin with a zero are classes."""
    written = find_format(cells)
    if written is None or _begin_with_zero(cells):
        return
    values = parse_numbers(cells, written)
    assert values is not None  # they are so written
    distinct, counts = np.unique(
        values[~np.isnan(values)], return_counts=True
    )  # words such as nan are classes
    if np.any(distinct != np.round(distinct)):
        what, is_sure = f"numbers such as {distinct[distinct != np.round(distinct)][0]:g}", True
    elif len(distinct) > MANY_CLASSES:
        what = f"{len(distinct)} different whole numbers from {distinct[0]:g} to {distinct[-1]:g}"
        n_rare = int(np.sum(counts < FEWEST_ROWS))
        is_sure = len(distinct) > MOST_CLASSES or n_rare > len(distinct) / 2
    else:
        return
    raise QuantityError(f"Column {quote(name)} holds {what}, like a quantity", is_sure=is_sure)


def _begin_with_zero(cells: pd.Series) -> bool:
    return not pd.api.types.is_numeric_dtype(cells) and bool(
        cells.astype(str).str.fullmatch(r"\s*0\d+\s*").any()
    )


def _check_classes(y: NDArray[Any], name: str) -> None:
    classes, counts = np.unique(y, return_counts=True)
    rare = classes[counts < FEWEST_ROWS]
    if len(classes) == 1:
        raise TableError(
            f"Column {quote(name)} holds only one class, {quote(classes[0])}: at least two are needed."
        )
    if len(rare) > len(classes) / 2:
        raise TableError(
            f"Column {quote(name)} holds {len(classes)} classes in {len(y)} rows: name a column in which "
            "classes repeat (if it should hold numbers, --task number says which cells are none)."
        )
    if len(rare):
        raise TableError(
            f"Too few rows of some classes in column {quote(name)}, one each of {listed(rare)}: add rows, "
            "correct the class, or empty the cell (the row is then unlabelled)."
        )


def _notes(y: NDArray[Any], name: str) -> list[str]:
    classes = np.unique(y)
    if y.dtype.kind == "i":
        if len(classes) < 3:
            return []
        return [
            f"The numbers {classes[0]} to {classes[-1]} in column {quote(name)} are classes, in no order "
            "(--task number: they are numbers)."
        ]
    alike: dict[object, list[str]] = {}
    for label in map(str, classes):
        alike.setdefault(_meaning(label), []).append(label)
    return [
        f"{listed(same)} in column {quote(name)} are different classes: unify the spelling if they are the "
        "same."
        for same in alike.values()
        if len(same) > 1
    ]


def _meaning(label: str) -> object:
    """Return what labels have in common that a person may have written differently."""
    try:
        return float(label)
    except ValueError:
        return " ".join(label.casefold().split())
