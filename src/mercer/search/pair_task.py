"""The search among learners from pairs: of those held out, similar ones should be nearer than others.

Nearer by distance, which is what clusters need, and nearer in rank: b is a near neighbour of a if few samples
are nearer to a. A kernel may be good at the one and not at the other.

A learned kernel knows what the pairs say, and may know nothing else: samples of one cluster all look alike to
it. So the learners that the search proposes are blended with a kernel of near samples, which orders what they
leave equal, and neighbours are seldom worse than those of the plain metric. Several of them, and a metric in
which similar samples are near, are better than the best that few pairs can tell (`pair_candidates`).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from sklearn.base import clone, is_classifier
from sklearn.gaussian_process import kernels as sk_kernels

from mercer._typing import Array, Flags, Index
from mercer.kernels import Projected
from mercer.learners import BlendedKernel, BoostedKernel, IdealizedKernel, KernelBoost, Superkernel
from mercer.learners.neighbours import guess_dissimilar
from mercer.metrics import pair_auc
from mercer.pairs import Pairs, connected_sets
from mercer.search.candidates import Candidate, as_candidates
from mercer.search.race import Outcome, Race
from mercer.search.result import Z95, Difference, Measure, Metric
from mercer.search.task import Attempt, Fitted, Folds, Plan, Sample, Task, try_settings
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
N_DRAWS = 100  # of the bootstrap
MOST_NEEDED = 10  # components, up to which a mixture of twice as many is tried

PairFolds = list[tuple[Pairs, Pairs]]


@dataclass(frozen=True)
class PairTask(Task):
    """Samples of which some pairs are known to be similar or dissimilar.

    Parameters
    ----------
    X : array of shape (n, d)
        The samples.
    pairs : Pairs
        Their numbers, two by two.
    unlabelled : array of shape (m, d) or None
        More samples.
    """

    X: Array
    pairs: Pairs
    unlabelled: Array | None = None

    reference: ClassVar[str] = PLAIN
    candidate_names: ClassVar[tuple[str, ...]] = (PLAIN, "superkernel", "boosted", "idealized", "kernelboost")

    def propose(self, seed: int) -> list[Candidate]:
        """Return the learners that learn from pairs; None is the plain metric."""
        return pair_candidates(self.pairs, len(self.X), seed)

    def check_candidates(self, given: Any) -> list[Candidate]:
        """Return a user's learners."""
        wanted = "a learner such as IdealizedKernel, if pairs are given, or (learner, grid)"
        return as_candidates(given, wanted, _is_learner, GROWTH)

    def plan(self, cv: Any, max_rows: int, seed: int) -> Plan:
        """Return all samples that are in a pair, and some others, whatever the number; and folds of pairs.

        People list few pairs, and all of them count.
        """
        if not isinstance(cv, int):
            raise TypeError(
                f"folds of pairs are drawn by the search: cv must be a number of folds, not {cv!r}"
            )
        some = self.with_others(MOST_OTHERS)
        return Plan(some, some.split(cv, seed))

    def with_others(self, n: int) -> "PairTask":
        """Return all samples that are in a pair, and n others at most: every k-th."""
        others = self._others()
        if len(others) <= n:
            return self
        return self._rows(np.union1d(self.pairs.rows(), others[:: -(-len(others) // n)]))

    def split(self, n_folds: int, seed: int) -> PairFolds:
        """Return pairs to learn from and pairs to be scored on."""
        return split_pairs(self.pairs, len(self.X), n_folds, RandomState(seed))

    def start_race(self, candidates: list[Candidate], folds: Folds, seed: int) -> "PairRace":
        """Return the race of these candidates."""
        return PairRace(candidates, [test for _, test in folds], seed)

    def evaluate(
        self, candidate: Candidate, settings: Sequence[dict[str, Any]], train: Pairs, test: Pairs
    ) -> Outcome:
        """Learn from pairs with each setting and measure those that were held out. Scaling is part of it."""
        judged = np.vstack([test.similar, test.dissimilar])

        def attempt(setting: dict[str, Any]) -> Attempt:
            start = time.perf_counter()
            fitted = self._fit(candidate, setting, train)
            assert fitted.kernel is not None  # a learner has one
            middle, rows = time.perf_counter(), fitted.scaler.transform(self.X)
            distances = pair_distances(fitted.kernel, rows, judged)
            ranks = neighbour_ranks(fitted.kernel, rows, judged)
            return Attempt(-np.concatenate([distances, ranks]), middle - start, time.perf_counter() - middle)

        return try_settings(settings, 2 * len(judged), attempt)

    def sample(self, train: Pairs, test: Pairs, n: int) -> Sample:
        """Return some n pairs to learn from and a quarter as many to be scored on, with their samples."""
        some, few = _every(train, n), _every(test, max(2, n // 4))
        paired, others = np.union1d(some.rows(), few.rows()), self._others()
        rows = np.union1d(paired, others[:: max(1, len(others) // n)])
        times = self.size(train) / self.size(some)
        return Sample(self._rows(rows), some.within(rows), few.within(rows), times)

    def size(self, train: Pairs) -> int:
        """Return how many pairs a learner sees."""
        return sum(len(kind) for kind in train)

    def thin(self, folds: Folds, share: float) -> tuple["PairTask", Folds, float]:
        """Return all as it is: people list few pairs, and all of them count."""
        return self, folds, 1.0

    def part(self, share: float, seed: int) -> "PairTask":
        """Return what was searched on: all pairs, and some other samples."""
        return self.with_others(MOST_OTHERS)

    def fit(self, candidate: Candidate, setting: dict[str, Any]) -> Fitted:
        """Fit a scaler, which sees no pair, and a learner to all pairs."""
        return self._fit(candidate, setting, self.pairs)

    def _fit(self, candidate: Candidate, setting: dict[str, Any], pairs: Pairs) -> Fitted:
        scaler = self.fit_scaler(self.X)
        if candidate.estimator is None:
            return Fitted(scaler, None, Projected(np.eye(self.X.shape[1])))
        more = None if self.unlabelled is None else scaler.transform(self.unlabelled)
        learner = clone(candidate.estimator).set_params(**setting)
        learner.fit(scaler.transform(self.X), pairs=pairs, unlabelled=more)
        return Fitted(scaler, learner, learner.kernel_)

    def _rows(self, rows: Index) -> "PairTask":
        return PairTask(self.X[rows], self.pairs.within(rows), self.unlabelled)

    def _others(self) -> Index:
        """Return the samples that are in no pair."""
        return np.setdiff1d(np.arange(len(self.X)), self.pairs.rows())


class PairRace(Race):
    """A race that is scored by held-out pairs: for each fold, how similar the samples of its pairs are.

    They may be so in several ways, one after the other: the AUC is the mean of theirs.
    """

    metric = AUC

    def __init__(self, candidates: list[Candidate], tests: list[Pairs], seed: int) -> None:
        super().__init__(candidates, PLAIN)
        self.seed = seed
        self.truths: list[Flags] = [
            np.repeat([True, False], [len(test.similar), len(test.dissimilar)]) for test in tests
        ]
        self.similarities: list[list[Array]] = [[] for _ in self.entries]

    def keep(self, fold: int, entries: Index, values: Array) -> None:
        """Keep the similarities; folds come in order, and who misses one does not come back."""
        for entry, column in zip(entries, values.T, strict=True):
            self.similarities[entry].append(column)

    def errors(self, entries: Index) -> Array:
        """Return 1 − AUC, as a mean over the folds that all entries were scored on."""
        means: Array = 1.0 - self.aucs(entries).mean(axis=1)
        return means

    def aucs(self, entries: Index) -> Array:
        """Return the AUC of each entry (n_entries, n_folds) on the folds that all were scored on."""
        n_folds = int(self.n_folds[entries].min(initial=len(self.truths)))
        every = [[self._auc(entry, fold) for fold in range(n_folds)] for entry in entries]
        return np.array(every, dtype=np.float64).reshape(len(entries), n_folds)

    def measure(self, candidate: int, entry: int) -> Measure:
        """Return the mean AUC of the setting that stands for a candidate, over its folds."""
        return self._measure(entry)

    def compare(self, candidate: int, entry: int, reference: int) -> Difference:
        """Return the gain in AUC over the reference, on the folds of both."""
        theirs = self.best_of(reference)
        if theirs is None:
            return Difference()
        both = self.aucs(np.array([entry, theirs]))
        gains = both[0] - both[1]
        gain, noise = float(np.mean(gains)), Z95 * _standard_error(gains)
        return Difference(gain, gain - noise, gain + noise)

    def measure_selection(self) -> Measure:
        """Return the AUC of the choice: made on pairs drawn with replacement, scored on the others.

        Folds of which either has pairs of one kind alone do not count in that draw.
        """
        rng, finalists, judged = RandomState(self.seed), self.finalists(), []
        truths = self.truths[: int(self.n_folds[finalists].min())]
        for _ in range(N_DRAWS):
            drawn = [rng.randint(len(truth), size=len(truth)) for truth in truths]
            left = [
                np.setdiff1d(np.arange(len(truth)), some) for truth, some in zip(truths, drawn, strict=True)
            ]
            good = [k for k, t in enumerate(truths) if _has_both(t[drawn[k]]) and _has_both(t[left[k]])]
            if good:
                best = max(finalists, key=lambda entry: round(self._mean_auc(entry, drawn, good), 9))
                judged.append(self._mean_auc(best, left, good))
        auc = float(np.mean(judged)) if judged else np.nan
        winner = self._measure(self.winner())
        return Measure.of_share(self.metric, auc, winner.std_error, winner.n_folds)

    def _measure(self, entry: int) -> Measure:
        aucs = self.aucs(np.array([entry]))[0]
        return Measure.of_share(self.metric, float(aucs.mean()), _standard_error(aucs), len(aucs))

    def _auc(self, entry: int, fold: int, some: Index | None = None) -> float:
        truth = self.truths[fold]
        chosen = slice(None) if some is None else some
        ways = self.similarities[entry][fold].reshape(-1, len(truth))
        return float(np.mean([pair_auc(way[chosen], truth[chosen]) for way in ways]))

    def _mean_auc(self, entry: int, chosen: list[Index], folds: list[int]) -> float:
        return float(np.mean([self._auc(entry, fold, chosen[fold]) for fold in folds]))


def _standard_error(values: Array) -> float:
    """Return the standard error of the mean of a few folds."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


def _has_both(truth: Flags) -> bool:
    return bool(truth.any() and not truth.all())


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


def _every(pairs: Pairs, n: int) -> Pairs:
    """Return some n pairs at most, every k-th of either kind, and one at least."""
    step = max(1, sum(len(kind) for kind in pairs) // n)
    return Pairs(*(kind[::step] for kind in pairs))


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
