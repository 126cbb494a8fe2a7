"""The search among learners from pairs: of those held out, similar ones should be nearer than others.

Nearer by distance, which is what clusters need, and nearer in rank: b is a near neighbour of a if few samples
are nearer to a. A kernel may be good at the one and not at the other.

A learned kernel knows what the pairs say, and may know nothing else: samples of one cluster all look alike to
it. So the learners that the search proposes are blended with a kernel of near samples, which orders what they
leave equal, and neighbours are seldom worse than those of the plain metric. Several of them, and a metric in
which similar samples are near, are better than the best that few pairs can tell (`pair_candidates`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from sklearn.base import clone, is_classifier
from sklearn.gaussian_process import kernels as sk_kernels

from mercer._typing import Array, Flags, Index
from mercer.kernels import Projected
from mercer.learners import BlendedKernel, BoostedKernel, IdealizedKernel, KernelBoost, Superkernel
from mercer.learners.neighbours import guess_dissimilar
from mercer.pairs import Pairs, connected_sets
from mercer.search.candidates import Candidate, choose_candidates
from mercer.search.fitting import Fitted, fit_scaler
from mercer.search.result import Metric
from mercer.search.scoring import Scoring, auc_of
from mercer.search.task import Samples
from mercer.solvers.kernelboost import ContradictionError, chunk_pairs, color_greedily
from mercer.superkernels import Alignment

AUC = Metric(
    key="auc",
    name="AUC",
    meaning="how often a similar pair is nearer than a dissimilar one, by distance and by rank among the "
    "neighbours (1 is best, 0.5 is chance)",
    expectation="Of a similar and a dissimilar pair of new samples, the similar one is nearer in {share} of "
    "cases (AUC {value:.3f})",
    percent=False,
    greater_is_better=True,
)
PLAIN = "plain"  # the metric of the standardised features, with which the others are compared
MOST_OTHERS = 1000  # samples in no pair, which few learners look at
GROWTH = 1.5  # the power of the number of pairs with which the time rises
ENOUGH = 20  # pairs of either kind to be scored on, in all
MOST_NEEDED = 10  # components, up to which a mixture of twice as many is tried

PairFolds = list[tuple[Pairs, Pairs]]
SCORING = Scoring("auc", AUC)


@dataclass(frozen=True)
class PairTask:
    """Samples of which some pairs are known to be similar or dissimilar."""

    X: Array
    pairs: Pairs
    unlabelled: Array | None = None

    kind: ClassVar[str] = "pairs"
    reference: ClassVar[str] = PLAIN
    names: ClassVar[tuple[str, ...]] = (PLAIN, "superkernel", "boosted", "idealized", "kernelboost")
    scoring: ClassVar[Scoring] = SCORING
    blends: ClassVar[bool] = False
    blends_constant: ClassVar[bool] = False
    n_values: ClassVar[int] = 2

    @cached_property
    def samples(self) -> Samples:
        """Return the samples, whose targets are not known: all in a pair, and some others."""
        rows = self.pairs.rows()
        others = np.setdiff1d(np.arange(len(self.X)), rows)
        step = max(1, -(-len(others) // MOST_OTHERS))
        kept = np.union1d(rows, others[::step])
        return Samples(self.X[kept], kept, self.unlabelled)

    def candidates(self, given: Any, seed: int) -> list[Candidate]:
        """Return the candidates to compare."""
        known = pair_candidates(self.pairs, len(self.X), seed)
        return choose_candidates(
            given, known, _is_learner, "a learner such as IdealizedKernel, or (learner, grid)", GROWTH
        )

    def baseline(self) -> None:
        """Return nothing: the plain metric, with which others are compared, learns nothing."""
        return

    def remarks(self) -> list[str]:
        """Say nothing."""
        return []

    def folds(self, cv: Any, seed: int) -> PairFolds:
        """Return pairs to learn from and pairs to be scored on."""
        if not isinstance(cv, int):
            raise TypeError(
                f"folds of pairs are drawn by the search: cv must be a number of folds, not {cv!r}"
            )
        return split_pairs(self._pairs, len(self.samples.X), cv, RandomState(seed))

    @cached_property
    def _pairs(self) -> Pairs:
        """Return the pairs by the numbers of the samples that are looked at."""
        return Pairs(*(np.searchsorted(self.samples.y, kind) for kind in self.pairs))

    def fit(
        self, candidate: Candidate, setting: Mapping[str, Any], pairs: Any = None, shared: Any = None
    ) -> Fitted:
        """Fit a scaler, which sees no pair, and a learner to some pairs, or to all."""
        X, pairs = self.samples.X, self._pairs if pairs is None or isinstance(pairs, np.ndarray) else pairs
        scaler = fit_scaler(X, self.unlabelled)
        if candidate.estimator is None:
            return Fitted(scaler, None, Projected(np.eye(X.shape[1])))
        more = None if self.unlabelled is None else scaler.transform(self.unlabelled)
        learner = clone(candidate.estimator).set_params(**setting)
        learner.fit(scaler.transform(X), pairs=pairs, unlabelled=more)
        return Fitted(scaler, learner, learner.kernel_)

    def say(self, fitted: Fitted, pairs: Pairs) -> Array:
        """Return how similar the samples of pairs are, by distance and by rank."""
        assert fitted.kernel is not None  # a learner has one
        Z, judged = fitted.scaler.transform(self.samples.X), np.vstack([pairs.similar, pairs.dissimilar])
        return -np.column_stack([f(fitted.kernel, Z, judged) for f in (pair_distances, neighbour_ranks)])

    def losses(self, values: Array, pairs: Pairs) -> Array:
        """Return 1 − AUC, the mean of that by distance and that by rank, as losses of pairs."""
        truth = np.repeat([True, False], [len(pairs.similar), len(pairs.dissimilar)])
        weight, losses = np.ones(len(truth)), np.zeros(len(truth))
        for way in values.T:
            auc, slope = auc_of(truth, way, weight)
            losses += (1.0 - auc - len(truth) * slope) / values.shape[1]
        return losses

    def slack(self, n: int) -> float:
        """Return zero."""
        return 0.0

    def far(self, said: Array) -> float:
        """Return zero: no two kernels say the same."""
        return 0.0


def pair_candidates(pairs: Pairs, n_rows: int, random_state: int) -> list[Candidate]:
    """Return the learners that learn from pairs, blended with what is near; None is the plain metric alone.

    Few pairs can hardly tell which covariances KernelBoost should have, in which metric, and how many
    clusters there are: the mean of eight short ones was better than the choice of one, and with the kernel
    of the metric in which similar samples are near better still, for neighbours and for clusters. (Found
    with USPS, MNIST, texture, vehicle, heart, pima, spambase, thyroid, saheart, letter, segment, satimage,
    penbased, vowel, libras, balance-scale, twonorm, breast-w, bupa, crabs, ecoli, glass, penguins, soybean
    and mixtures of Gaussians: `python -m benchmarks pairs_only` reports on others.)
    """
    mixtures = [
        KernelBoost(n_rounds=10, n_components=n, covariance_type=kind, random_state=random_state)
        for n in dict.fromkeys((None, many_components(pairs, n_rows)))
        for kind in ("tied", "full")
    ]
    learners = {
        "superkernel": [Superkernel(quality=Alignment(), random_state=random_state)],
        "boosted": [BoostedKernel(random_state=random_state)],
        "idealized": [IdealizedKernel(max_rank=30, tol=1e-4, random_state=random_state)],
        "kernelboost": mixtures,
    }
    blends = [
        Candidate(name, BlendedKernel(first, others=others, metric="within"), {}, GROWTH)
        for name, (first, *others) in learners.items()
    ]
    return [Candidate(PLAIN, None, {}, GROWTH), *blends]


def many_components(pairs: Pairs, n_rows: int) -> int | None:
    """Return twice as many components as the pairs need to be kept apart; None if no number does, or many do.

    Pairs of ten clusters need four or five, since few of them are listed. A cluster that is split costs less
    than two that are one, in a mean of kernels of which others see it whole. Who lists what tells many
    clusters apart has shown how many there are.
    """
    try:
        n_needed = max(2, int(color_greedily(chunk_pairs(pairs, n_rows)).max(initial=0)) + 1)
    except ContradictionError:
        return None  # the learner says which pairs
    return 2 * n_needed if n_needed <= MOST_NEEDED else None


def _is_learner(estimator: Any) -> bool:
    return estimator is None or (hasattr(estimator, "fit") and not is_classifier(estimator))


def pair_distances(kernel: sk_kernels.Kernel, X: Array, pairs: Index) -> Array:
    """Return the squared distances of pairs in the feature space of a kernel, of a thousand at a time."""
    distances = []
    for start in range(0, len(pairs), 1000):
        some = pairs[start : start + 1000]
        rows, places = np.unique(some, return_inverse=True)
        K = np.asarray(kernel(X[rows], X[rows]))
        a, b = places.reshape(-1, 2).T
        distances.append(K[a, a] - 2.0 * K[a, b] + K[b, b])
    return np.maximum(np.concatenate(distances), 0.0)


def neighbour_ranks(kernel: sk_kernels.Kernel, X: Array, pairs: Index) -> Array:
    """Return how far down pairs are in each other's list of neighbours: the share of samples that are nearer.

    The sum of both sides; samples that are as near count half.
    """
    counts, diagonal = [], np.asarray(kernel.diag(X))
    tie = 1e-9 * np.abs(diagonal).max()
    for start in range(0, len(pairs), 1000):
        some = pairs[start : start + 1000]
        rows, places = np.unique(some, return_inverse=True)
        D = diagonal[rows][:, None] - 2.0 * np.asarray(kernel(X[rows], X)) + diagonal[None, :]
        places = places.reshape(-1, 2)
        both = 0
        for one, other in ((0, 1), (1, 0)):
            lists = D[places[:, one]]
            distance = lists[np.arange(len(some)), some[:, other]][:, None]
            both = both + np.sum(lists < distance - tie, axis=1) + np.sum(lists <= distance + tie, axis=1)
        counts.append(both)
    return np.concatenate(counts) / (2.0 * len(X))


def split_pairs(pairs: Pairs, n_rows: int, n_folds: int, rng: RandomState) -> PairFolds:
    """Return pairs to learn from and pairs to be judged on, of other rows if there are enough of them.

    Otherwise they are of the same rows, and those that follow from what is learned from (the similar of the
    similar, and what is dissimilar to it) are not judged on: a learner of many parameters knows them by
    heart. If two classes explain all pairs, what is dissimilar to the dissimilar is similar, too. Where no
    dissimilar pairs are listed, those to be judged on are drawn.
    """
    judged = (
        pairs if len(pairs.dissimilar) else Pairs(pairs.similar, guess_dissimilar(n_rows, pairs.similar, rng))
    )
    fold = rng.permutation(n_rows) % max(2, min(3, n_folds))
    other = _usable([(_among(pairs, fold != k), _among(judged, fold == k)) for k in range(fold.max() + 1)])
    same = [] if _count(other) >= ENOUGH else _usable(_of_the_same_rows(pairs, judged, n_rows, n_folds, rng))
    folds = max(other, same, key=_count)
    if not folds:
        raise ValueError(
            "there are too few pairs to hold some back for a comparison: list more of them, or fit a learner "
            "such as IdealizedKernel to all"
        )
    return folds


def _among(pairs: Pairs, wanted: Flags) -> Pairs:
    """Return the pairs both of whose samples are wanted."""
    return Pairs(*(kind[wanted[kind].all(axis=1)] for kind in pairs))


def _of_the_same_rows(pairs: Pairs, judged: Pairs, n_rows: int, n_folds: int, rng: RandomState) -> PairFolds:
    n_folds = max(2, min(n_folds, len(pairs.similar)))
    similar = rng.permutation(len(pairs.similar)) % n_folds
    dissimilar = rng.permutation(len(judged.dissimilar)) % n_folds
    folds = []
    for k in range(n_folds):
        known = judged.dissimilar[dissimilar != k] if len(pairs.dissimilar) else pairs.dissimilar
        learned = Pairs(pairs.similar[similar != k], known)
        test = Pairs(pairs.similar[similar == k], judged.dissimilar[dissimilar == k])
        folds.append((learned, _not_implied(test, learned, n_rows)))
    return folds


def _not_implied(test: Pairs, learned: Pairs, n_rows: int) -> Pairs:
    """Return the pairs that do not follow from those that are learned from."""
    if learned.are_of_two_groups():  # then those follow that pairs of whatever kind connect
        group = connected_sets(np.vstack(learned), n_rows)
        return Pairs(*(kind[group[kind[:, 0]] != group[kind[:, 1]]] for kind in test))
    group = connected_sets(learned.similar, n_rows)
    known = {tuple(pair) for pair in np.sort(group[learned.dissimilar], axis=1).tolist()}
    similar, dissimilar = group[test.similar], np.sort(group[test.dissimilar], axis=1)
    is_new = np.array([tuple(pair) not in known for pair in dissimilar.tolist()], dtype=bool)
    return Pairs(test.similar[similar[:, 0] != similar[:, 1]], test.dissimilar[is_new])


def _usable(folds: PairFolds) -> PairFolds:
    return [(learned, test) for learned, test in folds if len(learned.similar) and all(map(len, test))]


def _count(folds: PairFolds) -> int:
    """Return how many pairs there are to be judged on, of the kind that is rarer."""
    tests = [test for _, test in folds]
    return min((sum(len(kind) for kind in kinds) for kinds in zip(*tests, strict=True)), default=0)
