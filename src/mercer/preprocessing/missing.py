"""Which cells are missing: empty ones, and words such as NA, unless they are in quotation marks."""

import numpy as np
import pandas as pd

from mercer._typing import Flags

QUOTED = "\ufdd0"  # before a word of `WORDS` that was in quotation marks: no text has this character
SPELLINGS = {"na", "nan", "n/a", "#n/a", "#na", "<na>", "null", "none", r"\n"}
WORDS = frozenset(SPELLINGS | {"?", "-nan", "-1.#ind", "-1.#qnan", "1.#ind", "1.#qnan"})  # in small letters
SIGNS = {"-", "--", ".", "n.a.", "n.a", "nd", "n/d", "missing", "unknown", "0000-00-00"}
MARKS = frozenset(SIGNS | {"#div/0!", "#value!", "#ref!"})  # besides, among numbers and dates


def is_word(column: pd.Series) -> Flags:
    """Return where a cell is a word for a missing value."""
    return _is_one_of(column, WORDS)


def is_missing(column: pd.Series, *, among_numbers: bool = False) -> Flags:
    """Return where a cell is empty or a word for a missing value; in quotation marks only among numbers.

    Parameters
    ----------
    column : Series
        Texts, as `read_table` gives them, or numbers.
    among_numbers : bool
        Whether all other cells are numbers or dates: then a dash, for one, is a missing value too.
    """
    empty: Flags = column.isna().to_numpy(copy=True)
    if pd.api.types.is_numeric_dtype(column):
        return empty
    if not among_numbers:
        return empty | is_word(column)
    others = pd.to_numeric(column, errors="coerce").isna().to_numpy() & ~empty  # the rest are numbers
    if others.any():
        empty[others] = _is_one_of(as_written(column[others]), WORDS | MARKS)
    return empty


def known_texts(column: pd.Series) -> pd.Series:
    """Return texts as they are written, without spaces around them; NaN where they are missing."""
    texts = as_written(column)
    return texts.str.strip().astype(object).where(~is_missing(column), np.nan)


def as_written(column: pd.Series) -> pd.Series:
    """Return the cells as they are in the file, quotation marks aside."""
    if pd.api.types.is_numeric_dtype(column):
        return column
    return column.str.removeprefix(QUOTED).astype(object)


def _is_one_of(column: pd.Series, words: frozenset[str]) -> Flags:
    # few values are words: to look at each value once is ten times as fast
    values = column.dropna().unique()
    found = [value for value in values if isinstance(value, str) and value.strip().lower() in words]
    flags: Flags = column.isin(found).to_numpy(dtype=bool)
    return flags
