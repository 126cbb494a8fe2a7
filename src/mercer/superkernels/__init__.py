"""Superkernels: kernels on pairs of rows, whose span is a space of kernels to learn from [OSW02]."""

from mercer.superkernels.base import Expansion, PairKernel
from mercer.superkernels.explicit import Explicit
from mercer.superkernels.power_series import ARD, GaussianHarmonic, Harmonic, PowerSeries
from mercer.superkernels.widths import Widths

__all__ = [
    "ARD",
    "Expansion",
    "Explicit",
    "GaussianHarmonic",
    "Harmonic",
    "PairKernel",
    "PowerSeries",
    "Widths",
]
