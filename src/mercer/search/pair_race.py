"""A race in which learners are judged by how well their distances tell pairs apart that were held back."""

import numpy as np
from numpy.random import RandomState

from mercer._typing import Array, Flags, Index
from mercer.pairs import Pairs
from mercer.quality import pair_auc
from mercer.search.candidates import Candidate
from mercer.search.race import Race

N_DRAWS = 100


class PairRace(Race):
    """What is known of each setting so far: for each fold, how similar its pairs are."""

    def __init__(self, candidates: list[Candidate], tests: list[Pairs]) -> None:
        super().__init__(candidates)
        self.truths: list[Flags] = [
            np.repeat([True, False], [len(test.similar), len(test.dissimilar)]) for test in tests
        ]
        self.similarities: list[list[Array]] = [[] for _ in self.entries]

    def keep(self, test: Pairs, entries: Index, values: Array) -> None:
        """Keep the similarities; folds come in order, and who misses one does not come back."""
        for entry, column in zip(entries, values.T, strict=True):
            self.similarities[entry].append(column)

    def errors(self, entries: Index) -> Array:
        """Return 1 − AUC, as a mean over the folds that all entries were judged on."""
        means: Array = 1.0 - self.aucs(entries).mean(axis=1)
        return means

    def aucs(self, entries: Index) -> Array:
        """Return the AUC of each entry (n_entries, n_folds) on the folds that all were judged on."""
        n_folds = int(self.n_folds[entries].min(initial=len(self.truths)))
        every = [[self._auc(entry, fold) for fold in range(n_folds)] for entry in entries]
        return np.array(every, dtype=np.float64).reshape(len(entries), n_folds)

    def honest_auc(self, rng: RandomState) -> float:
        """Return the AUC of the choice: made on pairs drawn with replacement, judged on the others.

        Folds of which either has pairs of one kind alone do not count in that draw.
        """
        finalists = self.finalists()
        truths = self.truths[: int(self.n_folds[finalists].min())]
        judged = []
        for _ in range(N_DRAWS):
            drawn = [rng.randint(len(truth), size=len(truth)) for truth in truths]
            left = [
                np.setdiff1d(np.arange(len(truth)), some) for truth, some in zip(truths, drawn, strict=True)
            ]
            good = [k for k, t in enumerate(truths) if _has_both(t[drawn[k]]) and _has_both(t[left[k]])]
            if good:
                best = max(finalists, key=lambda entry: round(self._mean_auc(entry, drawn, good), 9))
                judged.append(self._mean_auc(best, left, good))
        return float(np.mean(judged)) if judged else np.nan

    def _auc(self, entry: int, fold: int, some: Index | None = None) -> float:
        similarity, truth = self.similarities[entry][fold], self.truths[fold]
        return float(pair_auc(similarity, truth) if some is None else pair_auc(similarity[some], truth[some]))

    def _mean_auc(self, entry: int, chosen: list[Index], folds: list[int]) -> float:
        return float(np.mean([self._auc(entry, fold, chosen[fold]) for fold in folds]))


def _has_both(truth: Flags) -> bool:
    return bool(truth.any() and not truth.all())
