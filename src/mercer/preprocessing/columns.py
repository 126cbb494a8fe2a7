"""What each column of a table is, and which carry no information."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.decomposition import TruncatedSVD

from mercer._typing import Array
from mercer.preprocessing.dates import DIGITS, FIRST_CELLS, PARTS, YEARS, Dates, date_parts, find_dates
from mercer.preprocessing.errors import TableError, quote
from mercer.preprocessing.kinds import (
    CategoryColumn,
    DateColumn,
    Kind,
    NumberColumn,
    TextColumn,
    category_texts,
    check_size,
    text_vectorizer,
)
from mercer.preprocessing.missing import is_missing, known_texts
from mercer.preprocessing.numbers import (
    PLAIN,
    NumberFormat,
    are_numbers,
    find_format,
    is_ambiguous,
    parse_numbers,
)

FEW_VALUES = 20  # up to this many distinct values may be codes, even if they look like numbers
MANY_VALUES = 50  # the maximum number of one-hot columns per categorical column
LABELS = 5.0  # rows a value, on average, from which texts are labels, however many words these have
REPEATED = 0.25  # of the rows must have a category that another row has, if there are many
MARKED_GAPS = 0.05  # of the cells: if so many are missing, a feature says which
TEXT_WORDS = 3.0  # in a cell of free text, on average; names and ids have fewer
TEXT_TERMS = 2000  # the maximum number of words
TEXT_FEATURES = 10
MOSTLY = 0.9
COVERED = 0.5  # of the rows of free text must have a word that others have


class Choice(NamedTuple):
    """What a column is, or why it is not used, and what a user should know of it."""

    kind: Kind | None
    reason: str = ""
    note: str = ""


def choose_kind(column: pd.Series, name: str, *, commas_first: bool = False) -> Choice:
    """Find out what a column is: numbers, dates, categories, free text, or useless.

    Parameters
    ----------
    column : Series
        Texts as `read_table` gives them, or numbers, or pandas' own categories.
    name : str
        Its name.
    commas_first : bool
        Whether 1,234 is rather 1.234 than 1234.
    """
    if is_missing(column[:FIRST_CELLS]).all() and is_missing(column).all():
        return Choice(None, "it is empty")
    if not isinstance(column.dtype, pd.CategoricalDtype):
        values = parse_numbers(column)  # once: most columns of large tables are plain numbers
        written = PLAIN if values is not None else find_format(column, commas_first=commas_first)
        dates = None
        if written is None:
            dates = find_dates(column)
        elif values is not None:  # to try all formats on all numbers would take long
            dates = find_dates(_digits(column), (DIGITS,)) if _may_be_dates(values) else None
        else:
            values = parse_numbers(column, written)
        if dates is not None:
            return _dates(dates, name)
        if written is not None and values is not None and not _are_codes(column, values):
            return _numbers(column, name, written, values)
        if written is None:
            _check_not_mixed(column, name)
    return _texts(category_texts(column), name)


def _numbers(column: pd.Series, name: str, written: NumberFormat, values: Array) -> Choice:
    gaps = np.isnan(values)
    if gaps.all():
        return Choice(None, "it is empty")
    marks_gaps = bool(gaps.sum() >= 2 and gaps.mean() >= MARKED_GAPS)
    if np.nanmin(values) == np.nanmax(values) and not marks_gaps:  # what is missing becomes the same number
        return Choice(None, "it has a single value")
    if len(values) > 2 and np.all(np.diff(values) == 1.0):
        return Choice(None, "it counts the rows")
    check_size(values, name)
    note = ""
    if is_ambiguous(column, written):
        what = "decimal marks" if written.decimal == "," else "thousands separators"
        note = f"The commas in column {quote(name)} are read as {what}; if that is wrong, write points."
    return Choice(NumberColumn(name, written, float(np.nanmedian(values)), marks_gaps), note=note)


def _dates(dates: Dates, name: str) -> Choice:
    first = float(np.nanmin(dates.values))
    every = date_parts(dates.values, first)
    parts = tuple(part for part in PARTS if np.nanmin(every[part]) < np.nanmax(every[part]))
    if not parts:
        return Choice(None, "it has a single value")
    medians = np.array([np.nanmedian(every[part]) for part in parts])
    note = ""
    if dates.rival:
        what = "month" if dates.written.startswith("%m") else "day"
        note = f"Dates in column {quote(name)} are read {what} first; to be sure, write them as 2024-01-31."
    return Choice(DateColumn(name, dates.written, first, parts, medians), note=note)


def _texts(texts: pd.Series, name: str) -> Choice:
    """Choose for a column of texts, NaN where they are missing."""
    counts = texts.value_counts()  # the most frequent first
    n_known, n_values = int(counts.sum()), len(counts)
    if n_values == 1 and n_known == len(texts):
        return Choice(None, "it has a single value")
    is_unique = n_values == n_known > 2
    are_labels = n_values <= MANY_VALUES and n_known >= LABELS * n_values
    if is_unique or (n_values > FEW_VALUES and not are_labels):
        kind = _free_text(texts, name)
        if kind is not None:
            return Choice(kind)
    if is_unique or (
        n_values > max(MANY_VALUES, n_known / 2) and counts[counts > 1].sum() < REPEATED * n_known
    ):
        if are_numbers(texts):
            shown = " and ".join(map(quote, counts.index[:2]))
            ways = f"in several ways, such as {shown} (or in one that is not known here)"
            return Choice(None, f"its numbers are written {ways}: write them alike, as 1234.5")
        nearly = "each" if is_unique else "nearly every"
        return Choice(None, f"{nearly} row has its own text, like a name or an id{_advice(texts.dropna())}")
    return Choice(_categories(counts, name, has_gaps=n_known < len(texts)))


def _advice(cells: pd.Series) -> str:
    """Return what to do if texts that have more digits than letters are dates or numbers."""
    if (cells.str.count(r"\d") > cells.str.count(r"[^\W\d_]")).mean() < MOSTLY:
        return ""
    return "; if they are dates or numbers, write all as 2024-01-31 or as 1234.5"


def _categories(counts: pd.Series, name: str, *, has_gaps: bool) -> CategoryColumn:
    """Return the categories in alphabetical order; of many, the rare ones share a feature."""
    has_rare = len(counts) + has_gaps > MANY_VALUES
    n_kept = MANY_VALUES - 1 - has_gaps if has_rare else len(counts)
    by_count = sorted(counts.index, key=lambda value: (-counts[value], value))
    return CategoryColumn(name, sorted(by_count[:n_kept]), has_gaps, has_rare)


def _free_text(texts: pd.Series, name: str) -> TextColumn | None:
    """Return the words that several rows have, as a few features; None if there are none to speak of."""
    cells = texts.dropna()
    if cells.str.count(r"\S+").mean() < TEXT_WORDS:
        return None
    fewest = max(2, round(0.005 * len(cells)))
    vectorizer = text_vectorizer(min_df=fewest, max_df=0.9, max_features=TEXT_TERMS)
    try:
        weights = vectorizer.fit_transform(texts.fillna(""))
    except ValueError:  # no word is left
        return None
    n_features = min(TEXT_FEATURES, weights.shape[1] - 1, weights.shape[0] - 1)
    if n_features < 1 or (weights.getnnz(axis=1) > 0).mean() < COVERED:
        return None
    svd = TruncatedSVD(n_features, random_state=0).fit(weights)
    terms = np.array(vectorizer.get_feature_names_out(), dtype=str)
    return TextColumn(name, terms, vectorizer.idf_, svd.components_)


def _are_codes(column: pd.Series, values: Array) -> bool:
    """Return whether digits are codes: some begin with a zero, and they repeat."""
    if pd.api.types.is_numeric_dtype(column) or np.any(values != np.round(values), where=~np.isnan(values)):
        return False
    if not any(str(cell)[:1] == "0" and str(cell)[1:2].isdigit() for cell in column):
        return False
    cells = known_texts(column).dropna()
    has_zeros = cells.str.fullmatch(r"0\d+").any() and cells.str.fullmatch(r"\d+").all()
    return bool(has_zeros and cells.nunique() <= max(MANY_VALUES, len(cells) / 2))


def _may_be_dates(values: Array) -> bool:
    """Return whether all numbers may be dates of eight digits: to look at their texts takes far longer."""
    first, last = (1e4 * year for year in YEARS)
    return bool(np.all(((values >= first) & (values < last + 1e4)) | np.isnan(values)))


def _digits(column: pd.Series) -> pd.Series:
    """Return stored whole numbers as texts: eight digits may be a date."""
    if not pd.api.types.is_numeric_dtype(column):
        return column
    values: Array = column.to_numpy(dtype=np.float64, na_value=np.nan)
    whole = np.isfinite(values) & (values == np.round(values)) & (np.abs(values) < 1e9)
    if not (whole | np.isnan(values)).all():
        return pd.Series([], dtype=object)
    return pd.Series(values).map(lambda value: f"{value:.0f}", na_action="ignore").astype(object)


def _check_not_mixed(column: pd.Series, name: str) -> None:
    """Reject a column of numbers or dates with a few words in it; codes such as 1, 2, A are categories."""
    cells = known_texts(column.astype(object)).dropna()
    is_number = cells.str.fullmatch(r"[-+−]?[\d.,'’\s]+%?") & cells.str.contains(r"\d")
    is_date = cells.str.fullmatch(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}.*")
    for what, fits in (("dates", is_date), ("numbers", is_number & ~is_date)):
        others = cells[~fits]
        if fits.mean() > 0.5 and cells[fits].nunique() > FEW_VALUES and len(others):
            row = others.index[0]
            raise TableError(
                f"Column {quote(name)} mixes {what} with text, such as {quote(others[row])} in row {row}: "
                f"write one of the {what} there, empty the cell, or leave the column out."
            )
