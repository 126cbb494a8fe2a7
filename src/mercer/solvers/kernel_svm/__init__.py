"""Machines of any kernel, by its Gram matrix or by features: engines of the Newton steps of `stump_svm`."""

from mercer.solvers.kernel_svm.feature_rows import FeatureMatrix, FeatureRows
from mercer.solvers.kernel_svm.gram_rows import FEW_ROWS, MORE_DIGITS, GramMatrix, GramRows, solve_on_gram

__all__ = [
    "FEW_ROWS",
    "MORE_DIGITS",
    "FeatureMatrix",
    "FeatureRows",
    "GramMatrix",
    "GramRows",
    "solve_on_gram",
]
