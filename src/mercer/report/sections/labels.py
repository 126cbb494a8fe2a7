"""The parts of the page about classes: which are taken for which, thresholds, and probabilities."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import binomtest
from sklearn.metrics import (
    ConfusionMatrixDisplay,
    average_precision_score,
    confusion_matrix,
    precision_recall_curve,
    precision_recall_fscore_support,
    roc_auc_score,
    roc_curve,
)

from mercer._typing import Array, Flags
from mercer.kernels.description import count
from mercer.report.content import Omitted, Section, Table
from mercer.report.picture import Picture, draw_picture
from mercer.report.plots.style import COLOURS, MATRIX_COLOURS, dashed, plain_text, tidy
from mercer.report.subject import Subject
from mercer.search.words import percent

SIZE = (4.5, 3.7)  # inches
ENOUGH = 5  # samples that a share is computed from
SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)  # of the samples, the surest ones first
MOST_CLASSES = 15  # that there is room for in a picture
FEW_CLASSES = 6
MOST_PAIRS = 3  # of classes that are taken for each other
# of the probability of the most probable class
EDGES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
LEAST_POINTS = 3  # of a plot


def show_thresholds(subject: Subject) -> Section:
    """Return what each threshold on the probability of one of two classes finds, and at what price."""
    data, classes, decision = subject.held_out, subject.search.classes_, subject.search.model_.decision
    if len(classes) != 2 or len(np.unique(data.y)) != 2 or data.chances is None:
        raise Omitted("it is for two classes")
    positive = subject.search._positive  # as the top of the page has it
    name, truth, values = classes[positive], data.y == classes[positive], data.chances[:, positive]
    cut = decision.threshold(positive)
    flagged = data.predicted == name
    chosen = subject.result.decision or (
        f"The prediction is the most probable class: '{name}' from {percent(cut)} on."
    )
    found = f"{truth[flagged].sum()} of {truth.sum()} '{name}' found, {(~truth)[flagged].sum()} false alarms"
    text = [
        f"A threshold on the probability trades one kind of error for the other. Here '{name}' is what is "
        f"looked for, in {len(truth)} held-out samples. {chosen} There: {found}.",
        "Areas are those of all these samples; a score at the top of the page is the mean over folds.",
    ]
    wrong, right, _ = roc_curve(truth, values)
    precision, recall, _ = precision_recall_curve(truth, values)
    area, mean, rate = roc_auc_score(truth, values), average_precision_score(truth, values), truth.mean()
    sides = f"share of {plain_text(name, 14)} that is found", "share that is right"
    pictures = [
        _draw(wrong, right, [0, 1], ("false alarms, as a share of the others", sides[0]),
              f"ROC curve: area {area:.3f}; dashed, without a model 0.5"),
        _draw(recall, precision, [rate, rate], sides,
              f"Average precision {mean:.3f}; dashed, without a model {rate:.3f}"),
    ]  # fmt: skip
    answer = "Which threshold?", f"{chosen} On held-out samples: {found}."
    return Section(
        "thresholds", "Every threshold", text, pictures, [_campaign(truth, values, name)], (), answer
    )


def _campaign(truth: Flags, values: Array, name: Any) -> Table:
    """Return what is found by looking at those alone that the model is surest about."""
    order, rows = np.argsort(-values, kind="stable"), []
    for share in SHARES:
        first = order[: max(1, round(share * len(order)))]
        found, right = truth[first].sum() / truth.sum(), truth[first].mean()
        at = values[first[-1]]
        rows.append([f"{100 * share:g} %", f"{at:.3f}", percent(float(found)), percent(float(right))])
    heads = ["flag the first", "probability from", f"share of '{name}' that is found", "share that is right"]
    return Table("What a campaign finds", heads, rows)


def _draw(x: Array, y: Array, without: Sequence[float], labels: tuple[str, str], caption: str) -> Picture:
    def draw(figure: Any) -> None:
        ax = figure.subplots()
        ax.plot([0, 1], without, **dashed())
        ax.step(x, y, where="post", color=COLOURS[0], lw=2.0)
        ax.set(xlabel=labels[0], ylabel=labels[1], xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        tidy(ax)

    return draw_picture(draw, SIZE, alt=caption, caption=caption)


def show_confusion(subject: Subject) -> Section:
    """Return which classes are taken for which."""
    data, metric = subject.held_out, subject.result.metric
    found = np.unique(np.concatenate([data.y, data.predicted]))
    names = [str(name) for name in found]
    counts = confusion_matrix(data.y, data.predicted, labels=found)
    n, n_wrong = len(data.y), int((data.predicted != data.y).sum())
    at_top = "the error to expect on new samples is at the top of the page."
    if metric.key != "error":
        at_top = f"the top of the page is about the {metric.name}, not this error."
    text = [
        f"Predicted wrong: {n_wrong} of {n} samples that the search held out ({percent(n_wrong / n)}); "
        f"{at_top}",
    ]
    precision, recall, _, support = precision_recall_fscore_support(
        data.y, data.predicted, labels=found, zero_division=np.nan
    )
    lines = [
        [name, str(m), percent(float(got)), percent(float(right))]
        for name, m, got, right in zip(names, support, recall, precision, strict=True)
    ]
    heads = ["class", "held-out samples", "recall: share found", "precision: share right"]
    tables = [Table("By class", heads, lines, folded=len(names) > FEW_CLASSES)]
    if len(names) > FEW_CLASSES:
        rows = [[name, *map(str, line)] for name, line in zip(names, counts, strict=True)]
        tables.append(Table("Samples by true and predicted class", ["true class", *names], rows, folded=True))
    away = counts - np.diag(counts.diagonal())
    pairs = [divmod(int(k), len(names)) for k in np.argsort(-away, axis=None, kind="stable")[:MOST_PAIRS]]
    said = [
        f"{away[i, j]} of {support[i]} '{names[i]}' are taken for '{names[j]}'"
        for i, j in pairs
        if away[i, j]
    ]
    answer = f"{n_wrong} of {n} held-out samples are wrong{': ' if said else ''}{', '.join(said)}."
    side = 2.2 + 0.38 * min(len(names), MOST_CLASSES)
    picture = draw_picture(
        lambda figure: _draw_confusion(counts, names, figure.subplots()),
        (side + 0.6, side),
        alt=f"The confusion matrix of {n} held-out samples; {n_wrong} predicted wrong.",
    )
    question = "Where is it wrong?"
    return Section("confusion", "Confusion matrix", text, [picture], tables, (), (question, answer))


def _draw_confusion(counts: Any, names: Sequence[str], ax: Any) -> None:
    """Draw counts, coloured by their share of the true class, which would hide small ones otherwise."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    few = len(names) <= MOST_CLASSES
    shown = [plain_text(name, 14) for name in names]
    turned = "vertical" if max(map(len, shown)) > 30 / len(names) else "horizontal"
    display = ConfusionMatrixDisplay(shares, display_labels=shown)
    display.plot(
        ax=ax, cmap=MATRIX_COLOURS, colorbar=False, include_values=few, xticks_rotation=turned,
        im_kw={"vmin": 0.0, "vmax": 1.0},
    )  # fmt: skip
    for (i, j), n in np.ndenumerate(counts if few else counts[:0]):
        display.text_[i, j].set_text(str(n))
    ax.set(xlabel="predicted class", ylabel="true class")
    ax.spines[:].set_visible(False)
    ax.tick_params(left=False, bottom=False, labelleft=few, labelbottom=few)


