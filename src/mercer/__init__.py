"""mercer learns the kernel that a data set needs, and hands it to every tool that takes a kernel."""

from importlib.metadata import version

from mercer.svm import KernelSVC, PerceptronSVC, PerceptronSVCCV, StumpSVC, StumpSVCCV

__version__ = version("mercer")

__all__ = ["KernelSVC", "PerceptronSVC", "PerceptronSVCCV", "StumpSVC", "StumpSVCCV"]
