r"""A blend of the candidates: usually better than the one that seems to be the best.

Which candidate is the best on a few hundred samples is partly luck, and those that are nearly as good make
other mistakes. The blend is

.. math:: f(x) = \sum_k w_k \, (a_k f_k(x) + b_k),

where the decision values f_k of classifiers are calibrated (`mercer.search.calibration`), to be in the same
units; numbers are so already. A sum of kernel machines is one again, on the sum of their kernels. The weights
come from greedy selection [CNCK04]: the member is added that makes the log loss of held-out samples lowest
(of numbers the squared error, or the absolute one if that is the score), again and again; one that is added
twice counts twice. Among numbers the mean may be a member: it draws the others towards it.

[CNCK04] Caruana, Niculescu-Mizil, Crew, Ksikes: Ensemble selection from libraries of models. ICML 2004.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array, Index
from mercer.machines.intervals import UnseenErrors, check_coverage
from mercer.search.calibration import by_class, log_losses
from mercer.search.decisions import decision_values
from mercer.search.result import Measure

if TYPE_CHECKING:
    from mercer.search.sample_race import SampleRace

Losses = Callable[[Array, Any], Array]
N_STEPS = 30  # of the selection: the weights are multiples of 1/30


class WeightedSum(BaseEstimator):
    """What blends of classifiers and of regressors share: their members."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the candidates that are members."""
        return tuple(name for name, _ in self.estimators)

    @property
    def kernel_(self) -> Any:
        """Return the kernel of the search's winner."""
        return self.kernel

    def _fit_members(self, X: Any, y: Any) -> list[Any]:
        return [clone(one).fit(X, y) for _, one in self.estimators]


