"""The outcome of a race: how good each candidate is, corrected for choices among settings, and how surely.

Two things are random: which samples were scored, and which ones the models were fitted to. Another draw of
the latter changes all predictions at once, which no spread of one draw shows: for k folds the variance is
larger by a factor of 1 + k n_test / n_train [NB03]. That is as if fewer samples had been scored, 1 /
(1/n_scored + 1/n_trained).

A share of so many samples has the interval of Clopper and Pearson [CP34]: unlike ± 1.96 standard errors it
knows that no error in 36 samples is not an error rate of zero.

[NB03] Nadeau, Bengio: Inference for the generalization error. Machine Learning 52, 2003.
[CP34] Clopper, Pearson: The use of confidence or fiducial limits illustrated in the case of the binomial.
Biometrika 26, 1934.
"""

from typing import Any

import numpy as np
from scipy import stats

from mercer._typing import Array, Index
from mercer.search.blend import parts_of
from mercer.search.race import Fate, Race
from mercer.search.result import (
    FINISHED,
    OUT_OF_TIME,
    WITH_NEIGHBOURS,
    Z95,
    CandidateResult,
    Difference,
    Measure,
    SearchResult,
    rank_candidates,
)
from mercer.search.selection_rule import choose_elsewhere

TAIL = 0.025  # on either side of a 95 % interval


class Ranking:
    """What follows from the losses that a race has kept.

    Parameters
    ----------
    race : Race
        Over, or still running.
    """

    def __init__(self, race: Race) -> None:
        self.race = race
        self.scoring, self.metric = race.task.scoring, race.task.scoring.metric

    def result(self) -> SearchResult:
        """Return the ranking so far."""
        race = self.race
        names = [candidate.name for candidate in race.candidates]
        return SearchResult(
            self.metric,
            rank_candidates(self._line(i) for i in range(len(names))),
            tuple(name for i, name in enumerate(names) if i != race.baseline),
            WITH_NEIGHBOURS,
            None if race.reference is None else names[race.reference],
            baseline=None if race.baseline is None else names[race.baseline],
            n_splits=len(race.folds),
        )

    def _line(self, i: int) -> CandidateResult:
        race, fate, best = self.race, self.race.fate(i), self.race.best_of(i)
        name = race.candidates[i].name
        if best is None:
            if fate.status == FINISHED:
                fate = Fate(OUT_OF_TIME, "not scored: the search ended before its turn")
            return CandidateResult(name, {}, Measure(self.metric), status=fate.status, note=fate.note)
        entries = race.finalists_of(i)
        theirs = race.reference if i not in (race.reference, race.baseline) else None
        return CandidateResult(
            name,
            race.entries[best].setting,
            self.measure(entries),
            Difference() if theirs is None else self.compare(entries, race.finalists_of(theirs)),
            float(race.fit_seconds[best]),
            float(race.predict_seconds[best]),
            *fate,
        )

    def measure(self, entries: Index) -> Measure:
        """Return how good the choice among some entries is."""
        losses, places = self.race.scored(entries)
        chosen = self._choose(losses, places, entries)
        return self.of_losses(float(chosen.mean()), chosen, places, entries)

    def compare(self, entries: Index, reference: Index) -> Difference:
        """Return how much larger the value of a choice is than that of another, on the samples of both."""
        losses, places = self.race.scored(np.concatenate([entries, reference]))
        if not len(losses) or not len(reference):
            return Difference()
        mine = self._choose(losses[:, : len(entries)], places, entries)
        return self._difference(
            mine - self._choose(losses[:, len(entries) :], places, reference), places, entries
        )

    def compare_model(self, losses: Array, places: Index, entries: Index, other: int | None) -> Difference:
        """Return how much larger the model's value is than a candidate's: both are corrected for choices."""
        theirs = np.array([], dtype=np.intp) if other is None else self.race.finalists_of(other)
        every = self.race.losses[np.ix_(places, theirs)]
        some = np.isfinite(every).all(axis=1)
        if not len(theirs) or not some.any():
            return Difference()
        chosen = self._choose(every[some], places[some], theirs)
        return self._difference(losses[some] - chosen, places[some], entries)

    def _choose(self, losses: Array, places: Index, entries: Index) -> Array:
        """Return the losses of a choice among entries, each made on the other parts of the samples."""
        race = self.race
        part = parts_of(race, places) if race.task.blends else race.fold[places]
        return choose_elsewhere(losses, race.rule.among(entries), part)

    def _difference(self, differences: Array, places: Index, entries: Index) -> Difference:
        mean = float(differences.mean())
        variance = mean_variance(differences, self._clusters(places))
        if self.scoring.is_share:
            variance = max(variance, 1.0 / len(places) ** 2)  # as if they differed on one sample at least
        noise = Z95 * float(np.sqrt(variance * self._inflation(places, entries))) * self.scoring.unit
        sign = (-1.0 if self.metric.greater_is_better else 1.0) * self.scoring.unit
        return Difference(sign * mean, sign * mean - noise, sign * mean + noise)

    def of_losses(self, loss: float, losses: Array, places: Index, entries: Index) -> Measure:
        """Return a mean loss as a measure; how certain it is, the losses of single samples tell."""
        race, clusters = self.race, self._clusters(places)
        n_folds, n_samples = len(np.unique(race.fold[places])), len(np.unique(race.rows[places]))
        inflation, unit = self._inflation(places, entries), self.scoring.unit
        value, variance = self.scoring.value(loss), mean_variance(losses, clusters) * inflation
        noise = half_width(variance, None if clusters is None else len(np.unique(clusters))) * unit
        error = float(np.sqrt(variance)) * unit if np.isfinite(noise) else np.nan
        low, high = value - noise, value + noise
        if self.scoring.is_share:
            n = self._as_many(losses, variance, n_samples / inflation, places)
            value = float(np.clip(value, 0.0, 1.0)) if self.scoring.name == "accuracy" else value
            error = standard_error(value, n)
            low, high = share_interval(float(np.clip(value, 0.0, 1.0)), n)
        elif self.scoring.slope is not None and self.metric.greater_is_better:
            high = min(high, 1.0)
        elif self.scoring.slope is not None:
            low = max(low, 0.0)
        return Measure(self.metric, value, error, low, high, n_folds, n_samples)

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
        counts = np.unique(self.race.task.label[self.race.rows[places]], return_counts=True)[1]
        return n * len(counts) ** 2 / (len(places) * float(np.sum(1.0 / counts)))

    def _clusters(self, places: Index) -> Any:
        """Return what is not independent: samples of a group, or of a fold that was judged as a whole."""
        if self.scoring.is_of_folds:
            return self.race.fold[places]
        groups = self.race.task.samples.groups
        return None if groups is None else groups[self.race.rows[places]]

    def _inflation(self, places: Index, entries: Index) -> float:
        """Return how much larger a variance is than that of samples scored once."""
        n_scored = len(np.unique(self.race.rows[places]))
        n_trained = float(self.race.n_trained[entries].min()) or float(self.race.n_all)
        return n_scored / effective_rows(n_scored, n_trained)

    def cv_results(self) -> dict[str, Any]:
        """Return the scores of all settings, fold by fold, as scikit-learn's searches do."""
        race, n_folds = self.race, len(self.race.folds)
        scores = np.full((n_folds, len(race.entries)), np.nan)
        for k in range(n_folds):
            mine = race.losses[race.fold == k]
            for e in np.flatnonzero(np.isfinite(mine).any(axis=0)):
                scores[k, e] = self.scoring.best - self.scoring.unit * np.nanmean(mine[:, e])
        some = np.isfinite(scores)
        n, is_scored = np.maximum(some.sum(axis=0), 1), some.any(axis=0)
        mean = np.where(is_scored, np.where(some, scores, 0.0).sum(axis=0) / n, np.nan)
        spread = np.sqrt(np.where(some, (scores - mean) ** 2, 0.0).sum(axis=0) / n)
        order = np.argsort(np.argsort(-np.nan_to_num(mean, nan=-np.inf), kind="stable"))
        return {
            "candidate": [race.candidates[entry.candidate].name for entry in race.entries],
            "params": [entry.setting for entry in race.entries],
            **{f"split{k}_test_score": scores[k] for k in range(n_folds)},
            "mean_test_score": mean,
            "std_test_score": np.where(is_scored, spread, np.nan),
            "rank_test_score": (order + 1).astype(np.int32),
            "n_folds": some.sum(axis=0),
            "mean_fit_time": race.fit_seconds,
            "mean_score_time": race.predict_seconds,
        }


