"""Learners: estimators that find the kernel that the data need."""

from .boosted import BoostedKernel

__all__ = ["BoostedKernel"]
