"""Learners: estimators that find the kernel that the data need."""

from mercer.learners.boosted import BoostedKernel
from mercer.learners.idealized import IdealizedKernel
from mercer.learners.kernelboost import KernelBoost
from mercer.learners.relevance import RelevanceKernel
from mercer.learners.superkernel import Superkernel

__all__ = ["BoostedKernel", "IdealizedKernel", "KernelBoost", "RelevanceKernel", "Superkernel"]
