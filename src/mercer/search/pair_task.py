"""Which kernel tells similar rows from dissimilar ones? The search where there are pairs and no labels."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.preprocessing import StandardScaler

from mercer._typing import Array
from mercer.kernels import Kernel, Projected
from mercer.learners import BoostedKernel, IdealizedKernel, KernelBoost, Superkernel
from mercer.pairs import Pairs
from mercer.search.candidates import Candidate, check_grid
from mercer.search.task import Attempt, Outcome, Sample, try_settings

PLAIN = "plain"  # the metric of the standardised columns, with which the others are compared
MOST_OTHERS = 1000  # rows in no pair, which few learners look at
GROWTH = 1.5  # the power of the number of pairs with which the time rises


class PairRows(NamedTuple):
    """What is searched on."""

    X: Array
    pairs: Pairs
    unlabelled: Array | None

    @property
    def n_rows(self) -> int:
        """Return how many rows there are, in pairs or not."""
        return len(self.X) + (0 if self.unlabelled is None else len(self.unlabelled))

    def evaluate(
        self, candidate: Candidate, settings: Sequence[dict[str, Any]], train: Pairs, test: Pairs
    ) -> Outcome:
        """Learn from pairs with each setting and measure those that were held back. Scaling is part of it."""
        judged = np.vstack([test.similar, test.dissimilar])

        def attempt(setting: dict[str, Any]) -> Attempt:
            start = time.perf_counter()
            scaler, _, kernel = learn_scaled(with_setting(candidate, setting), self, train)
            middle = time.perf_counter()
            similarities = -pair_distances(kernel, scaler.transform(self.X), judged)
            return Attempt(similarities, middle - start, time.perf_counter() - middle)

        return try_settings(settings, len(judged), attempt)

    def sample(self, train: Pairs, test: Pairs, n: int) -> Sample:
        """Return some n pairs to learn from and a quarter as many to be judged on, and their rows alone."""
        some, few = _every(train, n), _every(test, max(2, n // 4))
        paired, others = np.union1d(some.rows(), few.rows()), self._others()
        rows = np.union1d(paired, others[:: max(1, len(others) // n)])
        few_rows = PairRows(self.X[rows], self.pairs.within(rows), self.unlabelled)
        return Sample(few_rows, some.within(rows), few.within(rows), self.size(train) / self.size(some))

    def at_most(self, n: int) -> "PairRows":
        """Return the rows that are in a pair and n others at most: every k-th."""
        others = self._others()
        if len(others) <= n:
            return self
        rows = np.union1d(self.pairs.rows(), others[:: -(-len(others) // n)])
        return PairRows(self.X[rows], self.pairs.within(rows), self.unlabelled)

    def _others(self) -> NDArray[np.intp]:
        """Return the rows that are in no pair."""
        return np.setdiff1d(np.arange(len(self.X)), self.pairs.rows())

    def size(self, train: Pairs) -> int:
        """Return how many pairs a learner sees."""
        return sum(len(kind) for kind in train)

    def thin(
        self, folds: Sequence[tuple[Pairs, Pairs]], share: float
    ) -> tuple["PairRows", Sequence[tuple[Pairs, Pairs]], float]:
        """Return all as it is: people list few pairs, and all of them count."""
        return self, folds, 1.0


def pair_candidates(random_state: int) -> list[Candidate]:
    """Return the learners that learn from pairs; None is the plain metric."""
    learners = {
        PLAIN: None,
        "superkernel": Superkernel(quality="alignment", random_state=random_state),
        "boosted": BoostedKernel(random_state=random_state),
        "idealized": IdealizedKernel(max_rank=30, tol=1e-4, random_state=random_state),
        "kernelboost": KernelBoost(random_state=random_state),
    }
    return [Candidate(name, learner, {}, GROWTH) for name, learner in learners.items()]


def as_learners(given: Any) -> list[Candidate]:
    """Return a user's candidates: names of learners, or of (learner, grid)."""
    if not isinstance(given, Mapping) or not given:
        raise TypeError("candidates must map names to learners such as IdealizedKernel, if pairs are given")
    return [_as_learner(str(name), value) for name, value in given.items()]


def _as_learner(name: str, value: Any) -> Candidate:
    if isinstance(value, Candidate):
        candidate = value._replace(name=name)
    else:
        learner, grid = value if isinstance(value, tuple) and len(value) == 2 else (value, {})
        candidate = Candidate(name, learner, grid, GROWTH)
    learner = candidate.estimator
    if learner is None:
        return candidate._replace(grid={})
    if isinstance(learner, type) or not hasattr(learner, "fit") or is_classifier(learner):
        raise TypeError(f"candidate {name!r} must be a learner, if pairs are given; got {learner!r}")
    check_grid(candidate)
    return candidate


def with_setting(candidate: Candidate, setting: dict[str, Any]) -> Any:
    """Return the learner with its parameters set; None stays none."""
    return None if candidate.estimator is None else clone(candidate.estimator).set_params(**setting)


def _every(pairs: Pairs, n: int) -> Pairs:
    """Return some n pairs at most, every k-th of either kind, and one at least."""
    step = max(1, sum(len(kind) for kind in pairs) // n)
    return Pairs(*(kind[::step] for kind in pairs))


def learn_scaled(learner: Any, rows: PairRows, pairs: Pairs) -> tuple[StandardScaler, Any, sk_kernels.Kernel]:
    """Fit a scaler, which sees no pair, and a learner; return both, and the kernel of scaled rows."""
    everything = rows.X if rows.unlabelled is None else np.vstack([rows.X, rows.unlabelled])
    scaler = StandardScaler().fit(everything)
    if learner is None:
        return scaler, None, Projected(np.eye(rows.X.shape[1]))
    more = None if rows.unlabelled is None else scaler.transform(rows.unlabelled)
    fitted = clone(learner).fit(scaler.transform(rows.X), pairs=pairs, unlabelled=more)
    return scaler, fitted, fitted.kernel_


def pair_distances(kernel: sk_kernels.Kernel, X: Array, pairs: NDArray[np.intp]) -> Array:
    """Return the squared distances of pairs in the feature space of a kernel, of a thousand at a time."""
    distances = []
    for start in range(0, len(pairs), 1000):
        some = pairs[start : start + 1000]
        rows, places = np.unique(some, return_inverse=True)
        K = (
            np.asarray(kernel(X[rows], X[rows]))
            if not isinstance(kernel, Kernel)
            else kernel.gram(X[rows], X[rows])
        )
        a, b = places.reshape(-1, 2).T
        distances.append(K[a, a] - 2.0 * K[a, b] + K[b, b])
    return np.maximum(np.concatenate(distances), 0.0)
