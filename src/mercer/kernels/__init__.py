"""Kernels: what a learner fills in, and what every tool that takes a kernel can use."""

from .base import FeatureKernel, Kernel
from .combination import Combination
from .distance import Perceptron, Stump
from .ensemble import PerceptronEnsemble, StumpEnsemble
from .mixture import Mixture
from .projected import Projected
from .rescaled import Rescaled
from .series import Series

__all__ = [
    "Combination",
    "FeatureKernel",
    "Kernel",
    "Mixture",
    "Perceptron",
    "PerceptronEnsemble",
    "Projected",
    "Rescaled",
    "Series",
    "Stump",
    "StumpEnsemble",
]
