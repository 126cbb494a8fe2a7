"""CSV and other delimited text, read strictly: a line with too many or too few cells is an error."""

import codecs
import csv
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from mercer.tables.errors import TableError, quote

DELIMITERS = ",\t;|"
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
SAMPLE_LINES = 20
MISSING = ["?"]  # besides what pandas knows: the empty cell, NA, null, None, …
DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+([eE][-+]?\d+)?\s*")


def read_delimited(path: Path, head: bytes, check_names: Callable[[list[str], Path], None]) -> pd.DataFrame:
    """Return all columns of a delimited file as texts, NaN where a cell is empty.

    Parameters
    ----------
    path : Path
        The file.
    head : bytes
        How it begins.
    check_names : callable
        Is given the column names, and the path, before the rest is read.
    """
    encoding = _encoding(path, head)
    try:
        delimiter = _delimiter(path, encoding)
        names, n_rows = _check_lines(path, encoding, delimiter, check_names)
        table = pd.read_csv(
            path,
            sep=delimiter,
            encoding=encoding,
            dtype=str,
            names=names,
            header=0,
            index_col=False,
            na_values=MISSING,
            skipinitialspace=True,
        )
    except UnicodeError as error:
        raise TableError(f"{path} is not text in UTF-8: save it as CSV (UTF-8).") from error
    except (csv.Error, pd.errors.ParserError) as error:
        raise TableError(f"{path} cannot be read as a table ({error}): check its quotation marks.") from error
    if len(table) != n_rows:  # two readers that do not agree: better no table than a wrong one
        raise TableError(f"{path} cannot be read as a table: check its quotation marks and line ends.")
    table = table.astype(object).where(table.notna(), np.nan)
    return table.apply(_with_points) if delimiter == ";" else table


def _encoding(path: Path, head: bytes) -> str:
    if head.startswith(UTF16):
        return "utf-16"
    if b"\x00" in head:
        raise TableError(f"{path} is not a table but binary data: give a CSV, TSV or Parquet file.")
    return "utf-8-sig"  # also without the mark at its start


def _delimiter(path: Path, encoding: str) -> str:
    """Return the delimiter that gives the first lines most cells, and each line as many as the first."""
    with path.open(encoding=encoding, newline="") as file:
        lines = [line for _, line in zip(range(SAMPLE_LINES), file, strict=False)]
    widths = {delimiter: _widths(lines, delimiter) for delimiter in DELIMITERS}
    # one wrong line must not change the delimiter: agreement counts, then the number of cells
    agreeing = {mark: found.count(found[0]) if found[0] > 1 else 0 for mark, found in widths.items() if found}
    if not agreeing:
        raise TableError(f"{path} is empty: it should have a line of column names and a line for each row.")
    return max(agreeing, key=lambda mark: (agreeing[mark], widths[mark][0]))


def _widths(lines: list[str], delimiter: str) -> list[int]:
    """Return how many cells each line has, nothing if some are too long: then it is another delimiter."""
    try:
        return [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return []


def _check_lines(
    path: Path, encoding: str, delimiter: str, check_names: Callable[[list[str], Path], None]
) -> tuple[list[str], int]:
    """Check that each line has as many cells as the first; return the column names, and how many rows."""
    names: list[str] = []
    n_rows = 0
    with path.open(encoding=encoding, newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, skipinitialspace=True)
        for row in reader:
            if not row:
                continue
            if not names:
                names = [name.strip() or f"column {k}" for k, name in enumerate(row, start=1)]
                check_names(names, path)
                _check_header(row, path)
            elif len(row) != len(names):
                raise TableError(
                    f"Line {reader.line_num} of {path} has {len(row)} cells, the first line has "
                    f"{len(names)}: correct it (cells with {_spoken(delimiter)} inside need quotation marks)."
                )
            else:
                n_rows += 1
    return names, n_rows


def _check_header(row: list[str], path: Path) -> None:
    cells = [cell for cell in row if cell.strip()]
    if cells and all(_is_number(cell) for cell in cells):
        raise TableError(
            f"The first line of {path} holds numbers such as {quote(cells[0])}: put a line with the names of "
            "the columns above it."
        )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _spoken(delimiter: str) -> str:
    return {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}[delimiter]


def _with_points(column: pd.Series) -> pd.Series:
    """Return a column whose numbers have decimal commas with points, and any other as it is.

    Where a semicolon separates cells, the comma is often the decimal mark.
    """
    cells = column.dropna()
    has_comma = cells.str.contains(",")
    if not has_comma.any() or not cells[has_comma].str.fullmatch(DECIMAL_COMMA).all():
        return column
    return column.str.replace(",", ".").astype(object)
