"""The classes in the column of a table, and what makes a column one of classes."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mercer._typing import Flags
from mercer.tables.columns import as_numbers
from mercer.tables.errors import TableError, listed, quote

FEWEST_ROWS = 2  # of a class: one to learn from, one to test on
MANY_CLASSES = 20


class ClassColumn(NamedTuple):
    """The classes of the rows that have one."""

    y: NDArray[Any]  # texts, or whole numbers
    known: Flags  # for each row of the table


def find_labels(column: pd.Series, name: str) -> ClassColumn:
    """Return the classes in a column, or raise TableError if it holds none.

    Parameters
    ----------
    column : Series
        Texts or numbers; empty cells are rows without a class.
    name : str
        The name of the column, for error messages.
    """
    known = column.notna().to_numpy()
    if not known.any():
        raise TableError(f"Column {quote(name)} is empty: it should hold the classes of the rows.")
    numbers = as_numbers(column[known])
    if numbers is None:
        y: NDArray[Any] = column[known].str.strip().to_numpy(dtype=str)
    elif np.any(numbers != np.round(numbers)) or np.any(np.abs(numbers) > 2**53):
        raise _quantity(name)
    else:
        y = numbers.astype(np.int64)
    _check_classes(y, name, is_text=numbers is None)
    return ClassColumn(y, known)


def _check_classes(y: NDArray[Any], name: str, *, is_text: bool) -> None:
    classes, counts = np.unique(y, return_counts=True)
    rare = classes[counts < FEWEST_ROWS]
    if len(classes) == 1:
        raise TableError(
            f"Column {quote(name)} holds only one class, {quote(classes[0])}: at least two are needed."
        )
    if not is_text and len(rare) and len(classes) > MANY_CLASSES:
        raise _quantity(name)
    if len(rare) > len(classes) / 2:
        raise TableError(
            f"Column {quote(name)} holds {len(classes)} classes in {len(y)} rows: name a column in which "
            "classes repeat."
        )
    if len(rare):
        raise TableError(
            f"Too few rows of some classes in column {quote(name)}, one each of {listed(rare)}: add rows, "
            "correct the class, or empty the cell (the row is then unlabelled)."
        )


def _quantity(name: str) -> TableError:
    return TableError(
        f"Column {quote(name)} holds a quantity, not classes, and mercer learn is for classes: cut it into "
        "ranges such as low and high first, or name another column."
    )
