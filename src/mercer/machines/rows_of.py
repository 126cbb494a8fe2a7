"""Which rows for which kernel: samples prepared for any number of fits, of any problem, loss and C.

A kernel says what structure it has. The stump kernel is additive: a *table*; so are slices of the perceptron
kernel. A finite feature map is a vector: *features*. Others have their *Gram* matrix while it fits in memory
and in time, and *landmarks* beyond. `prepare` returns samples of one of these four kinds, where they are: in
memory or on a device (of Dask's collections see `machines.distributed`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.parallel import Parallel, delayed

from mercer._typing import Array, Index
from mercer.array_api import at_once, is_of_numpy, like, namespace, take, to_numpy
from mercer.kernels import Perceptron, Stump
from mercer.kernels.distance import inverse_mean_cosine
from mercer.kernels.tensors import gram_of
from mercer.limits import check_memory
from mercer.machines.additive import MAX_STEPS, AdditiveFit, TrainingRows, fit_path, mean_distance
from mercer.machines.few_rows import are_few, fit_by_libsvm
from mercer.machines.functions import AdditiveFunctions, KernelFunction, features_of, has_features
from mercer.solvers.libsvm import SHARE, TwoClassProblem, complete, polishes, solve_by_libsvm, solve_gaussian
from mercer.solvers.newton import (
    HINGE,
    FeatureRows,
    Loss,
    SquaredError,
    solve_on_gram,
    solve_path,
    thin,
    whiten_landmarks,
)
from mercer.solvers.newton.gram import MORE_DIGITS, among, centre
from mercer.solvers.ridge import leave_one_out, leave_one_out_of_features, solve_ridge, spread

METHODS = ("auto", "table", "sliced", "features", "gram", "landmarks")
# rows up to which "auto" computes a Gram matrix: LIBSVM looks at what it needs of it, a closed form factors it
# once, Newton steps some ten times
GRAM_ROWS, RIDGE_ROWS, NEWTON_ROWS = 20_000, 10_000, 5000
# The perceptron kernel has slices from so many rows on; but where the rows are at most so many times the
# columns of slices of all problems, these take longer than LIBSVM
SLICED_ROWS, MOST_UNSLICED, ROWS_OF_A_SLICE = 3000, 15_000, 4
FEATURE_ROWS = 5  # rows of a problem for each feature, from which on features are the better way
# small problems, if there are many, are faster by LIBSVM: rows of one, rows in all, C × variance
MANY_PROBLEMS, EASY_ROWS, EASY_TOTAL, EASY_EFFORT = 10, 150, 4000, 30.0
GAUSSIAN_ROWS = 3000  # from which on LIBSVM computes the Gaussian kernel itself, a row when it needs it
LEFT_OUT_ROWS = 2000  # of more samples, leaving one out in closed form is tried with one in two, say
HELD = 2**29  # features of landmarks, in single precision: 2 GiB. Of more rows, landmarks are fewer, …
LEAST_LANDMARKS = 256  # … but not fewer than these
DOUBLE = 2**25  # features up to which they have double precision: 256 MB
FARTHEST = 1e140  # kernel values may be: squares of larger ones have no sums
LEAST_SPREAD = 1e-12  # of the mean kernel value: less is rounding errors, and the rows coincide
DIGITS_WORK = 2**33  # n p² up to which more digits cost little


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


class Solved(NamedTuple):
    """All problems of a machine, solved for one C."""

    function: KernelFunction | AdditiveFunctions
    support: Index  # the samples that are support vectors or landmarks; none if there are no such
    coef: Array  # (n_problems, n_support)
    objective: Array  # of each problem
    residual: Array
    n_iter: Index
    is_done: bool  # whether all are as accurate as asked for


class How(NamedTuple):
    """How samples are computed with."""

    method: str
    n_landmarks: int = 1000
    max_bins: int | None = None
    n_directions: int | None = None
    seed: int = 0
    is_hinge: bool = False  # then LIBSVM may compute a Gaussian kernel itself


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

    def left_out(self, Y: Array, weight: Array, C: float) -> tuple[Array, Index]:
        """Return by how much a fit of squared errors without a sample misses it, and of which samples.

        Here it is of some, without the others, in closed form on their Gram matrix.
        """
        some = thin(np.arange(len(self.X)), -(-len(self.X) // LEFT_OUT_ROWS))
        few = GramSamples.of(self.kernel, to_numpy(take(self.X, some)), False)
        return leave_one_out(few.K, Y[some], weight[some], C), some


def prepare(kernel: Any, X: Array, how: How) -> PreparedSamples:
    """Prepare samples for a kernel."""
    if how.method == "table":
        return AdditiveSamples(kernel, X, how.max_bins, how.seed)
    if how.method == "sliced":
        directions = draw_directions(X.shape[1], n_slices(how, X.shape[1]), how.seed)
        return AdditiveSamples(kernel, X, how.max_bins, how.seed, like(X, directions))
    if how.method == "gram":
        return GramSamples.of(kernel, X, how.is_hinge)
    if how.method == "landmarks":
        return FeatureSamples.of_landmarks(kernel, X, how)
    return FeatureSamples.of(kernel, X)


def choose_method(
    kernel: Any, how: How, loss: Loss, shape: tuple[int, int], n_classes: int = 2, effort: float = np.inf
) -> str:
    """Return the method for samples of this shape; raise ValueError if what was asked for cannot be.

    `effort` is C times the variance of the samples, in which LIBSVM's time grows.
    """
    method, (n, n_features) = how.method, shape
    if method in ("table", "sliced", "features"):
        _check_structure(method, kernel)
    if method != "auto":
        return method
    if isinstance(kernel, Stump):
        return "table"
    if isinstance(kernel, Perceptron):
        few = n <= SLICED_ROWS
        if loss is HINGE and SLICED_ROWS < n <= MOST_UNSLICED:
            few = n <= ROWS_OF_A_SLICE * n_slices(how, n_features) * (n_classes - 1)
        return "gram" if few else "sliced"
    limit = GRAM_ROWS if loss is HINGE else RIDGE_ROWS if isinstance(loss, SquaredError) else NEWTON_ROWS
    if has_features(kernel):
        p, per_problem = n_features, 2 * n / max(n_classes, 2)
        if not isinstance(kernel, sk_kernels.DotProduct):
            p = features_of(kernel, np.zeros((1, n_features))).shape[1]
        n_problems = n_classes * (n_classes - 1) // 2
        small = n_problems >= MANY_PROBLEMS and per_problem <= EASY_ROWS and n <= EASY_TOTAL
        easy = loss is HINGE and small and effort <= EASY_EFFORT
        if (FEATURE_ROWS * p <= per_problem and not easy) or (n > limit and p <= n):
            return "features"
    return "gram" if n <= limit else "landmarks"


def _check_structure(method: str, kernel: Any) -> None:
    fits = {
        "table": isinstance(kernel, Stump),
        "sliced": isinstance(kernel, Perceptron),
        "features": has_features(kernel),
    }
    if not fits[method]:
        what = {
            "table": "is not additive: method='table' is for the stump kernel",
            "sliced": "has no slices: method='sliced' is for the perceptron kernel",
            "features": "has no finite feature map: method='features' is for a FeatureKernel",
        }
        raise ValueError(f"{kernel} {what[method]}; use method='auto', 'gram' or 'landmarks'.")


def n_slices(how: How, n_features: int) -> int:
    """Return the number of directions of slices."""
    return 16 * n_features if how.n_directions is None else int(how.n_directions)


def draw_directions(n_features: int, n_directions: int, random_state: Any) -> Array:
    """Draw directions θ_k, one per column, scaled so that Σ_k |θ_kᵀ(x − x')| estimates ‖x − x'‖₂ unbiasedly.

    For θ uniform on the unit sphere of D dimensions E|θᵀz| = ‖z‖₂ / c_D with
    c_D = √π Γ((D+1)/2) / Γ(D/2) [LL05, V]. They come in orthogonal blocks, which lowers the variance.
    """
    rng = check_random_state(random_state)
    n_blocks = -(-n_directions // n_features)
    blocks = []
    for _ in range(n_blocks):
        Q, R = np.linalg.qr(rng.standard_normal((n_features, n_features)))
        blocks.append(Q * np.sign(np.diag(R)))  # uniform over the orthogonal matrices
    directions = np.hstack(blocks)[:, :n_directions]
    return np.ascontiguousarray(directions * (inverse_mean_cosine(n_features) / n_directions))


@dataclass(frozen=True)
class AdditiveSamples(PreparedSamples):
    """Samples whose features, or projections, are sorted or put into bins for each problem."""

    max_bins: int | None
    seed: int
    directions: Array | None = None

    def select(self, rows: Index) -> Self:
        """Return some of the samples."""
        return replace(self, X=take(self.X, rows))

    def spread(self, weight: Array) -> float:
        """Return the mean distance of two samples, of which the kernel is minus."""
        return mean_distance(
            self.X if self.directions is None else self.X @ self.directions, like(self.X, weight)
        )

    def solve_path(
        self, problems: Problems, Cs: Sequence[float], loss: Loss, options: Options
    ) -> Iterator[Solved]:
        """Solve all problems for each C, in ascending order."""
        label = problems.label
        if label is not None and loss is HINGE and is_of_numpy(self.X):
            n_classes = 2 if len(problems.each) == 1 else int(label.max()) + 1
            if are_few(len(self.X), n_classes, Cs):
                X = self.X if self.directions is None else self.X @ self.directions
                for fits in fit_by_libsvm(X, self.max_bins, self.seed, problems, Cs, options):
                    yield self._gather(problems, fits, options.tol)
                return
        shared: dict[str, TrainingRows] = {}
        path = partial(self._path, shared, Cs, loss, options)
        for fits in walk(problems.each, path, options.n_jobs):
            yield self._gather(problems, fits, options.tol)

    def _path(
        self,
        shared: dict[str, TrainingRows],
        Cs: Sequence[float],
        loss: Loss,
        options: Options,
        k: int,
        problem: Problem,
    ) -> Iterator[AdditiveFit]:
        if problem.rows is not None:
            rows = self._prepare(take(self.X, problem.rows))
        else:
            rows = shared["all"] = shared.get("all") or self._prepare(self.X)
        progress = None if options.report is None else options.report(k)
        y, weight = (like(rows.columns.code, part) for part in (problem.y, problem.weight))
        more = {"tol": options.tol, "max_iter": options.max_iter}
        return fit_path(
            rows, y, weight, Cs, loss, **more, **({} if progress is None else {"progress": progress})
        )

    def _prepare(self, X: Array) -> TrainingRows:
        return TrainingRows.prepare(X, self.max_bins, self.seed, self.directions)

    def _gather(self, problems: Problems, fits: Sequence[AdditiveFit], tol: float) -> Solved:
        coef = scatter_coef(self.X, problems.each, [fit.coef for fit in fits])
        support, coef = keep_support(coef)
        objective, residual, n_iter = (
            np.array(part) for part in zip(*((f.objective, f.residual, f.n_iter) for f in fits), strict=True)
        )
        function = AdditiveFunctions([fit.function for fit in fits], self.directions)
        return Solved(function, support, coef, objective, residual, n_iter, bool(np.all(residual <= tol)))


@dataclass(frozen=True)
class GramSamples(PreparedSamples):
    """Samples with their Gram matrix, centred: K_ij − m_i − m_j."""

    K: Array | None  # None: not computed, as LIBSVM computes what it needs of it
    means: Array | None

    @classmethod
    def of(cls, kernel: Any, X: Array, is_hinge: bool) -> Self:
        """Compute the Gram matrix, unless LIBSVM will."""
        if is_hinge and is_of_numpy(X) and len(X) > GAUSSIAN_ROWS and is_gaussian(kernel):
            return cls(kernel, X, None, None)
        return cls(kernel, X, *compute_gram(kernel, X))

    def select(self, rows: Index) -> Self:
        """Return some of the samples."""
        if self.K is None:
            return replace(self, X=self.X[rows])
        return replace(self, X=take(self.X, rows), K=among(self.K, rows), means=self.means[rows])

    def spread(self, weight: Array) -> float:
        """Return the mean squared distance of the samples from their mean: zero if it is rounding errors."""
        if self.K is None:
            return _gaussian_spread(self.kernel, self.X, weight)
        value = float(spread(self.K, like(self.K, weight)))
        largest = float(abs(self.K.diagonal() + 2.0 * self.means).mean())
        return value if value > LEAST_SPREAD * largest else 0.0

    def values(self, solved: Solved, test: Index, train: Index) -> Array:
        """Return what was learned from some of the samples says of others, by their Gram matrix."""
        if self.K is None:
            return solved.function(self.X[test])
        rows, coef = train[solved.support], solved.function.coef
        bias = solved.function.intercept + self.means[rows] @ coef
        return self.K[test][:, rows] @ coef + self.means[test][:, None] * coef.sum(0) + bias

    def left_out(self, Y: Array, weight: Array, C: float) -> tuple[Array, Index]:
        """Return by how much a fit of squared errors without a sample misses it, of all samples."""
        if not is_of_numpy(self.X):
            return super().left_out(Y, weight, C)
        return leave_one_out(self.K, Y, weight, C), np.arange(len(Y))

    def solve_path(
        self, problems: Problems, Cs: Sequence[float], loss: Loss, options: Options
    ) -> Iterator[Solved]:
        """Solve all problems for each C: the hinge by LIBSVM, squares in closed form, others by Newton steps.

        Tensors always take Newton steps.
        """
        if is_of_numpy(self.X) and isinstance(loss, SquaredError) and _share_rows(problems.each):
            yield from (self._solve_squares(problems.each, C) for C in Cs)
            return
        if loss is HINGE and problems.label is not None and is_of_numpy(self.X):
            for C in Cs:
                yield self._solve_by_libsvm(problems, C, options)
            return
        path = partial(self._path, Cs, loss, options)
        for solutions in walk(problems.each, path, options.n_jobs):
            coef = scatter_coef(self.X, problems.each, [s.function.coef for s in solutions])
            ends = (
                [s.bias for s in solutions],
                [s.objective for s in solutions],
                [s.residual for s in solutions],
            )
            is_done = all(s.residual <= options.tol for s in solutions)
            yield self._describe(coef, *map(np.array, ends), np.array([s.n_iter for s in solutions]), is_done)

    def _path(
        self, Cs: Sequence[float], loss: Loss, options: Options, k: int, problem: Problem
    ) -> Iterator[Any]:
        K, means = self.K, self.means
        if problem.rows is not None:
            K, means = among(K, problem.rows), means[problem.rows]
        y, weight = (like(K, part) for part in (problem.y, problem.weight))
        progress = None if options.report is None else options.report(k)
        more = {"tol": options.tol, "max_iter": options.max_iter or MAX_STEPS, "progress": progress}
        return solve_on_gram(K, means, y, weight, Cs, loss, **more)

    def _solve_squares(self, problems: Sequence[Problem], C: float) -> Solved:
        """Solve problems of the same rows and weights."""
        weight, Y = problems[0].weight, np.column_stack([problem.y for problem in problems])
        coef = solve_ridge(self.K, Y, weight, C)
        value = self.K @ coef
        intercept = weight @ (Y - value) / weight.sum()
        square, error = 0.5 * (coef * value).sum(axis=0), Y - value - intercept
        objective, one = -square - 0.5 * C * (weight @ error**2), np.ones(len(problems), dtype=np.intp)
        return self._describe(coef.T, intercept - self.means @ coef, objective, 0.0 * objective, one, True)

    def _solve_by_libsvm(self, problems: Problems, C: float, options: Options) -> Solved:
        weight, more = C * problems.weight, {"tol": SHARE * options.tol, "max_iter": options.max_iter}
        if self.K is None:
            X = self.X / self.kernel.length_scale
            found = solve_gaussian(X, problems.label, weight, problems.scheme, **more)
        else:
            found = solve_by_libsvm(self.K, problems.label, weight, problems.scheme, **more)
        coef, intercept = found.coef, found.intercept
        unknown = np.full(len(problems.each), np.nan)
        objective, residual = unknown, unknown
        if self.K is not None and polishes():
            every = np.arange(len(self.X))
            parts = [TwoClassProblem(every if p.rows is None else p.rows, p.y) for p in problems.each]
            done = complete(self.K, found, parts, weight)
            coef = np.zeros_like(coef)
            coef[done.problems.rows, done.problems.number] = done.coef
            intercept, objective, residual = done.intercept, done.objective, done.residual
        if self.means is not None:
            intercept = intercept - self.means @ coef
        solved = self._describe(coef.T, intercept, objective, residual, found.n_iter.astype(np.int64), True)
        return solved if self.K is not None else self._measure(solved, problems)

    def _measure(self, solved: Solved, problems: Problems) -> Solved:
        """Fill in the objectives, from the values at support vectors alone; LIBSVM vouches for the residual."""
        values = solved.function(solved.function.anchors) - solved.function.intercept
        c = solved.coef.T
        objective = (0.5 * c * values - abs(c)).sum(axis=0)
        return solved._replace(objective=objective)

    def _describe(
        self, coef: Array, intercept: Array, objective: Array, residual: Array, n_iter: Index, is_done: bool
    ) -> Solved:
        support, coef = keep_support(coef)
        anchors, columns = take(self.X, support), coef.T
        if len(support) == 0:  # a kernel wants rows
            anchors, columns = self.X[:1], like(self.X, np.zeros((1, len(coef))))
        function = KernelFunction(self.kernel, anchors, columns, like(self.X, intercept))
        return Solved(function, support, coef, objective, residual, n_iter, is_done)


def compute_gram(kernel: Any, X: Array) -> tuple[Array, Array]:
    """Return the Gram matrix in double precision, centred, and its means, if there is memory for it."""
    advice = "Use method='landmarks', or fewer rows."
    room = _free_memory(X) if not is_of_numpy(X) and X.is_cuda else ()
    check_memory(2 * 8 * len(X) ** 2, f"The Gram matrix of {len(X)} rows", advice, *room)
    with np.errstate(over="ignore", invalid="ignore"):
        if is_of_numpy(X):
            K = np.asarray(kernel(X), dtype=np.float64)
        else:
            xp = namespace(X)
            blocks = gen_batches(len(X), max(1, at_once(X, 1) // len(X)))
            K = xp.concat([xp.astype(gram_of(kernel, X[block], X), xp.float64) for block in blocks])
        largest = max(float(K.max()), -float(K.min()))
    if not largest <= FARTHEST:
        raise ValueError(
            f"features are as large as {float(abs(X).max()):.0e}, and kernel values or squared distances are no "
            "numbers: scale the features, for example with sklearn.preprocessing.StandardScaler."
        )
    K = K if K.flags.writeable and K.flags.owndata else K.copy() if is_of_numpy(K) else K
    return centre(K)


def _free_memory(X: Any) -> tuple[float, str]:
    """Return the memory of a GPU that is free, or torch's own and unused, and its name."""
    cuda = import_module("torch").cuda
    unused = cuda.memory_reserved(X.device) - cuda.memory_allocated(X.device)
    return cuda.mem_get_info(X.device)[0] + unused, cuda.get_device_name(X.device)


def _gaussian_spread(kernel: Any, X: Array, weight: Array) -> float:
    """Return the spread of a Gaussian kernel, without the Gram matrix."""
    share, blocks = weight / weight.sum(), gen_batches(len(X), max(1, 2**22 // len(X)))
    return 1.0 - float(sum(share[block] @ (kernel(X[block], X) @ share) for block in blocks))


def is_gaussian(kernel: Any) -> bool:
    """Return whether a kernel is exp(−‖x − x'‖² / 2) of rescaled rows, which LIBSVM computes itself."""
    return type(kernel) is sk_kernels.RBF


@dataclass(frozen=True)
class FeatureSamples(PreparedSamples):
    """Samples with features whose inner products are the kernel, or with landmarks about it."""

    F: Array
    landmarks: Index | None = None
    anchors: Array | None = None
    whiten: Array | None = None

    @classmethod
    def of(cls, kernel: Any, X: Array) -> Self:
        """Compute the features of a kernel that has some."""
        return cls(kernel, X, namespace(X).astype(features_of(kernel, X), namespace(X).float64, copy=False))

    @classmethod
    def of_landmarks(cls, kernel: Any, X: Array, how: How) -> Self:
        """Draw landmarks Z, and compute k(X, Z) times what whitens them (Nyström's approximation)."""
        n_landmarks = count_landmarks(len(X), how.n_landmarks)
        chosen = np.random.default_rng(how.seed).choice(len(X), n_landmarks, replace=False)
        landmarks = like(X, np.sort(chosen))
        Z = take(X, landmarks)
        whiten = like(X, whiten_kernel(kernel, to_numpy(Z)))
        check_memory(
            3 * 4 * len(X) * whiten.shape[1],
            f"{whiten.shape[1]} features of {len(X)} rows",
            "Use fewer landmarks.",
        )
        return cls(kernel, X, landmark_features(kernel, X, Z, whiten), landmarks, Z, whiten)

    def select(self, rows: Index) -> Self:
        """Return some of the samples; landmarks stay."""
        return replace(self, X=take(self.X, rows), F=take(self.F, rows), landmarks=None)

    def left_out(self, Y: Array, weight: Array, C: float) -> tuple[Array, Index]:
        """Return by how much a fit of squared errors without a sample misses it, of all samples."""
        F = np.asarray(to_numpy(self.F), dtype=np.float64)
        return leave_one_out_of_features(F, Y, weight, C), np.arange(len(Y))

    def spread(self, weight: Array) -> float:
        """Return the mean squared distance of the samples from their mean."""
        F, share = self.F, like(self.F, weight / weight.sum())
        share = namespace(F).astype(share, F.dtype, copy=False)
        value, largest = float((share @ (F - share @ F) ** 2).sum()), float((share @ F**2).sum())
        return value if value > LEAST_SPREAD * largest else 0.0

    def solve_path(
        self, problems: Problems, Cs: Sequence[float], loss: Loss, options: Options
    ) -> Iterator[Solved]:
        """Solve all problems for each C, by Newton steps in the features."""
        n, p = self.F.shape
        exact = self.whiten is None and n * p**2 <= DIGITS_WORK
        tol = options.tol * (MORE_DIGITS if exact else 1.0)
        path = partial(self._path, Cs, loss, options, tol)
        for solutions in walk(problems.each, path, options.n_jobs):
            w = namespace(self.F).stack([s.function.coef for s in solutions], axis=1)
            intercept, objective, residual = (
                np.array(part)
                for part in zip(*((s.bias, s.objective, s.residual) for s in solutions), strict=True)
            )
            is_done, n_iter = bool(np.all(residual <= options.tol)), np.array([s.n_iter for s in solutions])
            coef = w if self.whiten is None else self.whiten @ w
            function = KernelFunction(self.kernel, self.anchors, coef, like(self.F, intercept))
            none = self.landmarks is None
            support = like(self.X, np.empty(0, np.intp)) if none else self.landmarks
            dual = coef.T[:, :0] if none else coef.T
            yield Solved(function, support, dual, objective, residual, n_iter, is_done)

    def _path(
        self, Cs: Sequence[float], loss: Loss, options: Options, tol: float, k: int, problem: Problem
    ) -> Iterator[Any]:
        F = self.F if problem.rows is None else take(self.F, problem.rows)
        y, weight = (like(F, part) for part in (problem.y, problem.weight))
        progress = None if options.report is None else options.report(k)
        more = {"tol": tol, "max_iter": options.max_iter or MAX_STEPS, "progress": progress}
        return solve_path(FeatureRows.of(F, y, weight), Cs, loss, **more)


def count_landmarks(n_rows: int, wanted: int) -> int:
    """Return the number of landmarks: as many as wanted, unless their features of all rows are too many."""
    return int(min(n_rows, wanted, max(HELD // n_rows, LEAST_LANDMARKS)))


def whiten_kernel(kernel: Any, Z: Array) -> Array:
    """Return what makes features of k(x, Z). A kernel need be positive only for coefficients of sum zero."""
    K = np.array(gram_of(kernel, Z, Z), dtype=np.float64)
    return whiten_landmarks(K)


def landmark_features(kernel: Any, X: Array, Z: Array, whiten: Array) -> Array:
    """Return k(X, Z) times what whitens it; of many, in single precision and block by block."""
    xp, (m, p) = namespace(X), whiten.shape
    kind = xp.float64 if len(X) * p <= DOUBLE else xp.float32
    blocks = gen_batches(len(X), max(1, at_once(X, 2**22) // m))
    parts = (xp.astype(gram_of(kernel, X[block], Z), xp.float64, copy=False) @ whiten for block in blocks)
    if not is_of_numpy(X):
        return xp.concat([xp.astype(part, kind, copy=False) for part in parts])
    F = np.empty((len(X), p), dtype=kind)
    start = 0
    for part in parts:
        F[start : start + len(part)] = part
        start += len(part)
    return F


def _share_rows(problems: Sequence[Problem]) -> bool:
    """Return whether problems have the same rows, all of them, and the same weights."""
    return all(p.rows is None and np.array_equal(p.weight, problems[0].weight) for p in problems)


def walk(
    problems: Sequence[Problem], path: Callable[[int, Problem], Iterator[Any]], n_jobs: int | None
) -> Iterator[Sequence[Any]]:
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
    yield from zip(*run_in_threads(n_jobs, jobs), strict=True)


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
