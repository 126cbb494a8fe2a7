"""Dates and times as people write them, and the numbers that are made of them."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from mercer._typing import Array, Flags
from mercer.preprocessing.missing import as_written, is_missing

ISO = "ISO8601"  # as pandas calls 2024-01-31 and 2024-01-31T23:59:59Z
ISO_CELL = r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?(?:Z|UTC|GMT|[-+]\d{2}:?\d{2}))?)?"
DAYS = (
    "%Y/%m/%d", "%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y", "%d-%m-%Y",
    "%m-%d-%Y", "%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y",
    "%b %d %Y", "%a %b %d %Y", "%Y%m%d",
)  # fmt: skip
CLOCK = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p")
LETTERS = ("%a, %d %b %Y %H:%M:%S %z", "%a %b %d %H:%M:%S %Y")  # of e-mails, and of Unix
FORMATS = (ISO, *DAYS, *(f"{day} {clock}" for day in DAYS for clock in CLOCK), *CLOCK, *LETTERS)
DIGITS = "%Y%m%d"  # which may be a number too
YEARS = (1900, 2100)  # in which eight digits are a date
PARTS = ("year", "month", "day of the year", "weekday", "days", "hour")
FIRST_CELLS = 50  # on which formats are tried, before they are on all


class Dates(NamedTuple):
    """The dates of a column, and how they are written."""

    values: Array  # seconds since 1970, NaN where a date is missing
    written: str
    rival: str = ""  # another format that would do


def find_dates(column: pd.Series, formats: tuple[str, ...] = FORMATS) -> Dates | None:
    """Return the dates of a column of texts, in one of some formats; None if some cells are no dates."""
    first, _ = _cells(column[:FIRST_CELLS])
    fits = [one for one in formats if _parse(first, one) is not None] if len(first) else formats
    if not fits:
        return None
    cells, gaps = _cells(column)
    if not len(cells):
        return None
    parsed = {one: _parse(cells, one) for one in fits}
    found = {one: values for one, values in parsed.items() if values is not None}
    if not found:
        return None
    written = next(iter(found))
    rivals = [one for one, values in found.items() if not np.array_equal(values, found[written])]
    return Dates(_spread(found[written], gaps), written, rivals[0] if rivals else "")


def parse_dates(column: pd.Series, written: str) -> Array | None:
    """Return dates as seconds since 1970, NaN where one is missing; None if a cell is not so written."""
    cells, gaps = _cells(column)
    values = _parse(cells, written) if written in FORMATS else None
    return None if values is None else _spread(values, gaps)


def date_parts(seconds: Array, first: float) -> dict[str, Array]:
    """Return year, month, day of the year from 1, weekday (0 is Monday), days since the first date, and hour.

    Parameters
    ----------
    seconds : array of shape (n,)
        Dates in seconds since 1970, NaN where one is missing.
    first : float
        The first date of the training table, likewise.
    """
    days = np.floor(seconds / 86400.0)
    whole = np.where(np.isnan(days), 0.0, days).astype("datetime64[D]")
    months, new_year = whole.astype("datetime64[M]").astype(int), whole.astype("datetime64[Y]")
    parts = {
        "year": 1970.0 + np.floor(months / 12.0),
        "month": 1.0 + months % 12,
        "day of the year": 1.0 + (whole - new_year.astype(whole.dtype)).astype(int),
        "weekday": (whole.astype(int) + 3.0) % 7,
        "days": (seconds - first) / 86400.0,
        "hour": (seconds - 86400.0 * days) / 3600.0,
    }
    return {name: np.where(np.isnan(seconds), np.nan, values) for name, values in parts.items()}


def _cells(column: pd.Series) -> tuple[pd.Series, Flags]:
    gaps = is_missing(column, among_numbers=True)
    return as_written(column)[~gaps].astype(str).str.strip(), gaps


def _parse(cells: pd.Series, written: str) -> Array | None:
    if written == ISO and not cells.str.fullmatch(ISO_CELL).all():
        return None
    if written == DIGITS and not cells.str.fullmatch(r"\d{8}").all():
        return None
    if written == ISO:
        cells = cells.str.replace(r" ?(?:UTC|GMT)$", "Z", regex=True)
        cells = cells.str.replace(r" (?=[-+]\d)", "", regex=True)
    dates = pd.to_datetime(cells, format=written, errors="coerce", utc=True)
    if dates.isna().any():
        return None
    if written == DIGITS and not dates.dt.year.between(*YEARS).all():
        return None
    seconds: Array = dates.to_numpy(dtype="datetime64[us]").astype(np.float64) / 1e6
    return seconds


def _spread(values: Array, gaps: Flags) -> Array:
    all_rows = np.full(len(gaps), np.nan)
    all_rows[~gaps] = values
    return all_rows
