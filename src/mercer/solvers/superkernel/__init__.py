"""Weights of many Gram matrices, the best by a quality functional with a penalty [OSW02]."""

from mercer.solvers.superkernel.alignment import (
    LeastSquares,
    compare_with_labels,
    compare_with_pairs,
    minimize_distance,
)
from mercer.solvers.superkernel.posterior import (
    minimize_at_variance_one,
    minimize_posterior,
    most_probable,
)
from mercer.solvers.superkernel.risk import alternate, minimize_risk
from mercer.solvers.superkernel.squared_risk import SquaredRiskOfKernel, minimize_squared_risk
from mercer.solvers.superkernel.svm import balance, solve_dense_svm
from mercer.solvers.superkernel.weights import KernelWeights, Penalty, Stopping

__all__ = [
    "KernelWeights",
    "LeastSquares",
    "Penalty",
    "SquaredRiskOfKernel",
    "Stopping",
    "alternate",
    "balance",
    "compare_with_labels",
    "compare_with_pairs",
    "minimize_at_variance_one",
    "minimize_distance",
    "minimize_posterior",
    "minimize_risk",
    "minimize_squared_risk",
    "most_probable",
    "solve_dense_svm",
]
