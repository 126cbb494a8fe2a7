"""CSV and other delimited text, read strictly: a line with too many or too few cells is an error."""

import codecs
import csv
import io
import re
from collections.abc import Callable

import numpy as np
import pandas as pd

from mercer.preprocessing.errors import TableError, quote
from mercer.preprocessing.missing import QUOTED, WORDS

DELIMITERS = ",\t;|"
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
SAMPLE_LINES = 20
HEAD = 2**16  # bytes
GUESSES = ("utf-8-sig", "cp1252", "latin-1")  # the first that fits; in the last, any bytes are text


def read_delimited(
    content: bytes, source: str, check_names: Callable[[list[str], object], None], encoding: str | None = None
) -> pd.DataFrame:
    """Return all columns of delimited text as texts, NaN where a cell is empty.

    Words for missing values that are in quotation marks have the mark `missing.QUOTED` before them.
    `attrs["remark"]` says which encoding was guessed, if it is not UTF-8.

    Parameters
    ----------
    content : bytes
        The text.
    source : str
        Where it comes from, for error messages.
    check_names : callable
        Is given the column names, and the source, before the rest is read.
    encoding : str, optional
        How letters are written in bytes, as Python calls it; None to guess.
    """
    text, remark = _decode(content, source, encoding)
    try:
        delimiter = _delimiter(text, source)
        text = _mark_quoted_words(text, delimiter)
        names, n_rows = _check_lines(text, source, delimiter, check_names)
        table = pd.read_csv(
            io.StringIO(text, newline=""),
            sep=delimiter,
            dtype=str,
            names=names,
            header=0,
            index_col=False,
            keep_default_na=False,
            na_values=[""],
            skipinitialspace=True,
        )
    except (csv.Error, pd.errors.ParserError) as error:
        raise TableError(
            f"{source} cannot be read as a table ({error}): check its quotation marks."
        ) from error
    if len(table) != n_rows:  # two readers that do not agree: better no table than a wrong one
        raise TableError(f"{source} cannot be read as a table: check its quotation marks and line ends.")
    table = table.astype(object).where(table.notna(), np.nan)
    table.attrs["commas_first"] = delimiter == ";"  # then the comma is often the decimal mark
    if remark:
        table.attrs["remark"] = remark
    return table


def _decode(content: bytes, source: str, encoding: str | None) -> tuple[str, str]:
    """Return the text of some bytes, and what is to be said of how it was found."""
    if encoding is None and not content.startswith(UTF16) and b"\x00" in content[:HEAD]:
        raise TableError(f"{source} is not a table but binary data: give a CSV, TSV or Parquet file.")
    given = "utf-16" if content.startswith(UTF16) else encoding
    for name in GUESSES if given is None else (given,):
        try:
            text = content.decode(name)
        except UnicodeError:
            continue
        except LookupError as error:
            raise TableError(
                f"There is no encoding {quote(name)}: name one such as utf-8 or cp1252."
            ) from error
        guess = (
            f"{source} is not in UTF-8 and was read as {name}; `mercer learn` and `predict` take --encoding."
        )
        return text, "" if name in (given, GUESSES[0]) else guess
    raise TableError(f"{source} is not text in {given}: name another encoding, or save it as CSV (UTF-8).")


def _mark_quoted_words(text: str, delimiter: str) -> str:
    """Put a mark before words for missing values that are in quotation marks: there they are texts.

    Within a cell, quotation marks are doubled: what is found here is a cell of its own.
    """
    if '"' not in text:
        return text
    words = "|".join(re.escape(word) for word in WORDS)
    edge = re.escape(delimiter)
    cell = re.compile(
        rf'(^|{edge})([ \t]*)"({words})"(?=[ \t]*(?:{edge}|\r|\n|\Z))', re.MULTILINE | re.IGNORECASE
    )
    return cell.sub(rf'\1\2"{QUOTED}\3"', text)


def _delimiter(text: str, source: str) -> str:
    """Return the delimiter that gives the first lines most cells, and each line as many as the first."""
    file = io.StringIO(text, newline="")
    lines = [line for _, line in zip(range(SAMPLE_LINES), file, strict=False)]
    widths = {delimiter: _widths(lines, delimiter) for delimiter in DELIMITERS}
    # one wrong line must not change the delimiter: agreement counts, then the number of cells
    agreeing = {mark: found.count(found[0]) if found[0] > 1 else 0 for mark, found in widths.items() if found}
    if not text.strip():
        raise TableError(f"{source} is empty: it should have a line of column names and a line for each row.")
    if not agreeing:
        most = csv.field_size_limit()
        raise TableError(
            f"{source} has a cell of more than {most} characters: shorten it, or check its quotation marks."
        )
    return max(agreeing, key=lambda mark: (agreeing[mark], widths[mark][0]))


def _widths(lines: list[str], delimiter: str) -> list[int]:
    """Return how many cells each line has, nothing if some are too long: then it is another delimiter."""
    try:
        return [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return []


def _check_lines(
    text: str, source: str, delimiter: str, check_names: Callable[[list[str], object], None]
) -> tuple[list[str], int]:
    """Check that each line has as many cells as the first; return the column names, and how many rows."""
    names: list[str] = []
    n_rows = 0
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    for row in reader:
        if not row:
            continue
        if not names:
            names = [
                name.strip().removeprefix(QUOTED) or f"column {k}" for k, name in enumerate(row, start=1)
            ]
            check_names(names, source)
            _check_header(row, source)
        elif len(row) != len(names):
            raise TableError(
                f"Line {reader.line_num} of {source} has {len(row)} cells, the first line has {len(names)}: "
                f"correct it (cells with {_spoken(delimiter)} inside need quotation marks; the first line "
                "should be the column names)."
            )
        else:
            n_rows += 1
    return names, n_rows


def _check_header(row: list[str], source: str) -> None:
    cells = [cell for cell in row if cell.strip()]
    if cells and all(_is_number(cell) for cell in cells):
        raise TableError(
            f"The first line of {source} holds numbers such as {quote(cells[0])}: put a line with the names "
            "of the columns above it."
        )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _spoken(delimiter: str) -> str:
    return {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}[delimiter]
