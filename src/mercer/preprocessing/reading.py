"""Read a table: CSV or other delimited text, Parquet or Arrow, recognised by the content of the file."""

import io
import os
import re
from difflib import SequenceMatcher
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mercer.preprocessing.delimited import read_delimited
from mercer.preprocessing.errors import TableError, listed, quote
from mercer.preprocessing.missing import QUOTED, is_word
from mercer.preprocessing.sources import read_bytes, spoken

ARROW_FORMATS = {b"PAR1": "Parquet", b"ARROW1": "Arrow", b"FEA1": "Feather", b"\xff\xff\xff\xff": "Arrow"}
OTHERS = {  # other file types, by their first bytes
    b"PK\x03\x04": "a ZIP file, and no Excel sheet: unpack it",
    b"\xd0\xcf\x11\xe0": "an old Excel file: save the sheet as CSV",
    b"%PDF": "a PDF: save the table as CSV",
}
MARKUP = {  # texts of other types, by how they begin
    rb"(?i)\s*<(!doctype|html|\?xml|table)\b": "an HTML or XML file: save the table as CSV",
    rb"\s*(\[\s*[\[{]|\{\s*\")": "a JSON file: save the table as CSV",
}
EXCEL = b"PK\x03\x04", b"xl/workbook.xml"  # the beginning of a file, and what is somewhere in it
MOST_COLUMNS = 10_000
MOST_NAME_CHARACTERS = 500_000  # of all column names together; model files keep them


def read_table(path: str | os.PathLike[str], encoding: str | None = None) -> pd.DataFrame:
    """Return a table whose columns are texts, or numbers where the file stores numbers.

    Empty cells are NaN. Words such as NA are left as they are, see `mercer.preprocessing.missing`.

    Parameters
    ----------
    path : str or path-like
        CSV, TSV or another delimited text whose first line names the columns; Parquet, Feather or Arrow, if
        pyarrow is installed; or the first sheet of an Excel file (xlsx), if openpyxl is. ``-`` is the
        standard input. It may be compressed (gzip, bzip2, xz, zstd).
    encoding : str, optional
        How text is written in bytes. None: UTF-8 (or UTF-16 with its mark), or else Windows' cp1252, which
        ``attrs["remark"]`` of the table says.

    Raises
    ------
    TableError
        If it is not such a file; the message says what to do.
    """
    path = Path(path)
    content, source = read_bytes(path), spoken(path)
    if not content.strip():
        raise TableError(f"{source} is empty: it should have a line of column names and a line for each row.")
    if content.startswith(EXCEL[0]) and EXCEL[1] in content:
        return _checked(_read_excel(content, source), source)
    for start, advice in OTHERS.items():
        if content.startswith(start):
            raise TableError(f"{source} is {advice} first.")
    for beginning, advice in MARKUP.items():
        if re.match(beginning, content):
            raise TableError(f"{source} is {advice} first.")
    form = next((name for start, name in ARROW_FORMATS.items() if content.startswith(start)), None)
    if form is None:
        return _checked(read_delimited(content, source, check_names, encoding), source)
    return _checked(_read_arrow(content, form, source), source)


def _checked(table: pd.DataFrame, source: str) -> pd.DataFrame:
    if table.empty:
        raise TableError(f"{source} has column names but no rows: add some.")
    return table


def check_names(names: list[str], source: object) -> None:
    """Reject a header with duplicate names, or with too many columns."""
    if len(names) > MOST_COLUMNS or sum(map(len, names)) > MOST_NAME_CHARACTERS:
        raise TableError(
            f"{source} has {len(names)} columns; at most {MOST_COLUMNS} are supported, with names of at most "
            f"{MOST_NAME_CHARACTERS} characters in all: drop some, or reduce them (by PCA, for instance)."
        )
    twice = [name for name, count in pd.Series(names, dtype=object).value_counts().items() if count > 1]
    if twice:
        raise TableError(f"{source} has several columns of the same name ({listed(twice)}): rename them.")


