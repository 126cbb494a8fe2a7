"""Support vector machines as scikit-learn classifiers."""

from mercer.svm.kernel_svc import KernelSVC
from mercer.svm.perceptron import PerceptronSVC, PerceptronSVCCV
from mercer.svm.stump import StumpSVC, StumpSVCCV
from mercer.svm.tree import TreeSVC, TreeSVCCV

__all__ = [
    "KernelSVC",
    "PerceptronSVC",
    "PerceptronSVCCV",
    "StumpSVC",
    "StumpSVCCV",
    "TreeSVC",
    "TreeSVCCV",
]
