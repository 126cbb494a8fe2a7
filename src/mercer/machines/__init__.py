"""Machines: a kernel, a loss, and rows. Classifiers and regressors, and names for settings of them."""

from mercer.machines.functions import AdditiveFunctions, KernelFunction, ShapeFunction
from mercer.machines.intervals import UnseenErrors
from mercer.machines.kernel import KernelRegressor, KernelSVC
from mercer.machines.perceptron import PerceptronRegressor, PerceptronSVC
from mercer.machines.stump import StumpRegressor, StumpSVC
from mercer.machines.tree import TreeRegressor, TreeSVC

__all__ = [
    "AdditiveFunctions",
    "KernelFunction",
    "KernelRegressor",
    "KernelSVC",
    "PerceptronRegressor",
    "PerceptronSVC",
    "ShapeFunction",
    "StumpRegressor",
    "StumpSVC",
    "TreeRegressor",
    "TreeSVC",
    "UnseenErrors",
]