def _read_arrow(content: bytes, form: str, source: str) -> pd.DataFrame:
    if find_spec("pyarrow") is None:
        file = f"{'an' if form == 'Arrow' else 'a'} {form} file"
        raise TableError(f"To read {source}, {file}, install pyarrow: pip install 'mercer[parquet]'.")
    try:
        stored = _open_arrow(content, form)
        check_names(stored.schema.names, source)
        table = stored.to_pandas()
    except TableError:
        raise
    except Exception as error:  # of many kinds, all of pyarrow's C++
        raise TableError(f"{source} is a damaged {form} file: write it again.") from error
    table = table.reset_index(drop=True)
    return pd.DataFrame({str(name): _typed_column(column) for name, column in table.items()})


def _read_excel(content: bytes, source: str) -> pd.DataFrame:
    """Return the first sheet; cells know types, and so numbers and texts are told apart as in Parquet."""
    if find_spec("openpyxl") is None:
        raise TableError(f"To read {source}, an Excel file: pip install 'mercer[xlsx]', or save it as CSV.")
    try:
        rows = pd.read_excel(io.BytesIO(content), header=None, dtype=object, keep_default_na=False)
    except Exception as error:  # of many kinds, of XML and of openpyxl
        raise TableError(f"{source} is a damaged Excel file: save it again, or as CSV.") from error
    names = [str(name) if str(name) else f"column {k}" for k, name in enumerate(rows.iloc[0], start=1)]
    check_names(names, source)
    table = rows.iloc[1:].replace("", np.nan).infer_objects().reset_index(drop=True)
    table.columns = pd.Index(names)
    return pd.DataFrame({name: _typed_column(column) for name, column in table.items()})


def _open_arrow(content: bytes, form: str) -> Any:
    import pyarrow
    from pyarrow import feather, ipc, parquet

    file = pyarrow.BufferReader(content)
    if form == "Parquet":
        return parquet.read_table(file)
    if form == "Feather" or content.startswith(b"ARROW1"):
        return feather.read_table(file)
    return ipc.open_stream(file).read_all()


def _typed_column(column: pd.Series) -> pd.Series:
    """Return a column of a file that knows types: there, a missing value is none, and NA is a text."""
    plain = plain_column(column)
    if pd.api.types.is_numeric_dtype(plain) or isinstance(plain.dtype, pd.CategoricalDtype):
        return plain
    return plain.where(~is_word(plain), QUOTED + plain.astype(str)).astype(object)


def plain_column(column: pd.Series) -> pd.Series:
    """Return a column as 64-bit floats, as texts, or as categories that are texts."""
    types = pd.api.types
    if isinstance(column.dtype, pd.CategoricalDtype):
        return plain_column(column.astype(object).map(str, na_action="ignore")).astype("category")
    if types.is_timedelta64_dtype(column):
        return column.dt.total_seconds()
    if types.is_datetime64_any_dtype(column):
        texts = column.map(lambda day: day.isoformat(), na_action="ignore")
        return texts.astype(object).where(column.notna(), np.nan)
    if types.is_numeric_dtype(column) and not (types.is_bool_dtype(column) or types.is_complex_dtype(column)):
        return column.astype("float64")
    if types.is_object_dtype(column) and types.infer_dtype(column, skipna=True) == "string":
        return column.where(column.notna(), np.nan)
    if types.is_object_dtype(column) and not types.is_bool_dtype(column):
        numbers = column[column.notna()]
        if len(numbers) and numbers.map(lambda cell: isinstance(cell, int | float | np.number)).all():
            return column.astype("float64")
    return column.astype(object).map(str, na_action="ignore").where(column.notna(), np.nan).astype(object)


def check_column(table: pd.DataFrame, name: str, role: str, path: object) -> None:
    """Raise TableError if there is no such column, and say which there are."""
    if name not in table.columns:
        hint = "" if len(table.columns) > 1 else " (separate cells by commas, semicolons, tabs or bars)"
        raise TableError(
            f"There is no column {quote(name)} in {path} for {role}; there are: "
            f"{listed(_nearest(table, name))}{hint}."
        )


def _nearest(table: pd.DataFrame, name: str) -> list[object]:
    """Return the columns, those first that are spelled nearly so."""

    def likeness(column: object) -> float:
        return SequenceMatcher(None, name.lower(), str(column).lower()).ratio()

    return sorted(table.columns, key=likeness, reverse=True)
