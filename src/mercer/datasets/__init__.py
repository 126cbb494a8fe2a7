"""The papers' data: synthetic problems, and real sets from a folder, scikit-learn or OpenML."""

from mercer.datasets.breiman import PROBLEMS, log_ratio, ringnorm, threenorm, twonorm
from mercer.datasets.crammer import slanted
from mercer.datasets.customers import customers
from mercer.datasets.hertz import hooked, hooked_log_ratio
from mercer.datasets.kwok import one_relevant
from mercer.datasets.real import Dataset, load, names

__all__ = [
    "PROBLEMS",
    "Dataset",
    "customers",
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
