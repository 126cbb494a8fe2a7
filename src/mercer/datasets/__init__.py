"""The papers' data: Breiman's synthetic problems, and real sets from a folder, scikit-learn or OpenML."""

from .breiman import PROBLEMS, log_ratio, ringnorm, threenorm, twonorm
from .real import Dataset, load, names

__all__ = ["PROBLEMS", "Dataset", "load", "log_ratio", "names", "ringnorm", "threenorm", "twonorm"]
