"""What every setting of every candidate says of rows it has not seen, kept to replay choices among them."""

import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from mercer.search.candidates import Candidate
from mercer.search.decisions import decide
from mercer.search.label_task import LabelTask
from reproduction.harness import Split

N_FOLDS = 5


class Said(NamedTuple):
    """Of one candidate, by setting: whether rows were wrong (n_settings, n_rows), and decision values."""

    wrong: np.ndarray  # of training rows, each by a fit to the other folds
    decisions: np.ndarray  # (n_settings, n_rows, n_classes or 1)
    test_wrong: np.ndarray  # of test rows, by a fit to all training rows
    test_decisions: np.ndarray


def remember(path: Path, candidate: Candidate, data: Split, seed: int) -> Said:
    """Return what a candidate says on a split, from its file if there is one."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            said = ask(candidate, LabelTask(data.X_train, data.y_train), data, seed)
        np.savez_compressed(path, **said._asdict())
    with np.load(path) as kept:
        return Said(**kept)


def ask(candidate: Candidate, task: LabelTask, data: Split, seed: int) -> Said:
    """Fit all settings of a candidate to each fold, and to everything."""
    settings, width = candidate.settings(), 1 if task.n_classes == 2 else task.n_classes
    values = np.full((len(task.y), len(settings), 1 + width), np.nan)  # losses, and then the decision values
    for train, test in task.split(N_FOLDS, seed):
        values[test] = task.evaluate(candidate, settings, train, test).values
    fits = (task.fit(candidate, setting).pipeline for setting in settings)
    said = [decide(fitted, data.X_test, task.classes) for fitted in fits]
    wrong = [task.classes[label] != data.y_test for label, _ in said]
    values = values.transpose(1, 0, 2)
    return Said(values[..., 0], values[..., 1:], np.array(wrong), np.array([one for _, one in said]))
