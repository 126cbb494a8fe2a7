"""Superkernels: kernels on pairs of rows, whose span is a space of kernels to learn from [OSW02].

`Risk`, `SquaredRisk`, `Alignment` and `Posterior` are the quality functionals by which `mercer.Superkernel`
learns.
"""

from mercer.superkernels.base import Expansion, PairKernel
from mercer.superkernels.explicit import Explicit
from mercer.superkernels.functionals import Alignment, Posterior, QualityFunctional, Risk, SquaredRisk
from mercer.superkernels.power_series import ARD, GaussianHarmonic, Harmonic, PowerSeries
from mercer.superkernels.widths import Widths

__all__ = [
    "ARD",
    "Alignment",
    "Expansion",
    "Explicit",
    "GaussianHarmonic",
    "Harmonic",
    "PairKernel",
    "Posterior",
    "PowerSeries",
    "QualityFunctional",
    "Risk",
    "SquaredRisk",
    "Widths",
]
