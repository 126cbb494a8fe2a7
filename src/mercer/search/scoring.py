r"""What candidates are judged by: scikit-learn's scores, as losses of single samples.

A score of a fold is a function θ(w) of the weights of its samples, of degree zero. To first order it is the
mean of the samples' pseudo-values

.. math:: \theta_i = \theta(w) + n w_i \, \partial\theta / \partial w_i,

whose mean is θ itself (Euler) and whose variance is n times that of θ (the infinitesimal jackknife [E82]).
Of accuracy they are 1 where a sample is right and 0 where it is wrong; those of R² = 1 − A / B have A and B
in them: where a model predicts the mean, R² is surely about zero. So all that the search does with errors
of samples (choices, paired differences, intervals) it does with ROC AUC and R², too. A score that is not
here, a scorer of the user's own, is known for whole folds only.

Scores about one of two classes ask scikit-learn for the class called 1. Here that is the class in question:
the one called 1, or, of others, the rarer one. Of several classes they are the means over all.

[E82] Efron: The jackknife, the bootstrap and other resampling plans. SIAM, 1982.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import check_scoring, make_scorer

from mercer._typing import Array, Flags, Index
from mercer.machines.selection import check_score
from mercer.scikit import takes_weights
from mercer.search.calibration import by_class, fit_calibration
from mercer.search.result import Metric

R2 = "r2"
NONE = np.empty(0)
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


ERROR = Metric(
    key="error",
    name="error",
    meaning="the cross-validated share of samples that are predicted wrong",
    expectation="Expected error on new samples: {measure}",
    percent=True,
    greater_is_better=False,
)


class Judged(NamedTuple):
    """What is said of the test samples of a fold, and what is true: classes, as positions, or numbers."""

    truth: Any
    predicted: Any
    weight: Array
    decisions: Array = NONE  # (n, 1) of two classes, else (n, n_classes)
    classes: NDArray[Any] = NONE  # numbers have none
    positive: int = 1  # the class that average precision and F1 are about

    @property
    def n_classes(self) -> int:
        """Return how many classes there are, here or elsewhere."""
        return len(self.classes)

    def score_by(self, scorer: Any, options: dict[str, Any]) -> float:
        """Return what scikit-learn's scorer, or a user's, says."""
        said = Recorded(self) if self.n_classes else RecordedNumbers(self)
        y = self.classes[self.truth] if self.n_classes else self.truth
        return float(scorer(said, np.zeros((len(y), 1)), y, **options))


class Recorded(ClassifierMixin, BaseEstimator):
    """A classifier that says again what was said, for scorers, which ask one."""

    def __init__(self, judged: Judged) -> None:
        self.judged = judged
        self.classes_ = judged.classes

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the classes that were said."""
        return self.classes_[self.judged.predicted]

    def decision_function(self, X: Any) -> Array:
        """Return the decision values."""
        values = self.judged.decisions
        return values[:, 0] if values.shape[1] == 1 else values

    def predict_proba(self, X: Any) -> Array:
        """Return probabilities, calibrated on these samples themselves."""
        judged = self.judged
        return fit_calibration(judged.decisions, judged.truth, judged.weight)(judged.decisions)


class RecordedNumbers(RegressorMixin, BaseEstimator):
    """A regressor that says again what was said."""

    def __init__(self, judged: Judged) -> None:
        self.judged = judged

    def predict(self, X: Any) -> Array:
        """Return the numbers that were said."""
        said: Array = self.judged.predicted
        return said


Slope = tuple[float, Array]  # a score, and its derivatives by the weights of the samples


class Scoring(NamedTuple):
    """A score by its name in scikit-learn, and how it is computed."""

    name: str
    metric: Metric
    slope: Callable[[Any], Slope] | None = None  # None: known for whole folds only
    scorer: Any = None  # then, scikit-learn's
    best: float = 1.0  # the loss is this less the score
    positive: int = 1
    balances: bool = False  # whether rare classes count as much as others
    costs: tuple[float, float] | None = None  # of a false positive and a false negative
    unit: float = 1.0  # losses are counted in this unit, scores are not
    weighs: bool = False  # whether the scorer takes weights of samples

    @property
    def is_share(self) -> bool:
        """Return whether the score is between 0 and 1."""
        return self.best == 1.0

    @property
    def is_of_folds(self) -> bool:
        """Return whether it is known for whole folds only."""
        return self.scorer is not None

    def losses(self, judged: Any) -> Array:
        """Return a loss for each test sample; their mean is that of the fold."""
        if self.slope is None:
            options = {"sample_weight": judged.weight} if self.weighs and np.ptp(judged.weight) > 0.0 else {}
            score = check_score(judged.score_by(self.scorer, options), self.name, len(judged.truth))
            return np.full(len(judged.truth), (self.best - score) / self.unit)
        score, slope = self.slope(judged)
        pseudo = score + len(judged.truth) * judged.weight * slope
        return np.round(
            (self.best - pseudo) / self.unit, 12
        )  # equals are to be equal: 1, not 1 less a rounding error

    def value(self, loss: float) -> float:
        """Return what a mean loss is called: an error stays one, a score is a score."""
        return self.best - self.unit * loss if self.metric.greater_is_better else self.unit * loss


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


