"""Tables as numbers: files and DataFrames, and the classes and pairs in them."""

from mercer.tables.encoder import Columns, TableEncoder
from mercer.tables.errors import QuantityError, TableError
from mercer.tables.labels import ClassColumn, find_labels
from mercer.tables.pair_file import find_ids, read_pairs
from mercer.tables.reading import read_table
from mercer.tables.targets import NumberTarget, find_numbers, find_target

__all__ = [
    "ClassColumn",
    "Columns",
    "NumberTarget",
    "QuantityError",
    "TableEncoder",
    "TableError",
    "find_ids",
    "find_labels",
    "find_numbers",
    "find_target",
    "read_pairs",
    "read_table",
]