def show_calibration(subject: Subject) -> Section:
    """Return how often held-out samples are of the class that was said to be most probable."""
    data = subject.held_out
    if data.chances is None:
        raise Omitted("there are no probabilities")
    said = data.chances.max(axis=1)
    right = subject.search.classes_[data.chances.argmax(axis=1)] == data.y
    rows = tabulate(said, right)
    text = [
        "Probabilities are those that the model gives samples which the search held out. If they are true, "
        "the most probable class is right as often as it is said to be, and points are on the dashed line, "
        "as far as their 95 % intervals tell."
    ]
    few = len(rows) < LEAST_POINTS
    if few:
        values = " or ".join(f"{mean} ({count(int(n), 'sample')})" for _, n, mean, _ in rows)
        text.append(f"Here it is always given about {values}: too few values for a plot.")
    gap = abs(float(said.mean() - right.mean()))
    measure = subject.result.measure
    basis = f", scored on {measure.n_samples} samples in {count(measure.n_folds, 'fold')}" if measure else ""
    answer = (
        f"The {subject.result.metric.name} is of samples that had no part in the model{basis}. "
        f"Probabilities of the most probable class are {percent(float(said.mean()))} on average, and it is "
        f"right in {percent(float(right.mean()))}{'.' if gap < 0.03 else ': mind the difference.'}"
    )
    heads = ["probability of the most probable class", "held-out samples", "mean probability", "right"]
    table = Table("Probabilities in numbers", heads, rows, folded=not few)
    pictures = [] if few else [_draw_calibration(said, right)]
    question = "Can I trust it?"
    return Section("calibration", "Probabilities", text, pictures, [table], (), (question, answer))


def _bins(said: Array) -> list[tuple[int, Flags]]:
    """Return the samples of each part of the probabilities that has any."""
    place = np.searchsorted(EDGES, said, side="right") - 1
    return [(int(k), place == k) for k in np.unique(place)]


def _draw_calibration(said: Array, right: Flags) -> Picture:
    """Return what was said against what was seen, with 95 % intervals of Wilson's."""
    groups = [mine for _, mine in _bins(said) if mine.sum() >= ENOUGH]
    means = [float(said[mine].mean()) for mine in groups]
    shares = np.array([float(right[mine].mean()) for mine in groups])
    tests = [binomtest(int(right[mine].sum()), int(mine.sum())) for mine in groups]
    ends = np.array([test.proportion_ci(0.95, "wilson") for test in tests]).reshape(-1, 2)

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        lowest = max(0.0, min([0.5, *ends[:, 0]]) - 0.05)
        ax.plot([lowest, 1], [lowest, 1], **dashed())
        ax.vlines(means, ends[:, 0], ends[:, 1], color=COLOURS[0], lw=1.8)
        ax.plot(means, shares, "o", color=COLOURS[0], ms=7)
        ax.set(xlabel="probability that was given", ylabel="share that was right")
        ax.set(xlim=(lowest, 1.02), ylim=(lowest, 1.02))
        tidy(ax)

    alt = "How often the most probable class was right, against the probability it was given."
    return draw_picture(draw, SIZE, alt=alt)


def tabulate(said: Array, right: Flags) -> list[list[str]]:
    """Return lines of how often samples were right, by what was said of them."""
    ends = [*EDGES[1:], 1.0]
    return [
        [
            f"{100 * EDGES[k]:.0f} to {100 * ends[k]:.0f} %",
            str(int(mine.sum())),
            percent(float(said[mine].mean())),
            percent(float(right[mine].mean())) if mine.sum() >= ENOUGH else "–",
        ]
        for k, mine in _bins(said)
    ]
