"""mercer learns the kernel that a data set needs, and hands it to every tool that takes a kernel."""

from importlib.metadata import version

from mercer.learners import BoostedKernel, IdealizedKernel, KernelBoost, Superkernel
from mercer.pairs import Pairs
from mercer.persistence import load, save
from mercer.search import KernelSearchCV
from mercer.svm import KernelSVC, PerceptronSVC, PerceptronSVCCV, StumpSVC, StumpSVCCV

__version__ = version("mercer")

__all__ = [
    "BoostedKernel",
    "IdealizedKernel",
    "KernelBoost",
    "KernelSVC",
    "KernelSearchCV",
    "Pairs",
    "PerceptronSVC",
    "PerceptronSVCCV",
    "StumpSVC",
    "StumpSVCCV",
    "Superkernel",
    "load",
    "save",
]
