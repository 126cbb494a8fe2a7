"""Tables from files: columns encoded as numbers, and the classes and pairs in them."""

from mercer.tables.columns import Columns, choose_columns
from mercer.tables.encoding import make_encoder, prepare
from mercer.tables.errors import TableError
from mercer.tables.labels import ClassColumn, find_labels
from mercer.tables.pair_file import find_ids, read_pairs
from mercer.tables.reading import read_table

__all__ = [
    "ClassColumn",
    "Columns",
    "TableError",
    "choose_columns",
    "find_ids",
    "find_labels",
    "make_encoder",
    "prepare",
    "read_pairs",
    "read_table",
]
