"""The settings of a candidate on one fold, one after the other: what came of each, and how long it took."""

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from mercer._typing import Array
from mercer.search.candidates import Candidate


class Attempt(NamedTuple):
    """What came of one setting."""

    values: Array  # for each thing held back: 1 where a class is wrong, or how similar a pair is
    fit_seconds: float
    predict_seconds: float


class Outcome(NamedTuple):
    """What came of a candidate's settings on one fold."""

    values: Array  # (n_test, n_settings), as in `Attempt`
    fit_seconds: Array  # (n_settings,), each with the time that its kernel took, be it shared or not
    predict_seconds: Array
    seconds: float  # of all together
    failures: dict[int, str]  # why a setting has no values


class Sample(NamedTuple):
    """Few of the rows, to time a candidate on."""

    task: "Task"
    train: Any
    test: Any
    times: float  # as many there are


class Task(Protocol):
    """What candidates are tried on: rows with classes, or pairs of rows."""

    def evaluate(
        self, candidate: Candidate, settings: Sequence[dict[str, Any]], train: Any, test: Any
    ) -> Outcome:
        """Fit each setting to one part and judge it on another."""

    def size(self, train: Any) -> int:
        """Return how much there is to learn from."""

    def sample(self, train: Any, test: Any, n: int) -> Sample:
        """Return some n of what there is to learn from."""

    def thin(
        self, folds: Sequence[tuple[Any, Any]], share: float
    ) -> tuple["Task", Sequence[tuple[Any, Any]], float]:
        """Return a share of the rows or more, their folds, and the share that it is."""


def try_settings(
    settings: Sequence[dict[str, Any]], n_test: int, attempt: Callable[[dict[str, Any]], Attempt]
) -> Outcome:
    """Try each setting, and go on if one fails."""
    values = np.full((n_test, len(settings)), np.nan)
    fit_seconds, predict_seconds = np.zeros(len(settings)), np.zeros(len(settings))
    failures: dict[int, str] = {}
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of settings that do not suit the data: their errors tell
        for k, setting in enumerate(settings):
            try:
                values[:, k], fit_seconds[k], predict_seconds[k] = attempt(setting)
            except Exception as error:  # a stranger's classifier may raise anything: the others go on
                failures[k] = f"{type(error).__name__}: {error}"
    return Outcome(values, fit_seconds, predict_seconds, time.perf_counter() - begin, failures)
