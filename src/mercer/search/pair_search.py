"""Which kernel tells similar rows from dissimilar ones? The search where there are pairs and no labels."""

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.preprocessing import StandardScaler

from mercer.kernels import Kernel, Projected
from mercer.learners import BoostedKernel, IdealizedKernel, KernelBoost, Superkernel
from mercer.pairs import Pairs
from mercer.quality import pair_auc
from mercer.search.clock import Clock

Array = NDArray[np.float64]

PLAIN = "plain"  # the metric of the standardised columns, with which the others are compared
N_DRAWS = 100


class PairRows(NamedTuple):
    """What is searched on."""

    X: Array
    pairs: Pairs
    unlabelled: Array | None


class PairResult(NamedTuple):
    """What came of a candidate: for each fold, the similarity of the pairs it was judged on."""

    name: str
    similarities: list[Array]
    fit_seconds: float
    failure: str


class Standing(NamedTuple):
    """How well a candidate tells pairs apart."""

    auc: float
    std_error: float


def pair_candidates(random_state: int) -> dict[str, Any]:
    """Return the learners that learn from pairs; None is the plain metric."""
    return {
        PLAIN: None,
        "superkernel": Superkernel(quality="alignment", random_state=random_state),
        "boosted": BoostedKernel(random_state=random_state),
        "idealized": IdealizedKernel(max_rank=30, tol=1e-4, random_state=random_state),
        "kernelboost": KernelBoost(random_state=random_state),
    }


def as_learners(given: Any) -> dict[str, Any]:
    """Return a user's candidates, names of learners, if they are that."""
    if not isinstance(given, Mapping) or not given:
        raise TypeError("candidates must map names to learners such as IdealizedKernel, if pairs are given")
    for name, learner in given.items():
        if learner is None:
            continue
        if isinstance(learner, type) or not hasattr(learner, "fit") or is_classifier(learner):
            raise TypeError(f"candidate {name!r} must be a learner, if pairs are given; got {learner!r}")
    return {str(name): learner for name, learner in given.items()}


def race_pairs(
    given: Mapping[str, Any],
    rows: PairRows,
    folds: list[tuple[Pairs, Pairs]],
    clock: Clock,
    report: Callable[[list[PairResult]], bool],
) -> tuple[list[PairResult], str | None]:
    """Run the candidates, as far as time allows; return those that could learn, and what stopped it."""
    results: list[PairResult] = []
    stopped = None
    try:
        for name, learner in given.items():
            if results and clock.left() <= 0:
                stopped = "budget"
                break
            results.append(run_candidate(name, learner, rows, folds))
            if report(results):
                stopped = "callback"
                break
    except KeyboardInterrupt:
        if all(result.failure for result in results):
            raise
        stopped = "interrupt"
    done = [result for result in results if not result.failure]
    if not done:
        reasons = "; ".join(f"{result.name}: {result.failure}" for result in results)
        raise ValueError(f"no candidate could learn from these pairs ({reasons})")
    return done, stopped


def run_candidate(name: str, learner: Any, rows: PairRows, folds: list[tuple[Pairs, Pairs]]) -> PairResult:
    """Learn from the pairs of each fold and measure those that were held back. Scaling is part of it."""
    similarities, seconds = [], 0.0
    for learned, test in folds:
        start = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scaler, _, kernel = learn_scaled(learner, rows, learned)
        except (ValueError, ArithmeticError, np.linalg.LinAlgError, MemoryError) as error:
            return PairResult(name, [], seconds, f"{type(error).__name__}: {error}")
        seconds += time.perf_counter() - start
        judged = np.vstack([test.similar, test.dissimilar])
        similarities.append(-pair_distances(kernel, scaler.transform(rows.X), judged))
    return PairResult(name, similarities, seconds / len(folds), "")


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


def judge_pairs(result: PairResult, truths: list[NDArray[np.bool_]]) -> Standing:
    """Return the mean AUC over folds, with its standard error."""
    aucs = [pair_auc(s, truth) for s, truth in zip(result.similarities, truths, strict=True)]
    return Standing(
        float(np.mean(aucs)), float(np.std(aucs, ddof=1) / np.sqrt(len(aucs))) if len(aucs) > 1 else np.nan
    )


def honest_auc(results: list[PairResult], truths: list[NDArray[np.bool_]], rng: RandomState) -> float:
    """Return the AUC of choosing the best: chosen on pairs drawn with replacement, judged on the others."""
    judged = []
    for _ in range(N_DRAWS):
        drawn = [rng.randint(len(truth), size=len(truth)) for truth in truths]
        left = [np.setdiff1d(np.arange(len(truth)), some) for truth, some in zip(truths, drawn, strict=True)]
        if not all(
            _has_both(truth[s]) and _has_both(truth[o])
            for truth, s, o in zip(truths, drawn, left, strict=True)
        ):
            continue
        best = max(results, key=lambda result: _mean_auc(result, truths, drawn))
        judged.append(_mean_auc(best, truths, left))
    return float(np.mean(judged)) if judged else np.nan


def _mean_auc(result: PairResult, truths: list[NDArray[np.bool_]], chosen: list[NDArray[np.intp]]) -> float:
    parts = zip(result.similarities, truths, chosen, strict=True)
    return float(np.mean([pair_auc(s[some], truth[some]) for s, truth, some in parts]))


def _has_both(truth: NDArray[np.bool_]) -> bool:
    return bool(truth.any() and not truth.all())
