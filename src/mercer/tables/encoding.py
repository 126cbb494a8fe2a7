"""Columns encoded as numbers, by a transformer that becomes part of the saved pipeline."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from mercer.limits import check_memory
from mercer.tables.columns import MANY_VALUES, Columns, as_numbers, check_size
from mercer.tables.errors import TableError, listed, quote

COPIES = 4  # of the table as numbers: whole, scaled, one fold, and what a candidate makes of it


def make_encoder(columns: Columns) -> ColumnTransformer:
    """Return a transformer from a prepared table to numbers, not yet fitted.

    Missing numbers are replaced by the median. Categories are one-hot encoded, with a category of its own for
    empty cells; of more than fifty the rare ones share a column. Classes are not used.
    """
    one_hot = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MANY_VALUES, sparse_output=False
    )
    parts = [
        ("numbers", SimpleImputer(strategy="median"), columns.numbers),
        ("categories", one_hot, columns.categories),
    ]
    return ColumnTransformer([part for part in parts if part[2]], verbose_feature_names_out=False)


def columns_of(encoder: ColumnTransformer) -> Columns:
    """Return the columns that an encoder was made for."""
    parts = {name: [str(column) for column in columns] for name, _, columns in encoder.transformers}
    return Columns(parts.get("numbers", []), parts.get("categories", []), {})


def prepare(table: pd.DataFrame, columns: Columns, source: object) -> pd.DataFrame:
    """Return the columns that are used, numbers as floats and categories as texts, or raise TableError.

    Parameters
    ----------
    table : DataFrame
        As `read_table` gives it.
    columns : Columns
        What the columns should be.
    source : object
        Where the table comes from, for error messages.
    """
    missing = [name for name in columns.used if name not in table.columns]
    if missing:
        one = len(missing) == 1
        raise TableError(
            f"{source} lacks the column{'' if one else 's'} {listed(missing)}, which the model needs: add "
            f"{'it' if one else 'them'} (cells may be empty)."
        )
    numbers = {name: _numbers(table[name], name, source) for name in columns.numbers}
    texts = {name: _texts(table[name]) for name in columns.categories}
    width = len(numbers) + sum(min(column.nunique() + 1, MANY_VALUES) for column in texts.values())
    check_memory(COPIES * 8 * len(table) * width, f"{source} as numbers", "Take fewer rows.")
    return pd.DataFrame({**numbers, **texts}, index=table.index)


def check_no_others(table: pd.DataFrame, columns: Columns, others: set[str], source: object) -> None:
    """Raise TableError for columns that the model does not know."""
    unknown = [name for name in table.columns if name not in {*columns.used, *columns.dropped, *others}]
    if unknown:
        one = len(unknown) == 1
        raise TableError(
            f"{source} has {'a column' if one else 'columns'} that the model does not know, {listed(unknown)}"
            f": drop {'it' if one else 'them'}, or rename {'it' if one else 'them'} as in training."
        )


def _numbers(column: pd.Series, name: str, source: object) -> NDArray[np.float64]:
    values = as_numbers(column)
    if values is None:
        cells = column.dropna()
        row = pd.to_numeric(cells, errors="coerce").isna().idxmax()
        raise TableError(
            f"Column {quote(name)} of {source} should hold numbers but has {quote(cells[row])} in row {row}: "
            "write a number there, or leave the cell empty."
        )
    check_size(values, name)
    return values


def _texts(column: pd.Series) -> pd.Series:
    """Return categories as texts. Parquet's numbers are written as CSV has them: 3 for 3.0."""
    if pd.api.types.is_numeric_dtype(column):
        column = column.map(lambda value: f"{value:.17g}", na_action="ignore")
    return column.astype(object).where(column.notna(), np.nan)
