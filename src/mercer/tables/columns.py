"""Which columns are numeric, which are categorical, and which carry no information."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mercer.tables.errors import TableError, quote

LARGEST = 1e100  # squares of squares of it are still finite
FEW_VALUES = 20  # up to this many distinct values may be codes, even if they look like numbers
MANY_VALUES = 50  # the maximum number of one-hot columns per categorical column


class Columns(NamedTuple):
    """What becomes of the columns of a table."""

    numbers: list[str]
    categories: list[str]
    dropped: dict[str, str]  # and why

    @property
    def used(self) -> list[str]:
        """Return the columns that a model needs."""
        return [*self.numbers, *self.categories]


def choose_columns(table: pd.DataFrame, leave_out: Collection[str] = ()) -> Columns:
    """Find the numeric and the categorical columns, and drop those that carry no information.

    Numbers are columns all of whose cells are numbers. Columns with a single value, columns that count the
    rows, and texts that differ in (nearly) every row are dropped. Classes are not used.

    Parameters
    ----------
    table : DataFrame
        As `read_table` gives it.
    leave_out : collection of str
        Columns that are something else: classes, ids.
    """
    found = Columns([], [], {})
    for name, column in table.items():
        if name in leave_out:
            continue
        numbers = as_numbers(column)
        if numbers is None:
            _check_not_mixed(column, str(name))
        reason = _why_useless(column, numbers)
        if reason:
            found.dropped[str(name)] = reason
        elif numbers is not None:
            check_size(numbers, str(name))
            found.numbers.append(str(name))
        else:
            found.categories.append(str(name))
    return found


def as_numbers(column: pd.Series) -> NDArray[np.float64] | None:
    """Return a column as numbers, NaN where a cell is empty; None if a cell is something else."""
    values: NDArray[np.float64] = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    return None if (np.isnan(values) & column.notna().to_numpy()).any() else values


def check_size(numbers: NDArray[np.float64], name: str) -> None:
    """Raise TableError if a number is infinite, or so large that its powers are."""
    wrong = np.flatnonzero(np.abs(numbers) > LARGEST)
    if len(wrong):
        raise TableError(
            f"Column {quote(name)} holds {numbers[wrong[0]]:g} in row {wrong[0]}: correct it, or leave the "
            "cell empty."
        )


def _why_useless(column: pd.Series, numbers: NDArray[np.float64] | None) -> str:
    n_rows, n_known, n_values = len(column), column.count(), column.nunique()
    if n_known == 0:
        return "it is empty"
    if numbers is not None:
        if np.nanmin(numbers) == np.nanmax(numbers):  # what is missing becomes the same number
            return "it has a single value"
        return "it counts the rows" if _counts_rows(numbers) else ""
    if n_values == 1 and n_known == n_rows:
        return "it has a single value"
    if n_values == n_known and n_known > 2:
        return "each row has its own text, like a name or an id"
    if n_values > max(MANY_VALUES, n_known / 2):
        return "nearly every row has its own text, like a name or an id"
    return ""


def _counts_rows(numbers: NDArray[np.float64]) -> bool:
    return len(numbers) > 2 and bool(np.all(np.diff(numbers) == 1.0))


def _check_not_mixed(column: pd.Series, name: str) -> None:
    """Reject a column of numbers with a few words in it; codes such as 1, 2, A are categories."""
    cells = column.dropna()
    is_text = pd.to_numeric(cells, errors="coerce").isna()
    if is_text.mean() < 0.5 and cells[~is_text].nunique() > FEW_VALUES:
        row = is_text.idxmax()
        raise TableError(
            f"Column {quote(name)} mixes numbers with text, such as {quote(cells[row])} in row {row}: write "
            "a number there, empty the cell, or leave the column out."
        )
