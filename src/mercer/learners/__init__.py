"""Learners: estimators that find the kernel that the data need."""

from mercer.learners.blended import BlendedKernel
from mercer.learners.boosted import BoostedKernel
from mercer.learners.idealized import IdealizedKernel
from mercer.learners.kernelboost import KernelBoost
from mercer.learners.relevance import RelevanceKernel
from mercer.learners.superkernel import Superkernel

__all__ = [
    "BlendedKernel",
    "BoostedKernel",
    "IdealizedKernel",
    "KernelBoost",
    "RelevanceKernel",
    "Superkernel",
]
