"""What the cells of a column are compared by: a list of kernels, chosen by what the column holds."""

from typing import NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mercer._typing import Array, Flags
from mercer.matching.cells import (
    are_known,
    date_cells,
    for_reading,
    mostly_digits,
    number_cells,
    plain_texts,
    spread_of,
    text_codes,
)
from mercer.matching.edits import as_letters
from mercer.matching.terms import Terms
from mercer.matching.views import Codes, Values, Vectors, View
from mercer.preprocessing import TableError
from mercer.preprocessing.dates import Dates, find_dates
from mercer.preprocessing.errors import quote
from mercer.preprocessing.kinds import read_dates, read_numbers
from mercer.preprocessing.numbers import NumberFormat, find_format, parse_numbers

N_SCALES = 4
SPELLED_FROM = 1000  # whole numbers with four digits or more may have typing errors in them
SHORT = 24  # letters, in most cells: then the edit distance is computed too


class PreparedColumn(NamedTuple):
    """A column of a table, ready to be compared with another."""

    known: Flags
    views: list[View]
    letters: NDArray[np.int32] | None  # for the edit distance, which is no kernel


class Ordered(NamedTuple):
    """Numbers and dates, by their difference on several scales; whole numbers also by their digits."""

    name: str
    written: NumberFormat | str  # a format of dates is a text
    scales: Array
    spelling: "Spelled | None"

    @property
    def kernels(self) -> list[str]:
        """Return what the kernels are, in words."""
        near = [f"within {scale:.3g}" for scale in self.scales / (86400.0 if self.is_date else 1.0)]
        days = [f"{words} days" if self.is_date else words for words in near]
        return [*days, *([] if self.spelling is None else self.spelling.kernels)]

    @property
    def is_date(self) -> bool:
        """Whether the column holds dates."""
        return isinstance(self.written, str)

    @property
    def has_edits(self) -> bool:
        """Whether the edit distance is compared too."""
        return self.spelling is not None and self.spelling.has_edits

    def prepare(self, column: pd.Series, what: str) -> PreparedColumn:
        """Return the column of a table, or raise TableError if cells cannot be read."""
        values = self._read(column, what)
        views: list[View] = [Values(values, float(scale)) for scale in self.scales]
        if self.spelling is None:
            return PreparedColumn(np.isfinite(values), views, None)
        spelled = self.spelling.prepare(_digits(values), what)
        return PreparedColumn(np.isfinite(values), [*views, *spelled.views], spelled.letters)

    def _read(self, column: pd.Series, what: str) -> Array:
        cells, written = for_reading(column), self.written
        if cells.isna().all():
            return np.full(len(cells), np.nan)
        if isinstance(written, str):
            cells = date_cells(cells)
            values = None if cells is None else read_dates(cells, written)
        else:
            cells = number_cells(cells)
            values = None if cells is None else read_numbers(cells, written)
        if values is None:
            kind = "dates" if self.is_date else "numbers"
            raise TableError(
                f"Column {quote(self.name)} of {what} should hold {kind}, as when the model was learned, but "
                f"has cells such as {quote(column.dropna().iloc[0])}: correct them, or leave them empty."
            )
        return values


class Spelled(NamedTuple):
    """Names, codes and texts, by equality, by groups of letters and by words."""

    name: str
    terms: list[Terms]
    has_edits: bool

    @property
    def kernels(self) -> list[str]:
        """Return what the kernels are, in words."""
        return ["equal", *(one.what for one in self.terms)]

    def prepare(self, column: pd.Series, what: str) -> PreparedColumn:
        """Return the column of a table."""
        texts = plain_texts(column)
        known = are_known(texts)
        vectors = [Vectors(one.transform(_joined(texts, one.what))) for one in self.terms]
        views: list[View] = [Codes(text_codes(texts), known), *vectors]
        return PreparedColumn(known, views, as_letters(texts) if self.has_edits else None)

    @classmethod
    def of(cls, column: pd.Series, name: str) -> Self:
        """Weigh letters and words, by how many cells have them."""
        texts = plain_texts(column)
        texts = texts[are_known(texts)]
        letters = "digits" if mostly_digits(texts) else "letters"
        several_words = np.mean([" " in text for text in texts]) > 0.1
        kinds = [letters, *(["words"] if several_words and letters == "letters" else [])]
        short = bool(np.mean([len(text) <= SHORT for text in texts]) > 0.5)
        return cls(name, [Terms.of(_joined(texts, kind), kind) for kind in kinds], short)


ComparedColumn = Ordered | Spelled


def choose_column(name: str, sides: list[pd.Series]) -> ComparedColumn | None:
    """Find out how a column is compared, given its cells in each table; None if it holds nothing.

    Numbers and dates have to be that in each table, though they may be written in different ways.
    """
    cells = [for_reading(side) for side in sides]
    known = [side for side in cells if side.notna().any()]
    if not known or pd.concat(known).nunique() < 2:
        return None
    for read in (_parse_numbers, _parse_dates):
        found = [one for one in map(read, known) if one is not None]
        if len(found) == len(known):
            return _ordered(name, found[0].written, np.concatenate([one.values for one in found]))
    return Spelled.of(pd.concat(sides, ignore_index=True), name)


class Numbers(NamedTuple):
    """The numbers of a column, and how they are written."""

    values: Array
    written: NumberFormat


def _parse_numbers(column: pd.Series) -> Numbers | Dates | None:
    """Return the numbers of a column; None if many cells are none, or are codes that begin with zeros."""
    if not pd.api.types.is_numeric_dtype(column) and column.str.fullmatch(r"0\d+").any():
        return None
    cells = number_cells(column)
    written = None if cells is None else find_format(cells)
    values = None if cells is None or written is None else parse_numbers(cells, written)
    return None if values is None or written is None else Numbers(values, written)


def _parse_dates(column: pd.Series) -> Numbers | Dates | None:
    """Return the dates of a column; None if many cells are none."""
    cells = date_cells(column)
    return None if cells is None else find_dates(cells)


def _ordered(name: str, written: NumberFormat | str, values: Array) -> Ordered:
    least, wide = spread_of(values)
    scales = np.geomspace(least / 2, max(wide, least), N_SCALES)
    known = values[np.isfinite(values)]
    whole = not isinstance(written, str) and np.all(known == np.round(known))
    if whole and np.abs(known).max() >= SPELLED_FROM:
        return Ordered(name, written, scales, Spelled.of(_digits(values), name))
    return Ordered(name, written, scales, None)


def _digits(values: Array) -> pd.Series:
    return pd.Series([f"{value:.0f}" if np.isfinite(value) else np.nan for value in values], dtype=object)


def _joined(texts: NDArray[np.object_], what: str) -> NDArray[np.object_]:
    return np.array([text.replace(" ", "") for text in texts], dtype=object) if what == "digits" else texts
