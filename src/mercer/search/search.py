"""Searches that compare kernels on the user's data, and predict by a blend of the best."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import check_scoring
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from mercer._typing import Array
from mercer.pairs import Pairs
from mercer.scikit import with_callbacks
from mercer.search.body import KernelSearch
from mercer.search.result import SearchWarning
from mercer.search.scoring import (
    R2,
    find_costs,
    find_number_scoring,
    find_positive,
    find_scorer,
    find_scoring,
)
from mercer.search.task import LabelTask, NumberTask, Samples
from mercer.validation import check_target

FEWEST = 100  # targets, to say something about one percent of them
MOST = 0.5  # of the variance
SCALES = 1e-70, 1e70  # between which the fourth power of a target's range is a number
TWO_VALUES = "The target has two values"


class KernelSearchCV(ClassifierMixin, KernelSearch):
    """Compare kernels on your data, blend the best, and say how good the blend is.

    Candidates are fitted to samples that grow in number, the same for all, and judged by samples held out;
    who is clearly worse leaves. The model is a blend of those that are left: its members are fitted to all
    samples, its probabilities are calibrated on what was held out, and it takes what `fit` was given, a table
    or an array. `mercer.save` takes the whole search, which predicts the same when it is loaded.

    The error that is reported is the model's, and corrected for all choices: weights, settings, calibration
    and threshold for each fifth of the samples are made from the others. On random labels it stays near
    chance.

    Parameters
    ----------
    candidates : dict, list or None, default=None
        A dict of classifiers, or of (classifier, grid), by name, in order of preference; or a list of names,
        (name, classifier) and (name, classifier, grid). Names alone are those of mercer's candidates:
        "tree-svm", "tree-logistic", "tree-ranks", "perceptron", "perceptron-logistic", "superkernel",
        "RBF-SVM", "stump", "relevance", "linear", "boosted", "idealized", "kernelboost", "RBF-squares", and
        of scikit-learn's trees "forest" and "boosting". None: all of these that suit the number of samples.
        To learn from pairs: learners.
    scoring : str, callable or None, default=None
        What candidates are judged by, as scikit-learn calls it: "accuracy" (None), "balanced_accuracy",
        "roc_auc", "average_precision", "neg_log_loss", "f1", "f1_macro"; or another scorer, which is known
        for whole folds only and has wider intervals. Average precision, F1, precision and recall of two
        classes are those of class 1, or of the rarer one if there is no class called 1; of several classes
        they are the means over all, and "roc_auc" is that of each against the rest.
    cost : dict or None, default=None
        Instead of a score, what errors cost: ``{"FP": 1, "FN": 5}``; positive is the class in question, as
        with `scoring`.
    cv : int, splitter or iterable, default=5
        Number of folds, fewer if a class has fewer samples; or what gives training and test samples, as in
        scikit-learn. A number with `groups` keeps each group together. More than 2000 samples take fewer.
    budget : float or None, default=None
        Time budget in seconds. What is done when the time is up is ranked; half of it at most is kept for the
        last fits. Without one the result does not depend on the machine.
    max_rows : int, default=4000
        Maximum number of samples of the comparison without a budget. With one, time decides.
    class_weight : "balanced", dict or None, default=None
        Class weights of all candidates that have any.
    blend : bool, default=True
        Whether the model may have several members, and not the best candidate alone.
    refit : bool, default=True
        Whether there is a model: its members are fitted to all samples.
    encoder : transformer, "auto" or None, default="auto"
        What makes numbers of a table, and becomes a part of the search. "auto" is `TableEncoder` for a
        DataFrame that is not all numbers.
    n_jobs : int or None, default=None
        Number of candidates evaluated in parallel, by joblib. With a budget of less than 15 seconds it is
        one: processes take some to start.
    random_state : int, RandomState instance or None, default=None
        Random seed of the folds and the learners.

    Attributes
    ----------
    result_ : SearchResult
        The outcome as one value: all candidates with their measures, the model's members with their shares,
        its measure, and how the search ended.
    model_ : Blend
        What predicts, of samples as numbers: its members, weights, calibration and decision.
    encoder_ : transformer or None
        What made numbers of the samples. `best_estimator_` and `best_kernel_` take these; `predict` takes
        what `fit` took.
    best_name_, best_settings_ : str, dict
        The main member of the model, which counts most, and its settings.
    best_estimator_, best_kernel_ : Pipeline, kernel or None
        The main member, and its kernel for samples that are not scaled: the model may have others.
    error_, std_error_ : float
        The expected error of the model on new samples, with its standard error; its 95 % interval is in
        ``result_.measure``. With another `scoring` there is `best_score_` alone; after a fit to pairs,
        `auc_`.
    best_score_ : float
        The expected score on new samples, greater is better.
    held_out_ : HeldOut
        Probabilities that the model gives samples which had no part in it, and which samples these are.
    cv_results_ : dict
        The scores of all settings, fold by fold and not corrected for any choice, as in
        `sklearn.model_selection.GridSearchCV`; `best_index_` is the main member's.
    leaderboard_ : pandas.DataFrame
        One row per candidate: error and standard error (corrected for the choice among its own settings),
        difference to the RBF-SVM with its 95 % confidence interval (low, high), seconds to fit and to
        predict, number of folds, settings, and a note if it did not run to the end.
    classes_ : array of shape (n_classes,)
        The labels.
    stopped_ : str or None
        "budget", "interrupt" or "callback", if the search ended early.

    Notes
    -----
    Ctrl-C ends the search as a budget does: what is done is ranked, and the best so far is fitted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelSearchCV, PerceptronSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> some = ["stump", ("perceptron", PerceptronSVC(), {"C": [0.1, 1.0]})]
    >>> search = KernelSearchCV(some, random_state=0).fit(X, y)
    >>> bool(search.error_ < 0.1)
    True
    """

    def __init__(
        self,
        candidates: Any = None,
        *,
        scoring: Any = None,
        cost: Any = None,
        cv: Any = 5,
        budget: float | None = None,
        max_rows: int = 4000,
        class_weight: Any = None,
        blend: bool = True,
        refit: bool = True,
        encoder: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.candidates = candidates
        self.scoring = scoring
        self.cost = cost
        self.cv = cv
        self.budget = budget
        self.max_rows = max_rows
        self.class_weight = class_weight
        self.blend = blend
        self.refit = refit
        self.encoder = encoder
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        pairs: Any = None,
        unlabelled: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
        clock: Any = None,
    ) -> Self:
        """Search, and fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or DataFrame
            The samples. The encoder of a table sees all samples and no labels.
        y : array-like of shape (n_samples,), optional
            Their classes, two or more.
        pairs : Pairs, optional
            Similar and dissimilar samples, if there are no classes.
        unlabelled : array-like of shape (n_unlabelled, n_features), optional
            More samples, without classes, for the learners and the scaler.
        groups : array-like of shape (n_samples,), optional
            Samples of a group are never in the training and the test part of the same fold.
        sample_weight : array-like of shape (n_samples,), optional
            How much each sample counts, for the classifiers and in their scores: 2 is as the sample twice.
            Weights that are not whole numbers are divided by their mean. Samples of weight zero are left out.
        clock : object with ``now()``, optional
            What tells the time, for tests. None: the time of day, less that of compiling.
        """
        self._check_parameters()
        if y is None and pairs is not None:
            given = {
                "groups": groups,
                "sample_weight": sample_weight,
                "scoring": self.scoring,
                "cost": self.cost,
            }
            self._search_pairs(X, pairs, unlabelled, given, clock)
            return self
        if pairs is not None:
            raise ValueError("give labels y or pairs, not both: with labels, pairs are not needed")
        X, y = self._encode(X, y, unlabelled=unlabelled)
        check_classification_targets(y)
        X, y, groups, weight, cv, rows = self._count(X, y, groups, sample_weight)
        classes = np.unique(y)
        if len(classes) < 2:
            there = f"one class: {classes[0]}" if len(classes) else "none"
            raise ValueError(f"a search needs samples of two or more classes, but y holds {there}")
        if self.cost is not None and self.scoring is not None:
            raise ValueError("give scoring or cost, not both: costs are a score")
        more = self._encode_more(unlabelled, X.shape[1])
        score = (
            find_scoring(self.scoring, y, weight) if self.cost is None else find_costs(self.cost, y, weight)
        )
        self._search(
            LabelTask(Samples(X, y, more, groups, weight, {}), score, self.class_weight), cv, clock, rows
        )
        self._classes: NDArray[Any] | None = classes
        self._positive = find_positive(y, weight)
        return self

    def _search_pairs(self, X: Any, pairs: Any, unlabelled: Any, given: dict[str, Any], clock: Any) -> None:
        from mercer.search.pairs import PairTask  # with its learners

        for name, value in given.items():
            if value is not None:
                raise ValueError(f"{name} is for labels: leave it out where pairs are given")
        X = self._encode(X, unlabelled=unlabelled)
        more = self._encode_more(unlabelled, X.shape[1])
        self._search(PairTask(X, Pairs(*pairs).check(len(X)), more), self.cv, clock, np.arange(len(X)))
        self._classes = None

    @property
    def error_(self) -> float:
        """The error of the model."""
        return self._measured("error")

    @property
    def auc_(self) -> float:
        """The AUC of the search, after a fit to pairs."""
        return self._measured("auc")

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        if self._classes is None:
            raise AttributeError("it was fitted to pairs, and knows no classes")
        return self._classes

    @available_if(lambda self: self._classifies())
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable classes, or what a threshold makes of them (`result_.decision`)."""
        labels: NDArray[Any] = self._model().predict(self._encode(X, reset=False))
        return labels

    @available_if(lambda self: self._classifies())
    def decision_function(self, X: Any) -> Array:
        """Return log odds of two classes; of more, the logarithms of probabilities but for a constant."""
        values: Array = self._model().decision_function(self._encode(X, reset=False))
        return values

    @available_if(lambda self: self._classifies())
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, one column for each of `classes_`.

        They are calibrated on what the members said of held-out samples.
        """
        chances: Array = self._model().predict_proba(self._encode(X, reset=False))
        return chances

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score on new samples: that of `scoring`, as scikit-learn has it, or the accuracy."""
        self._model()  # or say why there is none
        scorer = find_scorer(self.scoring or "accuracy", self.classes_, self._positive)
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(scorer(self, X, y, **options))

    def _classifies(self) -> bool:
        """Return whether there is a classifier, or may be one after a fit."""
        self._check_refit()
        if getattr(self, "_classes", ...) is None:
            raise AttributeError("it was fitted to pairs, and knows no classes: use best_kernel_")
        return True


