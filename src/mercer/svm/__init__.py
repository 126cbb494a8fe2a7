"""Support vector machines as scikit-learn classifiers."""

from typing import TYPE_CHECKING

from mercer.lazy import open_when_asked

if TYPE_CHECKING:
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

# To predict with one of them, no other is needed
_HOMES = {
    "KernelSVC": "kernel_svc",
    "PerceptronSVC": "perceptron",
    "PerceptronSVCCV": "perceptron",
    "StumpSVC": "stump",
    "StumpSVCCV": "stump",
    "TreeSVC": "tree",
    "TreeSVCCV": "tree",
}
__getattr__, __dir__ = open_when_asked(__name__, _HOMES)
