"""Read a table: CSV or other delimited text, or Parquet, recognised by the content of the file."""

import os
import stat
from difflib import SequenceMatcher
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from mercer.tables.delimited import read_delimited
from mercer.tables.errors import TableError, listed, quote

PARQUET = b"PAR1"
OTHERS = {  # other file types, by their first bytes
    b"PK\x03\x04": "an Excel or ZIP file: save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel file: save the sheet as CSV",
    b"\x1f\x8b": "compressed: unpack it",
    b"%PDF": "a PDF: save the table as CSV",
}
MOST_COLUMNS = 10_000
MOST_NAME_CHARACTERS = 500_000  # of all column names together; model files keep them


def read_table(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Return a table whose columns are texts, or numbers where the file stores numbers.

    Empty cells and the usual spellings of "missing" (NA, null, ?, …) are NaN.

    Parameters
    ----------
    path : str or path-like
        CSV, TSV or another delimited text in UTF-8 (or UTF-16 with its mark) whose first line names the
        columns; or Parquet, if pyarrow is installed.

    Raises
    ------
    TableError
        If it is not such a file; the message says what to do.
    """
    path = Path(path)
    head = _first_bytes(path)
    for start, advice in OTHERS.items():
        if head.startswith(start):
            raise TableError(f"{path} is {advice} first.")
    table = _read_parquet(path) if head.startswith(PARQUET) else read_delimited(path, head, _check_names)
    if table.empty:
        raise TableError(f"{path} has column names but no rows: add some.")
    return table


def _first_bytes(path: Path) -> bytes:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise TableError(f"{path} is a folder: name a file in it.")
        if not stat.S_ISREG(mode):
            raise TableError(f"{path} is not a file: save the table as one first.")
        with path.open("rb") as file:
            head = file.read(2**16)
    except FileNotFoundError as error:
        raise TableError(f"There is no file {path}: check the path.") from error
    except OSError as error:
        raise TableError(f"{path} cannot be read ({error.strerror}): check the path.") from error
    if not head.strip():
        raise TableError(f"{path} is empty: it should have a line of column names and a line for each row.")
    return head


def _check_names(names: list[str], path: Path) -> None:
    """Reject a header with duplicate names, or with too many columns."""
    if len(names) > MOST_COLUMNS or sum(map(len, names)) > MOST_NAME_CHARACTERS:
        raise TableError(
            f"{path} has {len(names)} columns; at most {MOST_COLUMNS} are supported, with names of at most "
            f"{MOST_NAME_CHARACTERS} characters in all: drop some, or reduce them (by PCA, for instance)."
        )
    twice = [name for name, count in pd.Series(names).value_counts().items() if count > 1]
    if twice:
        raise TableError(f"{path} has several columns of the same name ({listed(twice)}): rename them.")


def _read_parquet(path: Path) -> pd.DataFrame:
    if find_spec("pyarrow") is None:
        raise TableError(f"To read {path}, a Parquet file, install pyarrow: pip install 'mercer[parquet]'.")
    from pyarrow import parquet

    try:
        _check_names(parquet.read_schema(path).names, path)
        table = parquet.read_table(path).to_pandas()
    except TableError:
        raise
    except Exception as error:  # of many kinds, all of pyarrow's C++
        raise TableError(f"{path} is a damaged Parquet file: write it again.") from error
    table = table.reset_index(drop=True)
    return pd.DataFrame({str(name): _plain(column) for name, column in table.items()})


def _plain(column: pd.Series) -> pd.Series:
    """Return a column as 64-bit floats, or as texts."""
    is_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if is_number and not pd.api.types.is_complex_dtype(column):
        return column.astype("float64")
    return column.astype(object).map(str, na_action="ignore").where(column.notna(), np.nan).astype(object)


def check_column(table: pd.DataFrame, name: str, role: str, path: object) -> None:
    """Raise TableError if there is no such column, and say which there are."""
    if name not in table.columns:
        raise TableError(
            f"There is no column {quote(name)} in {path} for {role}; there are: "
            f"{listed(_nearest(table, name))}."
        )


def _nearest(table: pd.DataFrame, name: str) -> list[object]:
    """Return the columns, those first that are spelled nearly so."""

    def likeness(column: object) -> float:
        return SequenceMatcher(None, name.lower(), str(column).lower()).ratio()

    return sorted(table.columns, key=likeness, reverse=True)
