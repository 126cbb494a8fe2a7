"""Whether probabilities can be believed: how often held-out samples are of the class that was given each."""

import numpy as np

from mercer._typing import Array, Flags
from mercer.report.content import Omitted, Section, Subject, Table
from mercer.search.label_task import decision_values
from mercer.search.words import percent

EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)  # of the probability of the most probable class
ENOUGH = 5  # samples that a share is computed from


def show_calibration(subject: Subject) -> Section:
    """Return a table of what was said of held-out samples, and how often it was right."""
    data, calibration = subject.held_out, getattr(subject.search, "calibration_", None)
    if data is None or calibration is None:
        raise Omitted("there are no decision values of held-out samples")
    chances = calibration(decision_values(data.predictor, data.X, subject.search.classes_))
    guess = subject.search.classes_[np.argmax(chances, axis=1)]
    text = [
        "Probabilities come from the decision values of samples that were held out in the search: a sigmoid, "
        "or for more than two classes a softmax. If they are true, the most probable class is right as often "
        "as it is said to be.",
    ]
    rows = tabulate(chances.max(axis=1), guess == data.y)
    heads = ["probability of the most probable class", "held-out samples", "mean probability", "right"]
    return Section("calibration", "Probabilities", text, tables=[Table("Said and seen", heads, rows)])


def tabulate(said: Array, right: Flags) -> list[list[str]]:
    """Return lines of how often samples were right, by what was said of them."""
    place = np.searchsorted(EDGES, said, side="right") - 1
    ends = [*EDGES[1:], 1.0]
    rows = []
    for k in np.unique(place):
        mine = place == k
        share = percent(float(right[mine].mean())) if mine.sum() >= ENOUGH else "–"
        name = f"{100 * EDGES[k]:.0f} to {100 * ends[k]:.0f} %"
        rows.append([name, str(int(mine.sum())), percent(float(said[mine].mean())), share])
    return rows
