"""Learners: estimators that find the kernel that the data need."""

from .boosted import BoostedKernel
from .idealized import IdealizedKernel

__all__ = ["BoostedKernel", "IdealizedKernel"]
