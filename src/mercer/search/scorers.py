"""scikit-learn's scorers by their names, for classes that have any names and may be many.

Scores about one of two classes ask scikit-learn for the class called 1. Here that is the class in question:
the one called 1, or, of others, the rarer one. Of several classes they are the means over all.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics
from sklearn.metrics import check_scoring, make_scorer

from mercer._typing import Array

OF_DECISIONS: dict[str, Any] = {"response_method": ("decision_function", "predict_proba")}
OF_PROBABILITIES: dict[str, Any] = {"response_method": "predict_proba"}
ABOUT_ONE_CLASS: dict[str, tuple[Callable[..., float], dict[str, Any]]] = {
    "average_precision": (metrics.average_precision_score, OF_DECISIONS),
    "f1": (metrics.f1_score, {}),
    "precision": (metrics.precision_score, {}),
    "recall": (metrics.recall_score, {}),
    "jaccard": (metrics.jaccard_score, {}),
    "neg_brier_score": (metrics.brier_score_loss, {"greater_is_better": False, **OF_PROBABILITIES}),
}
if hasattr(metrics, "d2_brier_score"):  # of scikit-learn 1.8
    ABOUT_ONE_CLASS["d2_brier_score"] = (metrics.d2_brier_score, OF_PROBABILITIES)
OF_SEVERAL = {
    "f1": "f1_macro",
    "precision": "precision_macro",
    "recall": "recall_macro",
    "jaccard": "jaccard_macro",
    "roc_auc": "roc_auc_ovr",
}


def find_positive(y: NDArray[Any], weight: Array | None = None) -> int:
    """Return which of two classes is in question, as a position: the one called 1, or else the rarer one."""
    classes, label = np.unique(y, return_inverse=True)
    if len(classes) != 2 or classes[1] in (1, True):
        return 1
    counts = np.bincount(label, weight)
    return 0 if classes[0] in (1, True) or counts[0] < counts[1] else 1


def find_scorer(given: Any, classes: NDArray[Any], positive: int) -> Any:
    """Return a user's scorer, or scikit-learn's by its name, about the class in question or about several."""
    if not isinstance(given, str):
        return as_scorer(given)
    if len(classes) > 2:
        return as_scorer(OF_SEVERAL.get(given, given))
    if given not in ABOUT_ONE_CLASS:
        return as_scorer(given)
    score, options = ABOUT_ONE_CLASS[given]
    return make_scorer(score, pos_label=classes[positive], **options)


def as_scorer(given: Any) -> Any:
    """Return a scorer by its name, or the one that is given, as scikit-learn checks it."""
    if not isinstance(given, str) and not callable(given):
        raise TypeError(f"scoring must be the name of one score, or a scorer; got {given!r}")
    return check_scoring(_Anything(), scoring=given)


class _Anything:
    """An estimator for scikit-learn's check of a scorer's name, which looks at nothing else."""

    def fit(self) -> None:
        """Do nothing."""

    def score(self) -> None:
        """Do nothing."""
