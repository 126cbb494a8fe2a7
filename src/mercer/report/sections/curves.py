"""How well two classes are told apart at every threshold, on held-out samples."""

from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from mercer._typing import Array, Flags
from mercer.report.content import Omitted, Section, Subject, Table
from mercer.report.picture import Picture, draw_picture
from mercer.report.plots.style import COLOURS, ink, plain_text
from mercer.search import SearchResult
from mercer.search.words import describe_value, percent

SIZE = (4.5, 3.7)  # inches
SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)  # of the samples, the surest ones first
SCORES = {
    "roc_auc": roc_auc_score,
    "roc_auc_ovr": roc_auc_score,
    "average_precision": average_precision_score,
}


def show_curves(subject: Subject) -> Section:
    """Return the ROC curve and the curve of precision and recall."""
    data, classes = subject.held_out, subject.search.classes_
    if data is None:
        raise Omitted("nothing was held out")
    if len(classes) != 2 or len(np.unique(data.y)) != 2:
        raise Omitted("they are of two classes")
    assert data.chances is not None  # of classes there are some
    positive = subject.search._positive  # as the top of the page has it
    truth = data.y == classes[positive]
    values = data.chances[:, positive]
    text = [
        f"A threshold on the probability trades one kind of error for the other. Here class "
        f"{classes[positive]} is what is looked for, in {len(truth)} held-out samples.",
        *reconcile(subject.result, truth, values),
    ]
    pictures = [_roc(truth, values), _precision(truth, values, classes[positive])]
    return Section("curves", "Every threshold", text, pictures, [_campaign(truth, values, classes[positive])])


def _campaign(truth: Flags, values: Array, name: Any) -> Table:
    """Return what is found by looking at those alone that the model is surest about."""
    order, rows = np.argsort(-values, kind="stable"), []
    for share in SHARES:
        first = order[: max(1, round(share * len(order)))]
        found, right = truth[first].sum() / truth.sum(), truth[first].mean()
        at = values[first[-1]]
        rows.append([f"{100 * share:g} %", f"{at:.3f}", percent(float(found)), percent(float(right))])
    heads = ["flag the first", "probability from", f"share of {name} that is found", "share that is right"]
    return Table("What a campaign finds", heads, rows)


def reconcile(result: SearchResult, truth: Flags, values: Array) -> list[str]:
    """Say which of two numbers is to be expected, if the top of the page has the score of a curve."""
    score = SCORES.get(result.metric.key)
    if score is None or result.measure is None or not result.measure.is_known:
        return []
    return [
        f"{result.metric.name[0].upper()}{result.metric.name[1:]}: {score(truth, values):.3f} here is that "
        "of "
        f"all {len(truth)} held-out samples together; the top of the page has the mean over folds, "
        f"{describe_value(result.measure)}."
    ]


def _roc(truth: Flags, values: Array) -> Picture:
    wrong, found, _ = roc_curve(truth, values)
    area = float(roc_auc_score(truth, values))

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        ax.plot([0, 1], [0, 1], color=ink(), lw=1.0, ls=(0, (4, 3)), alpha=0.6)
        ax.plot(wrong, found, color=COLOURS[0], lw=2.0)
        _label(ax, "false alarms, as a share of the others", "share that is found")

    return draw_picture(
        draw,
        SIZE,
        alt=f"The ROC curve; the area below it is {area:.3f}.",
        caption=f"ROC curve: area {area:.3f}",
    )


def _precision(truth: Flags, values: Array, name: Any) -> Picture:
    precision, recall, _ = precision_recall_curve(truth, values)
    mean, rate = float(average_precision_score(truth, values)), float(truth.mean())

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        ax.axhline(rate, color=ink(), lw=1.0, ls=(0, (4, 3)), alpha=0.6)
        ax.step(recall, precision, where="post", color=COLOURS[0], lw=2.0)
        _label(ax, f"recall: share of {plain_text(name, 14)} that is found", "precision: share that is right")

    return draw_picture(
        draw,
        SIZE,
        alt=f"Precision against recall; the average precision is {mean:.3f}, without a model {rate:.3f}.",
        caption=f"Average precision {mean:.3f}; dashed, without a model {rate:.3f}",
    )


def _label(ax: Any, across: str, up: str) -> None:
    ax.set(xlabel=across, ylabel=up, xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.spines[["top", "right"]].set_visible(False)
