"""Calibrated probabilities of held-out pairs, thresholds, and errors with their intervals."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from mercer._typing import Array, Flags, Index

N_DRAWS = 1000
LEAST_EACH = 5  # pairs of each kind: with fewer, nothing is calibrated


class Sigmoid(NamedTuple):
    """P(match) = 1 / (1 + exp(−(slope · score + offset)))."""

    slope: float = 1.0
    offset: float = 0.0

    def __call__(self, score: Array) -> Array:
        """Return probabilities."""
        found: Array = expit(self.slope * score + self.offset)
        return found

    def score_of(self, probability: float) -> float:
        """Return the score that has a probability."""
        if probability in (0.0, 1.0):
            return -np.inf if probability == 0.0 else np.inf
        return float((np.log(probability / (1.0 - probability)) - self.offset) / self.slope)


def calibrate(score: Array, answer: Flags) -> Sigmoid:
    """Fit a sigmoid to scores of held-out pairs, with Platt's targets, which are never 0 or 1."""
    n_same, n_other = int(answer.sum()), int((~answer).sum())
    if min(n_same, n_other) < LEAST_EACH:
        return Sigmoid()
    target = np.where(answer, (n_same + 1) / (n_same + 2), 1 / (n_other + 2))

    def loss(point: Array) -> tuple[float, Array]:
        f = np.exp(point[0]) * score + point[1]
        slope = (expit(f) - target) / len(f)
        value = np.mean(np.logaddexp(0.0, f) - target * f)
        return float(value), np.array([np.exp(point[0]) * slope @ score, slope.sum()])

    found = minimize(loss, np.zeros(2), jac=True, method="BFGS").x
    return Sigmoid(float(np.exp(np.clip(found[0], -5.0, 5.0))), float(found[1]))


def find_threshold(probability: Array, answer: Flags, cost: float, precision: float | None) -> float:
    """Return the probability from which on pairs are taken for matches.

    By cost: a false match costs `cost` missed ones, and so it is cost / (1 + cost). By precision: the least
    threshold at which so many of the held-out pairs above it match; 1 if there is none.
    """
    if precision is None:
        return cost / (1.0 + cost)
    order = np.argsort(-probability, kind="stable")
    sorted_, right = probability[order], np.cumsum(answer[order])
    is_last = np.append(sorted_[1:] < sorted_[:-1], True)  # equal ones are taken together
    good = np.flatnonzero(is_last & (right >= precision * np.arange(1, len(order) + 1)))
    return float(sorted_[good[-1]]) if len(good) else 1.0


class Share(NamedTuple):
    """A share between 0 and 1, and its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.value:.1f} % ({100 * self.low:.0f} to {100 * self.high:.0f})"


class MatchError(NamedTuple):
    """How well held-out pairs are told apart."""

    n_pairs: int
    n_matches: int
    f1: Share
    precision: Share
    recall: Share
    error: Share  # of all held-out pairs
    log_loss: float


def measure(probability: Array, taken: Flags, answer: Flags, sets: Index, seed: int = 0) -> MatchError:
    """Measure decisions; intervals are from resampled connected sets of pairs, which are independent."""
    counts = np.column_stack([taken & answer, taken & ~answer, ~taken & answer, ~taken & ~answer])
    _, number = np.unique(sets, return_inverse=True)
    by_set = np.zeros((number.max() + 1, 4))
    np.add.at(by_set, number, counts)
    drawn = np.random.RandomState(seed).multinomial(
        len(by_set), np.full(len(by_set), 1 / len(by_set)), N_DRAWS
    )
    values, resampled = _shares(by_set.sum(axis=0)[None, :]), _shares(np.asarray(drawn @ by_set))
    shares: list[Share] = []
    for k in range(4):
        low, high = np.percentile(resampled[:, k], [2.5, 97.5])
        shares.append(_never_certain(Share(float(values[0, k]), float(low), float(high)), len(by_set)))
    sure = np.clip(np.where(answer, probability, 1.0 - probability), 1e-15, 1.0)
    f1, precision, recall, error = shares
    log_loss = float(-np.log(sure).mean())
    return MatchError(len(answer), int(answer.sum()), f1, precision, recall, error, log_loss)


def _shares(counts: Array) -> Array:
    """Return F1, precision, recall and error of counts of true and false matches and of others."""
    hit, false, missed, right = counts.T

    def ratio(above: Array, below: Array) -> Array:
        return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)

    error = ratio(false + missed, hit + false + missed + right)
    return np.column_stack(
        [ratio(2 * hit, 2 * hit + false + missed), ratio(hit, hit + false), ratio(hit, hit + missed), error]
    )


def _never_certain(share: Share, n: int) -> Share:
    """Return a share whose interval is no point: of n trials without a failure, the rule of three."""
    doubt = min(1.0, 3.0 / n)
    if share.low == share.high == 1.0:
        return share._replace(low=1.0 - doubt)
    return share._replace(high=doubt) if share.low == share.high == 0.0 else share
