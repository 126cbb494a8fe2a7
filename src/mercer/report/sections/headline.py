"""The top of the page: what is predicted, how well, and beside what."""

from typing import Any

import numpy as np

from mercer.kernels.description import count
from mercer.report.content import Bar, Headline
from mercer.report.digits import duration
from mercer.report.sections.ranking import describe_winner
from mercer.report.subject import Subject
from mercer.search import Measure
from mercer.search.words import (
    compare_with_baseline,
    describe_value,
    doubts,
    interval_of,
    percent,
    reference_name,
)

MOST_NAMED = 8  # classes
FEW_CLASSES = 3  # whose shares are said


def make_headline(subject: Subject) -> Headline:
    """Return what the page says to those who read no further."""
    result = subject.result
    measure = result.measure or Measure(result.metric)
    expected = f"expected {result.metric.name} on new {'pairs' if subject.kind == 'pairs' else 'samples'}"
    value, what, more = describe_value(measure), expected, interval_of(measure)
    if subject.kind == "number":  # what a target is off by says more to most than R²
        more = f"{expected}: {value}{f' ({more})' if more else ''}"
        data = subject.held_out
        value = subject.estimate(np.median(np.abs(data.y - data.predicted)))
        what = f"half of the predictions of {subject.target} are off by less"
    said_below = compare_with_baseline(result)
    return Headline(
        _title(subject),
        value,
        what,
        more,
        expected,
        _bars(subject, measure),
        _facts(subject),
        [describe_winner(subject), *result.remarks, *(one for one in doubts(result) if one != said_below)],
        _missed_classes(subject) if subject.kind == "class" else [],
    )


def _missed_classes(subject: Subject) -> list[str]:
    """Say which classes are never predicted, although held-out samples are of them."""
    data = subject.held_out
    labels, predicted = subject.search.classes_, np.unique(data.predicted)
    counts = {label: int((data.y == label).sum()) for label in labels if label not in predicted}
    missed = [f"'{label}' ({count(n, 'sample')})" for label, n in counts.items() if n]
    if not missed:
        return []
    if len(predicted) == 1:
        ranks = ": it ranks samples, it does not decide" if len(labels) == 2 else ""
        return [f"It predicts '{predicted[0]}' for every held-out sample{ranks}."]
    more = f", and {len(missed) - MOST_NAMED} more" if len(missed) > MOST_NAMED else ""
    return [
        f"It never predicts {', '.join(missed[:MOST_NAMED])}{more}, which are there among held-out samples."
    ]


def _title(subject: Subject) -> str:
    source = subject.about.get("data")
    if subject.kind == "pairs":
        return f"Which rows of {source} are similar" if source else "Which samples are similar"
    return f"Predicting {subject.target}{f' from {source}' if source else ''}"


def _bars(subject: Subject, measure: Measure) -> list[Bar]:
    """Return the expected value beside those of the reference and of no model."""
    result = subject.result
    others = {reference_name(result): result.reference, result.baseline or "": result.baseline}
    values = {"this model": measure}
    for shown, name in others.items():
        if name in result.names():
            values[shown] = result.candidate(name).measure
    known = {name: one for name, one in values.items() if one.is_known}
    longest = max((abs(one.value) for one in known.values()), default=0.0) or 1.0
    return [
        Bar(name, describe_value(one), round(100.0 * max(one.value, 0.0) / longest, 1), name == "this model")
        for name, one in known.items()
    ]


def _classes(y: Any) -> str:
    """Return how many classes there are, and the shares of a few."""
    labels, counts = np.unique(y, return_counts=True)
    if len(labels) > FEW_CLASSES:
        return str(len(labels))
    shares = zip(labels, counts, strict=True)
    return ", ".join(f"{label}: {percent(n / len(y))}" for label, n in shares)


def _facts(subject: Subject) -> list[tuple[str, str]]:
    """Return the data in numbers, and how long it took."""
    n_columns, n_features = len(subject.columns), subject.X.shape[1]
    features = "" if n_columns == n_features else f" ({count(n_features, 'feature')})"
    facts = [("samples", str(len(subject.frame))), ("columns", f"{n_columns}{features}")]
    if subject.kind == "class":
        facts.append(("classes", _classes(subject.y)))
    elif subject.kind == "number":
        facts.append(
            (
                subject.target.removeprefix("the "),
                f"{subject.text(subject.y.min())} to {subject.text(subject.y.max())}",
            )
        )
    if subject.gaps:
        facts.append(("missing cells", str(sum(subject.gaps.values()) or "none")))
    facts.append(("candidates", str(len(subject.result.compared()))))
    seconds = float(subject.about.get("seconds", "nan"))
    return facts if np.isnan(seconds) else [*facts, ("time", duration(seconds))]
