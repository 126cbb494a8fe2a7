"""Which columns the predictions depend on: how much worse they are when a column is shuffled."""

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.random import RandomState

from mercer._typing import Array, Index
from mercer.kernels.description import count
from mercer.report.content import Omitted, Section, Subject, Table, finest, plain
from mercer.report.held_out import HeldOut
from mercer.report.picture import Picture, draw_picture
from mercer.report.plots.style import COLOURS, ink, plain_text
from mercer.report.sections.dependence import (
    MOST_COLUMNS,
    draw_curves,
    find_curves,
    tabulate_curves,
    what_is_predicted,
)
from mercer.report.targets import target_of
from mercer.search.decisions import decide, decision_values
from mercer.search.label_task import LabelTask
from mercer.search.number_scoring import JudgedNumbers, find_number_scoring
from mercer.search.scoring import Judged, find_scoring

REPEATS = 3
MOST_PREDICTIONS = 100_000  # of shuffled samples, in all
LEAST_ROWS = 50
MOST_BARS = 15
WIDTH, LINE_HEIGHT = 5.6, 0.3  # inches


class Losses(NamedTuple):
    """What shuffling is judged by: its name, and the mean of it on samples."""

    name: str
    mean: Any  # of a model's samples and their targets
    verb: str = "rises"  # of a score, whose negative is the mean, it falls

    @property
    def change(self) -> str:
        """Return what shuffling does to it."""
        return f"{'rise' if self.verb == 'rises' else 'fall'} of the {self.name}"


class Importance(NamedTuple):
    """How much each column matters."""

    losses: Losses
    rises: Array  # (n_columns, REPEATS)
    order: Index  # the most important column first
    instead: str  # why not the score that was asked for, if so


_FOUND: WeakKeyDictionary[Subject, Importance] = WeakKeyDictionary()  # two sections need it


def show_relevance(subject: Subject) -> Section:
    """Return how much each column matters to the predictions for held-out samples."""
    data = subject.held_out
    if data is None:
        raise Omitted("there is no model fitted to a part of the samples")
    losses, rises, order, instead = find_importance(subject, data)
    names = list(subject.columns)
    text = [
        f"How much the {losses.name} {losses.verb} on held-out samples when the values of a column are "
        "shuffled among them, so that the column says nothing; the mean of "
        f"{REPEATS} shufflings. Columns that say the same stand in for each other, and look less important."
    ]
    text += [instead] if instead else []
    text += [] if rises.any() else ["No column matters: shuffling changes nothing."]
    digits, means, ranges = finest(rises), rises.mean(axis=1), np.ptp(rises, axis=1)
    rows = [[names[k], plain(float(means[k]), digits), plain(float(ranges[k]), digits)] for k in order]
    heads = ["column", losses.change, "between shufflings"]
    pictures = [_draw(names, rises, order[:MOST_BARS], losses.change)]
    tables = [Table("All columns, the most important first", heads, rows, folded=True)]
    prediction = what_is_predicted(subject, data)
    first = [names[k] for k in order[:MOST_COLUMNS]]
    curves = find_curves(subject, data, first, prediction)
    if curves:
        text.append(
            "A curve is the mean prediction for held-out samples if all of them had the same value of the "
            "column, and everything else as it is; below it is where the samples are."
            f"{'' if len(curves) == len(first) else ' Dates and texts have none.'}"
        )
        pictures.append(draw_curves(curves, prediction))
    if curves and len(prediction.names) == 1:
        tables.insert(0, tabulate_curves(curves, prediction))
    return Section("relevance", "Columns that matter", text, pictures, tables)


def find_importance(subject: Subject, data: HeldOut) -> Importance:
    """Return what shuffling does, by the score that was asked for if it can be computed; once for a page."""
    if subject not in _FOUND:
        _FOUND[subject] = _measure_importance(subject, data)
    return _FOUND[subject]


def _measure_importance(subject: Subject, data: HeldOut) -> Importance:
    losses, instead = choose_losses(subject, data), ""
    try:
        rises = shuffle_columns(subject, data, losses)
    except ValueError:
        rises = np.array([np.nan])
    if not np.isfinite(rises).all():  # such as ROC AUC, where nothing is held out of one of two classes
        usual = usual_losses(subject, data)
        instead = f"The {losses.name} cannot be computed on these samples: the {usual.name} is used instead."
        losses, rises = usual, shuffle_columns(subject, data, usual)
    return Importance(losses, rises, np.argsort(-rises.mean(axis=1), kind="stable"), instead)


