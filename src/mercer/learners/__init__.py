"""Learners: estimators that find the kernel that the data need."""

from typing import TYPE_CHECKING

from mercer.lazy import open_when_asked

if TYPE_CHECKING:
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

# Each brings solvers of its own
_HOMES = {
    "BlendedKernel": "blended",
    "BoostedKernel": "boosted",
    "IdealizedKernel": "idealized",
    "KernelBoost": "kernelboost",
    "RelevanceKernel": "relevance",
    "Superkernel": "superkernel",
}
__getattr__, __dir__ = open_when_asked(__name__, _HOMES)
