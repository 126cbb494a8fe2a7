"""The top of the page: what is predicted, how well, and beside what."""

from typing import Any

import numpy as np

from mercer.kernels.description import count
from mercer.report.content import Bar, Headline, Subject, duration, spread_of
from mercer.report.held_out import HeldOut
from mercer.report.sections.ranking import describe_winner
from mercer.report.targets import target_of
from mercer.search import Measure
from mercer.search.words import (
    compare_with_reference,
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
    new = "pairs" if subject.kind == "pairs" else "samples"
    sentences = [
        describe_winner(subject),
        result.decision,
        compare_with_reference(result),
        *doubts(result),
    ]
    return Headline(
        _title(subject),
        f"expected {result.metric.name} on new {new}",
        describe_value(measure),
        interval_of(measure),
        _bars(subject, measure),
        _facts(subject),
        [sentence for sentence in sentences if sentence],
        warn_of_classes(subject.held_out) if subject.kind == "class" else [],
    )


def warn_of_classes(data: HeldOut | None) -> list[str]:
    """Say which classes are never predicted, although held-out samples are of them."""
    if data is None:
        return []
    predicted = np.unique(data.predicted)
    labels, counts = np.unique(data.y, return_counts=True)
    missed = [k for k, label in enumerate(labels) if label not in predicted]
    if not missed:
        return []
    if len(predicted) == 1:
        ranks = ": it ranks samples, it does not decide" if len(labels) == 2 else ""
        return [f"It predicts '{predicted[0]}' for every held-out sample{ranks}."]
    shown = [f"'{labels[k]}' ({count(int(counts[k]), 'sample')})" for k in missed[:MOST_NAMED]]
    more = f", and {len(missed) - len(shown)} more" if len(missed) > len(shown) else ""
    return [f"It never predicts {', '.join(shown)}{more}, which are there among held-out samples."]


def _title(subject: Subject) -> str:
    source = subject.data_name
    if subject.kind == "pairs":
        return f"Which rows of {source} are similar" if source else "Which samples are similar"
    target = subject.target_name or ("the class" if subject.kind == "class" else "the target")
    return f"Predicting {target}{f' from {source}' if source else ''}"


def _bars(subject: Subject, measure: Measure) -> list[Bar]:
    """Return the expected value beside those of the reference and of no model."""
    result = subject.result
    others = {reference_name(result): result.reference, result.baseline or "": result.baseline}
    values = {"this model": measure}
    for shown, name in others.items():
        if name in result.names() and result.candidate(name).measure.is_known:
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
    n_samples, n_features = subject.X.shape
    n_columns = len(subject.columns)
    features = count(n_features, "feature")
    facts = [
        ("samples", str(n_samples)),
        ("columns", str(n_columns) if n_columns == n_features else f"{n_columns} ({features})"),
    ]
    if subject.kind == "class":
        facts.append(("classes", _classes(subject.y)))
    elif subject.kind == "number":
        facts.append(("target", " to ".join(spread_of(subject.y)[:2])))
        data = subject.held_out
        if data is not None:
            half = float(np.median(np.abs(data.y - data.predicted)))
            facts.append(("half of the predictions are off by less than", target_of(subject).estimate(half)))
    elif subject.pairs is not None:
        kinds = zip(subject.pairs, ("similar pairs", "dissimilar pairs"), strict=True)
        facts += [(name, str(len(kind))) for kind, name in kinds if len(kind)]
    if subject.gaps:
        facts.append(("missing cells", str(sum(subject.gaps.values()) or "none")))
    if subject.unlabelled is not None:
        facts.append(("unlabelled", str(len(subject.unlabelled))))
    facts.append(("candidates", str(len(subject.result.compared()))))
    return facts if np.isnan(subject.seconds) else [*facts, ("time", duration(subject.seconds))]
