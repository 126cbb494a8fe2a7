"""What there is to fit, how, and what comes of it: the values that fronts and prepared samples exchange."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, Self

from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from mercer._typing import Array, Index
from mercer.array_api import like, namespace
from mercer.solvers.newton import Axes, Loss, solve_softmax_path
from mercer.solvers.newton.multinomial import Softmax

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

    def select(self, rows: Index) -> Self:
        """Return some of them."""


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


class How(NamedTuple):
    """How samples are computed with."""

    method: str
    n_landmarks: int | None = None
    max_bins: int | None = None
    n_directions: int | None = None
    seed: int = 0
    is_hinge: bool = False  # then LIBSVM may compute a Gaussian kernel itself
    loss: Loss | None = None  # of all problems, …
    n_classes: int = 0  # … of so many classes; numbers are of none


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


def solve_softmax(axes: Axes, problems: Problems, Cs: Sequence[float], options: Options) -> Iterator[Softmax]:
    """Solve the multinomial log-loss of all classes, for each C."""
    label, weight = like(axes.size, problems.label), like(axes.size, problems.weight)
    progress = None if options.report is None else options.report(0)
    more = options.max_iter or MAX_STEPS
    return solve_softmax_path(
        axes, label, weight, len(problems.each), Cs, tol=options.tol, max_iter=more, progress=progress
    )


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
        out[k, problem.rows if problem.rows is not None else slice(None)] = coef
    return out


def keep_support(coef: Array) -> tuple[Index, Array]:
    """Return the samples with a coefficient that is not zero, and their coefficients."""
    xp = namespace(coef)
    (support,) = xp.nonzero(xp.any(coef != 0, axis=0))
    return support, coef[:, support]
