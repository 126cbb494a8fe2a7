"""Kernel machines that predict numbers, as scikit-learn regressors."""

from mercer.regression.intervals import UnseenErrors
from mercer.regression.kernel_regressor import KernelRegressor
from mercer.regression.perceptron import PerceptronRegressor, PerceptronRegressorCV
from mercer.regression.stump import StumpRegressor, StumpRegressorCV
from mercer.regression.tree import TreeRegressor, TreeRegressorCV

__all__ = [
    "KernelRegressor",
    "PerceptronRegressor",
    "PerceptronRegressorCV",
    "StumpRegressor",
    "StumpRegressorCV",
    "TreeRegressor",
    "TreeRegressorCV",
    "UnseenErrors",
]
