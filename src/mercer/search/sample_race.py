"""A race scored by held-out samples: a loss of each setting on each of them, and what follows from these."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from mercer._typing import Array, Index
from mercer.search.bootstrap import N_DRAWS, draw_groups, draw_rows, judge_choice
from mercer.search.candidates import Candidate
from mercer.search.interval import effective_rows, half_width, mean_variance
from mercer.search.race import Race
from mercer.search.result import WITH_NEIGHBOURS, Z95, Difference, Measure, SearchResult
from mercer.search.selection_rule import Rule, choose, find_nearby

if TYPE_CHECKING:
    from mercer.search.sample_task import SampleTask
    from mercer.search.scoring import Scoring
    from mercer.search.task import Folds

FEW_DRAWS = 50  # of the bootstrap, while the search runs
ALIKE = 1e-2  # of the unit of what is said: settings that differ by less say the same
HOPELESS = 3.0  # standard errors behind the best: less would flatter those that stay, see `bootstrap`


class SampleRace(Race):
    """A race that is scored by what settings say of held-out samples.

    Parameters
    ----------
    candidates : list of Candidate
        Who takes part.
    task : SampleTask
        The samples, and what candidates are judged by.
    folds : sequence of (train, test)
        Numbers of samples. One may be tested in several folds.
    seed : int
        Random seed of the bootstrap.
    """

    rule_name = WITH_NEIGHBOURS
    n_draws = N_DRAWS
    kind: ClassVar[type] = np.float64  # of what is said

    def __init__(self, candidates: list[Candidate], task: "SampleTask", folds: "Folds", seed: int) -> None:
        super().__init__(candidates, task.reference)
        self.scoring: Scoring = task.scoring
        self.metric, self.seed, self.task = task.scoring.metric, seed, task
        grids = [find_nearby(candidate.settings(), candidate.grid) for candidate in candidates]
        nearby = block_diag(*grids)
        self.rule = Rule(
            np.array([entry.candidate for entry in self.entries], dtype=np.intp),
            nearby / nearby.sum(axis=1, keepdims=True),
        )
        self.begin(folds, len(folds[0][0]))

    def begin(self, folds: "Folds", n_trained: int) -> None:
        """Take note of the folds: samples are kept by fold, one place after the other."""
        super().begin(folds, n_trained)
        tests: list[Index] = [test for _, test in folds]
        self.rows: Index = np.concatenate(tests)  # the sample of each place
        first, n_folds = len(folds[0][0]), len(folds)
        n_labelled = len(np.unique(np.concatenate([folds[0][0], self.rows])))
        if n_folds > 1:  # as many as are to be learned from, and a part of these to test
            n_labelled = min(n_labelled, -(-first * n_folds // (n_folds - 1)))
        self.n_rows = n_labelled + n_trained - first  # and those without labels
        self.fold = np.repeat(np.arange(len(folds)), [len(test) for test in tests])
        # a fold counts by the weight of its samples, a loss of it is a mean of as many as there are
        weight = self.task.weights[self.rows]
        self.importance = (np.bincount(self.fold, weight) / np.bincount(self.fold))[self.fold]
        self.losses = np.full((len(self.rows), len(self.entries)), np.nan)
        self.said: NDArray[Any] = np.full(
            (len(self.rows), len(self.entries), self.task.n_values), np.nan, dtype=self.kind
        )

    @property
    def truth(self) -> Any:
        """Return the targets of all places, in the units of the blend."""
        return self.task.truth[self.rows]

    @abstractmethod
    def far(self, said: Array) -> float:
        """Return how far apart two must be in what they say, not to say the same."""

    @abstractmethod
    def slack(self, n_samples: int) -> float:
        """Return by how much the mean loss of so many samples may be larger for nothing."""

    def eligible(self) -> Index:
        """Return the entries that may be members of a blend."""
        return self.finalists()

    @abstractmethod
    def find_unit(self, said: Array, places: Index) -> Any:
        """Return what has `values`: what a candidate said, put into the units of the blend."""

    @abstractmethod
    def blend_losses(self, values: Array, truth: Any) -> Array:
        """Return what members of a blend are selected by, (n_settings, n_samples), of values in its units."""

    @abstractmethod
    def losses_of(self, values: Array, rows: Index) -> Array:
        """Return the losses of values that a blend has for the samples of a fold, as the score has them."""

    def keep(self, fold: int, entries: Index, values: Array) -> None:
        """Keep the losses of the samples of a fold, and what was said of them."""
        places = np.ix_(np.flatnonzero(self.fold == fold), entries)
        self.losses[places], self.said[places] = values[..., 0], values[..., 1:]

    def forget(self, entries: Index) -> None:
        """Take out losses and what was said."""
        self.losses[:, entries] = self.said[:, entries] = np.nan

    def neighbours(self, entry: int) -> Index:
        """Return a setting with its neighbours in the grid: the best one moves with the number of samples."""
        return np.flatnonzero((self.rule.nearby[entry] > 0) & ~self.broken)

    def result(self, winner: int | None = None, stopped: str | None = None) -> SearchResult:
        """Return the ranking so far, of few draws, which are soon out of date; or the outcome."""
        self.n_draws = FEW_DRAWS if winner is None else N_DRAWS
        try:
            return super().result(winner, stopped)
        finally:
            self.n_draws = N_DRAWS

    def errors(self, entries: Index) -> Array:
        """Return the mean losses of entries over the samples that all of them were scored on."""
        means: Array = self.scored(entries)[0].mean(axis=0)
        return means

    def choose(self, entries: Index) -> int:
        """Return the entry that the selection rule takes."""
        losses, _ = self.scored(entries)
        return int(entries[choose(losses, self.rule.among(entries), np.ones((1, len(losses))))[0]])

    def measure(self, candidate: int, entry: int) -> Measure:
        """Return how good a candidate is, its choice among its settings included."""
        return self._measure(self.finalists_of(candidate))

    def measure_selection(self) -> Measure:
        """Return how good the choice among all finalists is."""
        return self._measure(self.finalists())

    def compare(self, candidate: int, entry: int, reference: int) -> Difference:
        """Return how much larger a candidate's value is than the reference's, on the samples of both."""
        mine, theirs = self.finalists_of(candidate), self.finalists_of(reference)
        if not len(theirs):
            return Difference()
        losses, places = self.scored(np.concatenate([mine, theirs]))
        n = len(losses)
        every, columns, means = np.ones((1, n)), [], []
        for entries, values in ((mine, losses[:, : len(mine)]), (theirs, losses[:, len(mine) :])):
            rule = self.rule.among(entries)
            means.append(float(judge_choice(values, self._draw(places), rule).mean()))
            columns.append(values[:, choose(values, rule, every)[0]])
        variance = mean_variance(columns[0] - columns[1], self.clusters(places))
        if self.scoring.is_share:
            variance = max(variance, 1.0 / n**2)  # as if they differed on one sample at least
        noise = Z95 * float(np.sqrt(variance * self.inflation(places, mine))) * self.scoring.unit
        sign = (-1.0 if self.metric.greater_is_better else 1.0) * self.scoring.unit
        difference = sign * (means[0] - means[1])
        return Difference(difference, difference - noise, difference + noise)

    def drop_hopeless(self, among: Iterable[int] | None = None) -> None:
        """Take out settings that are far behind the best, on the samples that both have been scored on.

        The best setting of the reference, with which others are compared, stays, and so does the baseline. Of
        settings of a candidate that say the same the first stays: such are all C that no sample reaches.
        """
        candidates = self.running() if among is None else list(among)
        for i in candidates:
            self._drop_alike(i)
        running = np.concatenate([self.of(i, alive=True) for i in candidates] or [np.empty(0, np.intp)])
        running = np.sort(running[self.n_folds[running] > 0])
        if len(running) < 2:
            return
        best = running[np.argmin(self.errors(running))]
        kept = None if self.reference is None else self.best_of(self.reference)
        for entry in running:
            if entry != kept and self._is_hopeless(int(entry), int(best)):
                self.drop(int(entry))

    def _drop_alike(self, candidate: int) -> None:
        kept: list[Array] = []
        for entry in self.of(candidate, alive=True):
            said = self.said[np.isfinite(self.losses[:, entry]), entry]
            far = ALIKE * self.far(said) if len(said) else 0.0
            if any(len(said) == len(one) and np.abs(said - one).max() <= far for one in kept if far):
                self.drop(int(entry))
            else:
                kept.append(said)

    def cv_results(self) -> dict[str, Any]:
        """Return the scores of all settings, fold by fold, as scikit-learn's searches do."""
        scores = np.full((self.n_splits, len(self.entries)), np.nan)
        for k in range(self.n_splits):
            scores[k] = self.scoring.best - self.scoring.unit * self.losses[self.fold == k].mean(axis=0)
        some = np.isfinite(scores)
        n = np.maximum(some.sum(axis=0), 1)
        mean = np.where(some.any(axis=0), np.where(some, scores, 0.0).sum(axis=0) / n, np.nan)
        spread = np.sqrt(np.where(some, (scores - mean) ** 2, 0.0).sum(axis=0) / n)
        order = np.argsort(np.argsort(-np.nan_to_num(mean, nan=-np.inf), kind="stable"))
        return {
            "candidate": [self.candidates[entry.candidate].name for entry in self.entries],
            "params": [entry.setting for entry in self.entries],
            **{f"split{k}_test_score": scores[k] for k in range(self.n_splits)},
            "mean_test_score": mean,
            "std_test_score": np.where(some.any(axis=0), spread, np.nan),
            "rank_test_score": (order + 1).astype(np.int32),
            "n_folds": self.n_folds.copy(),
            "mean_fit_time": self.fit_seconds / np.maximum(self.n_folds, 1),
            "mean_score_time": self.predict_seconds / np.maximum(self.n_folds, 1),
        }

    def _is_hopeless(self, entry: int, best: int) -> bool:
        difference = self.losses[:, entry] - self.losses[:, best]
        difference = difference[np.isfinite(difference)]
        if not self.scoring.slope:  # of whole folds there is no noise to be seen
            return False
        noise = np.sqrt(np.mean(difference**2) / max(len(difference), 1))
        return bool(difference.mean() > HOPELESS * noise + self.slack(len(difference)))

    def scored(self, entries: Index) -> tuple[Array, Index]:
        """Return the losses of entries on the samples that all of them were scored on, and the places.

        Their mean is that of the folds, weighted as their samples are.
        """
        losses = self.losses[:, entries]
        places = np.flatnonzero(np.isfinite(losses).all(axis=1))
        if self.task.sample_weight is None:
            return losses[places], places
        share = self.importance[places]
        return losses[places] * (share / share.mean())[:, None], places

    def clusters(self, places: Index) -> Any:
        """Return what is not independent: samples of a group, or of a fold that was judged as a whole."""
        if self.scoring.slope is None:
            return self.fold[places]
        return None if self.task.groups is None else self.task.groups[self.rows[places]]

    def _draw(self, places: Index) -> Array:
        clusters = self.clusters(places)
        if clusters is None:
            return draw_rows(len(places), self.seed, self.n_draws)
        return draw_groups(clusters, self.seed, self.n_draws)

    def inflation(self, places: Index, entries: Index) -> float:
        """Return how much larger a variance is than that of samples scored once, see `interval`."""
        n_scored = len(np.unique(self.rows[places]))
        return n_scored / effective_rows(n_scored, float(self.n_trained[entries].min()))

    def _measure(self, entries: Index) -> Measure:
        losses, places = self.scored(entries)
        rule = self.rule.among(entries)
        loss = float(judge_choice(losses, self._draw(places), rule).mean())
        chosen = losses[:, choose(losses, rule, np.ones((1, len(losses))))[0]]
        return self.measure_losses(loss, chosen, places, entries)

    def measure_losses(self, loss: float, chosen: Array, places: Index, entries: Index) -> Measure:
        """Return a mean loss as a measure; how certain it is, the losses of single samples tell."""
        n_folds, n_samples = int(self.n_folds[entries].min()), len(np.unique(self.rows[places]))
        clusters, inflation = self.clusters(places), self.inflation(places, entries)
        value, variance = self.scoring.value(loss), mean_variance(chosen, clusters) * inflation
        n_clusters = None if clusters is None else len(np.unique(clusters))
        noise = half_width(variance, n_clusters) * self.scoring.unit
        error = float(np.sqrt(variance)) * self.scoring.unit if np.isfinite(noise) else np.nan
        return Measure(self.metric, value, error, value - noise, value + noise, n_folds, n_samples)
