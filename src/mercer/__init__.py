"""mercer learns the kernel that a data set needs, and hands it to every tool that takes a kernel."""

from importlib.metadata import version

from mercer.learners import BoostedKernel, IdealizedKernel
from mercer.pairs import Pairs
from mercer.svm import KernelSVC, PerceptronSVC, PerceptronSVCCV, StumpSVC, StumpSVCCV

__version__ = version("mercer")

__all__ = [
    "BoostedKernel",
    "IdealizedKernel",
    "KernelSVC",
    "Pairs",
    "PerceptronSVC",
    "PerceptronSVCCV",
    "StumpSVC",
    "StumpSVCCV",
]
