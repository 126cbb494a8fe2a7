"""The papers' data: synthetic problems, and real sets from a folder, scikit-learn or OpenML."""

from .breiman import PROBLEMS, log_ratio, ringnorm, threenorm, twonorm
from .crammer import slanted
from .hertz import hooked, hooked_log_ratio
from .kwok import one_relevant
from .real import Dataset, load, names

__all__ = [
    "PROBLEMS",
    "Dataset",
    "hooked",
    "hooked_log_ratio",
    "load",
    "log_ratio",
    "names",
    "one_relevant",
    "ringnorm",
    "slanted",
    "threenorm",
    "twonorm",
]