def choose_losses(subject: Subject, data: HeldOut) -> Losses:
    """Return the score that was asked for; if none was, the log loss of classes or the RMSE of numbers."""
    given = subject.search.scoring
    if isinstance(subject.task, LabelTask):
        scoring = None if given is None else find_scoring(given, subject.task.y, subject.task.sample_weight)
        known = scoring is None or scoring.metric.key == "log_loss"
        return usual_losses(subject, data) if known else of_score(scoring, data, subject.search.classes_)
    if given is None:
        return usual_losses(subject, data)
    return of_score(find_number_scoring(given, data.y), data)


def usual_losses(subject: Subject, data: HeldOut) -> Losses:
    """Return what can be computed on any samples: the log loss of classes, or the RMSE of numbers."""
    return label_losses(subject, data) if isinstance(subject.task, LabelTask) else number_losses(data)


def of_score(scoring: Any, data: HeldOut, classes: Any = None) -> Losses:
    """Return the negative of a score of classes, or of numbers if there are none."""

    def loss(X: Array, y: Any) -> float:
        if scoring.slope is None:
            return -float(scoring.scorer(data.predictor, X, y))
        weight = np.ones(len(y))
        if classes is None:
            return -float(scoring.slope(JudgedNumbers(y, data.predictor.predict(X), weight))[0])
        truth, said = np.searchsorted(classes, y), decide(data.predictor, X, classes)
        return -float(scoring.slope(Judged(truth, *said, weight, len(classes), scoring.positive))[0])

    metric = scoring.metric
    return Losses(metric.name, loss, "falls" if metric.greater_is_better else "rises")


def label_losses(subject: Subject, data: HeldOut) -> Losses:
    """Return the log loss of probabilities; of a model without any, the error."""
    classes, calibration = subject.search.classes_, getattr(subject.search, "calibration_", None)
    if calibration is None:
        return Losses("error", lambda X, y: float(np.mean(data.predictor.predict(X) != y)))

    def log_loss(X: Array, y: Any) -> float:
        chances = calibration(decision_values(data.predictor, X, classes))
        of_truth = chances[np.arange(len(y)), np.searchsorted(classes, y)]
        return float(-np.log(np.maximum(of_truth, 1e-15)).mean())

    return Losses("log loss", log_loss)


def number_losses(data: HeldOut) -> Losses:
    """Return the root of the mean squared error."""
    return Losses("RMSE", lambda X, y: float(np.sqrt(np.mean((data.predictor.predict(X) - y) ** 2))))


def shuffle_columns(subject: Subject, data: HeldOut, losses: Losses) -> Array:
    """Return by how much the loss rises, (n_columns, REPEATS). All features of a column move together."""
    groups = subject.columns.values()
    random = RandomState(subject.seed)
    most = max(LEAST_ROWS, MOST_PREDICTIONS // (REPEATS * len(groups)))
    some = target_of(subject).draw(data.y, most, subject.seed)  # of every class
    X, y = data.X[some], data.y[some]
    before = losses.mean(X, y)
    rises = np.empty((len(groups), REPEATS))
    for k, features in enumerate(groups):
        for r in range(REPEATS):
            shuffled = X.copy()
            shuffled[:, features] = X[random.permutation(len(X))][:, features]
            rises[k, r] = losses.mean(shuffled, y) - before
    return rises


def _draw(names: list[str], rises: Array, shown: Any, what: str) -> Picture:
    def draw(figure: Any) -> None:
        ax = figure.subplots()
        places = np.arange(len(shown))
        middle = rises[shown].mean(axis=1)
        ax.barh(places, middle, color=COLOURS[0], height=0.7)
        for place, k in zip(places, shown, strict=True):
            ax.plot([rises[k].min(), rises[k].max()], [place, place], color=ink(), lw=1.2)
        ax.axvline(0.0, color=ink(), lw=0.8)
        ax.set_yticks(places, [plain_text(names[k]) for k in shown])
        ax.set_ylim(len(shown) - 0.5, -0.5)
        ax.set_xlabel(f"{what} when shuffled")
        ax.tick_params(left=False)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.locator_params(axis="x", nbins=6)

    first = ", ".join(names[k] for k in shown[:3])
    return draw_picture(
        draw,
        (WIDTH, 0.9 + LINE_HEIGHT * len(shown)),
        alt=f"The {count(len(shown), 'column')} that matter most; first {first}.",
        caption="How much each column matters"
        if len(shown) == len(names)
        else f"How much the {len(shown)} most important of {len(names)} columns matter",
    )
