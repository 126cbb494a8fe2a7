"""Samples prepared for any number of fits, of any problem, loss and C: what all four kinds of them have."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from mercer._typing import Array, Index
from mercer.array_api import like, namespace, take
from mercer.machines.problems import Options, Problem, Problems, Solved
from mercer.solvers.newton import Axes, Loss, Solution, solve_softmax_path

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


def walk(
    problems: Sequence[Problem], path: Callable[[int, Problem], Iterator[Any]], n_jobs: int | None
) -> Iterator[list[Any]]:
    """Yield the solutions of all problems for each C.

    Problems of the same rows go along their paths together. Others, which copy theirs, go to the end one
    after another, and in threads.
    """
    if all(problem.rows is None for problem in problems):
        paths = [path(k, problem) for k, problem in enumerate(problems)]
        while True:
            step = run_in_threads(n_jobs, [partial(next, one, None) for one in paths])
            if any(solution is None for solution in step):
                return
            yield step
    jobs = [partial(_to_the_end, path, k, problem) for k, problem in enumerate(problems)]
    yield from map(list, zip(*run_in_threads(n_jobs, jobs), strict=True))


def solve_softmax(
    axes: Axes, problems: Problems, Cs: Sequence[float], options: Options
) -> Iterator[Solution]:
    """Solve the multinomial log-loss of all classes, for each C."""
    label, weight = like(axes.size, problems.label), like(axes.size, problems.weight)
    return solve_softmax_path(axes, label, weight, len(problems.each), Cs, **options.of_problem(0))


def _to_the_end(path: Callable[[int, Problem], Iterator[Any]], k: int, problem: Problem) -> list[Any]:
    return list(path(k, problem))


def run_in_threads(n_jobs: int | None, work: Sequence[Callable[[], Any]]) -> list[Any]:
    """Return the results of all the work. One job needs no pool: its setup takes longer than a small fit."""
    if len(work) == 1 or effective_n_jobs(n_jobs) == 1:
        return [job() for job in work]
    return Parallel(n_jobs=n_jobs, prefer="threads")(delayed(job)() for job in work)


def scatter_coef(X: Array, problems: Sequence[Problem], coefs: Sequence[Array]) -> Array:
    """Return the coefficients of all samples (n_problems, n), zero for those that a problem does not have."""
    xp = namespace(X)
    if all(problem.rows is None for problem in problems):
        return xp.stack([like(X, coef) for coef in coefs])
    out = xp.zeros((len(coefs), len(X)), dtype=xp.float64, device=X.device)
    for k, (problem, coef) in enumerate(zip(problems, coefs, strict=True)):
        out[k, problem.rows if problem.rows is not None else slice(None)] = like(X, coef)
    return out


def keep_support(coef: Array) -> tuple[Index, Array]:
    """Return the samples with a coefficient that is not zero, and their coefficients."""
    xp = namespace(coef)
    (support,) = xp.nonzero(xp.any(coef != 0, axis=0))
    return support, coef[:, support]