class KernelSearchRegressor(RegressorMixin, KernelSearch):
    """Compare kernels on your data, blend the best, and predict numbers with intervals.

    The search is that of `KernelSearchCV`, for a target that is a number. The score that is reported is
    corrected for the choice among candidates and settings: on targets in random order R² is not above zero.

    Parameters
    ----------
    candidates : dict, list or None, default=None
        As in `KernelSearchCV`, of regressors. Names alone are those of mercer's candidates: "tree",
        "perceptron", "RBF-ridge", "stump", "relevance", "linear", "forest", "boosting".
    scoring : str, callable or None, default=None
        What candidates are judged by, as scikit-learn calls it: "r2" (None), "neg_root_mean_squared_error",
        "neg_mean_squared_error", "neg_mean_absolute_error", "neg_mean_absolute_percentage_error"; or another
        scorer, which is known for whole folds only and has wider intervals.
    log : bool, default=False
        Whether candidates learn the logarithm of the target, which must be above zero: where errors grow with
        the value, as of prices and incomes.
    cv, budget, max_rows, blend, refit, encoder, n_jobs, random_state
        As in `KernelSearchCV`.

    Attributes
    ----------
    model_ : NumberBlend
        What predicts, of samples as numbers: its members, their weights, and how far off they are.
    held_out_ : HeldOut
        What the model predicts for samples which had no part in it, and which samples these are.
    best_score_, std_error_ : float
        The expected score on new samples, greater is better, with its standard error; its 95 % interval is in
        ``result_.measure``.
    result_, encoder_, best_name_, best_settings_, best_estimator_, best_kernel_, cv_results_, leaderboard_
        As in `KernelSearchCV`; differences are those to RBF ridge regression.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import KernelSearchRegressor, PerceptronRegressor
    >>> X, y = make_friedman1(200, n_features=5, random_state=0)
    >>> some = ["stump", ("perceptron", PerceptronRegressor(), {"C": [1.0, 64.0]})]
    >>> search = KernelSearchRegressor(some, random_state=0).fit(X, y)
    >>> bool(search.best_score_ > 0.8)
    True
    >>> low, high = search.predict_interval(X[:3])
    >>> bool((low < high).all())
    True
    """

    def __init__(
        self,
        candidates: Any = None,
        *,
        scoring: Any = None,
        log: bool = False,
        cv: Any = 5,
        budget: float | None = None,
        max_rows: int = 4000,
        blend: bool = True,
        refit: bool = True,
        encoder: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.candidates = candidates
        self.scoring = scoring
        self.log = log
        self.cv = cv
        self.budget = budget
        self.max_rows = max_rows
        self.blend = blend
        self.refit = refit
        self.encoder = encoder
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        unlabelled: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
        clock: Any = None,
    ) -> Self:
        """Search, and fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or DataFrame
            The samples. The encoder of a table sees all samples and no targets.
        y : array-like of shape (n_samples,)
            Their targets: numbers.
        unlabelled, groups, sample_weight, clock
            As in `KernelSearchCV.fit`.
        """
        self._check_parameters()
        if y is None:
            raise ValueError("a search requires y to be passed, but the target y is None.")
        X, y = self._encode(X, _check_one_target(y), unlabelled=unlabelled)
        X, y, groups, weight, cv, rows = self._count(X, y, groups, sample_weight)
        if not len(y) or np.ptp(y) == 0.0:
            there = f"is always {y[0]:g} (n_samples={len(y)})" if len(y) else "is empty"
            raise ValueError(f"a search needs targets that differ, but y {there}: there is nothing to learn")
        if self.log and y.min() <= 0.0:
            raise ValueError(f"log=True needs targets above zero, and the lowest is {y.min():g}")
        more = self._encode_more(unlabelled, X.shape[1])
        for sentence in [] if self.log else describe_target(y):
            warnings.warn(sentence, SearchWarning, stacklevel=3)
        task = NumberTask(
            Samples(X, y, more, groups, weight, {}), find_number_scoring(self.scoring, y), self.log
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", TWO_VALUES)  # once is enough
            self._search(task, cv, clock, rows)
        return self

    @available_if(lambda self: self._check_refit())
    def predict(self, X: Any) -> Array:
        """Return the predictions of the model."""
        predicted: Array = self._model().predict(self._encode(X, reset=False))
        return predicted

    @available_if(lambda self: self._check_refit())
    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Return intervals that hold the targets of about this share of new samples.

        Their ends are the prediction plus quantiles of the errors for samples that a fit had not seen, as in
        conformal prediction, times how large errors are where the prediction is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or DataFrame
            The samples.
        coverage : float, default=0.9
            The share of new targets that shall be inside; as many shall be below as above.

        Returns
        -------
        low, high : arrays of shape (n_samples,)
            The ends.
        """
        ends: tuple[Array, Array] = self._model().predict_interval(self._encode(X, reset=False), coverage)
        return ends

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score on new samples: that of `scoring`, as scikit-learn has it, or R²."""
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        self._model()  # or say why there is none
        return float(check_scoring(self, self.scoring or R2)(self, X, y, **options))


def _check_one_target(y: Any) -> Array:
    Y = check_target(y)
    if Y.ndim == 2 and Y.shape[1] > 1:
        raise ValueError(f"a search has one target, and y has {Y.shape[1]}: search for each column of y.")
    y = column_or_1d(Y, warn=True)
    if len(y) and np.ptp(y) > 0.0 and not SCALES[0] < np.ptp(y) < SCALES[1]:
        raise ValueError(
            f"a search cannot compute with targets that differ by up to {np.ptp(y):.1g}: divide them by "
            "their standard deviation"
        )
    return y


def describe_target(y: Array) -> list[str]:
    """Say what is remarkable about a target: two values alone, or a few that have most of the variance."""
    low, high = y.min(), y.max()
    if np.all((y == low) | (y == high)):
        return [f"{TWO_VALUES}, {low:g} and {high:g}: if these are classes, use KernelSearchCV."]
    away = np.sort((y - y.mean()) ** 2)[::-1]
    share = away[: max(1, len(y) // 100)].sum() / away.sum()
    if len(y) < FEWEST or share < MOST:
        return []
    how = "its logarithm (log=True)" if low > 0 else "a transform of it"
    return [
        f"One percent of the targets has {100 * share:.0f} % of their variance: consider {how}, "
        "or scoring='neg_mean_absolute_error'."
    ]
