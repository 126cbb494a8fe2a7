"""Samples with their Gram matrix: LIBSVM for the hinge, closed forms for squares, Newton steps for others."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, Self

import numpy as np
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.utils import gen_batches

from mercer._typing import Array, Index
from mercer.array_api import at_once, is_of_numpy, like, namespace, take, to_numpy
from mercer.kernels.tensors import gram_of
from mercer.limits import check_memory
from mercer.machines.extent import with_digits
from mercer.machines.functions import KernelFunction
from mercer.machines.problems import MULTINOMIAL, Options, Problem, Problems, Solved
from mercer.machines.samples import (
    LEAST_SPREAD,
    PreparedSamples,
    keep_support,
    scatter_coef,
    solve_softmax,
    walk,
)
from mercer.solvers.libsvm import (
    SHARE,
    STEPS,
    TwoClassProblem,
    complete,
    polishes,
    solve_by_libsvm,
    solve_gaussian,
)
from mercer.solvers.newton import HINGE, Axes, Loss, SquaredError, solve_on_gram, thin
from mercer.solvers.newton.gram import among, centre
from mercer.solvers.ridge import leave_one_out, solve_ridge, spread

SINGLE_TOL = 1e-4  # from which on features of single precision will do
SINGLE_SIZE = 1e25  # of kernel values, and one over it, that have features of single precision
LEFT_OUT_ROWS = 2000  # of more samples, leaving one out in closed form is tried with one in two, say
FEW_ROWS = 2000  # up to which Newton steps solve what LIBSVM, in single precision, does not in many steps
FARTHEST = 1e140  # kernel values may be: squares of larger ones have no sums


@dataclass(frozen=True)
class GramSamples(PreparedSamples):
    """Samples with their Gram matrix, centred: K_ij − m_i − m_j."""

    K: Array
    means: Array

    @classmethod
    def of(cls, kernel: Any, X: Array) -> Self:
        """Compute the Gram matrix."""
        return cls(kernel, X, *compute_gram(kernel, X))

    def select(self, rows: Index) -> Self:
        """Return some of the samples."""
        rows = like(self.X, rows)
        return replace(self, X=self.X[rows], K=among(self.K, rows), means=self.means[rows])

    def spread(self, weight: Array) -> float:
        """Return the mean squared distance of the samples from their mean: zero if it is rounding errors."""
        value = float(spread(self.K, like(self.K, weight)))
        return value if value > LEAST_SPREAD * self.largest else 0.0

    @property
    def largest(self) -> float:
        """Return the mean kernel value of a sample and itself, as it was before the matrix was centred."""
        return float(abs(self.K.diagonal() + 2.0 * self.means).mean())

    def _with_digits(self, Cs: Sequence[float], weights: Sequence[Array]) -> list[float]:
        return with_digits(Cs, weights, max(self.largest, float(self.K.diagonal().mean())))

    def values(self, solved: Solved, test: Index, train: Index) -> Array:
        """Return what was learned from some of the samples says of others, by their Gram matrix."""
        test, rows, coef = like(self.X, test), like(self.X, train)[solved.support], solved.coef.T
        if len(rows) == 0:
            rows, coef = like(self.X, train[:1]), like(self.X, np.zeros((1, coef.shape[1])))
        bias = solved.function.intercept + self.means[rows] @ coef
        return self.K[test][:, rows] @ coef + self.means[test][:, None] * coef.sum(0) + bias

    def left_out(self, Y: Array, weight: Array, C: float) -> tuple[Array, Index]:
        """Return by how much a fit of squared errors without a sample misses it, of all samples."""
        if not is_of_numpy(self.X):
            return leave_some_out(self.kernel, self.X, Y, weight, C)
        (C,) = self._with_digits([C], [weight])
        return leave_one_out(self.K, Y, weight, C), np.arange(len(Y))

    def solve_path(
        self, problems: Problems, Cs: Sequence[float], loss: Loss, options: Options
    ) -> Iterator[Solved]:
        """Solve all problems for each C: the hinge by LIBSVM, squares in closed form, others by Newton steps.

        Tensors always take Newton steps.
        """
        Cs = self._with_digits(Cs, [problem.weight for problem in problems.each])
        if is_of_numpy(self.X) and isinstance(loss, SquaredError) and _share_rows(problems.each):
            yield from (self._solve_squares(problems.each, C) for C in Cs)
            return
        if loss is HINGE and problems.label is not None and is_of_numpy(self.X):
            for C in Cs:
                yield self._solve_by_libsvm(problems, C, options)
            return
        if problems.scheme == MULTINOMIAL:
            yield from self._solve_softmax(problems, Cs, options)
            return
        path = partial(self._path, Cs, loss, options)
        for solutions in walk(problems.each, path, options.n_jobs):
            coef = scatter_coef(self.X, problems.each, [s.function.coef for s in solutions])
            bias = np.array([solution.bias for solution in solutions])
            yield Solved.of(*self._function(coef, bias), solutions, options.tol)

    def _path(
        self, Cs: Sequence[float], loss: Loss, options: Options, k: int, problem: Problem
    ) -> Iterator[Any]:
        K, means = self.K, self.means
        if problem.rows is not None:
            K, means = among(K, problem.rows), means[problem.rows]
        y, weight = (like(K, part) for part in (problem.y, problem.weight))
        return solve_on_gram(K, means, y, weight, Cs, loss, **options.of_problem(k))

    def _function(self, coef: Array, intercept: Array) -> tuple[KernelFunction, Index, Array]:
        return expand(self.kernel, self.X, coef, intercept)

    def _solve_softmax(self, problems: Problems, Cs: Sequence[float], options: Options) -> Iterator[Solved]:
        """Solve the multinomial log-loss, all classes at once."""
        size = float(self.K.diagonal().mean())
        single = options.tol >= SINGLE_TOL and 1.0 / SINGLE_SIZE < size < SINGLE_SIZE
        for s in solve_softmax(Axes.of_gram(self.K, single), problems, Cs, options):
            yield Solved.of(*self._function(s.coef.T, s.bias - self.means @ s.coef), [s], options.tol)

    def _solve_squares(self, problems: Sequence[Problem], C: float) -> Solved:
        """Solve problems of the same rows and weights."""
        weight, Y = problems[0].weight, np.column_stack([problem.y for problem in problems])
        coef = solve_ridge(self.K, Y, weight, C)
        value = self.K @ coef
        intercept = weight @ (Y - value) / weight.sum()
        square, error = 0.5 * (coef * value).sum(axis=0), Y - value - intercept
        objective, one = -square - 0.5 * C * (weight @ error**2), np.ones(len(problems), dtype=np.intp)
        bias = intercept - self.means @ coef
        return Solved(*self._function(coef.T, bias), objective, 0.0 * objective, one, True)

    def _solve_by_libsvm(self, problems: Problems, C: float, options: Options) -> Solved:
        label, weight, parts = _classes(problems, C, len(self.X))
        tol, max_iter, is_few = SHARE * options.tol, options.max_iter, len(self.X) <= FEW_ROWS
        steps = STEPS if is_few and max_iter is None else max_iter
        found = solve_by_libsvm(
            self.K, label, weight, problems.scheme, tol=tol, max_iter=steps, warn=steps == max_iter
        )
        coef, intercept, n_iter = found.coef, found.intercept, found.n_iter.astype(np.int64)
        objective, residual = np.full((2, len(parts)), np.nan)
        if polishes():
            done = complete(self.K, found, parts, weight)
            coef = np.zeros_like(coef)
            coef[done.problems.rows, done.problems.number] = done.coef
            intercept, objective, residual = done.intercept, done.objective, done.residual
        bias, is_done = intercept - self.means @ coef, True
        for p in np.flatnonzero(n_iter >= STEPS).tolist() if steps != max_iter else ():
            better = next(self._path([C], HINGE, options, p, problems.each[p]))
            coef[parts[p].rows, p] = better.coef
            bias[p], objective[p] = better.bias, better.objective
            residual[p], n_iter[p] = better.residual, better.n_iter
            is_done = is_done and better.residual <= options.tol
        return Solved(*self._function(coef.T, bias), objective, residual, n_iter, is_done)


@dataclass(frozen=True)
class GaussianSamples(PreparedSamples):
    """Many samples of the Gaussian kernel, for the hinge: LIBSVM computes kernel values as needed."""

    def select(self, rows: Index) -> Self:
        """Return some of the samples."""
        return replace(self, X=self.X[rows])

    def spread(self, weight: Array) -> float:
        """Return the mean squared distance of the samples from their mean."""
        share, blocks = weight / weight.sum(), gen_batches(len(self.X), max(1, 2**22 // len(self.X)))
        products = (share[block] @ (self.kernel(self.X[block], self.X) @ share) for block in blocks)
        return 1.0 - float(sum(products))

    def left_out(self, Y: Array, weight: Array, C: float) -> tuple[Array, Index]:
        """Return by how much a fit of squared errors without a sample misses it, of some samples."""
        return leave_some_out(self.kernel, self.X, Y, weight, C)

    def solve_path(
        self, problems: Problems, Cs: Sequence[float], loss: Loss, options: Options
    ) -> Iterator[Solved]:
        """Solve all problems for each C by LIBSVM, which vouches for the residual."""
        X = self.X / self.kernel.length_scale
        for C in Cs:
            label, weight, parts = _classes(problems, C, len(X))
            tol, max_iter = SHARE * options.tol, options.max_iter
            found = solve_gaussian(X, label, weight, problems.scheme, tol=tol, max_iter=max_iter)
            unknown = np.full(len(parts), np.nan)  # the objective would take as long as the fit
            function = expand(self.kernel, self.X, found.coef.T, found.intercept)
            yield Solved(*function, unknown, unknown, found.n_iter.astype(np.int64), True)


def _classes(problems: Problems, C: float, n: int) -> tuple[Index, Array, list[TwoClassProblem]]:
    """Return the labels, the penalty of each sample, and the two-class problems."""
    assert problems.label is not None
    assert problems.weight is not None
    every = np.arange(n)
    parts = [TwoClassProblem(every if p.rows is None else p.rows, p.y) for p in problems.each]
    return problems.label, C * problems.weight, parts


def expand(kernel: Any, X: Array, coef: Array, intercept: Array) -> tuple[KernelFunction, Index, Array]:
    """Return the function of coefficients of all samples, those that count, and their coefficients."""
    support, coef = keep_support(coef)
    anchors, columns = take(X, support), coef.T
    if len(support) == 0:  # a kernel wants rows
        anchors, columns = X[:1], like(X, np.zeros((1, len(coef))))
    return KernelFunction(kernel, anchors, columns, like(X, intercept)), support, coef


def leave_some_out(kernel: Any, X: Array, Y: Array, weight: Array, C: float) -> tuple[Array, Index]:
    """Return by how much a fit of squared errors without a sample misses it, of some, without the others."""
    some = choose_some(len(X))
    K, _ = compute_gram(kernel, to_numpy(take(X, some)))
    return leave_one_out(K, Y[some], weight[some], C), some


def choose_some(n: int) -> Index:
    """Return samples that are few enough for a closed form, whatever order they are in."""
    return thin(np.arange(n), -(-n // LEFT_OUT_ROWS))


def compute_gram(kernel: Any, X: Array) -> tuple[Array, Array]:
    """Return the Gram matrix in double precision, centred, and its means, if there is memory for it."""
    advice = "Use method='landmarks', or fewer rows."
    room = () if is_of_numpy(X) else _free_memory(X)
    check_memory(2 * 8 * len(X) ** 2, f"The Gram matrix of {len(X)} rows", advice, *room)
    with np.errstate(over="ignore", invalid="ignore"):
        if is_of_numpy(X):
            K = np.asarray(kernel(X), dtype=np.float64)
        else:
            xp = namespace(X)
            blocks = gen_batches(len(X), max(1, at_once(X, 1) // len(X)))
            K = xp.concat([xp.astype(gram_of(kernel, X[block], X), xp.float64) for block in blocks])
        largest = max(float(K.max()), -float(K.min()))
    check_size(X, largest)
    if is_of_numpy(K) and not (K.flags.writeable and K.flags.owndata):
        K = K.copy()
    return centre(K)


def check_size(X: Array, largest: float) -> None:
    """Raise if the largest kernel value of samples is too large to compute with."""
    if not largest <= FARTHEST:
        raise ValueError(
            f"features are as large as {float(abs(X).max()):.0e}, and kernel values or squared distances are "
            "no numbers: scale the features, for example with sklearn.preprocessing.StandardScaler."
        )


def _free_memory(X: Any) -> tuple[float, str] | tuple[()]:
    """Return the memory of a GPU that is free, or torch's own and unused, and its name; nothing of a CPU."""
    if not X.is_cuda:
        return ()
    cuda = import_module("torch").cuda
    unused = cuda.memory_reserved(X.device) - cuda.memory_allocated(X.device)
    return cuda.mem_get_info(X.device)[0] + unused, cuda.get_device_name(X.device)


def is_gaussian(kernel: Any) -> bool:
    """Return whether a kernel is exp(−‖x − x'‖² / 2) of rescaled rows, which LIBSVM computes itself."""
    return type(kernel) is sk_kernels.RBF


def _share_rows(problems: Sequence[Problem]) -> bool:
    """Return whether problems have the same rows, all of them, and the same weights."""
    return all(p.rows is None and np.array_equal(p.weight, problems[0].weight) for p in problems)