def effective_rows(n_scored: float, n_trained: float) -> float:
    """Return the number of independent samples that say as much as a cross-validation does."""
    return 1.0 / (1.0 / n_scored + 1.0 / max(n_trained, 1.0))


def share_interval(share: float, n: float) -> tuple[float, float]:
    """Return the 95 % confidence interval of a share of n samples, which need not be a whole number."""
    low = stats.beta.ppf(TAIL, n * share, n * (1.0 - share) + 1.0) if share > 0.0 else 0.0
    high = stats.beta.ppf(1.0 - TAIL, n * share + 1.0, n * (1.0 - share)) if share < 1.0 else 1.0
    return float(low), float(high)


def standard_error(share: float, n: float) -> float:
    """Return the standard error of a share of n samples, as if half a sample were wrong at least."""
    return float(np.sqrt(max(share * (1.0 - share), 0.25 / n) / n))


def mean_variance(losses: Array, groups: Index | None = None) -> float:
    """Return the variance of a mean of samples, of which those of a group are not independent."""
    n = len(losses)
    away = losses - losses.mean()
    if groups is None:
        return float(away @ away) / n**2
    _, place = np.unique(groups, return_inverse=True)
    sums = np.bincount(place, away)
    m = len(sums)
    return float(sums @ sums) / n**2 * (m / (m - 1.0) if m > 1 else np.inf)


def half_width(variance: float, n_groups: int | None = None) -> float:
    """Return the half width of the 95 % interval of a mean; of few groups, by Student's distribution."""
    if n_groups is not None and n_groups < 2:
        return float("nan")
    factor = stats.norm.ppf(1.0 - TAIL) if n_groups is None else stats.t.ppf(1.0 - TAIL, n_groups - 1)
    return float(factor * np.sqrt(variance))
