"""The target in the column of a table: classes, or numbers."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from mercer._typing import Array, Flags
from mercer.preprocessing.dates import find_dates
from mercer.preprocessing.errors import QuantityError, TableError, quote
from mercer.preprocessing.labels import ClassColumn, find_labels
from mercer.preprocessing.missing import as_written, is_missing
from mercer.preprocessing.numbers import find_format, is_ambiguous, parse_numbers

CLASS, NUMBER = "class", "number"  # what a target may be


class NumberTarget(NamedTuple):
    """The numbers of the rows that have one."""

    y: Array
    known: Flags  # for each row of the table
    notes: list[str]  # what was decided where the column can be read in two ways


def find_target(column: pd.Series, name: str, task: str | None = None) -> ClassColumn | NumberTarget:
    """Return the classes or the numbers in a column, or raise TableError if it holds neither.

    Texts are classes, and so are up to ten different whole numbers. Numbers with a fraction are numbers, and
    whole ones of which there are too many for classes. Whole numbers in between may be either, and only who
    wrote them knows: `QuantityError`.

    Parameters
    ----------
    column : Series
        As `read_table` gives it.
    name : str
        The name of the column, for error messages.
    task : "class", "number" or None
        What the column holds, if it is known.
    """
    if task == NUMBER:
        return find_numbers(column, name)
    try:
        return find_labels(column, name, are_classes=task == CLASS)
    except QuantityError as error:
        if not error.is_sure:
            raise
        found = find_numbers(column, name)
        return found._replace(notes=[f"{error.found}: the target is a number, not a class.", *found.notes])


def find_numbers(column: pd.Series, name: str) -> NumberTarget:
    """Return the numbers in a column, however they are written; empty cells are rows without one."""
    written = find_format(column)
    values = None if written is None else parse_numbers(column, written)
    if written is None or values is None:
        raise TableError(_no_number(column, name))
    known = ~np.isnan(values)
    y = values[known]
    if not len(y):
        raise TableError(f"Column {quote(name)} is empty: it should hold a number in each row.")
    if np.isinf(y).any():
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise TableError(f"Column {quote(name)} is infinite in row {row}: correct it, or empty the cell.")
    if y.min() == y.max():
        raise TableError(
            f"Column {quote(name)} is {y[0]:g} in every row, and there is nothing to predict: name another."
        )
    notes = []
    if is_ambiguous(column, written):
        notes.append(f"Numbers in column {quote(name)} are read as {written}.")
    if len(np.unique(y)) == 2:
        notes.append(
            f"The target has two values, {y.min():g} and {y.max():g}: if these are classes, use --task class."
        )
    return NumberTarget(y, known, notes)


def _no_number(column: pd.Series, name: str) -> str:
    """Say which cell is no number, and what to do."""
    if find_dates(column) is not None:
        return (
            f"Column {quote(name)} holds dates, and a target must be a number: write days since some date, "
            "or name another column."
        )
    cells = as_written(column)[~is_missing(column, among_numbers=True)]
    odd = next((k for k, cell in cells.items() if find_format(pd.Series([cell])) is None), None)
    if odd is None:
        return f"The numbers in column {quote(name)} are written in several ways: write them all alike."
    return (
        f"Column {quote(name)} holds {quote(cells[odd])} in row {odd}, which is no number: correct it, empty "
        "the cell (the row is then used without a target), or use --task class if these are classes."
    )
