"""What a candidate will take on many samples, foretold from few."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from mercer.search.candidates import Candidate
from mercer.search.race import Outcome

SPENT = 0.7  # of the time that is left, on comparisons, if all goes as foretold
LEAST = 0.2  # of the time, at least, is taken to grow: two measurements of few samples may err


class Trial(NamedTuple):
    """What some settings of a candidate took on a sample."""

    outcome: Outcome
    times: float  # how many times as many samples there are in all

    @property
    def first(self) -> float:
        """Return the seconds of the first setting."""
        return float(self.outcome.fit_seconds[0] + self.outcome.predict_seconds[0])

    @property
    def shared(self) -> float:
        """Return the seconds of what settings share, such as a learned kernel; of a single one nothing."""
        each = float(np.sum(self.outcome.fit_seconds + self.outcome.predict_seconds))  # the shared one in all
        return max(each - self.outcome.seconds, 0.0) / max(len(self.outcome.fit_seconds) - 1, 1)

    def seconds(self, n_settings: int) -> float:
        """Return the seconds of so many settings; what they share counts once."""
        n_tried = len(self.outcome.fit_seconds)
        return self.shared + (self.outcome.seconds - self.shared) * n_settings / n_tried


class Forecast(NamedTuple):
    """The seconds of a candidate on a fold of all samples: a fixed part, and one that grows with them."""

    fixed: float
    growing: float
    growth: float  # a share s of the samples takes s to this power of the growing part
    once: float = 1.0  # share of all that the fit of a single setting takes
    settling: float = 0.0  # of the part that grows, what grows no longer ...
    settled: float = 1.0  # ... from this share of the samples on

    def seconds(self, share: float = 1.0) -> float:
        """Return the seconds on a share of the samples."""
        grown, settled = (min(share, most) ** self.growth for most in (np.inf, self.settled))
        return float(self.fixed + self.growing * ((1.0 - self.settling) * grown + self.settling * settled))


def foretell(
    candidate: Candidate, trial: Trial, smaller: Trial | None = None, n_all: float = np.inf
) -> Forecast:
    """Return what a candidate will take, from one trial, or from two: then a part of it may be fixed.

    Many classes are many small problems, each of which takes some time however few samples there are. Who
    draws some of many samples (of `n_all`) to learn a kernel from takes no longer for that if they are more.
    """
    growth, n_settings = candidate.growth, len(candidate.settings())
    seconds, fixed_share = trial.seconds(n_settings), 0.0
    ratio = 1.0 if smaller is None else (smaller.times / trial.times) ** growth
    if smaller is not None and ratio > 1.0 and trial.first > 0.0:
        grown = (1.0 - smaller.first / trial.first) * ratio / (ratio - 1.0)
        fixed_share = 1.0 - float(np.clip(grown, LEAST, 1.0))
    once = min(float(trial.outcome.fit_seconds.mean()) / max(seconds, 1e-9), 1.0)
    growing = (1.0 - fixed_share) * seconds * trial.times**growth
    forecast = Forecast(fixed_share * seconds, growing, growth, once)
    if candidate.settles >= n_all:
        return forecast
    settling = trial.shared / max(seconds, 1e-9) if len(trial.outcome.fit_seconds) > 1 else 1.0
    return forecast._replace(settling=settling, settled=candidate.settles / n_all)


def whole_folds(n_folds: int, n_settings: int) -> float:
    """Return how many folds of all settings a comparison takes: most of many settings are soon dropped."""
    return 1 + (n_folds - 1) * (0.5 + 0.5 / n_settings)


def affordable_share(forecasts: Mapping[int, Forecast], limit: float, n_folds: Mapping[int, float]) -> float:
    """Return the share of the samples on which all candidates together take no longer than the limit.

    Each takes so many folds. A comparison of all on some of the samples is worth more than one of the cheap
    ones alone on all. Up to half of the time is for the winner, which may be the slowest, and all samples.
    """
    shares = np.geomspace(1e-3, 1.0, 61)
    totals = np.array([sum(n_folds[i] * one.seconds(s) for i, one in forecasts.items()) for s in shares])
    last = min(max((one.once * one.seconds() for one in forecasts.values()), default=0.0), 0.5 * limit)
    return float(shares[np.flatnonzero(totals <= SPENT * (limit - last))[-1:]].sum()) or float(shares[0])
