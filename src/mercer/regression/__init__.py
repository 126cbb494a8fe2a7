"""Kernel machines that predict numbers, as scikit-learn regressors."""

from typing import TYPE_CHECKING

from mercer.lazy import open_when_asked

if TYPE_CHECKING:
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

# To predict with one of them, no other is needed
_HOMES = {
    "KernelRegressor": "kernel_regressor",
    "PerceptronRegressor": "perceptron",
    "PerceptronRegressorCV": "perceptron",
    "StumpRegressor": "stump",
    "StumpRegressorCV": "stump",
    "TreeRegressor": "tree",
    "TreeRegressorCV": "tree",
    "UnseenErrors": "intervals",
}
__getattr__, __dir__ = open_when_asked(__name__, _HOMES)
