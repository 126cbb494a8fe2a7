r"""The model: a blend of one or several candidates, usually better than the one that seems to be the best.

Which candidate is the best on a few hundred samples is partly luck, and those that are nearly as good make
other mistakes. The blend is

.. math:: f(x) = \sum_k w_k \, (a_k f_k(x) + b_k),

where the decision values f_k of classifiers are calibrated (`mercer.search.calibration`) to be logarithms of
probabilities; numbers are in the same units already. A sum of kernel machines is one again, on the sum of
their kernels. The weights come from greedy selection [CNCK04]: the member is added that makes the log loss of
held-out samples lowest (of numbers the squared error, or the absolute one if that is the score), again and
again; one that is added twice counts twice. A candidate may be a member by its two best settings: their mean
is often better than either. Among numbers the mean may be a member: it draws the others
towards it. A last calibration, and the decision for a class, are made from the blend's values for samples
that had no part in its weights.

[CNCK04] Caruana, Niculescu-Mizil, Crew, Ksikes: Ensemble selection from libraries of models. ICML 2004.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from mercer._typing import Array, Index
from mercer.machines.intervals import UnseenErrors, check_coverage
from mercer.search.calibration import Calibration
from mercer.search.decisions import Decision, decision_values
from mercer.search.spread import Spread

N_STEPS = 30  # of the selection: the weights are multiples of 1/30
SETTINGS = 2  # of a candidate that may be members
TRIED = 4  # members at a step: those that the derivative of the loss speaks for
N_PARTS, MANY_FOLDS = 5, 4  # parts of the samples, each with weights made from the others


class Blend(ClassifierMixin, BaseEstimator):
    """A weighted sum of fitted classifiers, of one or several, with probabilities and a decision.

    Parameters
    ----------
    members : list of (str, Pipeline)
        The names of candidates, and what takes samples that are not scaled; the main one first.
    weights : array of shape (n_members,)
        How much each counts; they sum to 1.
    units : list of Calibration
        What calibrates the decision values of each.
    classes : array of shape (n_classes,)
        The labels.
    calibration : Calibration
        What makes probabilities of the sum.
    decision : Decision
        What makes a class of probabilities.
    """

    def __init__(
        self,
        members: list[tuple[str, Any]],
        weights: Array,
        units: list[Calibration],
        classes: NDArray[Any],
        calibration: Calibration,
        decision: Decision,
    ) -> None:
        self.members = members
        self.weights = weights
        self.units = units
        self.classes = classes
        self.calibration = calibration
        self.decision = decision

    @property
    def classes_(self) -> NDArray[Any]:
        """Return the labels."""
        return self.classes

    def decision_function(self, X: Any) -> Array:
        """Return log odds of two classes, of more the logarithms of probabilities but for a constant."""
        values = self.calibration.values(self._sum(X))
        return values[:, 1] - values[:, 0] if len(self.classes) == 2 else values

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class."""
        return self.calibration(self._sum(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the classes: the most probable ones, or those beyond the threshold."""
        labels: NDArray[Any] = self.classes[self.decision.choose(self.predict_proba(X))]
        return labels

    def contributions(self, X: Any) -> Array:
        """Return the part of each member in the sum, (n_members, n_samples, n_classes)."""
        parts = zip(self.members, self.weights, self.units, strict=True)
        return np.array(
            [
                w * unit.values(decision_values(one[-1], one[:-1].transform(X), self.classes))
                for (_, one), w, unit in parts
            ]
        )

    def _sum(self, X: Any) -> Array:
        total: Array = self.contributions(X).sum(axis=0)
        return total


class NumberBlend(RegressorMixin, BaseEstimator):
    """A weighted mean of fitted regressors, with intervals.

    Parameters
    ----------
    members : list of (str, Pipeline)
        The names of candidates, and what takes samples that are not scaled; the main one first.
    weights : array of shape (n_members,)
        How much each counts; they sum to 1.
    spread : Spread
        How far off predictions are, by where they are.
    unseen : UnseenErrors
        The errors of predictions for samples that had no part in them, over the spread.
    log : bool, default=False
        Whether members predict logarithms.
    """

    def __init__(
        self,
        members: list[tuple[str, Any]],
        weights: Array,
        spread: Spread,
        unseen: UnseenErrors,
        log: bool = False,
    ) -> None:
        self.members = members
        self.weights = weights
        self.spread = spread
        self.unseen = unseen
        self.log = log

    def predict(self, X: Any) -> Array:
        """Return the weighted mean of the members' predictions; of logarithms, the number that has it."""
        said = self._mean(X)
        return np.exp(said) if self.log else said

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Return intervals that hold the targets of about this share of new samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        coverage : float, default=0.9
            The share of new targets that shall be inside; as many shall be below as above.

        Returns
        -------
        low, high : arrays of shape (n_samples,)
            The ends: wide where errors are large.
        """
        return self._around(self._mean(X), coverage)

    def interval_of(self, predicted: Array, coverage: float = 0.9) -> tuple[Array, Array]:
        """Return the intervals of predictions, as `predict_interval` does of samples."""
        return self._around(np.log(predicted) if self.log else predicted, coverage)

    def _around(self, said: Array, coverage: float) -> tuple[Array, Array]:
        check_coverage(coverage)
        low, high = (float(end[0, 0]) for end in self.unseen.interval(np.zeros((1, 1)), coverage))
        spread = self.spread(said)
        ends = said + low * spread, said + high * spread
        return (np.exp(ends[0]), np.exp(ends[1])) if self.log else ends

    def contributions(self, X: Any) -> Array:
        """Return the part of each member in the mean, (n_members, n_samples, 1)."""
        said = [np.asarray(one.predict(X), dtype=np.float64).reshape(-1, 1) for _, one in self.members]
        return self.weights[:, None, None] * np.array(said)

    def _mean(self, X: Any) -> Array:
        mean: Array = self.contributions(X).sum(axis=0)[:, 0]
        return mean


class Ballot(NamedTuple):
    """What was said of the samples that all who may be members were scored on."""

    task: Any
    entries: Index
    candidates: Index  # which candidate each entry is of
    said: list[Array]
    costs: Array  # (n_entries, n_samples): by which a candidate's own setting is chosen
    places: Index  # of the samples, in the race
    rows: Index  # the samples
    part: Index  # weights of a part are never made from it
    n_settings: int  # of a candidate that may be members

    @classmethod
    def of(cls, race: Any, candidates: Sequence[int] | None = None, n_settings: int = SETTINGS) -> "Ballot":
        """Return what is known of the finalists of a race, or of those of some candidates."""
        entries, task = race.finalists(), race.task
        if candidates is not None:
            entries = entries[np.isin(race.rule.candidate[entries], candidates)]
        if task.blends_constant:
            constant = race.of(race.baseline)
            entries = np.append(entries, constant[[race.is_scored(e) for e in constant]])
        places = race.scored(entries)[1]
        rows = race.rows[places]
        said = [race.said[e][places] for e in entries]
        costs = [
            task.blend_losses(task.unit(one, rows, plain=True).values(one)[None], rows)[0] for one in said
        ]
        weight = task.samples.weights[rows]
        return cls(
            task, entries, race.rule.candidate[entries], said, np.array(costs) * weight, places, rows,
            parts_of(race, places), n_settings,
        )  # fmt: skip

    def own(self, where: Index) -> list[int]:
        """Return the settings of each candidate that are best on some samples, as places in `entries`."""
        means = self.costs[:, where].mean(axis=1)
        groups = [np.flatnonzero(self.candidates == i) for i in dict.fromkeys(self.candidates.tolist())]
        best = (some[np.argsort(means[some], kind="stable")][: self.n_settings] for some in groups)
        return np.concatenate(list(best)).tolist()

    def weigh(self, own: Sequence[int], where: Index) -> tuple[Array, list[Any]]:
        """Return the weights and units of some entries, made from some samples."""
        rows = self.rows[where]
        units = [self.task.unit(self.said[k][where], rows) for k in own]
        values = np.array([unit.values(self.said[k][where]) for unit, k in zip(units, own, strict=True)])
        return select(values, rows, self.task), units

    def held_out(self) -> Array:
        """Return the blend's values for each sample; settings, units and weights are those of other parts."""
        values = np.empty((len(self.rows), self.task.n_columns))
        for k in np.unique(self.part):
            mine, others = np.flatnonzero(self.part == k), np.flatnonzero(self.part != k)
            others = others if len(others) else mine
            own = self.own(others)
            weights, units = self.weigh(own, others)
            values[mine] = sum(
                w * unit.values(self.said[j][mine])
                for w, unit, j in zip(weights, units, own, strict=True)
                if w
            )
        return values

    def judge(self, values: Array) -> Array:
        """Return the losses of the blend's values, calibrated and decided upon by other parts."""
        losses = np.empty(len(self.rows))
        for k in np.unique(self.part):
            mine, others = np.flatnonzero(self.part == k), np.flatnonzero(self.part != k)
            others = others if len(others) else mine
            finish = self.task.finish(values[others], self.rows[others])
            losses[mine] = self.task.judge(values[mine], self.rows[mine], finish)
        weight = self.task.samples.weights[self.rows]  # a part counts by the weight of its samples
        share = (np.bincount(self.part, weight) / np.maximum(np.bincount(self.part), 1))[self.part]
        judged: Array = losses * share / share.mean()
        return judged


def parts_of(race: Any, places: Index) -> Index:
    """Return the folds; or, if they are few, parts with some of each fold and class, or of whole groups.

    What calibrates the models of one fold need not suit those of another.
    """
    task, fold = race.task, race.fold[places]
    n_folds, (rows, place) = len(np.unique(fold)), np.unique(race.rows[places], return_inverse=True)
    if (n_folds >= MANY_FOLDS and len(rows) == len(places)) or (task.scoring.is_of_folds and n_folds > 1):
        return fold
    if task.samples.groups is not None:
        return np.unique(task.samples.groups[rows], return_inverse=True)[1][place] % N_PARTS
    shuffled = np.random.RandomState(race.seed).permutation(len(rows))
    stratum = task.strata[rows[shuffled]]
    counts = np.unique(stratum, return_counts=True)[1]
    number = np.empty(len(rows), dtype=np.intp)
    order = shuffled[np.argsort(stratum, kind="stable")]
    number[order] = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    parts: Index = number[place] % int(np.clip(counts.min(), 2, N_PARTS))
    return parts


def select(values: Array, rows: Index, task: Any) -> Array:
    """Return weights, by greedy selection.

    Parameters
    ----------
    values : array of shape (n_members, n_samples, n_columns)
        What was said, in the same units, of samples that had no part in the fits.
    rows : array of shape (n_samples,)
        Which samples these are.
    task : task
        What gives the loss of each member on each sample, and how much samples count.
    """
    weights, sample_weight = np.zeros(len(values)), task.samples.weights[rows]
    best = int(np.argmin(np.round(task.blend_losses(values, rows) @ sample_weight / len(rows), 9)))
    weights[best], total = 1.0 / N_STEPS, values[best].copy()
    for step in range(2, N_STEPS + 1):
        slopes = task.blend_slopes(total / (step - 1), rows) * sample_weight[:, None]
        steepest = np.sort(np.argsort(values.reshape(len(values), -1) @ slopes.ravel())[:TRIED])
        tried = task.blend_losses((total + values[steepest]) / step, rows) @ sample_weight
        best = int(steepest[np.argmin(np.round(tried / len(rows), 9))])
        weights[best] += 1.0 / N_STEPS
        total += values[best]
    return weights
