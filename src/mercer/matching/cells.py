"""Cells of two tables as they can be compared: texts in one spelling, numbers, dates, and which are known."""

import unicodedata
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mercer._typing import Array, Flags
from mercer.preprocessing import TableError
from mercer.preprocessing.dates import FIRST_CELLS, FORMATS, ISO, ISO_CELL
from mercer.preprocessing.encoder import as_table
from mercer.preprocessing.errors import listed
from mercer.preprocessing.kinds import category_texts
from mercer.preprocessing.missing import MARKS, known_texts
from mercer.preprocessing.numbers import CELL

Texts = NDArray[Any]  # of Python's str, empty where a cell is missing
STRAYS = 0.1  # of the numbers or dates of a column may be something else: "album only" as a price
MANY_TEXTS, SHARE_OF_TEXTS = 50, 0.2  # different cells of a column of names, at least, and their share
MOSTLY = 0.5  # of the cells of a column of names have letters
BEFORE_A_MARK = r"\s+(?=[,.%])"  # May 18 , 2015


def read_columns(X: Any, names: list[str] | None, what: str) -> pd.DataFrame:
    """Return the columns of a table that are compared, by name; raise TableError if one is not there."""
    table = as_table(X)
    if names is None:
        return table
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise TableError(
            f"{what} lacks {listed(missing)}, by which records are compared: add what is missing."
        )
    return table[names]


def plain_texts(column: pd.Series) -> Texts:
    """Return texts in small letters without accents and marks, one space between words; "" where missing."""
    texts = known_texts(category_texts(column)).fillna("").astype(str)
    codes, values = pd.factorize(texts)
    return np.array([_plain(value) for value in values], dtype=object)[codes]


def for_reading(column: pd.Series) -> pd.Series:
    """Return a column as numbers and dates are read from: without spaces before a comma."""
    if pd.api.types.is_numeric_dtype(column):
        return column
    texts = known_texts(category_texts(column))
    texts = texts.str.replace(BEFORE_A_MARK, "", regex=True)
    return texts.where(~texts.str.lower().isin(MARKS), np.nan).astype(object)


def number_cells(column: pd.Series) -> pd.Series | None:
    """Return a column without the few cells that are no numbers; None if they are many."""
    if pd.api.types.is_numeric_dtype(column):
        return column
    return _without_strays(column, column.astype(str).str.fullmatch(CELL))


def date_cells(column: pd.Series) -> pd.Series | None:
    """Return a column without the few cells that are no dates as most are; None if they are many."""
    if pd.api.types.is_numeric_dtype(column) or column.dropna().str.contains(r"\d").mean() < 1.0 - STRAYS:
        return None
    first = column.dropna()[:FIRST_CELLS]
    written = max(FORMATS, key=lambda one: _are_dates(first, one).sum())
    return _without_strays(column, _are_dates(column, written))


def _are_dates(column: pd.Series, written: str) -> pd.Series:
    if written == ISO:
        return column.astype(str).str.fullmatch(ISO_CELL)
    return pd.to_datetime(column, format=written, errors="coerce", utc=True).notna()


def _without_strays(column: pd.Series, fits: pd.Series) -> pd.Series | None:
    return column.where(fits) if fits[column.notna()].mean() >= 1.0 - STRAYS else None


def record_keys(table: pd.DataFrame) -> NDArray[np.uint64]:
    """Return a number for each record, the same for the same cells."""
    texts = pd.DataFrame({name: category_texts(column).fillna("") for name, column in table.items()})
    return np.asarray(pd.util.hash_pandas_object(texts, index=False), dtype=np.uint64)


def text_codes(texts: Texts) -> NDArray[np.uint64]:
    """Return a number for each text, the same for equal ones in any table."""
    return np.asarray(pd.util.hash_array(texts.astype(object), categorize=True), dtype=np.uint64)


def are_known(texts: Texts) -> Flags:
    """Return which texts are not empty."""
    return np.array([text != "" for text in texts], dtype=bool)


def mostly_digits(texts: Texts) -> bool:
    """Return whether the texts are numbers, such as those of telephones, whose spaces mean nothing."""
    joined = "".join(texts[:1000].tolist())
    return sum(letter.isdigit() for letter in joined) > 0.8 * max(1, len(joined.replace(" ", "")))


def have_names(column: pd.Series) -> bool:
    """Return whether a column holds names or texts: many of them differ, and not by their digits alone."""
    texts = known_texts(category_texts(column)).dropna().astype(str).str.replace(r"\d+", "", regex=True)
    n_different = texts.nunique()
    return bool(
        n_different > MANY_TEXTS
        and n_different > SHARE_OF_TEXTS * len(texts)
        and texts.str.contains(r"[^\W_]{2}").mean() > MOSTLY
    )


def spread_of(values: Array) -> tuple[float, float]:
    """Return the least and a typical large difference between known numbers, both positive."""
    known = np.unique(values[np.isfinite(values)])
    if len(known) < 2:
        return 1.0, 1.0
    steps = np.diff(known)
    every = values[np.isfinite(values)]
    wide = float(np.subtract(*np.percentile(every, [90, 10]))) or float(np.ptp(every))
    return float(min(np.median(steps), wide)), wide


def _plain(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    letters = "".join(
        letter if letter.isalnum() else " " for letter in decomposed if not unicodedata.combining(letter)
    )
    return " ".join(letters.split())