def find_scoring(given: Any, y: NDArray[Any], weight: Array | None = None) -> Scoring:
    """Return a score of classes by its name, as scikit-learn's, or the one that a user's scorer gives."""
    name = "accuracy" if given is None else given
    if name == "accuracy":
        return ACCURACY
    classes, positive = np.unique(y), find_positive(y, weight)
    of_one = isinstance(name, str) and name in ABOUT_ONE_CLASS and len(classes) == 2
    about = f" of {classes[positive]}" if of_one else ""
    known = KNOWN.get(name) if isinstance(name, str) else None
    if known is None:
        return of_whole_folds(given, find_scorer(given, classes, positive), about, positive)
    return known.scoring(name, about, positive)


def find_number_scoring(given: Any, y: Array) -> Scoring:
    """Return a score of numbers by its name, as scikit-learn's, or the one that a user's scorer gives."""
    name = R2 if given is None else given
    known = NUMBER_SCORES.get(name) if isinstance(name, str) else None
    if known is None:
        return of_whole_folds(given, as_scorer(given))
    return known.scoring(name)._replace(unit=float(np.std(y)) ** known.power or 1.0)


def is_absolute(scoring: Scoring) -> bool:
    """Return whether the median, and not the mean, is what a score asks for."""
    return "absolute" in scoring.name


def of_whole_folds(given: Any, scorer: Any, of_one: str = "", positive: int = 1) -> Scoring:
    """Return a score that is known for whole folds only; a user's own scorer gets no weights."""
    name = given if isinstance(given, str) else getattr(given, "__name__", "score")
    metric = make_metric(name, f"{name}{of_one}", "the mean over folds")
    weighs = isinstance(given, str) and takes_weights(scorer)
    return Scoring(name, metric, None, scorer, 0.0, positive, weighs=weighs)


def make_metric(key: str, name: str, meaning: str) -> Metric:
    """Return a metric whose value is a score."""
    return Metric(key, name, meaning, f"Expected {name} on new samples: {{measure}}", False, True)


def of_means(values: Array, weight: Array) -> Slope:
    """Return a weighted mean and its derivatives."""
    total = weight.sum()
    mean = float(weight @ values / total)
    return mean, (values - mean) / total


def accuracy(judged: Judged) -> Slope:
    """Return the share of samples that are predicted right."""
    return of_means((judged.predicted == judged.truth).astype(np.float64), judged.weight)


def balanced_accuracy(judged: Judged) -> Slope:
    """Return the mean over classes of the share of their samples that are predicted right."""
    present = np.unique(judged.truth)
    right = (judged.predicted == judged.truth).astype(np.float64)
    score, slope = 0.0, np.zeros(len(right))
    for label in present:
        mine = judged.truth == label
        recall, by_weight = of_means(right[mine], judged.weight[mine])
        score += recall / len(present)
        slope[mine] = by_weight / len(present)
    return score, slope


def f1(judged: Judged) -> Slope:
    """Return 2 TP / (predicted + true) of the positive class; of many classes, the mean over them."""
    if judged.n_classes > 2:
        return f1_macro(judged)
    return _f1_of(judged.truth == judged.positive, judged.predicted == judged.positive, judged.weight)


def f1_macro(judged: Judged) -> Slope:
    """Return the mean of F1 over all classes that are true or predicted."""
    some = np.union1d(judged.truth, judged.predicted)
    return _mean_of([_f1_of(judged.truth == c, judged.predicted == c, judged.weight) for c in some])


def _f1_of(true: Flags, predicted: Flags, weight: Array) -> Slope:
    both, either = 2.0 * (true & predicted), true.astype(np.float64) + predicted
    total = float(weight @ either)
    if total == 0.0:
        return 0.0, np.zeros(len(true))
    score = float(weight @ both / total)
    return score, (both - score * either) / total


def roc_auc(judged: Judged) -> Slope:
    """Return how often a sample of the class has a larger decision value than another."""
    return _each_against_rest(judged, auc_of, "ROC AUC")


