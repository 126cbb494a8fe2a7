"""What a column is: a value that turns the cells of a table into features, and is saved with a model."""

from bisect import bisect_left
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer

from mercer._typing import Array
from mercer.preprocessing.dates import date_parts, find_dates, parse_dates
from mercer.preprocessing.errors import TableError, quote
from mercer.preprocessing.missing import known_texts
from mercer.preprocessing.numbers import NumberFormat, find_format, parse_numbers

LARGEST = 1e100  # squares of squares of it are still finite
WORD = r"(?u)\b[^\W\d_]{2,40}\b"  # two letters or more
NAMED_TERMS = 3  # in the name of a feature made of text


class NumberColumn(NamedTuple):
    """Numbers: as they are; missing ones are replaced by the median."""

    name: str
    written: NumberFormat
    median: float
    marks_gaps: bool  # whether a second feature says which are missing

    def feature_names(self) -> list[str]:
        """Return the names of the features."""
        return [self.name, *([f"{self.name} is missing"] if self.marks_gaps else [])]

    def encode(self, column: pd.Series, source: object) -> Array:
        """Return the features of a column of a table, or raise TableError."""
        values = _read(column, lambda cells: read_numbers(cells, self.written), "number", self.name, source)
        check_size(values, self.name)
        gaps = np.isnan(values)
        filled = np.where(gaps, self.median, values)
        return np.column_stack([filled, gaps] if self.marks_gaps else [filled])


class DateColumn(NamedTuple):
    """Dates: year, month, day of the year, weekday, days since the first, hour, as far as these vary."""

    name: str
    written: str
    first: float  # in seconds since 1970
    parts: tuple[str, ...]
    medians: Array

    def feature_names(self) -> list[str]:
        """Return the names of the features."""
        return [f"{self.name}: {part}" for part in self.parts]

    def encode(self, column: pd.Series, source: object) -> Array:
        """Return the features of a column of a table, or raise TableError."""
        seconds = _read(column, lambda cells: read_dates(cells, self.written), "date", self.name, source)
        every = date_parts(seconds, self.first)
        values = np.column_stack([every[part] for part in self.parts])
        return np.where(np.isnan(values), self.medians, values)


class CategoryColumn(NamedTuple):
    """Categories: a feature for each, and for those that are missing or rare if training had such."""

    name: str
    values: list[str]
    has_gaps: bool
    has_rare: bool

    def feature_names(self) -> list[str]:
        """Return the names of the features."""
        more = [word for word, is_there in (("missing", self.has_gaps), ("other", self.has_rare)) if is_there]
        return [f"{self.name}: {value}" for value in [*self.values, *more]]

    def encode(self, column: pd.Series, source: object) -> Array:
        """Return the features of a column of a table. What is new is rare, or else has a one nowhere."""
        texts = category_texts(column)
        n = len(self.values)
        place = pd.Index(self.values, dtype=object).get_indexer(texts)
        place[place < 0] = n + self.has_gaps
        if self.has_gaps:
            place[texts.isna().to_numpy()] = n
        wide = np.zeros((len(column), n + 2))
        wide[np.arange(len(column)), place] = 1.0
        return wide[:, : n + self.has_gaps + self.has_rare]


class TextColumn(NamedTuple):
    """Free text: how often it has which words (TF-IDF), projected to a few directions."""

    name: str
    terms: NDArray[np.str_]
    idf: Array
    components: Array  # one row per feature, one column per term

    def feature_names(self) -> list[str]:
        """Return the names of the features: the words that count most."""
        leading = np.argsort(-np.abs(self.components), axis=1)[:, :NAMED_TERMS]
        return [f"{self.name} {k} ({', '.join(self.terms[row])})" for k, row in enumerate(leading, start=1)]

    def encode(self, column: pd.Series, source: object) -> Array:
        """Return the features of a column of a table. Words that training did not have count nothing."""
        vectorizer = text_vectorizer(vocabulary=[str(term) for term in self.terms])
        vectorizer.idf_ = self.idf
        features: Array = vectorizer.transform(known_texts(column).fillna("")) @ self.components.T
        return features


Kind = NumberColumn | DateColumn | CategoryColumn | TextColumn


def text_vectorizer(**options: object) -> TfidfVectorizer:
    """Return what counts words: any language's, without numbers."""
    return TfidfVectorizer(token_pattern=WORD, sublinear_tf=True, **options)


def read_numbers(column: pd.Series, written: NumberFormat) -> Array | None:
    """Return numbers that are written as in training, or else in another way; None if some are none."""
    values = parse_numbers(column, written)
    if values is not None:
        return values
    found = find_format(column)
    return None if found is None else parse_numbers(column, found)


def read_dates(column: pd.Series, written: str) -> Array | None:
    """Return dates that are written as in training, or else in another way; None if some are none."""
    seconds = parse_dates(column, written)
    if seconds is not None:
        return seconds
    found = find_dates(column)
    return None if found is None else found.values


def first_wrong(column: pd.Series, read: Callable[[pd.Series], Any]) -> int:
    """Return the row of the first cell that cannot be read with those before it."""
    return bisect_left(range(1, len(column)), True, key=lambda n: read(column.iloc[:n]) is None)


def _read(
    column: pd.Series, read: Callable[[pd.Series], Array | None], what: str, name: str, source: object
) -> Array:
    values = read(column)
    if values is None:
        row = first_wrong(column, read)
        raise TableError(
            f"Column {quote(name)} of {source} should hold {what}s but has {quote(column.iloc[row])} in row "
            f"{row}: write a {what} there, or leave the cell empty."
        )
    return values


def category_texts(column: pd.Series) -> pd.Series:
    """Return categories as texts, NaN where missing. Stored numbers are written as in CSV: 3 for 3.0."""
    if pd.api.types.is_numeric_dtype(column):
        column = column.map(lambda value: f"{value:.17g}", na_action="ignore")
    return known_texts(column.astype(object))


def check_size(numbers: Array, name: str) -> None:
    """Raise TableError if a number is infinite, or so large that its powers are."""
    wrong = np.flatnonzero(np.abs(numbers) > LARGEST)
    if len(wrong):
        raise TableError(
            f"Column {quote(name)} holds {numbers[wrong[0]]:g} in row {wrong[0]}: correct it, or leave the "
            "cell empty."
        )
