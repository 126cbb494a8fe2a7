"""The search among regressors: candidates are scored by what they predict for held-out samples."""

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import RandomState
from sklearn.base import is_classifier
from sklearn.dummy import DummyRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GroupKFold, KFold, check_cv

from mercer._typing import Array, Index
from mercer.learners import RelevanceKernel
from mercer.machines import (
    KernelRegressor,
    PerceptronRegressor,
    StumpRegressor,
    TreeRegressor,
    UnseenErrors,
)
from mercer.search.candidates import MANY_ROWS, Candidate, as_candidates
from mercer.search.number_scoring import JudgedNumbers, is_absolute
from mercer.search.result import Measure
from mercer.search.sample_race import SampleRace
from mercer.search.sample_task import SampleTask, can_predict
from mercer.search.task import Folds

REFERENCE = "RBF-ridge"  # what the others are compared with
RIDGE_ROWS = 5000  # whose Gram matrix takes seconds to be inverted
ONE_VALUE = "of one target"  # what is said of samples too few to be split


@dataclass(frozen=True)
class NumberTask(SampleTask):
    """Samples with a number each, and perhaps some without; the parameters are those of `SampleTask`."""

    reference: ClassVar[str] = REFERENCE
    candidate_names: ClassVar[tuple[str, ...]] = (
        *("tree", "perceptron", REFERENCE, "stump", "relevance", "linear"),
    )

    @cached_property
    def mean(self) -> float:
        """Return the mean of the targets."""
        return float(np.average(self.y, weights=self.sample_weight))

    @cached_property
    def spread(self) -> float:
        """Return the standard deviation of the targets."""
        return float(np.sqrt(np.average((self.y - self.mean) ** 2, weights=self.sample_weight))) or 1.0

    @property
    def truth(self) -> Array:
        """Return the targets, standardised."""
        truth: Array = (self.y - self.mean) / self.spread
        return truth

    @property
    def n_values(self) -> int:
        """Return one: a sample has one prediction."""
        return 1

    def propose(self, seed: int) -> list[Candidate]:
        """Return the kernels of mercer that numbers are learned with, RBF ridge and linear regression."""
        n, d = self.X.shape
        return number_candidates(n, d, seed)

    def check_candidates(self, given: Any) -> list[Candidate]:
        """Return a user's regressors."""
        return as_candidates(given, "a regressor, or (regressor, grid)", _can_regress)

    def split(self, cv: Any, seed: int) -> Folds:
        """Return training and test samples: as a splitter says, or so many folds in random order.

        They are fewer if there are not two samples to test in each.
        """
        rows = np.arange(len(self.y))
        if isinstance(cv, int) and self.groups is not None:
            cv = GroupKFold(min(cv, max(2, len(np.unique(self.groups)))), shuffle=True, random_state=seed)
        elif isinstance(cv, int):
            cv = KFold(min(cv, max(2, len(rows) // 2)), shuffle=True, random_state=seed)
        splits = check_cv(cv).split(self.X, self.y, self.groups)
        return self.usable([(rows[train], rows[test]) for train, test in splits], ONE_VALUE)

    def start_race(self, candidates: list[Candidate], folds: Folds, seed: int) -> "NumberRace":
        """Return the race of these candidates, and of what takes no learning."""
        race = NumberRace([*candidates, self.constant()], self, folds, seed)
        race.baseline = len(candidates)
        return race

    def constant(self) -> Candidate:
        """Return what always says the mean, or the median if absolute errors count."""
        kind = "median" if is_absolute(self.scoring) else "mean"
        always = DummyRegressor(strategy=kind).fit(self.X, self.y, self.sample_weight)
        return Candidate(
            f"always {float(always.constant_[0, 0]):.6g}", DummyRegressor(strategy=kind), {}, 1.0
        )

    def draw(self, rows: Index, n: int, seed: int) -> Index:
        """Return some n of these samples at random."""
        return np.sort(RandomState(seed).permutation(rows)[:n])

    def every(self, train: Index, step: int) -> Index:
        """Return every k-th."""
        return train[::step]

    def can_learn(self, train: Index) -> bool:
        """Return whether there are two targets."""
        return len(train) > 1 and bool(np.ptp(self.y[train]) > 0.0)

    def judge(self, fitted: Any, new: Array, test: Index) -> tuple[Array, float]:
        """Return losses and predictions of the test samples, and how long a regressor took for them."""
        start = time.perf_counter()
        predicted = np.asarray(fitted.predict(new), dtype=np.float64).reshape(len(new))
        seconds = time.perf_counter() - start
        if not np.isfinite(predicted).all():
            raise ValueError("it predicts infinite numbers, or none")
        judged = JudgedNumbers(self.y[test], predicted, self.weights[test])
        losses = self.scoring.losses(judged, fitted, new, self.y[test])
        return np.column_stack([losses, predicted]), seconds


class Standard(NamedTuple):
    """The units of a blend: numbers less their mean, over their standard deviation."""

    mean: float
    spread: float

    def values(self, said: Array) -> Array:
        """Return predictions in these units."""
        return (said - self.mean) / self.spread


class NumberRace(SampleRace):
    """A race that is scored by the targets of held-out samples."""

    task: NumberTask

    def far(self, said: Array) -> float:
        """Return the standard deviation of the targets."""
        return self.task.spread

    def slack(self, n_samples: int) -> float:
        """Return zero: numbers differ in any case."""
        return 0.0

    def eligible(self) -> Index:
        """Return the finalists, and the mean: with a part of it in the blend, less is promised."""
        entries = self.finalists()
        if self.baseline is None:
            return entries
        always = self.of(self.baseline)
        return np.append(entries, always[self.n_folds[always] >= self.n_folds[entries].min()])

    def find_unit(self, said: Array, places: Index) -> Standard:
        """Return the units of the targets, which all candidates predict in."""
        return Standard(self.task.mean, self.task.spread)

    def blend_losses(self, values: Array, truth: Any) -> Array:
        """Return squared errors, or absolute ones if these are the score."""
        errors: Array = values[..., 0] - truth
        return np.abs(errors) if is_absolute(self.scoring) else errors**2

    def losses_of(self, values: Array, rows: Index) -> Array:
        """Return the losses of what a blend predicts."""
        judged = JudgedNumbers(self.task.y[rows], self.predictions(values), self.task.weights[rows])
        return self.scoring.losses(judged, None, values, rows)

    def predictions(self, values: Array) -> Array:
        """Return the predictions that values in the units of a blend are."""
        return self.task.mean + self.task.spread * values[:, 0]

    def measure_losses(self, loss: float, chosen: Array, places: Index, entries: Index) -> Measure:
        """Return a mean loss as a measure; no interval goes beyond the best score there is."""
        measure = super().measure_losses(loss, chosen, places, entries)
        if self.scoring.slope is None:
            return measure
        if self.metric.greater_is_better:
            return measure._replace(high=min(measure.high, 1.0))
        return measure._replace(low=max(measure.low, 0.0))

    def unseen_errors(self, predicted: Array, places: Index) -> UnseenErrors:
        """Return the errors of predictions for samples that had no part in them."""
        rows = self.rows[places]
        return UnseenErrors.of(self.task.y[rows][:, None], predicted[:, None], self.task.weights[rows], False)


def _can_regress(estimator: Any) -> bool:
    return can_predict(estimator) and not is_classifier(estimator)


def number_candidates(n_rows: int, n_features: int, random_state: int) -> list[Candidate]:
    """Return the kernels of mercer that numbers are learned with, RBF ridge and linear regression.

    First those that are good on most data. Ridge regression on a kernel chooses its C by the leave-one-out
    error, which it has in closed form.
    """
    widths = [float(np.sqrt(n_features) * k) for k in (0.5, 1.0, 2.0, 4.0)]
    bins = 256 if n_rows > MANY_ROWS else None
    relevance = RelevanceKernel(n_rounds=5, max_rows=1000, random_state=random_state)
    return [
        Candidate(
            "tree",
            TreeRegressor(random_state=random_state),
            {"C": [1.0, 8.0, 64.0, 512.0], "relative_gamma": [0.25, 0.5, 1.0]},
        ),
        Candidate(
            "perceptron",
            PerceptronRegressor(random_state=random_state),
            {"C": [0.125, 1.0, 8.0, 64.0, 512.0]},
        ),
        Candidate(
            REFERENCE,
            KernelRegressor(RBF(1.0, "fixed")),
            {"learner__length_scale": widths},
            growth=2.5,
            most_rows=RIDGE_ROWS,
        ),
        Candidate(
            "stump", StumpRegressor(max_bins=bins), {"C": [2.0**k for k in (-6, -3, 0, 3, 6)]}, growth=1.3
        ),
        Candidate("relevance", KernelRegressor(relevance), {}, growth=2.5, most_rows=RIDGE_ROWS),
        Candidate("linear", RidgeCV(alphas=np.logspace(-2, 4, 13)), {}, growth=1.0),
    ]