def average_precision(judged: Judged) -> Slope:
    """Return the mean precision at the samples of the positive class; of many classes, the mean over them."""
    return _each_against_rest(judged, _precision_of, "average precision")


def _each_against_rest(judged: Judged, score: Callable[[Flags, Array, Array], Slope], name: str) -> Slope:
    if judged.n_classes == 2:
        sign = 1.0 if judged.positive == 1 else -1.0
        each = [(judged.truth == judged.positive, sign * judged.decisions[:, 0])]
    else:
        each = [(judged.truth == c, judged.decisions[:, c]) for c in np.unique(judged.truth)]
    if any(true.all() or not true.any() for true, _ in each):
        raise ValueError(
            f"the test samples of a fold are of one class, and {name} needs two: use fewer folds"
        )
    return _mean_of([score(true, values, judged.weight) for true, values in each])


def _mean_of(several: list[Slope]) -> Slope:
    return float(np.mean([one for one, _ in several])), np.mean([slope for _, slope in several], axis=0)


def auc_of(true: Flags, values: Array, weight: Array) -> Slope:
    """Return the area under the ROC curve; its derivatives are the placements of [D88].

    [D88] DeLong, DeLong, Clarke-Pearson: Comparing the areas under two or more correlated ROC curves.
    Biometrics 44, 1988.
    """
    _, place = np.unique(values, return_inverse=True)
    ours, others = (np.bincount(place, weight * kind, minlength=place.max() + 1) for kind in (true, ~true))
    below = (np.cumsum(others) - others / 2.0) / others.sum()  # the share of others below each value
    above = 1.0 - (np.cumsum(ours) - ours / 2.0) / ours.sum()  # the share of ours above it
    score = float(ours @ below / ours.sum())
    slope = np.where(true, (below[place] - score) / ours.sum(), (above[place] - score) / others.sum())
    return score, slope


def _precision_of(true: Flags, values: Array, weight: Array) -> Slope:
    """Return Σ_i P_i / n₊ over the samples i of the class, P_i the precision at the threshold of sample i."""
    _, place = np.unique(-values, return_inverse=True)  # from the largest value down
    n_places = int(place.max()) + 1
    ours = np.bincount(place, weight * true, minlength=n_places)
    taken = np.cumsum(np.bincount(place, weight, minlength=n_places))
    precision, total = np.cumsum(ours) / taken, ours.sum()
    score = float(ours @ precision / total)
    # one more sample changes the precision at its threshold and at all below: the sums from there on
    more = np.cumsum((ours / taken)[::-1])[::-1]
    less = np.cumsum((ours * precision / taken)[::-1])[::-1]
    slope: Array = (true * (precision[place] - score) + true * more[place] - less[place]) / total
    return score, slope


def log_loss(judged: Judged) -> Slope:
    """Return the mean logarithm of the true class's probability, calibrated on the other half."""
    part = np.empty(len(judged.truth), dtype=np.intp)
    part[np.argsort(judged.truth, kind="stable")] = np.arange(len(part)) % 2  # half of each class
    return of_means(log_chances(judged.truth, judged.decisions, judged.weight, part), judged.weight)


def log_chances(truth: Index, decisions: Array, weight: Array, part: Index) -> Array:
    """Return the logarithm of each true class's probability, calibrated on the samples of all other parts."""
    values, D = np.empty(len(truth)), by_class(decisions)
    for k in np.unique(part):
        mine, others = part == k, part != k
        learned = others if others.any() else mine
        calibrate = fit_calibration(D[learned], truth[learned], weight[learned])
        chances = calibrate(D[mine])[np.arange(mine.sum()), truth[mine]]
        values[mine] = np.log(np.maximum(chances, 1e-12))
    return values


def find_costs(given: Any, y: NDArray[Any], weight: Array | None = None) -> Scoring:
    """Return the mean cost of a decision: so much for a false positive, so much for a false negative."""
    if not isinstance(given, dict) or set(given) != {"FP", "FN"} or not all(v > 0 for v in given.values()):
        raise ValueError(f"cost must be two numbers above zero, such as {{'FP': 1, 'FN': 5}}; got {given!r}")
    classes, positive = np.unique(y), find_positive(y, weight)
    if len(classes) != 2:
        raise ValueError(f"cost is of two kinds of error, of two classes, and there are {len(classes)}")
    costs = float(given["FP"]), float(given["FN"])
    name = f"{costs[0]:g} for each false {classes[positive]}, {costs[1]:g} for each that is missed"
    metric = make_metric("cost", "cost", name)._replace(greater_is_better=False)
    return Scoring("cost", metric, partial(cost, costs=costs), None, 0.0, positive, costs=costs)


