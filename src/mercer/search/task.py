"""What a search is given: samples with classes, with numbers, or with pairs, each a frozen value.

A task knows how its samples are split, what a candidate says of those held out and what that costs, and what
makes a model of members. Nobody else asks which task it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from mercer._typing import Array, Index
from mercer.machines import UnseenErrors
from mercer.search.blend import Blend, NumberBlend
from mercer.search.calibration import Calibration, fit_calibration, log_losses
from mercer.search.candidates import (
    NAMES,
    NUMBER_NAMES,
    NUMBER_REFERENCE,
    REFERENCE,
    Candidate,
    choose_candidates,
    default_candidates,
    number_candidates,
)
from mercer.search.decisions import Decision, decision_values
from mercer.search.fitting import Fitted, Scaled, fit_samples
from mercer.search.scoring import ACCURACY, Judged, Scoring, is_absolute
from mercer.search.spread import Spread

RARE = 1.0 / 12.0  # of the samples: a class with less is found by few scores
DECIDED = ("balanced_accuracy", "f1", "f1_macro", "cost")  # scores that ask for a threshold of their own
MOST_TRIED = 100  # thresholds
FIRST = 5  # samples of each class, at least, that come first
Folds = Sequence[tuple[Any, Any]]


class Samples(NamedTuple):
    """Samples, and what is known of them."""

    X: Array
    y: NDArray[Any]
    unlabelled: Array | None = None  # more samples, of which nothing is known
    groups: NDArray[Any] | None = None  # what no fold tears apart
    weight: Array | None = None
    kept: dict[str, Any] | None = None  # the last samples that were scaled, for the next candidate

    @property
    def n_unlabelled(self) -> int:
        """Return the number of samples of which nothing is known."""
        return 0 if self.unlabelled is None else len(self.unlabelled)

    @property
    def weights(self) -> Array:
        """Return how much each sample counts."""
        return np.ones(len(self.y)) if self.weight is None else self.weight

    def fit(
        self, candidate: Candidate, setting: Mapping[str, Any], y: Any, rows: Index, shared: Any
    ) -> Fitted:
        """Fit a setting to some of them; of those of which nothing is known, there are as many at most."""
        more, weight = self.unlabelled, None if self.weight is None else self.weight[rows]
        if more is not None and len(rows) < len(self.y):
            more = more[:: -(-len(more) // max(len(rows), 1000))]
        kept: dict[str, Any] = {} if self.kept is None else self.kept
        if kept.get("rows") is not rows:
            kept.clear()
            kept.update(rows=rows, scaled=Scaled.of(self.X[rows], more, weight))
        return fit_samples(candidate, setting, kept["scaled"], y[rows], weight, shared)

    def scale(self, fitted: Fitted, rows: Index) -> Array:
        """Return samples as a fit takes them."""
        kept: dict[str, Any] = {} if self.kept is None else self.kept
        if kept.get("test") is not rows or kept.get("scaler") is not fitted.scaler:
            kept.update(test=rows, scaler=fitted.scaler, Z=fitted.scaler.transform(self.X[rows]))
        Z: Array = kept["Z"]
        return Z

    def check(self, candidates: list[Candidate]) -> list[Candidate]:
        """Return candidates, if they take weights where there are some."""
        for one in candidates:
            if self.weight is not None and not has_fit_parameter(one.estimator, "sample_weight"):
                raise TypeError(f"candidate {one.name!r} takes no sample_weight: leave out one or the other")
        return candidates

    def in_order(self, folds: Folds, place: NDArray[Any], wanted: NDArray[Any], why: str) -> Folds:
        """Return folds whose parts are in an order, so that the first of them are a sample.

        There are those that have something to test, and something to learn from.
        """
        ordered = [(one[np.argsort(place[one])], two[np.argsort(place[two])]) for one, two in folds]
        usable = [(one, two) for one, two in ordered if len(two) and len(np.unique(wanted[one])) > 1]
        if not usable:
            raise ValueError(f"{len(self.y)} samples are too few to hold some out: those left are {why}")
        return usable


@dataclass(frozen=True)
class LabelTask:
    """Samples with their classes."""

    samples: Samples
    scoring: Scoring = ACCURACY
    class_weight: Any = None

    kind: ClassVar[str] = "class"
    reference: ClassVar[str] = REFERENCE
    names: ClassVar[tuple[str, ...]] = NAMES
    blends: ClassVar[bool] = True
    blends_constant: ClassVar[bool] = False

    @cached_property
    def classes(self) -> NDArray[Any]:
        """Return the classes, sorted."""
        return np.unique(self.samples.y)

    @cached_property
    def label(self) -> Index:
        """Return the class of each sample, as a position."""
        label: Index = np.searchsorted(self.classes, self.samples.y)
        return label

    @property
    def strata(self) -> Index:
        """Return what each part of the samples should have some of."""
        return self.label

    @property
    def n_values(self) -> int:
        """Return how many decision values a sample has."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    @property
    def n_columns(self) -> int:
        """Return how many values a sample has in a blend."""
        return len(self.classes)

    def candidates(self, given: Any, seed: int) -> list[Candidate]:
        """Return the candidates to compare, with class weights if there are any."""
        n, d = self.samples.X.shape
        more = self.samples.unlabelled is not None
        known = default_candidates(n, d, seed, unlabelled=more, n_classes=len(self.classes))
        suits = lambda one: hasattr(one, "predict") and not is_regressor(one)  # noqa: E731
        chosen = choose_candidates(given, known, suits, "a classifier, or (classifier, grid)")
        return self.samples.check([self._weigh(one) for one in chosen])

    def _weigh(self, candidate: Candidate) -> Candidate:
        if self.class_weight is None or "class_weight" not in candidate.estimator.get_params():
            return candidate
        if "class_weight" in candidate.grid:
            return candidate
        estimator = clone(candidate.estimator).set_params(class_weight=self.class_weight)
        return candidate._replace(estimator=estimator)

    def baseline(self) -> Candidate:
        """Return what always says the most frequent class."""
        most = self.classes[np.argmax(np.bincount(self.label, self.samples.weights))]
        name = repr(most.item() if isinstance(most, np.generic) else most)
        return Candidate(f"always {name}", DummyClassifier(), {}, growth=1.0)

    def remarks(self) -> list[str]:
        """Say what should be known before time is spent: that a class is rare."""
        counts = np.bincount(self.label, self.samples.weights)
        k, share = int(np.argmin(counts)), float(counts.min() / counts.sum())
        if len(counts) > 2 or share > RARE or self.scoring.name != "accuracy":
            return []
        return [
            f"Class {self.classes[k]} is rare, one sample in {1.0 / share:.0f}: what always says the other "
            f"class has an error of {100 * share:.1f} %. To find such samples, judge by 'average_precision' "
            "or 'balanced_accuracy', or give the cost of each error."
        ]

    def folds(self, cv: Any, seed: int) -> Folds:
        """Return training and test samples: as a splitter says, or so many folds, stratified by class.

        They are fewer if a class has fewer samples. If a class has a single sample, folds are drawn without
        regard to classes.
        """
        rows, y, groups = np.arange(len(self.label)), self.label, self.samples.groups
        fewest = int(np.bincount(y).min())
        if isinstance(cv, int) and groups is not None:
            n_folds = min(cv, max(2, len(np.unique(groups))))
            cv = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
        elif isinstance(cv, int) and fewest >= 2:
            cv = StratifiedKFold(min(cv, fewest), shuffle=True, random_state=seed)
        elif isinstance(cv, int):
            cv = KFold(max(2, min(cv, len(y))), shuffle=True, random_state=seed)
        splits = check_cv(cv, self.samples.y, classifier=True).split(self.samples.X, self.samples.y, groups)
        folds = [(rows[train], rows[test]) for train, test in splits]
        return self.samples.in_order(folds, order_by_class(y, seed), y, "of one class")

    def fit(
        self, candidate: Candidate, setting: Mapping[str, Any], rows: Index, shared: Any = None
    ) -> Fitted:
        """Fit a setting to some samples."""
        return self.samples.fit(candidate, setting, self.samples.y, rows, shared)

    def say(self, fitted: Fitted, rows: Index) -> Array:
        """Return the decision values of some samples."""
        Z = self.samples.scale(fitted, rows)
        return decision_values(fitted.estimator, Z, self.classes).astype(np.float32)

    def losses(self, values: Array, rows: Index) -> Array:
        """Return the losses of decision values, as the score has them: it may ask for a threshold."""
        decisions = np.asarray(values, dtype=np.float64)
        if self.scoring.name in DECIDED:
            calibration, decision = self.finish(decisions, rows)
            return self._judge(decision.choose(calibration(decisions)), decisions, rows)
        chosen = decisions.argmax(axis=1) if values.shape[1] > 1 else (values[:, 0] > 0).astype(np.intp)
        return self._judge(chosen, decisions, rows)

    def _judge(self, chosen: Index, decisions: Array, rows: Index) -> Array:
        judged = Judged(
            self.label[rows],
            chosen,
            self.samples.weights[rows],
            decisions,
            self.classes,
            self.scoring.positive,
        )
        return self.scoring.losses(judged)

    def slack(self, n: int) -> float:
        """Return by how much the mean loss of so many samples may be larger for nothing: by one sample."""
        return 1.0 / n

    def far(self, said: Array) -> float:
        """Return the unit of what is said, which two must differ by a part of, not to say the same."""
        return float(np.sqrt(np.mean(said**2)))

    def unit(self, said: Array, rows: Index, *, plain: bool = False) -> Calibration:
        """Return what calibrates decision values: the unit of a blend."""
        return fit_calibration(said, self.label[rows], self.samples.weights[rows], plain=plain)

    def blend_losses(self, values: Array, rows: Index) -> Array:
        """Return −log of the probability of each sample's class, by what members of a blend are selected."""
        return log_losses(values, self.label[rows])

    def blend_slopes(self, values: Array, rows: Index) -> Array:
        """Return their derivatives by the values."""
        slopes: Array = softmax(values, axis=1)
        slopes[np.arange(len(rows)), self.label[rows]] -= 1.0
        return slopes

    def finish(self, values: Array, rows: Index) -> "tuple[Calibration, Decision]":
        """Return what makes probabilities of a blend's values for unseen samples, and classes of these."""
        calibration = self.unit(values, rows)
        return calibration, self._decide(calibration(values), rows)

    def _decide(self, chances: Array, rows: Index) -> Decision:
        """Return the decision that the score is best at: by costs or rates, or, for F1, by trying."""
        n_classes, scoring = len(self.classes), self.scoring
        if scoring.costs is not None:
            FP, FN = scoring.costs
            return Decision.at(FP / (FP + FN), scoring.positive)
        if scoring.name == "balanced_accuracy":
            rates = np.bincount(self.label, self.samples.weights, minlength=n_classes)
            return Decision((1.0 / rates) / np.sum(1.0 / rates))
        if scoring.name not in DECIDED or n_classes > 2:
            return Decision.most_probable(n_classes)
        seen = np.unique(chances[:, scoring.positive])  # a threshold is between two of them
        seen = seen[np.unique(np.linspace(0, len(seen) - 1, MOST_TRIED).astype(int))]
        tried = (np.append(seen, 1.0) + np.append(0.0, seen)) / 2.0
        every = [Decision.at(float(t), scoring.positive) for t in tried]
        means = [self._judge(one.choose(chances), np.zeros((len(rows), 1)), rows).mean() for one in every]
        best = np.flatnonzero(np.round(means, 9) == np.round(min(means), 9))
        return every[int(best[len(best) // 2])]

    def judge(self, values: Array, rows: Index, finish: Any) -> Array:
        """Return the losses of a blend's values."""
        calibration, decision = finish
        chances = calibration(values)
        logs = np.log(np.maximum(chances, 1e-12))
        if self.scoring.name == "neg_log_loss":
            weight, cost = self.samples.weights[rows], -logs[np.arange(len(rows)), self.label[rows]]
            return cost * weight * len(rows) / weight.sum()
        return self._judge(
            decision.choose(chances), logs[:, 1:] - logs[:, :1] if self.n_values == 1 else logs, rows
        )

    def said(self, values: Array, finish: Any) -> Array:
        """Return the probabilities that a blend's values are."""
        chances: Array = finish[0](values)
        return chances

    def describe(self, finish: Any) -> str:
        """Say how a class is decided upon, unless it is the most probable one."""
        decision, positive = finish[1], self.scoring.positive
        if decision.is_plain:
            return ""
        if len(self.classes) > 2:
            return "The class is predicted whose probability is largest beside its share of the samples."
        name, at = self.classes[positive], decision.threshold(positive)
        why = "which costs least" if self.scoring.costs else f"where {self.scoring.metric.name} is best"
        return f"{name} is predicted where its probability is above {at:.3g}, {why}."

    def model(
        self, members: list[tuple[str, Pipeline]], weights: Array, units: list[Any], finish: Any
    ) -> Blend:
        """Return what predicts."""
        return Blend(members, weights, units, self.classes, *finish)


@dataclass(frozen=True)
class NumberTask:
    """Samples with a number each, of which the logarithm may be learned."""

    samples: Samples
    scoring: Scoring
    log: bool = False

    kind: ClassVar[str] = "number"
    reference: ClassVar[str] = NUMBER_REFERENCE
    names: ClassVar[tuple[str, ...]] = NUMBER_NAMES
    blends: ClassVar[bool] = True
    blends_constant: ClassVar[bool] = True  # with a part of it in the blend, less is promised
    n_values: ClassVar[int] = 1
    n_columns: ClassVar[int] = 1

    @cached_property
    def target(self) -> Array:
        """Return what is learned: the numbers, or their logarithms."""
        y = np.asarray(self.samples.y, dtype=np.float64)
        return np.log(y) if self.log else y

    @cached_property
    def strata(self) -> Index:
        """Return one and the same for all: any part of the samples is as good as another."""
        return np.zeros(len(self.target), dtype=np.intp)

    @cached_property
    def standard(self) -> "Standard":
        """Return the mean and the standard deviation of what is learned."""
        w = self.samples.weights
        mean = float(np.average(self.target, weights=w))
        return Standard(mean, float(np.sqrt(np.average((self.target - mean) ** 2, weights=w))) or 1.0)

    def candidates(self, given: Any, seed: int) -> list[Candidate]:
        """Return the candidates to compare."""
        n, d = self.samples.X.shape
        known = number_candidates(n, d, seed)
        suits = lambda one: hasattr(one, "predict") and not is_classifier(one)  # noqa: E731
        return self.samples.check(choose_candidates(given, known, suits, "a regressor, or (regressor, grid)"))

    def baseline(self) -> Candidate:
        """Return what always says the mean, or the median if absolute errors count."""
        kind = "median" if is_absolute(self.scoring) else "mean"
        always = DummyRegressor(strategy=kind).fit(self.samples.X, self.target, self.samples.weight)
        said = self._numbers(always.constant_[0])[0]
        return Candidate(f"always {float(said):.6g}", DummyRegressor(strategy=kind), {}, 1.0)

    def remarks(self) -> list[str]:
        """Say nothing: what is odd about a target, the regressor says."""
        return []

    def folds(self, cv: Any, seed: int) -> Folds:
        """Return training and test samples: as a splitter says, or so many folds in random order."""
        rows, groups = np.arange(len(self.target)), self.samples.groups
        if isinstance(cv, int) and groups is not None:
            cv = GroupKFold(min(cv, max(2, len(np.unique(groups)))), shuffle=True, random_state=seed)
        elif isinstance(cv, int):
            cv = KFold(min(cv, max(2, len(rows) // 2)), shuffle=True, random_state=seed)
        splits = check_cv(cv).split(self.samples.X, self.target, groups)
        folds, place = (
            [(rows[one], rows[two]) for one, two in splits],
            RandomState(seed).permutation(len(rows)),
        )
        return self.samples.in_order(folds, place, self.target, "of one target")

    def fit(
        self, candidate: Candidate, setting: Mapping[str, Any], rows: Index, shared: Any = None
    ) -> Fitted:
        """Fit a setting to some samples."""
        return self.samples.fit(candidate, setting, self.target, rows, shared)

    def say(self, fitted: Fitted, rows: Index) -> Array:
        """Return what is predicted of some samples, or its logarithm."""
        Z = self.samples.scale(fitted, rows)
        said = np.asarray(fitted.estimator.predict(Z), dtype=np.float64).reshape(len(rows), 1)
        if not np.isfinite(said).all():
            raise ValueError("it predicts infinite numbers, or none")
        return said

    def _numbers(self, said: Array) -> Array:
        return np.exp(said) if self.log else said

    def losses(self, values: Array, rows: Index) -> Array:
        """Return the losses of predictions."""
        judged = Judged(
            np.asarray(self.samples.y, dtype=np.float64)[rows],
            self._numbers(values[:, 0]),
            self.samples.weights[rows],
        )
        return self.scoring.losses(judged)

    def slack(self, n: int) -> float:
        """Return zero: numbers differ in any case."""
        return 0.0

    def far(self, said: Array) -> float:
        """Return the standard deviation of the targets."""
        return self.standard.spread

    def unit(self, said: Array, rows: Index, *, plain: bool = False) -> "Standard":
        """Return the units of the targets, which all candidates predict in."""
        return self.standard

    def blend_losses(self, values: Array, rows: Index) -> Array:
        """Return squared errors, or absolute ones if these are the score."""
        errors: Array = values[..., 0] - self.standard.values(self.target[rows])
        return np.abs(errors) if is_absolute(self.scoring) else errors**2

    def blend_slopes(self, values: Array, rows: Index) -> Array:
        """Return their derivatives by the values, or halves of them."""
        errors: Array = values - self.standard.values(self.target[rows])[:, None]
        return np.sign(errors) if is_absolute(self.scoring) else errors

    def finish(self, values: Array, rows: Index) -> "tuple[Spread, UnseenErrors]":
        """Return how far off predictions of unseen samples are, by where they are."""
        said = self.standard.mean + self.standard.spread * values[:, 0]
        off, weight = self.target[rows] - said, self.samples.weights[rows]
        spread = Spread.of(said, np.abs(off), weight)
        errors = (off / spread(said))[:, None]
        return spread, UnseenErrors(errors, weight, False)

    def judge(self, values: Array, rows: Index, finish: Any) -> Array:
        """Return the losses of a blend's values."""
        return self.losses(self.standard.mean + self.standard.spread * values, rows)

    def said(self, values: Array, finish: Any) -> Array:
        """Return the numbers that a blend's values are."""
        return self._numbers(self.standard.mean + self.standard.spread * values[:, 0])

    def describe(self, finish: Any) -> str:
        """Say nothing: a number is predicted as it is."""
        return ""

    def model(
        self, members: list[tuple[str, Pipeline]], weights: Array, units: list[Any], finish: Any
    ) -> NumberBlend:
        """Return what predicts."""
        spread, unseen = finish
        return NumberBlend(members, weights, spread, unseen, self.log)


class Standard(NamedTuple):
    """The units of a blend of numbers: these less their mean, over their standard deviation."""

    mean: float
    spread: float

    def values(self, said: Array) -> Array:
        """Return predictions in these units."""
        return (said - self.mean) / self.spread


def order_by_class(label: Index, seed: int) -> Array:
    """Return the place of each sample in an order whose first n are a stratified sample, for any n.

    The k-th sample of a class of m comes after a share of (k − 1/2) / m of all; the first few at once.
    """
    order = RandomState(seed).permutation(len(label))
    counts, by_class = np.bincount(label), np.argsort(label[order], kind="stable")
    own = counts[label[order]]
    place = np.empty(len(label))
    place[by_class] = np.arange(len(label)) - np.repeat(np.cumsum(counts) - counts, counts)
    due = np.where(place < FIRST, place / FIRST / len(label), (place + 0.5) / own)
    places = np.empty(len(label))
    places[order[np.argsort(due, kind="stable")]] = np.arange(len(label))
    return places
