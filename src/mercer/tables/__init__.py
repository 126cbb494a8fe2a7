"""Tables as numbers: files and DataFrames, and the classes and pairs in them."""

from mercer.tables.encoder import Columns, TableEncoder
from mercer.tables.errors import QuantityError, TableError
from mercer.tables.labels import ClassColumn, find_labels
from mercer.tables.pair_file import find_ids, read_pairs
from mercer.tables.reading import read_table

__all__ = [
    "ClassColumn",
    "Columns",
    "QuantityError",
    "TableEncoder",
    "TableError",
    "find_ids",
    "find_labels",
    "read_pairs",
    "read_table",
]
