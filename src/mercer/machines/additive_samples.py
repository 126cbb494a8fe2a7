"""Samples of the stump kernel, or of slices of the perceptron kernel: tables of features or projections."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from mercer._typing import Array, Index
from mercer.array_api import is_of_numpy, like, take
from mercer.kernels.distance import inverse_mean_cosine
from mercer.machines.additive import AdditiveFit, TrainingRows, fit_path, mean_distance
from mercer.machines.few_rows import are_few, fit_by_libsvm
from mercer.machines.functions import AdditiveFunctions
from mercer.machines.gram_samples import leave_some_out
from mercer.machines.problems import How, Options, Problem, Problems, Solved
from mercer.machines.samples import PreparedSamples, keep_support, scatter_coef, walk
from mercer.solvers.newton import HINGE, Loss


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

    def left_out(self, Y: Array, weight: Array, C: float) -> tuple[Array, Index]:
        """Return by how much a fit of squared errors without a sample misses it, of some samples."""
        return leave_some_out(self.kernel, self.X, Y, weight, C)

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
        y, weight = (like(rows.columns.code, part) for part in (problem.y, problem.weight))
        told = {**options.of_problem(k), "max_iter": options.max_iter}
        return fit_path(rows, y, weight, Cs, loss, **told)

    def _prepare(self, X: Array) -> TrainingRows:
        return TrainingRows.prepare(X, self.max_bins, self.seed, self.directions)

    def _gather(self, problems: Problems, fits: Sequence[AdditiveFit], tol: float) -> Solved:
        coef = scatter_coef(self.X, problems.each, [fit.coef for fit in fits])
        function = AdditiveFunctions([fit.function for fit in fits], self.directions)
        return Solved.of(function, *keep_support(coef), fits, tol)


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
