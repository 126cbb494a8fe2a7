"""Searches in which no time passes but what a formula says: a clock, estimators that cost, and tables."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from mercer.search import Candidate


class SimulatedClock:
    """A clock that moves when somebody says so, and a little with each look at it."""

    def __init__(self, tick: float = 0.0) -> None:
        """Start at zero."""
        self.time, self.tick = 0.0, tick

    def now(self) -> float:
        """Return the time."""
        self.time += self.tick
        return self.time

    def __sklearn_clone__(self) -> "SimulatedClock":
        return self


class Costly(BaseEstimator):
    """What fits as another one does, and takes unit · (n / 1000) ** power seconds for n samples."""

    def __init__(self, inner: Any, clock: SimulatedClock, unit: float, power: float) -> None:
        self.inner, self.clock, self.unit, self.power = inner, clock, unit, power

    def fit(self, X: Any, y: Any) -> "Costly":
        """Fit, and let the time pass."""
        self.clock.time += self.unit * (len(X) / 1000.0) ** self.power
        self.fitted_, self.n_rows_ = clone(self.inner).fit(X, y), len(X)
        return self

    def predict(self, X: Any) -> Any:
        """Return what the inner one predicts."""
        return self.fitted_.predict(X)


class CostlyClassifier(ClassifierMixin, Costly):
    """A classifier that takes time."""

    @property
    def classes_(self) -> Any:
        """Return the labels."""
        return self.fitted_.classes_

    def predict_proba(self, X: Any) -> Any:
        """Return the inner one's probabilities."""
        return self.fitted_.predict_proba(X)


class CostlyRegressor(RegressorMixin, Costly):
    """A regressor that takes time."""


COSTS = {"line": (0.03, 1.0), "near": (0.1, 2.0), "tree": (0.02, 1.1), "slow": (1.5, 1.5)}


def costly_candidates(clock: SimulatedClock, *, numbers: bool = False) -> dict[str, Candidate]:
    """Return candidates whose time grows as they say."""
    classifiers = [
        LogisticRegression(max_iter=300),
        KNeighborsClassifier(7),
        DecisionTreeClassifier(max_depth=5),
        GaussianNB(),
    ]
    regressors = [Ridge(), KNeighborsRegressor(7), DecisionTreeRegressor(max_depth=5), Ridge(10.0)]
    kind = CostlyRegressor if numbers else CostlyClassifier
    inner = regressors if numbers else classifiers
    return {
        name: Candidate(name, kind(one, clock, unit, power), {}, growth=power)
        for one, (name, (unit, power)) in zip(inner, COSTS.items(), strict=True)
    }


class Truth(NamedTuple):
    """A table that more rows can be drawn of."""

    draw: Callable[[int, int], tuple[Any, Any]]
    n_classes: int


def make_truth(seed: int, n_classes: int, rarest: float = 1.0) -> Truth:
    """Return Gaussian clusters that overlap, the first class so much rarer than the others."""
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(2, 9))
    centres = rng.normal(size=(n_classes, n_features)) * rng.uniform(0.6, 2.0)
    shares = np.ones(n_classes)
    shares[0] = rarest
    shares /= shares.sum()

    def draw(n: int, number: int) -> tuple[Any, Any]:
        some = np.random.default_rng([seed, number])
        y = np.concatenate(
            [np.repeat(np.arange(n_classes), 2), some.choice(n_classes, n - 2 * n_classes, p=shares)]
        )
        return centres[y] + some.normal(size=(n, n_features)), y

    return Truth(draw, n_classes)


class Case(NamedTuple):
    """A table to search on, of a known truth, and the simulated seconds that there are."""

    truth: Truth
    n_rows: int
    budget: float
    what: str


def draw_case(seed: int) -> Case:
    """Return 2 to 30 classes, 1:1 to 1:50, 100 to 20 000 rows and 2 to 60 seconds, by the seed."""
    rng = np.random.default_rng([seed, 7])
    n_classes, ratio = int(rng.choice([2, 2, 3, 5, 10, 30])), float(np.exp(rng.uniform(0.0, np.log(50.0))))
    n_rows = int(np.exp(rng.uniform(np.log(100), np.log(20_000))))
    budget = float(np.exp(rng.uniform(np.log(2.0), np.log(60.0))))
    what = f"{n_classes} classes, 1:{ratio:.0f}, {n_rows} rows, {budget:.0f} s"
    return Case(make_truth(seed, n_classes, 1.0 / ratio), n_rows, budget, what)
