"""The race of classifiers: what they decide of held-out samples is calibrated, to be probabilities."""

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._typing import Array, Index
from mercer.search.calibration import Calibration, fit_calibration, log_losses
from mercer.search.interval import mean_variance, share_interval, standard_error
from mercer.search.result import Measure
from mercer.search.sample_race import SampleRace
from mercer.search.scoring import Judged, log_chances, log_loss, of_means

if TYPE_CHECKING:
    from mercer.search.label_task import LabelTask


class LabelRace(SampleRace):
    """A race that is scored by the classes of held-out samples."""

    task: "LabelTask"
    kind = np.float32

    def keep(self, fold: int, entries: Index, values: Array) -> None:
        """Keep losses and decision values."""
        super().keep(fold, entries, values)
        if self.scoring.slope is log_loss:
            for entry in entries:
                self._calibrate_by_folds(int(entry))

    def _calibrate_by_folds(self, entry: int) -> None:
        """Let probabilities of each fold be calibrated on all others: a fold has few samples for that."""
        places = np.flatnonzero(np.isfinite(self.losses[:, entry]))
        fold, rows = self.fold[places], self.rows[places]
        if len(np.unique(fold)) > 1:
            weight = self.task.weights[rows]
            chances = log_chances(self.task.label[rows], self.said[places, entry], weight, fold)
            for k in np.unique(fold):
                mine = fold == k
                score, slope = of_means(chances[mine], weight[mine])
                self.losses[places[mine], entry] = -score - mine.sum() * weight[mine] * slope

    def far(self, said: Array) -> float:
        """Return the root mean square of decision values."""
        return float(np.sqrt(np.mean(said**2)))

    def slack(self, n_samples: int) -> float:
        """Return the error of one sample."""
        return 1.0 / n_samples

    def find_unit(self, said: Array, places: Index) -> Calibration:
        """Return what calibrates decision values."""
        rows = self.rows[places]
        return fit_calibration(said, self.task.label[rows], self.task.weights[rows])

    def blend_losses(self, values: Array, truth: Any) -> Array:
        """Return −log of the probability of each sample's class."""
        return log_losses(values, truth)

    def losses_of(self, values: Array, rows: Index) -> Array:
        """Return the losses of the most probable classes."""
        decisions = values[:, 1:] - values[:, :1] if values.shape[1] == 2 else values
        judged = Judged(
            self.task.label[rows],
            values.argmax(axis=1),
            decisions,
            self.task.weights[rows],
            self.task.n_classes,
            self.scoring.positive,
        )
        return self.scoring.losses(judged, None, values, rows)

    def calibration(self, entry: int) -> Calibration | None:
        """Return what makes probabilities of an entry's decision values, from those of held-out samples."""
        decisions = self.said[:, entry].astype(np.float64)
        places = np.flatnonzero(np.isfinite(decisions).all(axis=1))
        if not len(places):
            return None
        return self.find_unit(decisions[places], places)

    def measure_losses(self, loss: float, chosen: Array, places: Index, entries: Index) -> Measure:
        """Return a mean loss as a measure; of a share, with the interval of one."""
        measure = super().measure_losses(loss, chosen, places, entries)
        if not self.scoring.is_share:
            return measure
        inflation = self.inflation(places, entries)
        variance = mean_variance(chosen, self.clusters(places)) * inflation
        n = self._as_many(chosen, variance, measure.n_samples / inflation, places)
        low, high = share_interval(measure.value, n)
        return measure._replace(std_error=standard_error(measure.value, n), low=low, high=high)

    def _as_many(self, losses: Array, variance: float, n: float, places: Index) -> float:
        """Return of how many samples a plain share has this variance.

        For the error of independent samples that is n. Where no loss differs there is no variance to be seen:
        n, or fewer if rare classes count as much as others.
        """
        mean = float(np.clip(losses.mean(), 0.0, 1.0))
        if variance > 0.0 and 0.0 < mean < 1.0:
            return mean * (1.0 - mean) / variance
        if not self.scoring.balances:
            return n
        counts = np.unique(self.task.label[self.rows[places]], return_counts=True)[1]
        return n * len(counts) ** 2 / (len(places) * float(np.sum(1.0 / counts)))
