"""Where the model fails: the held-out samples that it is most wrong about, with their neighbours."""

import numpy as np

from mercer.report.content import Omitted, Section, Subject, Table
from mercer.report.sections.kernel import name_nearest
from mercer.search.decisions import decision_values
from mercer.search.words import percent

MOST_SHOWN = 8
N_NEAREST = 3


def show_failures(subject: Subject) -> Section:
    """Return the samples whose own class was given the lowest probability."""
    data, calibration = subject.held_out, getattr(subject.search, "calibration_", None)
    if data is None or calibration is None:
        raise Omitted("there are no decision values of held-out samples")
    classes = subject.search.classes_
    chances = calibration(decision_values(data.predictor, data.X, classes))
    own = chances[np.arange(len(data.y)), np.searchsorted(classes, data.y)]
    guess = data.predictor.predict(data.X)
    worst = np.argsort(own, kind="stable")[:MOST_SHOWN]
    n_wrong = int((guess != data.y).sum())
    nearest, places = name_nearest(subject, worst, N_NEAREST)
    rows = [
        [subject.name_row(data.rows[i]), str(data.y[i]), str(guess[i]), percent(float(own[i])), *near]
        for i, near in zip(worst, nearest, strict=True)
    ]
    heads = ["held-out sample", "its class", "predicted", "probability given to its class", *places]
    text = [
        f"{n_wrong} of {len(guess)} held-out samples are predicted wrong. These are the ones that the model "
        "is most mistaken or least sure about: look whether their class is right, and what is near them.",
    ]
    of_wrong = np.unique(data.y[guess != data.y])
    if n_wrong > 1 and len(of_wrong) == 1:
        text.append(f"All {n_wrong} wrong samples are {of_wrong[0]}.")
    table = Table("The lowest probability of the own class first", heads, rows, stacks=True)
    return Section("failures", "The worst samples", text, tables=[table])
