"""Many samples with landmarks by the thousand: conjugate gradients on their kernel values.

Where n m² is more than some seconds' work, features of landmarks take too long. The number of landmarks is as
large as memory and time allow; with the squared error it grows for as long as held-out samples gain by it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from mercer._typing import Array, Index
from mercer.array_api import is_of_numpy
from mercer.kernels.tensors import diag_of, gram_of
from mercer.limits import check_memory
from mercer.machines.additive import reachable
from mercer.machines.extent import with_digits
from mercer.machines.feature_samples import (
    HELD,
    LANDMARK_WORK,
    LEAST_LANDMARKS,
    USUAL_LANDMARKS,
    FeatureSamples,
)
from mercer.machines.functions import KernelFunction
from mercer.machines.problems import How, Options, Problem, Problems, Solved
from mercer.machines.samples import LEAST_SPREAD, PreparedSamples, walk
from mercer.solvers.newton import HINGE, LogLoss, Loss, SquaredError, solve_path, thin
from mercer.solvers.newton.landmarks import (
    DOUBLE_JITTER,
    JITTER,
    LandmarkColumns,
    LandmarkRows,
    Landmarks,
    solve_squares,
)

ENOUGH = 1500  # landmarks as features that classes do not gain by more of: of 30 000 samples in half the time
FIRST = 1000  # landmarks of the squared error, of which there are then twice as many, …
GAIN = 0.03  # … and again, for as long as the held-out squared error falls by this share
MOST, SHARE = 10_000, 2  # landmarks at most, and one for so many samples
WORK, PASSES = 2**39, 400  # m³ + PASSES n m at most: some 10 s
MANY_ROWS = 5000  # with the squared error, from which on landmarks grow
HELD_OUT = 2000  # samples, about
AT_LEAST = 800  # landmarks of a million samples, whose values then take 3.2 GB; of more samples fewer
DOUBLE = 2**26  # kernel values up to which they have double precision: 512 MB
BLOCK = 2**22  # kernel values of double precision at a time: 32 MB


def prepare_landmarks(kernel: Any, X: Array, how: How) -> PreparedSamples:
    """Prepare samples with few landmarks as features, or with as many as there is time for."""
    n, m = len(X), count_many(len(X), how)
    is_joint = isinstance(how.loss, LogLoss) and how.n_classes > 2
    grows = _of_numbers(how) and how.n_landmarks is None and n > MANY_ROWS
    few = min(m, ENOUGH) if how.n_landmarks is None and not grows else m
    if not is_of_numpy(X) or how.loss is None or is_joint or not (grows or n * few**2 > LANDMARK_WORK):
        return FeatureSamples.of_landmarks(kernel, X, how)
    return LandmarkSamples.of(kernel, X, how, m, FIRST if grows else m)


def count_many(n: int, how: How) -> int:
    """Return the largest number of landmarks: as many as wanted, if there is memory for them."""
    room = max(HELD // n, min(AT_LEAST, 2 * HELD // n), LEAST_LANDMARKS)
    if how.n_landmarks is not None or not _of_numbers(how):
        return int(min(n, how.n_landmarks or USUAL_LANDMARKS, room))
    m = MOST
    while m**3 + PASSES * n * m > WORK and m > FIRST:
        m -= 100
    return int(min(n // SHARE, m, room))


def _of_numbers(how: How) -> bool:
    """Return whether squared errors of numbers are minimised."""
    return isinstance(how.loss, SquaredError) and how.n_classes == 0


@dataclass(frozen=True)
class LandmarkSamples(PreparedSamples):
    """Samples with their kernel values at landmarks, centred at the first of these."""

    room: NDArray[np.floating]  # for the values at all landmarks that there may be, in this order
    order: Index  # of samples
    anchors: Array
    centre: Array  # the mean kernel value of the first landmarks and each, …
    middle: float  # … the mean of these, …
    n_first: int  # … of so many
    square: Array  # the squared distance of each sample from the centre
    landmarks: Landmarks
    is_part: bool = False  # then landmarks are not among the samples

    @classmethod
    def of(cls, kernel: Any, X: Array, how: How, most: int, first: int) -> Self:
        """Draw the order of the landmarks, and compute the values at the first."""
        room = 4 * len(X) * most + 3 * 8 * most**2
        check_memory(room, f"{most} landmarks of {len(X)} rows", "Use fewer landmarks.")
        order = np.random.default_rng(how.seed).choice(len(X), most, replace=False)
        first = min(first, most)
        Z = X[order[:first]]
        K = np.asarray(gram_of(kernel, Z, Z), dtype=np.float64)
        centre, middle = K.mean(axis=0), float(K.mean())
        is_double = len(X) * most <= DOUBLE
        landmarks = Landmarks(K - centre - centre[:, None] + middle, DOUBLE_JITTER if is_double else JITTER)
        kind = np.float64 if is_double else np.float32
        values, square = np.empty((len(X), most), dtype=kind), np.empty(len(X))
        for rows in gen_batches(len(X), max(1, BLOCK // first)):
            part = np.asarray(gram_of(kernel, X[rows], Z), dtype=np.float64)
            mean = part.mean(axis=1)
            square[rows] = diag_of(kernel, X[rows]) - 2.0 * mean + middle
            values[rows, :first] = part - mean[:, None] - (centre - middle)
        return cls(kernel, X, values, order, Z, centre, middle, first, square, landmarks)

    def with_more(self, m: int) -> Self:
        """Return the samples with more landmarks, whose values take the room that there is."""
        before, Z = len(self.anchors), self.X[self.order[:m]]
        new, few = Z[before:], Z[: self.n_first]
        own = np.asarray(gram_of(self.kernel, few, new), dtype=np.float64).mean(axis=0)
        centre = np.concatenate([self.centre, own])
        for rows in gen_batches(len(self.X), max(1, BLOCK // m)):
            part = np.asarray(gram_of(self.kernel, self.X[rows], new), dtype=np.float64)
            # what the means of the row are: of its first values
            mean = (diag_of(self.kernel, self.X[rows]) + self.middle - self.square[rows]) / 2.0
            self.room[rows, before:m] = part - mean[:, None] - (own - self.middle)
        K = np.asarray(gram_of(self.kernel, Z, Z), dtype=np.float64)
        mean = K[:, : self.n_first].mean(axis=1)
        K -= mean
        K -= mean[:, None] - self.middle
        jitter = DOUBLE_JITTER if self.room.dtype == np.float64 else JITTER
        return replace(self, anchors=Z, centre=centre, landmarks=Landmarks(K, jitter))

    @property
    def columns(self) -> LandmarkColumns:
        """Return the kernel values."""
        return LandmarkColumns(self.room[:, : len(self.anchors)], self.landmarks)

    def select(self, rows: Index) -> Self:
        """Return some of the samples; landmarks stay."""
        room = self.room[rows, : len(self.anchors)]
        return replace(self, X=self.X[rows], room=room, square=self.square[rows], is_part=True)

    def spread(self, weight: Array) -> float:
        """Return the mean squared distance of the samples from their mean."""
        share = weight / weight.sum()
        away = self.columns.add_up(share)
        value, largest = float(share @ self.square - away @ away), float(share @ np.abs(self.square))
        return value if value > LEAST_SPREAD * largest else 0.0

    def left_out(self, Y: Array, weight: Array, C: float) -> tuple[Array, Index]:
        """Return by how much a fit of squared errors to the other samples misses some."""
        (C,), n = with_digits([C], [weight], self.landmarks.mean_diagonal), len(self.X)
        some = thin(np.arange(n), max(2, n // HELD_OUT))
        bound = C * weight
        bound[some] = 0.0
        errors = np.empty((len(some), Y.shape[1]))
        for k, y in enumerate(Y.T):
            step = solve_squares(self.columns, y, bound, tol=1e-3)
            errors[:, k] = y[some] - self.columns[some].multiply(step.w) - step.bias
        return errors, some

    def solve_path(
        self, problems: Problems, Cs: Sequence[float], loss: Loss, options: Options
    ) -> Iterator[Solved]:
        """Solve all problems for each C, squares at once, others by Newton steps."""
        Cs = with_digits(Cs, [p.weight for p in problems.each], self.landmarks.mean_diagonal)
        if isinstance(loss, SquaredError) and all(problem.rows is None for problem in problems.each):
            yield from self._solve_squares(problems.each, Cs, options)
            return
        path = partial(self._path, Cs, loss, options)
        for solutions in walk(problems.each, path, options.n_jobs):
            w = np.stack([s.function.coef for s in solutions], axis=1)
            function = self._function(w, np.array([s.bias for s in solutions]))
            yield Solved.of(*function, solutions, options.tol)

    def _path(
        self, Cs: Sequence[float], loss: Loss, options: Options, k: int, problem: Problem
    ) -> Iterator[Any]:
        columns = self.columns if problem.rows is None else self.columns[problem.rows]
        weight = reachable(problem.y, problem.weight) if loss is HINGE else problem.weight
        rows = LandmarkRows.of(columns, problem.y, weight)
        return solve_path(rows, Cs, loss, **options.of_problem(k))

    def _solve_squares(
        self, each: Sequence[Problem], Cs: Sequence[float], options: Options
    ) -> Iterator[Solved]:
        starts: list[Any] = [None] * len(each)
        for C in Cs:
            more = {} if options.max_iter is None else {"max_iter": options.max_iter}
            steps = [
                solve_squares(self.columns, p.y, C * p.weight, tol=options.tol, start=start, **more)
                for p, start in zip(each, starts, strict=True)
            ]
            starts = [step.w for step in steps]
            w, bias = np.stack(starts, axis=1), np.array([step.bias for step in steps])
            objective = [self._objective(p, C, s.w, s.bias) for p, s in zip(each, steps, strict=True)]
            residual, n_iter = np.array([s.residual for s in steps]), np.array([s.n_iter for s in steps])
            is_done = bool(np.all(residual <= options.tol))
            yield Solved(*self._function(w, bias), np.array(objective), residual, n_iter, is_done)

    def _objective(self, problem: Problem, C: float, w: Array, bias: float) -> float:
        """Return that of the dual problem, as of other samples: minus the least of the primal one."""
        error = problem.y - self.columns.multiply(w) - bias
        return -0.5 * float(w @ w) - 0.5 * C * float(problem.weight @ error**2)

    def _function(self, w: Array, bias: Array) -> tuple[KernelFunction, Index, Array]:
        """Return the function of weights, its landmarks if they are among the samples, and coefficients."""
        coef = np.stack([self.landmarks.expand(one) for one in w.T], axis=1)
        total = coef.sum(axis=0)
        bias = bias - self.centre @ coef + self.middle * total
        coef[: self.n_first] -= total / self.n_first
        n_known = 0 if self.is_part else len(coef)
        function = KernelFunction(self.kernel, self.anchors, coef, bias)
        return function, self.order[:n_known], coef.T[:, :n_known]


def grow_landmarks(prepared: PreparedSamples, problems: Problems, C: float) -> PreparedSamples:
    """Return the samples with as many landmarks as their held-out squared error gains by, and room allows."""
    if not isinstance(prepared, LandmarkSamples):
        return prepared
    Y, weight = np.column_stack([problem.y for problem in problems.each]), problems.each[0].weight
    least, before = np.inf, prepared
    while True:
        error, some = prepared.left_out(Y, weight, C)
        loss = float(np.average(error**2, axis=0, weights=weight[some]).mean())
        m, most = len(prepared.anchors), prepared.room.shape[1]
        if not loss < least:  # or it is no number
            return before
        if m == most or loss > (1.0 - GAIN) * least:
            return prepared
        least, before, prepared = loss, prepared, prepared.with_more(min(2 * m, most))
