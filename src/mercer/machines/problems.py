"""What there is to fit, how, and what comes of it: the values that fronts and prepared samples exchange."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from mercer._typing import Array, Index
from mercer.solvers.newton import Loss

MULTINOMIAL = "multinomial"  # the scheme of one problem for all classes
MAX_STEPS = 1000  # the default maximum number of Newton steps


class TrainingSamples(Protocol):
    """Checked training samples with their targets, of whatever kind."""

    @property
    def X(self) -> Array:  # noqa: N802
        """Return the samples."""

    @property
    def weight(self) -> Array:
        """Return what multiplies C for each."""

    @property
    def given(self) -> Array:
        """Return by what each counts for distances: its weight as it was given, without that of its class."""

    def select(self, rows: Index) -> Self:
        """Return some of them."""

    def counted(self) -> tuple[Self, Index]:
        """Return those of positive weight, and which they are."""

    def in_memory(self, estimator: Any) -> Self:
        """Return them as NumPy arrays, for solvers that have no other."""


class Problem(NamedTuple):
    """One function to fit: to classes ±1, or to a standardised target."""

    rows: Index | None  # of the samples; None is all
    y: Array
    weight: Array  # of each of these rows: C_i = C × weight_i


class Problems(NamedTuple):
    """The problems of one machine, on the same samples."""

    each: Sequence[Problem]
    label: Index | None = None  # the class of each sample, if they are classes: LIBSVM solves all at once
    weight: Array | None = None  # of each sample
    scheme: str = "ovo"


class Options(NamedTuple):
    """What solvers are told."""

    tol: float
    max_iter: int | None
    n_jobs: int | None = None
    report: Callable[[int], Callable[[int], bool] | None] | None = None  # of a problem, its Newton steps

    def of_problem(self, k: int) -> dict[str, Any]:
        """Return what `newton.solve_path` is told of problem k."""
        progress = None if self.report is None else self.report(k)
        return {"tol": self.tol, "max_iter": self.max_iter or MAX_STEPS, "progress": progress}


class MachineFunction(Protocol):
    """What machines learn: a function of samples, with a column of values for each problem."""

    @property
    def intercept(self) -> Any:
        """Return b of each problem."""

    @property
    def array(self) -> Any:
        """Return one of the fitted arrays: all are of one library, and on one device."""

    def __call__(self, X: Array) -> Array:
        """Return the values of rows."""

    def scaled(self, factor: float) -> "MachineFunction":
        """Return a multiple of the function."""


class Solved(NamedTuple):
    """All problems of a machine, solved for one C."""

    function: MachineFunction
    support: Index  # the samples that are support vectors or landmarks; none if there are no such
    coef: Array  # (n_problems, n_support)
    objective: Array  # of each problem
    residual: Array
    n_iter: Index
    is_done: bool  # whether all are as accurate as asked for

    @classmethod
    def of(
        cls, function: MachineFunction, support: Index, coef: Array, each: Sequence[Any], tol: float
    ) -> "Solved":
        """Return what is to be said of solutions, one for each problem or one for all."""
        objective, residual, n_iter = (
            np.array([getattr(solution, name) for solution in each])
            for name in ("objective", "residual", "n_iter")
        )
        return cls(function, support, coef, objective, residual, n_iter, bool(np.all(residual <= tol)))


class How(NamedTuple):
    """How samples are computed with."""

    method: str
    n_landmarks: int | None = None
    max_bins: int | None = None
    n_directions: int | None = None
    seed: int = 0
    loss: Loss | None = None  # of all problems, …
    n_classes: int = 0  # … of so many classes; numbers are of none