class Blend(ClassifierMixin, WeightedSum):
    """A weighted sum of classifiers, whose decision values are put into the same units.

    Parameters
    ----------
    estimators : list of (str, Pipeline)
        The members: names of candidates, and what takes samples that are not scaled.
    weights : array of shape (n_members,)
        How much each counts; they sum to 1.
    slopes, offsets : arrays of shape (n_members,) and (n_members, n_classes)
        What calibrates the decision values of each.
    kernel : kernel or None, default=None
        That of the search's winner, for samples that are not scaled.

    Attributes
    ----------
    estimators_ : list of Pipeline
        The fitted members.
    classes_ : array of shape (n_classes,)
        The labels.
    """

    def __init__(
        self,
        estimators: list[tuple[str, Any]],
        *,
        weights: Array,
        slopes: Array,
        offsets: Array,
        kernel: Any = None,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.slopes = slopes
        self.offsets = offsets
        self.kernel = kernel

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the members to other samples of the same classes; weights and units stay."""
        return self.use(self._fit_members(X, y), np.unique(y))

    def use(self, fitted: Sequence[Any], classes: NDArray[Any]) -> Self:
        """Take members that are fitted already."""
        self.estimators_, self.classes_ = list(fitted), classes
        return self

    def decision_function(self, X: Any) -> Array:
        """Return f(x) of two classes, of more one value per class."""
        check_is_fitted(self)
        total = np.zeros(1)
        for one, weight, slope, offsets in zip(
            self.estimators_, self.weights, self.slopes, self.offsets, strict=True
        ):
            said = by_class(decision_values(one, X, self.classes_))
            total = total + weight * (slope * said + offsets)
        return total[:, 1] - total[:, 0] if len(self.classes_) == 2 else total

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the largest value."""
        labels: NDArray[Any] = self.classes_[by_class(self.decision_function(X)).argmax(axis=1)]
        return labels


class NumberBlend(RegressorMixin, WeightedSum):
    """A weighted mean of regressors, with intervals.

    Parameters
    ----------
    estimators : list of (str, Pipeline)
        The members: names of candidates, and what takes samples that are not scaled.
    weights : array of shape (n_members,)
        How much each counts; they sum to 1.
    unseen : UnseenErrors
        The errors of its predictions for samples that had no part in them.
    kernel : kernel or None, default=None
        That of the search's winner, for samples that are not scaled.

    Attributes
    ----------
    estimators_ : list of Pipeline
        The fitted members.
    """

    def __init__(
        self, estimators: list[tuple[str, Any]], *, weights: Array, unseen: UnseenErrors, kernel: Any = None
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.unseen = unseen
        self.kernel = kernel

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the members to other samples; weights and errors stay."""
        return self.use(self._fit_members(X, y))

    def use(self, fitted: Sequence[Any]) -> Self:
        """Take members that are fitted already."""
        self.estimators_ = list(fitted)
        return self

    def predict(self, X: Any) -> Array:
        """Return the weighted mean of the members' predictions."""
        check_is_fitted(self)
        said = [np.asarray(one.predict(X), dtype=np.float64) for one in self.estimators_]
        mean: Array = np.tensordot(self.weights, np.array(said), 1)
        return mean

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
            The ends.
        """
        check_coverage(coverage)
        low, high = self.unseen.interval(self.predict(X)[:, None], coverage)
        return low[:, 0], high[:, 0]


class Ballot(NamedTuple):
    """What the finalists of a race said of the samples that all of them were scored on."""

    race: Any  # a SampleRace
    entries: Index
    units: tuple[Any, ...]
    places: Index  # of the samples, in the race
    values: Array  # (n_entries, n_samples, n_columns): what was said, in the same units

    @property
    def candidates(self) -> Index:
        """Return which candidates the entries are of."""
        candidates: Index = self.race.rule.candidate[self.entries]
        return candidates

    @property
    def truth(self) -> Any:
        """Return the targets of the samples."""
        return self.race.truth[self.places]

    @property
    def sample_weight(self) -> Array:
        """Return how much each sample counts."""
        weight: Array = self.race.task.weights[self.race.rows[self.places]]
        return weight

    def weigh(self) -> Array:
        """Return the weights of the entries."""
        losses = self.race.blend_losses
        return select(self.values, self.truth, self.sample_weight, self.candidates, losses)


def hold_ballot(race: "SampleRace") -> Ballot:
    """Return what is known of those that may be members."""
    entries = race.eligible()
    places = race.scored(entries)[1]
    said = [race.said[places, entry] for entry in entries]
    units = tuple(race.find_unit(one, places) for one in said)
    values = np.array([unit.values(one) for unit, one in zip(units, said, strict=True)])
    return Ballot(race, entries, units, places, values)


def select(
    values: Array, truth: Any, sample_weight: Array, candidates: Index, losses: Losses = log_losses
) -> Array:
    """Return the weights of settings, by greedy selection; of each candidate, one setting may have one.

    Parameters
    ----------
    values : array of shape (n_settings, n_samples, n_columns)
        What was said, in the same units, of samples that had no part in the fits.
    truth : array of shape (n_samples,)
        Their targets: classes as positions, or numbers in these units.
    sample_weight : array of shape (n_samples,)
        How much each counts.
    candidates : array of shape (n_settings,)
        Which candidate a setting is of.
    losses : callable
        The loss of each setting on each sample, from values and targets.
    """
    own = find_own(values, truth, sample_weight, candidates, losses)
    weights, total = np.zeros(len(values)), np.zeros(values.shape[1:])
    for step in range(1, N_STEPS + 1):
        tried = losses((total + values[own]) / step, truth) @ sample_weight
        best = own[int(np.argmin(np.round(tried, 9)))]
        weights[best] += 1.0 / N_STEPS
        total += values[best]
    return weights


def find_own(values: Array, truth: Any, sample_weight: Array, candidates: Index, losses: Losses) -> list[int]:
    """Return the setting of each candidate that has the lowest loss."""
    means = losses(values, truth) @ sample_weight
    groups = map(np.flatnonzero, candidates == np.unique(candidates)[:, None])
    return [int(some[np.argmin(means[some])]) for some in groups]


def held_out_values(ballot: Ballot) -> Array:
    """Return the blend's values for each sample, (n_samples, n_columns), in which its fold had no part.

    Settings, units and weights are those of the other folds. If there is but one fold, it has to do for both.
    """
    race, places, truth, weight = ballot.race, ballot.places, ballot.truth, ballot.sample_weight
    fold, values = race.fold[places], np.empty(ballot.values.shape[1:])
    for k in np.unique(fold):
        mine = fold == k
        others = np.flatnonzero(~mine if (~mine).any() else mine)
        some = (truth[others], weight[others])
        own = find_own(ballot.values[:, others], *some, ballot.candidates, race.blend_losses)
        said = [race.said[places, entry] for entry in ballot.entries[own]]
        units = [race.find_unit(one[others], places[others]) for one in said]
        alike = np.array([unit.values(one) for unit, one in zip(units, said, strict=True)])
        weights = select(alike[:, others], *some, np.arange(len(own)), race.blend_losses)
        values[mine] = np.tensordot(weights, alike[:, mine], 1)
    return values


def measure_blend(ballot: Ballot, values: Array) -> Measure:
    """Return how good a blend is on samples that had no part in its weights."""
    race, losses = ballot.race, np.empty(len(values))
    fold = race.fold[ballot.places]
    for k in np.unique(fold):
        mine = fold == k
        losses[mine] = race.losses_of(values[mine], race.rows[ballot.places[mine]])
    share = race.importance[ballot.places]  # of the folds, as in `scored`
    losses *= share / share.mean()
    return race.measure_losses(float(losses.mean()), losses, ballot.places, ballot.entries)


class Members(NamedTuple):
    """The entries of a ballot that are blended: their names and pipelines, and their weights, of sum 1."""

    numbers: list[int]  # in the ballot
    estimators: list[tuple[str, Any]]
    weights: Array

    @classmethod
    def of(cls, ballot: Ballot, weights: Array, fitted: Mapping[int, Any]) -> "Members":
        """Return those that were fitted, by their number in the race."""
        race = ballot.race
        numbers = [k for k, entry in enumerate(ballot.entries) if int(entry) in fitted and weights[k] > 0]
        if not numbers:  # but the winner there is always
            weights = np.array([float(int(entry) in fitted) for entry in ballot.entries])
            numbers = np.flatnonzero(weights).tolist()
        entries = [int(ballot.entries[k]) for k in numbers]
        names = [race.candidates[race.entries[entry].candidate].name for entry in entries]
        pipelines = [fitted[entry] for entry in entries]
        return cls(
            numbers, list(zip(names, pipelines, strict=True)), weights[numbers] / weights[numbers].sum()
        )


def make_blend(ballot: Ballot, weights: Array, fitted: Mapping[int, Any], kernel: Any = None) -> Blend:
    """Return the blend of those classifiers that were fitted, by their number in the race."""
    members = Members.of(ballot, weights, fitted)
    task, units = ballot.race.task, [ballot.units[k] for k in members.numbers]
    blend = Blend(
        members.estimators,
        weights=members.weights,
        slopes=np.array([unit.slope for unit in units]),
        offsets=np.array([np.broadcast_to(unit.offsets, task.n_classes) for unit in units]),
        kernel=kernel,
    )
    return blend.use([one for _, one in members.estimators], task.classes)


def make_number_blend(
    ballot: Ballot, weights: Array, fitted: Mapping[int, Any], unseen: UnseenErrors, kernel: Any = None
) -> NumberBlend:
    """Return the blend of those regressors that were fitted, by their number in the race."""
    members = Members.of(ballot, weights, fitted)
    blend = NumberBlend(members.estimators, weights=members.weights, unseen=unseen, kernel=kernel)
    return blend.use([one for _, one in members.estimators])
