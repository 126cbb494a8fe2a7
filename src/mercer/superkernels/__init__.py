"""Superkernels: kernels on pairs of rows, whose span is a space of kernels to learn from [OSW02]."""

from .base import Expansion, PairKernel
from .explicit import Explicit
from .power_series import ARD, GaussianHarmonic, Harmonic, PowerSeries
from .widths import Widths

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
