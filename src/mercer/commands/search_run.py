"""The search for a kernel on a task, the model that comes of it, and what is to be said of both."""

import math
import time
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import get_scorer_names

from mercer.commands.errors import WrongRequestError
from mercer.commands.inputs import PAIRS, Task, Test
from mercer.commands.model import MADE_BY
from mercer.commands.outputs import as_json
from mercer.kernels.description import describe_kernel
from mercer.preprocessing import TableEncoder
from mercer.preprocessing.targets import CLASS, NUMBER
from mercer.search import KernelSearchCV, KernelSearchRegressor, SearchWarning
from mercer.search.interval import share_interval
from mercer.search.number_scoring import NUMBER_SCORES
from mercer.search.pairs import PairTask
from mercer.search.scoring import KNOWN
from mercer.search.task import LabelTask, NumberTask, Samples

SEARCHING = 0.95  # of the time that is left after reading: to save and to print takes some


class Options(NamedTuple):
    """How to search."""

    candidates: tuple[str, ...] = ()
    budget: float = 60.0
    n_jobs: int = 1
    seed: int = 0
    scoring: str | None = None
    blend: bool = True

    cost: dict[str, float] | None = None
    log: bool = False


class Learned(NamedTuple):
    """What a search has found."""

    search: KernelSearchCV | KernelSearchRegressor  # the model: it takes the table
    about: dict[str, Any]  # all that is said of it, as JSON


CANDIDATES = {CLASS: LabelTask.names, NUMBER: NumberTask.names, PAIRS: PairTask.names}
SCORES = {CLASS: ("accuracy", *KNOWN), NUMBER: tuple(NUMBER_SCORES)}


def check_options(options: Options, *kinds: str) -> None:
    """Refuse options that make no sense for what is learned from, or for all that it may be."""
    if not (options.budget > 0 and math.isfinite(options.budget)):
        raise WrongRequestError(f"--budget must be a number of seconds above 0, not {options.budget:g}.")
    if options.scoring is not None:
        _check_scoring(options.scoring, kinds)
    if options.cost is not None and (options.scoring is not None or CLASS not in kinds):
        raise WrongRequestError("--cost is for two classes, and in the place of --scoring: leave one out.")
    if options.log and NUMBER not in kinds:
        raise WrongRequestError("--log is for numbers: leave it out, or add --task number.")
    known = list(dict.fromkeys(name for kind in kinds for name in CANDIDATES[kind]))
    unknown = [name for name in options.candidates if name not in known]
    if unknown:
        raise WrongRequestError(
            f"There is no candidate {unknown[0]!r} for --candidates; there are: {', '.join(known)}."
        )


def _check_scoring(name: str, kinds: tuple[str, ...]) -> None:
    if PAIRS in kinds:
        raise WrongRequestError("--scoring is for classes: pairs are judged by the AUC of held-out pairs.")
    known = [score for kind in kinds for score in SCORES[kind]]
    others = {score for scores in SCORES.values() for score in scores} - set(known)
    if name not in get_scorer_names() or name in others:
        of = "" if len(kinds) > 1 else {CLASS: " of classes", NUMBER: " of numbers"}[kinds[0]]
        raise WrongRequestError(
            f"There is no score {name!r}{of} for --scoring; there are: {', '.join(known)}, and others of "
            "scikit-learn."
        )


def learn_task(
    task: Task, options: Options, callbacks: Sequence[Any] = (), seconds_spent: float = 0.0
) -> Learned:
    """Search. What is found is the model, which takes tables.

    Parameters
    ----------
    task : Task
        What there is to learn from.
    options : Options
        How to search.
    callbacks : sequence
        What is told of the progress.
    seconds_spent : float
        What is gone of the budget.
    """
    start = time.monotonic()
    is_number = task.kind == NUMBER
    search_class = KernelSearchRegressor if is_number else KernelSearchCV
    own: dict[str, Any] = {"log": options.log} if is_number else {"cost": options.cost}
    search = search_class(
        list(options.candidates) or None,
        scoring=options.scoring,
        blend=options.blend,
        budget=max(SEARCHING * (options.budget - seconds_spent), 0.1 * options.budget),
        encoder=TableEncoder(),
        n_jobs=options.n_jobs,
        random_state=options.seed,
        **own,
    ).set_callbacks(*callbacks)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="joblib")  # of work that the budget cuts off
            warnings.simplefilter("ignore", SearchWarning)  # they are among the sentences
            search.fit(
                task.X,
                task.y,
                unlabelled=task.unlabelled,
                groups=task.groups,
                sample_weight=task.sample_weight,
                **({} if task.pairs is None else {"pairs": task.pairs}),
            )
    except ValueError as error:
        reason = str(error).rstrip(".")
        raise WrongRequestError(f"Nothing could be learned from {task.source}: {reason}.") from error
    vars(search).pop("_skl_callbacks", None)  # they are no part of the model
    search.budget = options.budget  # what a user gave: the report shows how to get it again
    search.encoder_.dropped_.update(task.encoder.dropped_)
    about = {
        **facts(task),
        "search": search.result_.as_dict(),
        "kernel": describe_kernel(getattr(search.best_kernel_, "base", None)),
        "budget": options.budget,
        "seed": options.seed,
        "seconds": time.monotonic() - start,
        "compiling": search.compile_seconds_,
        "test": None if task.test is None else test_model(search, task.test),
    }
    return Learned(search, as_json(about))


def test_model(search: Any, test: Test) -> dict[str, Any]:
    """Return how good the model is on rows that were kept from the search, by the search's own metric."""
    metric, score, n = search.result_.metric, search.score(test.X, test.y), len(test.y)
    value = score if metric.greater_is_better else 1.0 - score if metric.percent else -score
    low, high = share_interval(value, n) if metric.percent else (None, None)
    return {"data": test.source, "rows": n, "value": value, "low": low, "high": high}


def warnings_of(task: Task, options: Options) -> list[str]:
    """Say what should be known before time is spent: a class is rare, a column looks like groups."""
    said = list(task.hints)
    if task.kind == CLASS and options.scoring is None and options.cost is None:
        y = np.asarray(task.y)
        said += LabelTask(Samples(np.zeros((len(y), 1)), y, weight=task.sample_weight)).remarks()
    return said


def facts(task: Task) -> dict[str, Any]:
    """Return what the data are, and what was done to them."""
    return {
        "made_by": MADE_BY,
        "data": task.source,
        "target": task.request.target,
        "id": task.request.ids,
        "weight": task.request.weight,
        "group": task.request.group,
        "rows": len(task.X),
        "unlabelled_rows": 0 if task.unlabelled is None else len(task.unlabelled),
        "task": task.kind,
        "classes": _count(task.y) if task.kind == CLASS else None,
        "numbers": _spread(task.y) if task.kind == NUMBER else None,
        "pairs": None if task.pairs is None else {kind: len(p) for kind, p in task.pairs._asdict().items()},
        "columns": task.columns._asdict(),
        "features": len(task.encoder.get_feature_names_out()),
        "missing_cells": sum(task.gaps.values()),
        "notes": task.notes,
    }


def _spread(y: Any) -> dict[str, float]:
    """Return where the numbers of a target are."""
    return {"low": float(y.min()), "mean": float(y.mean()), "high": float(y.max())}


def _count(y: Any) -> dict[str, int]:
    """Return how many rows each class has."""
    classes, counts = np.unique(y, return_counts=True)
    return {str(label): int(count) for label, count in zip(classes, counts, strict=True)}
