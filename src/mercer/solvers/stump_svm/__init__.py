"""Machines of the stump kernel for any convex loss, without a Gram matrix [LL05]: what other rooms call."""

from mercer.solvers.stump_svm.columns import bin_columns, choose_knots, code_columns
from mercer.solvers.stump_svm.driver import Solution, solve, solve_path
from mercer.solvers.stump_svm.losses import HINGE, CorneredLoss, LogLoss, Poisson, SquaredError
from mercer.solvers.stump_svm.products import CodedColumns, add_up_by_code, integrate, sort_rows
from mercer.solvers.stump_svm.rows import ExactRows, Point, measure_violation
from mercer.solvers.stump_svm.tables import TableRows

__all__ = [
    "HINGE",
    "CodedColumns",
    "CorneredLoss",
    "ExactRows",
    "LogLoss",
    "Point",
    "Poisson",
    "Solution",
    "SquaredError",
    "TableRows",
    "add_up_by_code",
    "bin_columns",
    "choose_knots",
    "code_columns",
    "integrate",
    "measure_violation",
    "solve",
    "solve_path",
    "sort_rows",
]
