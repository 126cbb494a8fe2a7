"""Kernels: what a learner fills in, and what every tool that takes a kernel can use."""

from mercer.kernels.base import FeatureKernel, Kernel
from mercer.kernels.combination import Combination
from mercer.kernels.distance import Perceptron, Stump
from mercer.kernels.ensemble import PerceptronEnsemble, StumpEnsemble
from mercer.kernels.forest import Forest
from mercer.kernels.mapped import Mapped
from mercer.kernels.mixture import Mixture
from mercer.kernels.projected import Projected
from mercer.kernels.ranked import Ranked
from mercer.kernels.rescaled import Rescaled
from mercer.kernels.series import Series
from mercer.kernels.tree import Tree

__all__ = [
    "Combination",
    "FeatureKernel",
    "Forest",
    "Kernel",
    "Mapped",
    "Mixture",
    "Perceptron",
    "PerceptronEnsemble",
    "Projected",
    "Ranked",
    "Rescaled",
    "Series",
    "Stump",
    "StumpEnsemble",
    "Tree",
]
