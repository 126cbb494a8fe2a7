"""The SVM over all decision stumps, without a Gram matrix [LL05]: what other rooms call."""

from mercer.solvers.stump_svm.columns import (
    bin_columns,
    choose_knots,
    code_columns,
    select_rows,
)
from mercer.solvers.stump_svm.driver import SVMSolution, solve_path, solve_svm
from mercer.solvers.stump_svm.products import CodedColumns
from mercer.solvers.stump_svm.proximal import measure_violation
from mercer.solvers.stump_svm.smo import Distances, descend

__all__ = [
    "CodedColumns",
    "Distances",
    "SVMSolution",
    "bin_columns",
    "choose_knots",
    "code_columns",
    "descend",
    "measure_violation",
    "select_rows",
    "solve_path",
    "solve_svm",
]
