"""Samples prepared for any number of fits, of any problem, loss and C: what all four kinds of them have."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

from mercer._typing import Array, Index
from mercer.array_api import take
from mercer.machines.problems import Options, Problems, Solved
from mercer.solvers.newton import Loss

LEAST_SPREAD = 1e-12  # of the mean kernel value: less is rounding errors, and the rows coincide


@dataclass(frozen=True)
class PreparedSamples(ABC):
    """Samples that are ready for a kernel."""

    kernel: Any
    X: Array

    @abstractmethod
    def select(self, rows: Index) -> Self:
        """Return some of the samples."""

    @abstractmethod
    def spread(self, weight: Array) -> float:
        """Return the mean squared distance of the samples from their mean, in the kernel's space."""

    @abstractmethod
    def solve_path(
        self, problems: Problems, Cs: Sequence[float], loss: Loss, options: Options
    ) -> Iterator[Solved]:
        """Solve all problems for each C, in ascending order."""

    def values(self, solved: Solved, test: Index, train: Index) -> Array:
        """Return what was learned from some of the samples says of others."""
        return solved.function(take(self.X, test))

    @abstractmethod
    def left_out(self, Y: Array, weight: Array, C: float) -> tuple[Array, Index]:
        """Return by how much a fit of squared errors without a sample misses it, and of which samples."""
