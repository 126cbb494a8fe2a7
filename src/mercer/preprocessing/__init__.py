"""Tables as numbers: files and DataFrames, the classes and pairs in them; features of unit variance."""

from typing import TYPE_CHECKING

from mercer.lazy import open_when_asked

if TYPE_CHECKING:
    from mercer.preprocessing.encoder import Columns, TableEncoder
    from mercer.preprocessing.errors import QuantityError, TableError
    from mercer.preprocessing.labels import ClassColumn, find_labels
    from mercer.preprocessing.pair_file import find_ids, read_pairs
    from mercer.preprocessing.reading import read_table
    from mercer.preprocessing.scaling import ClippedScaler
    from mercer.preprocessing.targets import NumberTarget, find_numbers, find_target

__all__ = [
    "ClassColumn",
    "ClippedScaler",
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

_HOMES = {
    "ClassColumn": "labels",
    "ClippedScaler": "scaling",
    "Columns": "encoder",
    "NumberTarget": "targets",
    "QuantityError": "errors",
    "TableEncoder": "encoder",
    "TableError": "errors",
    "find_ids": "pair_file",
    "find_labels": "labels",
    "find_numbers": "targets",
    "find_target": "targets",
    "read_pairs": "pair_file",
    "read_table": "reading",
}

__getattr__, __dir__ = open_when_asked(__name__, _HOMES)
