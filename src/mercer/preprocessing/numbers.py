"""Numbers as people write them: 1,234.5 and 1.234,5, (12) for −12, $ 12, EUR 12, 5 %, 3.5 kg."""

import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from mercer._typing import Array
from mercer.preprocessing.missing import as_written, is_missing

CURRENCY = "$€£¥₹"
MONEY = r"USD|EUR|GBP|JPY|CHF|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR|KRW|TRY|Rs\.?|Fr\.?"
ZEROS = (0x660, 0x6F0, 0x966, 0x9E6, 0xFF10)  # of Arabic, Persian, Devanagari, Bengali and wide digits
PLAINLY = {ord("\N{MINUS SIGN}"): "-", 0x200B: None, 0xFEFF: None}  # and spaces of no width
PLAINLY |= {zero + k: str(k) for zero in ZEROS for k in range(10)}
NEGATIVE = r"^\s*(?:\((?P<inner>[^()-]*\d[^()-]*)\)|(?P<left>[^-]*\d)\s*-)\s*$"  # (12) and 12-
CELL = (
    rf"^\s*(?P<sign>[-+]?)\s*(?P<before>[{CURRENCY}]|(?:{MONEY})(?=\s|\d)|)\s*"
    r"(?P<number>[-+]?(?:\d[\d.,'’\s]*?|[.,]\d+)(?:[eE][-+]?\d+)?)"
    rf"\s*(?P<after>[%‰{CURRENCY}]|°?[A-Za-zµ]{{1,5}}[²³]?|)\s*$"
)
THOUSANDS = {",": ",", ".": r"\.", "'": "['’]", " ": r"\s"}
STYLES = (  # decimal mark and thousands separator, the likelier first
    (".", ""),
    (".", ","),
    (",", ""),
    (",", "."),
    (".", "'"),
    (".", " "),
    (",", " "),
    (",", "'"),
)


class NumberFormat(NamedTuple):
    """How the numbers of a column are written."""

    decimal: str = "."
    thousands: str = ""
    before: str = ""  # a currency
    after: str = ""  # a currency, a percent sign or a unit

    def __str__(self) -> str:
        separated = f"1{self.thousands}234" if self.thousands else "1234"
        return f"{self.before}{separated}{self.decimal}5{self.after and ' '}{self.after}"


PLAIN = NumberFormat()


def parse_numbers(column: pd.Series, written: NumberFormat = PLAIN) -> Array | None:
    """Return a column as numbers, NaN where a value is missing; None if a cell is not so written.

    Parameters
    ----------
    column : Series
        Texts or numbers.
    written : NumberFormat
        How its numbers are written. Numbers that Python itself reads are taken only if that is the format.
    """
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if written == PLAIN:  # most cells are such numbers: only the others are looked at
        values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, copy=True)
        others = np.isnan(values) & column.notna().to_numpy()
        if others.any() and not others.all():
            rest = parse_numbers(column[others])
            if rest is None:
                return None
            values[others] = rest
        if not others.all():
            return values
    gaps = is_missing(column, among_numbers=True)
    cells = _plainly(as_written(column)[~gaps])
    if written != PLAIN:
        cells = _as_python_writes(cells, written)
    values = np.full(len(column), np.nan)
    values[~gaps] = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64)
    return None if np.isnan(values[~gaps]).any() else values


def find_format(column: pd.Series, *, commas_first: bool = False) -> NumberFormat | None:
    """Return how the numbers of a column are written; None if some cells are no numbers.

    Parameters
    ----------
    column : Series
        Texts or numbers.
    commas_first : bool
        Whether 1,234 is rather 1.234 than 1234, as in files whose cells are separated by semicolons.
    """
    if parse_numbers(column) is not None:
        return PLAIN
    cells = _distinct(column)
    parts = cells.str.extract(CELL).fillna("")
    found = [tuple(pair) for pair in parts[["before", "after"]].drop_duplicates().to_numpy()]
    if len(found) != 1 or (parts["number"] == "").any():
        return None
    for decimal, thousands in _styles(commas_first=commas_first):
        if parts["number"].str.fullmatch(_number(decimal, thousands)).all():
            return NumberFormat(decimal, thousands, *found[0])
    return None


def are_numbers(column: pd.Series) -> bool:
    """Return whether each cell is a number, perhaps with a unit, if not all are written alike."""
    return bool(_distinct(column).str.fullmatch(CELL).all())


def is_ambiguous(column: pd.Series, written: NumberFormat) -> bool:
    """Return whether commas may be decimal marks or separate thousands: each has three digits after it."""
    other = {(".", ","): (",", ""), (",", ""): (".", ",")}.get((written.decimal, written.thousands))
    if other is None:
        return False
    rival = written._replace(decimal=other[0], thousands=other[1])
    return parse_numbers(column, rival) is not None


def _distinct(column: pd.Series) -> pd.Series:
    """Return the different cells of a column that are not missing."""
    cells = as_written(column)[~is_missing(column, among_numbers=True)]
    return _plainly(pd.Series(cells.unique(), dtype=object))


def _plainly(cells: pd.Series) -> pd.Series:
    """Return numbers with the digits and the minus signs that Python reads."""
    texts = cells.astype(str).str.translate(PLAINLY)
    return texts.str.replace(NEGATIVE, lambda found: f"-{found['inner'] or found['left']}", regex=True)


def _styles(*, commas_first: bool) -> tuple[tuple[str, str], ...]:
    if not commas_first:
        return STYLES
    return (STYLES[0], *sorted(STYLES[1:], key=lambda style: style[0] == "."))


def _number(decimal: str, thousands: str) -> str:
    """Return what a number looks like: groups of three digits, if there is a separator."""
    mark = re.escape(decimal)
    exponent = r"(?:[eE][-+]?\d+)?"
    if not thousands:
        return rf"[-+]?(?:\d+(?:{mark}\d*)?|{mark}\d+){exponent}"
    separator = THOUSANDS[thousands]
    groups = rf"[1-9]\d{{0,2}}(?:{separator}\d{{3}})+"
    if thousands == ",":  # in India, 12,34,567
        groups += r"|[1-9]\d?(?:,\d\d)+,\d{3}"
    return rf"[-+]?(?:{groups}|\d+)(?:{mark}\d*)?{exponent}"


def _as_python_writes(cells: pd.Series, written: NumberFormat) -> pd.Series:
    """Return numbers as Python reads them, and an empty text for what is not so written."""
    parts = cells.str.extract(CELL).fillna("")
    is_so = (
        (parts["before"] == written.before)
        & (parts["after"] == written.after)
        & parts["number"].str.fullmatch(_number(written.decimal, written.thousands))
    )
    numbers = parts["number"]
    if written.thousands:
        numbers = numbers.str.replace(THOUSANDS[written.thousands], "", regex=True)
    numbers = parts["sign"] + numbers.str.replace(written.decimal, ".", regex=False)
    return numbers.where(is_so, "")
