"""Samples with features: those of the kernel, or of landmarks about it (Nyström's approximation)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

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
from mercer.machines.problems import MULTINOMIAL, How, Options, Problem, Problems, Solved
from mercer.machines.samples import LEAST_SPREAD, PreparedSamples, solve_softmax, walk
from mercer.solvers.newton import HINGE, MORE_DIGITS, Axes, FeatureRows, Loss, solve_path, whiten_landmarks
from mercer.solvers.ridge import leave_one_out_of_features

HELD = 2**29  # features of landmarks, in single precision: 2 GiB. Of more rows, landmarks are fewer, …
LEAST_LANDMARKS = 256  # … but not fewer than these
USUAL_LANDMARKS, LEAST_USUAL = 2000, 512  # unless a number was asked for; in between, so many that …
LANDMARK_WORK = 2**36  # … n m² is this: some five seconds
DOUBLE = 2**25  # features up to which they have double precision: 256 MB
DIGITS_WORK = 2**33  # n p² up to which more digits cost little


class FeatureMap(NamedTuple):
    """Features whose inner products are the kernel, or about it: those of landmarks (Nyström)."""

    kernel: Any
    anchors: Array | None = None  # landmarks Z: features are k(x, Z) times what whitens them
    whiten: Any = None
    centre: Any = (
        0.0  # the mean of features, which moves the intercept alone: far from zero, they lose digits
    )

    @classmethod
    def of_landmarks(cls, kernel: Any, Z: Array) -> "FeatureMap":
        """Return the map of landmarks. A kernel need be positive only for coefficients of sum zero."""
        K = np.array(gram_of(kernel, to_numpy(Z), to_numpy(Z)), dtype=np.float64)
        return cls(kernel, Z, like(Z, whiten_landmarks(K)))

    def __call__(self, X: Array) -> Array:
        """Return the features of rows, not centred; of many landmarks, in single precision."""
        xp = namespace(X)
        if self.anchors is None:
            return xp.astype(features_of(self.kernel, X), xp.float64, copy=False)
        (m, p), Z = self.whiten.shape, self.anchors
        kind = xp.float64 if len(X) * p <= DOUBLE else xp.float32
        blocks = gen_batches(len(X), max(1, at_once(X, 2**22) // m))
        whiten = xp.astype(self.whiten, kind, copy=False)
        parts = (xp.astype(gram_of(self.kernel, X[block], Z), kind, copy=False) @ whiten for block in blocks)
        if not is_of_numpy(X):
            return xp.concat([xp.astype(part, kind, copy=False) for part in parts])
        F, start = np.empty((len(X), p), dtype=kind), 0
        for part in parts:
            F[start : start + len(part)] = part
            start += len(part)
        return F

    def function(self, w: Array, intercept: Array) -> KernelFunction:
        """Return the function of weights of centred features, one column per problem."""
        coef = w if self.whiten is None else self.whiten @ w
        bias = like(w, intercept) - namespace(w).astype(self.centre, w.dtype, copy=False) @ w
        return KernelFunction(self.kernel, self.anchors, coef, bias)


@dataclass(frozen=True)
class FeatureSamples(PreparedSamples):
    """Samples with features, less their mean."""

    F: Array
    map: FeatureMap
    landmarks: Index | None = None

    @classmethod
    def of(cls, kernel: Any, X: Array) -> Self:
        """Compute the features of a kernel that has some."""
        features, xp = FeatureMap(kernel), namespace(X)
        F = features(X)
        largest = max(float(xp.max(F)), -float(xp.min(F))) if F.shape[1] else 0.0  # a kernel may be zero
        check_size(X, largest * largest)
        centre = xp.mean(F, axis=0)
        return cls(kernel, X, F - centre, features._replace(centre=centre))

    @classmethod
    def of_landmarks(cls, kernel: Any, X: Array, how: How) -> Self:
        """Draw landmarks, and compute their features."""
        n_landmarks = count_landmarks(len(X), how.n_landmarks)
        chosen = np.random.default_rng(how.seed).choice(len(X), n_landmarks, replace=False)
        landmarks = like(X, np.sort(chosen))
        features = FeatureMap.of_landmarks(kernel, take(X, landmarks))
        p = int(features.whiten.shape[1])
        check_memory(3 * 4 * len(X) * p, f"{p} features of {len(X)} rows", "Use fewer landmarks.")
        F = features(X)
        centre = namespace(F).mean(F, axis=0)
        F -= centre
        return cls(kernel, X, F, features._replace(centre=centre), landmarks)

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
                yield self._describe(s.coef, s.bias, [s], options.tol)
            return
        n, p = self.F.shape
        exact = self.map.whiten is None and n * p**2 <= DIGITS_WORK
        digits = MORE_DIGITS if exact else 1.0
        path = partial(self._path, Cs, loss, options._replace(tol=options.tol * digits))
        for solutions in walk(problems.each, path, options.n_jobs):
            w = namespace(self.F).stack([s.function.coef for s in solutions], axis=1)
            yield self._describe(w, np.array([s.bias for s in solutions]), solutions, options.tol)

    def _with_digits(self, Cs: Sequence[float], weights: Sequence[Array]) -> list[float]:
        return with_digits(Cs, weights, (self.F**2).sum(1).mean())

    def _describe(self, w: Array, intercept: Array, each: Sequence[Any], tol: float) -> Solved:
        function = self.map.function(w, intercept)
        support, dual = like(self.X, np.empty(0, np.intp)), function.coef.T[:, :0]
        if self.landmarks is not None:
            support, dual = self.landmarks, function.coef.T
        return Solved.of(function, support, dual, each, tol)

    def _path(
        self, Cs: Sequence[float], loss: Loss, options: Options, k: int, problem: Problem
    ) -> Iterator[Any]:
        F = self.F if problem.rows is None else take(self.F, problem.rows)
        y, weight = (like(F, part) for part in (problem.y, problem.weight))
        if loss is HINGE:
            weight = reachable(y, weight)
        return solve_path(FeatureRows.of(F, y, weight), Cs, loss, **options.of_problem(k))


def count_landmarks(n_rows: int, wanted: int | None) -> int:
    """Return the number of landmarks: as many as wanted, unless their features of all rows are too many."""
    if wanted is None:
        wanted = max(min(USUAL_LANDMARKS, int(np.sqrt(LANDMARK_WORK / n_rows))), LEAST_USUAL)
    return int(min(n_rows, wanted, max(HELD // n_rows, LEAST_LANDMARKS)))
