"""Samples with features: those of the kernel, or of landmarks about it (Nyström's approximation)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils import gen_batches

from mercer._typing import Array, Index
from mercer.array_api import at_once, is_of_numpy, like, namespace, take, to_numpy
from mercer.kernels.tensors import gram_of
from mercer.limits import check_memory
from mercer.machines.additive import reachable
from mercer.machines.extent import with_digits
from mercer.machines.functions import KernelFunction, features_of
from mercer.machines.gram_samples import check_size
from mercer.machines.problems import (
    MAX_STEPS,
    MULTINOMIAL,
    How,
    Options,
    Problem,
    Problems,
    Solved,
    solve_softmax,
    walk,
)
from mercer.machines.samples import LEAST_SPREAD, PreparedSamples
from mercer.solvers.newton import HINGE, MORE_DIGITS, Axes, FeatureRows, Loss, solve_path, whiten_landmarks
from mercer.solvers.ridge import leave_one_out_of_features

HELD = 2**29  # features of landmarks, in single precision: 2 GiB. Of more rows, landmarks are fewer, …
LEAST_LANDMARKS = 256  # … but not fewer than these
USUAL_LANDMARKS, LEAST_USUAL = 2000, 512  # unless a number was asked for; in between, so many that …
LANDMARK_WORK = 2**36  # … n m² is this: some five seconds
DOUBLE = 2**25  # features up to which they have double precision: 256 MB
DIGITS_WORK = 2**33  # n p² up to which more digits cost little


@dataclass(frozen=True)
class FeatureSamples(PreparedSamples):
    """Samples with features whose inner products are the kernel, or with landmarks about it."""

    F: Array  # less their mean, which moves the intercept alone: far from zero, they would lose digits
    centre: Array
    landmarks: Index | None = None
    anchors: Array | None = None
    whiten: Array | None = None

    @classmethod
    def of(cls, kernel: Any, X: Array) -> Self:
        """Compute the features of a kernel that has some."""
        xp = namespace(X)
        F = xp.astype(features_of(kernel, X), xp.float64, copy=False)
        largest = max(float(xp.max(F)), -float(xp.min(F))) if F.shape[1] else 0.0  # a kernel may be zero
        check_size(X, largest * largest)
        centre = xp.mean(F, axis=0)
        return cls(kernel, X, F - centre, centre)

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
        F = landmark_features(kernel, X, Z, whiten)
        centre = namespace(F).mean(F, axis=0)
        F -= centre
        return cls(kernel, X, F, centre, landmarks, Z, whiten)

    def select(self, rows: Index) -> Self:
        """Return some of the samples; landmarks stay."""
        return replace(self, X=take(self.X, rows), F=take(self.F, rows), landmarks=None)

    def left_out(self, Y: Array, weight: Array, C: float) -> tuple[Array, Index]:
        """Return by how much a fit of squared errors without a sample misses it, of all samples."""
        F, (C,) = np.asarray(to_numpy(self.F), dtype=np.float64), self._with_digits([C], [weight])
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
        Cs = self._with_digits(Cs, [problem.weight for problem in problems.each])
        if problems.scheme == MULTINOMIAL:
            for s in solve_softmax(Axes.of_features(self.F), problems, Cs, options):
                ends = (np.array([s.objective]), np.array([s.residual]), np.array([s.n_iter]))
                yield self._describe(s.coef, s.bias, *ends, s.residual <= options.tol)
            return
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
            yield self._describe(w, intercept, objective, residual, n_iter, is_done)

    def _with_digits(self, Cs: Sequence[float], weights: Sequence[Array]) -> list[float]:
        return with_digits(Cs, weights, (self.F**2).sum(1).mean())

    def _describe(self, w: Array, intercept: Array, *ends: Any) -> Solved:
        coef = w if self.whiten is None else self.whiten @ w
        bias = like(w, intercept) - namespace(w).astype(self.centre, w.dtype, copy=False) @ w
        function = KernelFunction(self.kernel, self.anchors, coef, bias)
        support, dual = like(self.X, np.empty(0, np.intp)), coef.T[:, :0]
        if self.landmarks is not None:
            support, dual = self.landmarks, coef.T
        return Solved(function, support, dual, *ends)

    def _path(
        self, Cs: Sequence[float], loss: Loss, options: Options, tol: float, k: int, problem: Problem
    ) -> Iterator[Any]:
        F = self.F if problem.rows is None else take(self.F, problem.rows)
        y, weight = (like(F, part) for part in (problem.y, problem.weight))
        progress = None if options.report is None else options.report(k)
        more = {"tol": tol, "max_iter": options.max_iter or MAX_STEPS, "progress": progress}
        if loss is HINGE:
            weight = reachable(y, weight)
        return solve_path(FeatureRows.of(F, y, weight), Cs, loss, **more)


def count_landmarks(n_rows: int, wanted: int | None) -> int:
    """Return the number of landmarks: as many as wanted, unless their features of all rows are too many."""
    if wanted is None:
        wanted = max(min(USUAL_LANDMARKS, int(np.sqrt(LANDMARK_WORK / n_rows))), LEAST_USUAL)
    return int(min(n_rows, wanted, max(HELD // n_rows, LEAST_LANDMARKS)))


def whiten_kernel(kernel: Any, Z: Array) -> Array:
    """Return what makes features of k(x, Z). A kernel need be positive only for coefficients of sum zero."""
    K = np.array(gram_of(kernel, Z, Z), dtype=np.float64)
    return whiten_landmarks(K)


def landmark_features(kernel: Any, X: Array, Z: Array, whiten: Array) -> Array:
    """Return k(X, Z) times what whitens it; of many, in single precision and block by block."""
    xp, (m, p) = namespace(X), whiten.shape
    kind = xp.float64 if len(X) * p <= DOUBLE else xp.float32
    blocks, whiten = gen_batches(len(X), max(1, at_once(X, 2**22) // m)), xp.astype(whiten, kind, copy=False)
    parts = (xp.astype(gram_of(kernel, X[block], Z), kind, copy=False) @ whiten for block in blocks)
    if not is_of_numpy(X):
        return xp.concat([xp.astype(part, kind, copy=False) for part in parts])
    F = np.empty((len(X), p), dtype=kind)
    start = 0
    for part in parts:
        F[start : start + len(part)] = part
        start += len(part)
    return F
