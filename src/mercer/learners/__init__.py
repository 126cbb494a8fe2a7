"""Learners: estimators that find the kernel that the data need."""

from .boosted import BoostedKernel
from .idealized import IdealizedKernel
from .kernelboost import KernelBoost
from .superkernel import Superkernel

__all__ = ["BoostedKernel", "IdealizedKernel", "KernelBoost", "Superkernel"]
