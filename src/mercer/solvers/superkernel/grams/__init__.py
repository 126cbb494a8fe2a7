"""Gram matrices of many kernels at once: in memory, computed anew, by factors, or powers of one."""

from mercer.solvers.superkernel.grams.dense import ComputedGrams, Grams, HeldGrams, JointGrams, SeriesGrams
from mercer.solvers.superkernel.grams.factored import FactoredGrams
from mercer.solvers.superkernel.grams.power import PowerGrams

__all__ = [
    "ComputedGrams",
    "FactoredGrams",
    "Grams",
    "HeldGrams",
    "JointGrams",
    "PowerGrams",
    "SeriesGrams",
]
