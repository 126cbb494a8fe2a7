"""A scorecard as a JSON document."""

import json
from typing import Any

from mercer.export.scorecard import NumberTerm, Scorecard

NUMBER = (
    "points between knots lie on straight lines; below the first and above the last knot they are constant"
)
SUMS = "sums = intercept + the points of each column's value"
CLASSES = (
    f"{SUMS}; value of a class = offset + sums @ linear + log_sigmoid(sums) @ positive + log_sigmoid(-sums) "
    "@ negative; probabilities = softmax of the values; the prediction is the class whose probability times "
    "its weight is largest"
)


def to_json(card: Scorecard) -> bytes:
    """Return the document: the formula, the intercept and the points of each column."""
    document: dict[str, Any] = {"formula": SUMS, "numbers": NUMBER}
    if card.head is not None and card.classes is not None and card.decision is not None:
        document["formula"] = CLASSES
        document["classes"] = card.classes.tolist()
        document["class_weights"] = card.decision.weights.tolist()
        document["head"] = {name: part.tolist() for name, part in card.head._asdict().items()}
    elif card.log:
        document["formula"] += "; the prediction is exp(sums)"
    document["intercept"] = card.intercept.tolist()
    document["columns"] = [_term(term) for term in card.terms]
    return json.dumps(document, indent=1, ensure_ascii=False).encode()


def _term(term: Any) -> dict[str, Any]:
    points = term.points.tolist()
    missing = None if term.missing is None else term.missing.tolist()
    if isinstance(term, NumberTerm):
        return {"name": term.name, "knots": term.knots.tolist(), "points": points, "missing": missing}
    named = dict(zip(term.values, points, strict=True))
    return {"name": term.name, "categories": named, "missing": missing, "other": term.other.tolist()}
