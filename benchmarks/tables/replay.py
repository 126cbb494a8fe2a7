"""Ways to choose among candidates, replayed on what these said of rows they had not seen.

Each way gets the same folds, and is judged on the test rows. Only sets of the side that decides are for this.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import block_diag
from scipy.special import softmax

from benchmarks.tables.folds import remember
from benchmarks.tables.sources import split
from mercer.search.blend import select
from mercer.search.bootstrap import draw_rows
from mercer.search.calibration import by_class, fit_calibration
from mercer.search.label_race import log_losses
from mercer.search.label_task import LabelTask
from mercer.search.selection_rule import Rule, choose, find_nearby


class Field(NamedTuple):
    """All settings of all candidates on one split."""

    rule: Rule
    wrong: np.ndarray  # (n_rows, n_settings): of training rows, out of fold
    test_wrong: np.ndarray  # (n_test, n_settings)
    values: np.ndarray  # (n_settings, n_rows, n_classes): calibrated decision values
    test_values: np.ndarray
    truth: np.ndarray
    test_truth: np.ndarray

    def blended(self, weights: np.ndarray) -> float:
        """Return the test error of a weighted sum of calibrated decision values."""
        return float(np.mean(np.tensordot(weights, self.test_values, 1).argmax(axis=1) != self.test_truth))


def gather(folder: Path, name: str, seed: int, rows: int) -> Field:
    """Fit, or recall, all candidates on one split."""
    data = split(name, seed, rows)
    task = LabelTask(data.X_train, data.y_train)
    candidates = task.propose(seed)
    said = [remember(folder / f"{rows}-{name}-{seed}-{one.name}.npz", one, data, seed) for one in candidates]
    nearby = block_diag(*[find_nearby(one.settings(), one.grid) for one in candidates])
    rule = Rule(
        np.repeat(np.arange(len(said)), [len(one.wrong) for one in said]),
        nearby / nearby.sum(axis=1, keepdims=True),
    )
    values, test_values = [], []
    for one in said:
        for decisions, test in zip(one.decisions, one.test_decisions, strict=True):
            calibration = fit_calibration(decisions, task.label)
            values.append(calibration.slope * by_class(decisions) + calibration.offsets)
            test_values.append(calibration.slope * by_class(test) + calibration.offsets)
    wrong = np.concatenate([one.wrong for one in said]).T
    test_wrong = np.concatenate([one.test_wrong for one in said]).T
    truth = task.label, np.searchsorted(task.classes, data.y_test)
    return Field(rule, wrong, test_wrong, np.array(values), np.array(test_values), *truth)


def leader(field: Field) -> float:
    """Return the test error of the candidate that makes the fewest errors."""
    return _of(field, choose(field.wrong, field.rule, np.ones((1, len(field.wrong))))[0])


def one_standard_error(field: Field) -> float:
    """Take the first in the list that is within one standard error of the leader."""
    best = choose(field.wrong, field.rule, np.ones((1, len(field.wrong))))[0]
    for number in np.unique(field.rule.candidate):
        own = _own(field, number)
        apart = field.wrong[:, own] - field.wrong[:, best]
        if apart.sum() <= np.sqrt(np.sum(apart**2)):
            break
    return _of(field, own)


def bootstrap_vote(field: Field) -> float:
    """Take the candidate that leads most often on rows drawn with replacement."""
    leaders = choose(field.wrong, field.rule, draw_rows(len(field.wrong), 0))
    return _of(field, _own(field, np.argmax(np.bincount(field.rule.candidate[leaders]))))


def bootstrap_blend(field: Field) -> float:
    """Weigh settings by how often each has the least Brier score on rows drawn with replacement."""
    truth = np.eye(field.values.shape[2])[field.truth]
    brier = np.sum((softmax(field.values, axis=2) - truth) ** 2, axis=2).T
    best = np.argmin(np.round(draw_rows(len(brier), 0) @ brier, 9), axis=1)
    return field.blended(np.bincount(best, minlength=brier.shape[1]) / len(best))


def greedy_blend(field: Field) -> float:
    """Add members one by one, each time the one that makes the log loss lowest: `mercer.search.blend`."""
    alike = np.ones(len(field.truth))
    return field.blended(select(field.values, field.truth, alike, field.rule.candidate))


def mean_of_all(field: Field) -> float:
    """Weigh all candidates alike, each with the setting of its lowest log loss."""
    losses, weights = log_losses(field.values, field.truth).mean(axis=1), np.zeros(len(field.values))
    for number in np.unique(field.rule.candidate):
        mine = np.flatnonzero(field.rule.candidate == number)
        weights[mine[np.argmin(losses[mine])]] = 1.0
    return field.blended(weights)


def best_on_test(field: Field) -> float:
    """Take the candidate that the test rows say was best, each with its own choice of settings: an oracle."""
    return min(_of(field, _own(field, number)) for number in np.unique(field.rule.candidate))


WAYS = (
    *(leader, one_standard_error, bootstrap_vote),
    *(bootstrap_blend, greedy_blend, mean_of_all, best_on_test),
)


def replay(folder: Path, names: list[str], n_splits: int, rows: int) -> str:
    """Return the test error of each way in %, and its difference to the leader's, over the sets."""
    errors = {
        name: np.mean(
            [[way(gather(folder, name, seed, rows)) for way in WAYS] for seed in range(n_splits)], axis=0
        )
        for name in names
    }
    table = 100 * pd.DataFrame(errors, index=[way.__name__ for way in WAYS]).T
    apart = table.sub(table["leader"], axis=0)
    summary = {
        "mean error": table.mean(),
        "mean rank": table.drop(columns="best_on_test").round(9).rank(axis=1).mean(),
        "less the leader's": apart.mean(),
        "±": apart.std() / np.sqrt(len(apart)),
        "better": (apart < -1e-9).sum(),
        "worse": (apart > 1e-9).sum(),
    }
    return "\n\n".join([table.round(2).to_string(), pd.DataFrame(summary).round(2).to_string()])


def _of(field: Field, setting: int) -> float:
    return float(field.test_wrong[:, setting].mean())


def _own(field: Field, number: int) -> int:
    """Return the setting that stands for a candidate."""
    mine = np.flatnonzero(field.rule.candidate == number)
    chosen = choose(field.wrong[:, mine], field.rule.among(mine), np.ones((1, len(field.wrong))))
    return int(mine[chosen[0]])
