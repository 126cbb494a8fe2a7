"""Kernels: what a learner fills in, and what every tool that takes a kernel can use."""

from .base import FeatureKernel, Kernel
from .distance import Perceptron, Stump
from .ensemble import PerceptronEnsemble, StumpEnsemble
from .projected import Projected

__all__ = [
    "FeatureKernel",
    "Kernel",
    "Perceptron",
    "PerceptronEnsemble",
    "Projected",
    "Stump",
    "StumpEnsemble",
]