def cost(judged: Judged, costs: tuple[float, float]) -> Slope:
    """Return minus the mean cost; where only decision values are known, at the threshold that suits them."""
    truth, said = judged.truth == judged.positive, judged.predicted == judged.positive
    return of_means(-(costs[0] * (said & ~truth) + costs[1] * (truth & ~said)), judged.weight)


def r2(judged: Judged) -> Slope:
    """Return 1 − A / B, the share of the variance that is predicted."""
    y, w = judged.truth, judged.weight
    off, away = (y - judged.predicted) ** 2, (y - np.average(y, weights=w)) ** 2
    A, B = float(w @ off), float(w @ away)
    if len(y) < 2:
        raise ValueError(
            "a fold tests a single sample, and R² needs several: use fewer folds or another scoring"
        )
    if B == 0.0:  # then scikit-learn says this
        return float(A == 0.0), np.zeros(len(y))
    return 1.0 - A / B, (A * away / B - off) / B


def squared(judged: Judged) -> Slope:
    """Return minus the mean squared error."""
    return of_means(-((judged.truth - judged.predicted) ** 2), judged.weight)


def root_squared(judged: Judged) -> Slope:
    """Return minus the root of the mean squared error."""
    score, slope = squared(judged)
    root = float(np.sqrt(-score))
    return -root, slope / (2.0 * root) if root > 0.0 else slope


def absolute(judged: Judged) -> Slope:
    """Return minus the mean absolute error."""
    return of_means(-np.abs(judged.truth - judged.predicted), judged.weight)


def absolute_percentage(judged: Judged) -> Slope:
    """Return minus the mean of the absolute error as a share of the target."""
    size = np.maximum(np.abs(judged.truth), np.finfo(np.float64).eps)
    return of_means(-np.abs(judged.truth - judged.predicted) / size, judged.weight)


class Known(NamedTuple):
    """A score of which the losses of single samples are known."""

    shown: str
    meaning: str
    slope: Callable[[Judged], Slope]
    best: float = 1.0
    balances: bool = False
    key: str = ""  # of its value, if that is the score with the other sign
    power: int = 0  # of the target's unit

    def scoring(self, name: str, about: str = "", positive: int = 1) -> Scoring:
        """Return the score, about a class if there is one."""
        metric = make_metric(self.key or name, self.shown + about, self.meaning)
        metric = metric._replace(greater_is_better=not self.key, of_target=self.power > 0)
        return Scoring(name, metric, self.slope, None, self.best, positive, self.balances)


OF_EACH = "the mean over classes of the "
KNOWN = {
    "balanced_accuracy": Known(
        "balanced accuracy",
        f"{OF_EACH}share of their samples that are predicted right",
        balanced_accuracy,
        balances=True,
    ),
    "roc_auc": Known(
        "ROC AUC",
        "how often a sample of a class has a larger decision value than one of another (0.5 is chance)",
        roc_auc,
    ),
    "roc_auc_ovr": Known("ROC AUC", f"{OF_EACH}ROC AUC of each against the rest", roc_auc),
    "average_precision": Known(
        "average precision",
        "the mean precision at the samples of the class, from the largest decision value down",
        average_precision,
        balances=True,
    ),
    "f1": Known("F1", "the harmonic mean of precision and recall", f1, balances=True),
    "f1_macro": Known("macro F1", f"{OF_EACH}harmonic mean of precision and recall", f1_macro, balances=True),
    "neg_log_loss": Known(
        "log loss", "the mean of −log of the true class's probability", log_loss, 0.0, key="log_loss"
    ),
}
NUMBER_SCORES = {
    R2: Known("R²", "the share of the variance that is predicted (1 is best, 0 is the mean)", r2, 0.0),
    "neg_root_mean_squared_error": Known(
        "RMSE",
        "the root of the mean squared error, in units of the target",
        root_squared,
        0.0,
        False,
        "rmse",
        1,
    ),
    "neg_mean_squared_error": Known(
        "mean squared error", "in squared units of the target", squared, 0.0, False, "mse", 2
    ),
    "neg_mean_absolute_error": Known(
        "mean absolute error", "in units of the target", absolute, 0.0, False, "mae", 1
    ),
    "neg_mean_absolute_percentage_error": Known(
        "mean absolute percentage error",
        "absolute errors as shares of the target",
        absolute_percentage,
        0.0,
        key="mape",
    ),
}
ACCURACY = Scoring("accuracy", ERROR, accuracy)
