"""Machines of any kernel for any convex loss, by Newton steps [LL05]: what other rooms call."""

from mercer.solvers.newton.columns import bin_columns, choose_knots, code_columns
from mercer.solvers.newton.driver import Solution, solve, solve_path
from mercer.solvers.newton.features import FeatureRows, whiten_landmarks
from mercer.solvers.newton.gram import FEW_ROWS, MORE_DIGITS, GramMatrix, GramRows, centre, solve_on_gram
from mercer.solvers.newton.losses import HINGE, CorneredLoss, LogLoss, Loss, Poisson, SquaredError
from mercer.solvers.newton.multinomial import Axes, solve_softmax_path
from mercer.solvers.newton.products import CodedColumns, add_up_by_code, integrate, sort_rows
from mercer.solvers.newton.rows import Point, Rows, VectorRows, measure_violation, thin
from mercer.solvers.newton.tables import SortedRows, TableRows

__all__ = [
    "FEW_ROWS",
    "HINGE",
    "MORE_DIGITS",
    "Axes",
    "CodedColumns",
    "CorneredLoss",
    "FeatureRows",
    "GramMatrix",
    "GramRows",
    "LogLoss",
    "Loss",
    "Point",
    "Poisson",
    "Rows",
    "Solution",
    "SortedRows",
    "SquaredError",
    "TableRows",
    "VectorRows",
    "add_up_by_code",
    "bin_columns",
    "centre",
    "choose_knots",
    "code_columns",
    "integrate",
    "measure_violation",
    "solve",
    "solve_on_gram",
    "solve_path",
    "solve_softmax_path",
    "sort_rows",
    "thin",
    "whiten_landmarks",
]
