r"""A blend of the candidates: usually better than the one that seems to be the best.

Which candidate is the best on a few hundred samples is partly luck, and those that are nearly as good make
other mistakes. The blend is

.. math:: f(x) = \sum_k w_k \, (a_k f_k(x) + b_k),

where the decision values f_k are calibrated (`mercer.search.calibration`), to be in the same units. A sum of
kernel machines is one again, on the sum of their kernels. The weights come from greedy selection [CNCK04]:
the member is added that makes the log loss of held-out samples lowest, again and again; one that is added
twice counts twice.

[CNCK04] Caruana, Niculescu-Mizil, Crew, Ksikes: Ensemble selection from libraries of models. ICML 2004.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array, Index
from mercer.search.calibration import Calibration, by_class, fit_calibration
from mercer.search.label_race import LabelRace
from mercer.search.label_task import decision_values
from mercer.search.result import Measure
from mercer.search.scoring import Judged

N_STEPS = 30  # of the selection: the weights are multiples of 1/30


class Blend(ClassifierMixin, BaseEstimator):
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

    @property
    def names(self) -> tuple[str, ...]:
        """Return the candidates that are members."""
        return tuple(name for name, _ in self.estimators)

    @property
    def kernel_(self) -> Any:
        """Return the kernel of the search's winner."""
        return self.kernel

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the members to other samples of the same classes; weights and units stay."""
        return self.use([clone(one).fit(X, y) for _, one in self.estimators], np.unique(y))

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


class Ballot(NamedTuple):
    """What the finalists of a race said of the samples that all of them were scored on."""

    entries: Index
    candidates: Index  # of the entries
    calibrations: tuple[Calibration, ...]
    places: Index  # of the samples, in the race
    values: Array  # (n_entries, n_samples, n_classes): calibrated decision values
    label: Index
    sample_weight: Array

    def weigh(self) -> Array:
        """Return the weights of the entries."""
        return select(self.values, self.label, self.sample_weight, self.candidates)


def hold_ballot(race: LabelRace) -> Ballot:
    """Return what is known of those that may be members."""
    entries = race.finalists()
    places = race.scored(entries)[1]
    label, weight = race.task.label[race.rows[places]], race.task.weights[race.rows[places]]
    said = [by_class(race.decisions[places, entry]) for entry in entries]
    calibrations = tuple(fit_calibration(decisions, label, weight) for decisions in said)
    values = np.array([unit.values(one) for unit, one in zip(calibrations, said, strict=True)])
    return Ballot(entries, race.rule.candidate[entries], calibrations, places, values, label, weight)


def select(values: Array, label: Index, sample_weight: Array, candidates: Index) -> Array:
    """Return the weights of settings, by greedy selection; of each candidate, one setting may have one.

    Parameters
    ----------
    values : array of shape (n_settings, n_samples, n_classes)
        Calibrated decision values of samples that had no part in the fits.
    label : array of shape (n_samples,)
        The classes of these, as positions.
    sample_weight : array of shape (n_samples,)
        How much each counts.
    candidates : array of shape (n_settings,)
        Which candidate a setting is of.
    """
    own = find_own(values, label, sample_weight, candidates)
    weights, total = np.zeros(len(values)), np.zeros(values.shape[1:])
    for step in range(1, N_STEPS + 1):
        tried = log_losses((total + values[own]) / step, label) @ sample_weight
        best = own[int(np.argmin(np.round(tried, 9)))]
        weights[best] += 1.0 / N_STEPS
        total += values[best]
    return weights


def find_own(values: Array, label: Index, sample_weight: Array, candidates: Index) -> list[int]:
    """Return the setting of each candidate that has the lowest log loss."""
    losses = log_losses(values, label) @ sample_weight
    groups = map(np.flatnonzero, candidates == np.unique(candidates)[:, None])
    return [int(some[np.argmin(losses[some])]) for some in groups]


def log_losses(values: Array, label: Index) -> Array:
    """Return −log of the probability of each sample's class, (n_settings, n_samples)."""
    losses: Array = -log_softmax(values, axis=2)[:, np.arange(len(label)), label]
    return losses


def held_out_values(race: LabelRace, ballot: Ballot) -> Array:
    """Return the blend's values for each sample, (n_samples, n_classes), in which its fold had no part.

    Settings, units and weights are those of the other folds. If there is but one fold, it has to do for both.
    """
    fold, label, weight = race.fold[ballot.places], ballot.label, ballot.sample_weight
    values = np.empty(ballot.values.shape[1:])
    for k in np.unique(fold):
        mine = fold == k
        others = np.flatnonzero(~mine if (~mine).any() else mine)
        own = find_own(ballot.values[:, others], label[others], weight[others], ballot.candidates)
        said = [by_class(race.decisions[ballot.places, entry]) for entry in ballot.entries[own]]
        units = [fit_calibration(one[others], label[others], weight[others]) for one in said]
        calibrated = np.array([unit.values(one) for unit, one in zip(units, said, strict=True)])
        weights = select(calibrated[:, others], label[others], weight[others], np.arange(len(own)))
        values[mine] = np.tensordot(weights, calibrated[:, mine], 1)
    return values


def measure_blend(race: LabelRace, ballot: Ballot, values: Array) -> Measure:
    """Return how good a blend is on samples that had no part in its weights."""
    fold, losses = race.fold[ballot.places], np.empty(len(values))
    decisions = values[:, 1:] - values[:, :1] if values.shape[1] == 2 else values
    for k in np.unique(fold):
        mine = fold == k
        rows = race.rows[ballot.places[mine]]
        judged = Judged(
            race.task.label[rows],
            values[mine].argmax(axis=1),
            decisions[mine],
            race.task.weights[rows],
            race.task.n_classes,
            race.scoring.positive,
        )
        losses[mine] = race.scoring.losses(judged, None, rows, rows)
    return race.measure_losses(float(losses.mean()), losses, ballot.places, ballot.entries)


def calibrate_blend(race: LabelRace, ballot: Ballot, values: Array) -> Calibration:
    """Return what makes probabilities of a blend's decision values."""
    rows = race.rows[ballot.places]
    return fit_calibration(values, race.task.label[rows], race.task.weights[rows])


def make_blend(
    race: LabelRace, ballot: Ballot, weights: Array, fitted: Mapping[int, Any], kernel: Any = None
) -> Blend:
    """Return the blend of those entries that were fitted, by their number in the race."""
    members = [k for k, entry in enumerate(ballot.entries) if int(entry) in fitted and weights[k] > 0]
    if not members:  # but the winner there is always
        weights = np.array([float(int(entry) in fitted) for entry in ballot.entries])
        members = np.flatnonzero(weights).tolist()
    chosen: Sequence[Calibration] = [ballot.calibrations[k] for k in members]
    entries = [int(ballot.entries[k]) for k in members]
    names = [race.candidates[race.entries[entry].candidate].name for entry in entries]
    pipelines = [fitted[entry] for entry in entries]
    blend = Blend(
        list(zip(names, pipelines, strict=True)),
        weights=weights[members] / weights[members].sum(),
        slopes=np.array([one.slope for one in chosen]),
        offsets=np.array([np.broadcast_to(one.offsets, race.task.n_classes) for one in chosen]),
        kernel=kernel,
    )
    return blend.use(pipelines, race.task.classes)
