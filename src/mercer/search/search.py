"""A classifier that compares kernels on the user's data and keeps the best."""

import time
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from mercer._typing import Array
from mercer.pairs import Pairs
from mercer.search.base import KernelSearch
from mercer.search.blend import Ballot, Blend, held_out_values, make_blend, measure_blend
from mercer.search.calibration import Calibration
from mercer.search.decisions import decide
from mercer.search.label_race import LabelRace
from mercer.search.label_task import LabelTask
from mercer.search.pair_task import PairTask
from mercer.search.result import Measure
from mercer.search.schedule import Clock
from mercer.search.scorers import find_positive, find_scorer
from mercer.search.scoring import find_scoring
from mercer.search.task import Fitted
from mercer.validation import encode_rows


class KernelSearchCV(ClassifierMixin, KernelSearch):
    """Compare kernels on your data, blend the best, and estimate the error without selection bias.

    All candidates are evaluated on the same cross-validation folds, and standardised inside them. Settings
    that fall far behind are dropped after a fold. The candidate with the lowest loss is selected, and fitted
    to all samples. Within a candidate, a setting is judged together with its neighbours in the grid.
    Predictions are those of a blend of the best candidates, see `blend`.

    The error that is reported is not the lowest cross-validated one, which was selected for being low:
    samples are drawn with replacement, the winner on those drawn is judged on those not drawn, and this is
    repeated many times. It is the error of the whole search, and on random labels it stays near
    chance: with as few as 60 samples of two classes it is 0.46 on average, with more it is nearer to 0.5.

    Parameters
    ----------
    candidates : dict, list of str or None, default=None
        A dict of classifiers, or of (classifier, grid), by name, in order of preference. None: the SVM of
        trees, perceptron kernel, superkernel, RBF-SVM, stump kernel, relevance kernel, linear SVM, boosted
        kernel and KernelBoost, with small grids; of more than 1000 samples also trees on ranks and the
        idealized kernel. A list of names: some of these ("tree-svm", "tree-ranks", "perceptron",
        "superkernel", "RBF-SVM", "stump", "relevance", "linear", "boosted", "idealized", "kernelboost"). To
        learn from pairs: a dict of learners, or of (learner, grid).
    scoring : str, callable or None, default=None
        What candidates are judged by, as scikit-learn calls it: "accuracy" (None), "balanced_accuracy",
        "roc_auc", "average_precision", "neg_log_loss", "f1", "f1_macro"; or another scorer, which is known
        for whole folds only and has wider intervals. Average precision, F1, precision and recall of two
        classes are those of class 1, or of the rarer one if there is no class called 1; of several classes
        they are the means over all, and "roc_auc" is that of each against the rest.
    cv : int, splitter or iterable, default=5
        Number of folds, fewer if a class has fewer samples; or what gives training and test samples, as in
        scikit-learn. A number with `groups` keeps each group together.
    budget : float or None, default=None
        Time budget in seconds. Cheap candidates come first, those that would take too long are left out, and
        what is done when the time is up is ranked. Without one the result does not depend on the machine.
    max_rows : int, default=4000
        Maximum number of samples for the comparison, drawn by class; fewer (but at least 1000) to learn from
        if the budget requires it. Then the best three are compared once more, on up to six times as many;
        with a budget all that are not far behind, step by step, on as many as it allows. The winner is fitted
        to all samples, or to as many as the budget is expected to allow.
        From pairs: all samples that are in a pair, and at most 1000 others.
    class_weight : "auto", "balanced", dict or None, default="auto"
        Class weights of all candidates that have any. "auto" tries None and "balanced" where the score counts
        rare classes as much as others (balanced accuracy, average precision, F1) and a class is rare.
    blend : "auto" or bool, default="auto"
        Whether predictions are those of a weighted blend of candidates, each with its best setting, and not
        the winner's alone: usually more accurate; each member is fitted to all samples, and asked for each
        prediction. The error is the blend's; the winner and its kernel stay what they are. "auto" blends
        unless the score counts rare classes as much as others or is one of whole folds, or `class_weight` is
        given: a blend predicts the most probable class.
    refit : bool, default=True
        Whether the winner is fitted to all samples.
    n_jobs : int or None, default=None
        Number of candidates evaluated in parallel, by joblib (``joblib.parallel_config(backend="dask")``
        distributes them). With a budget of less than 15 seconds it is one: processes take some to start.
    random_state : int, RandomState instance or None, default=None
        Random seed of the folds, the bootstrap and the learners.

    Attributes
    ----------
    result_ : SearchResult
        The outcome as one value: all candidates with their measures, the selection, and how it ended.
    encoder_ : TableEncoder or None
        What made numbers of the samples, if they were a DataFrame that is not all numbers. `best_estimator_`
        and `best_kernel_` take these numbers; `predict` takes DataFrames.
    best_estimator_ : Pipeline
        A scaler and the winner, fitted to all samples.
    best_kernel_ : kernel or None
        Its kernel, for samples that are not scaled.
    best_name_, best_settings_ : str, dict
        The selected candidate, and its settings.
    error_, std_error_ : float
        The expected error of the search on new samples, with its standard error; its 95 % interval is in
        ``result_.measure``. With another `scoring` there is `best_score_` alone; after a fit to pairs,
        `auc_`.
    best_score_ : float
        The expected score on new samples, greater is better.
    cv_results_ : dict
        The scores of all settings, fold by fold and not corrected for any choice, as in
        `sklearn.model_selection.GridSearchCV`; `best_index_` is the selected one.
    calibration_ : Calibration
        What makes probabilities of decision values.
    blend_ : Blend or None
        What predicts, unless it is the winner alone: the names of its members, their weights and the fitted
        pipelines. `mercer.save` takes it.
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

    The leaderboard is sorted by errors corrected for the choice among a candidate's settings: so the winner
    need not rank first.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelSearchCV, PerceptronSVC, StumpSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> some = {"stump": StumpSVC(), "perceptron": (PerceptronSVC(), {"C": [0.1, 1.0]})}
    >>> search = KernelSearchCV(some, random_state=0).fit(X, y)
    >>> bool(search.error_ < 0.1)
    True
    """

    _positive = 1  # the class in question, as a position; of a model that was saved without it, the second

    def __init__(
        self,
        candidates: Any = None,
        *,
        scoring: Any = None,
        cv: Any = 5,
        budget: float | None = None,
        max_rows: int = 4000,
        class_weight: Any = "auto",
        blend: bool | str = "auto",
        refit: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.candidates = candidates
        self.scoring = scoring
        self.cv = cv
        self.budget = budget
        self.max_rows = max_rows
        self.class_weight = class_weight
        self.blend = blend
        self.refit = refit
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
    ) -> Self:
        """Search, and fit the winner.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or DataFrame
            The samples. A DataFrame with texts, dates, categories or missing values is encoded by
            `TableEncoder`, which sees all samples and no labels.
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
        """
        clock = Clock(time.monotonic(), self.budget)
        task, cv = self._check(X, y, pairs, unlabelled, groups, sample_weight)
        self._search(task, cv, clock)
        if isinstance(task, LabelTask):
            self._classes: NDArray[Any] | None = task.classes
            self._positive = find_positive(task.y, task.sample_weight)
        else:
            self._classes = None
        return self

    @property
    def error_(self) -> float:
        """The error of the search."""
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
        """Return the predictions of the winner, or of the blend."""
        labels: NDArray[Any] = self._predictor().predict(encode_rows(self, X, reset=False))
        return labels

    @available_if(lambda self: self._classifies("decision_function"))
    def decision_function(self, X: Any) -> Array:
        """Return the decision values of the winner, or of the blend."""
        estimator = self._predictor()
        values: Array = estimator.decision_function(encode_rows(self, X, reset=False))
        return values

    @available_if(lambda self: self._classifies() and getattr(self, "calibration_", ...) is not None)
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, one column for each of `classes_`.

        They are calibrated on decision values for held-out samples. `predict` is the winner's or the blend's
        own decision, which need not be the most probable class.
        """
        estimator = self._predictor()
        X = encode_rows(self, X, reset=False)
        assert self.calibration_ is not None  # or this method is not there
        if isinstance(estimator, Blend):
            return self.calibration_(estimator.decision_function(X))
        return self.calibration_(decide(estimator, X, self.classes_)[1])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score on new samples: that of `scoring`, as scikit-learn has it, or the accuracy."""
        self._predictor()  # or say why there is none
        scorer = find_scorer(self.scoring or "accuracy", self.classes_, self._positive)
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(scorer(self, X, y, **options))

    def _classifies(self, method: str = "predict") -> bool:
        """Return whether there is a classifier that has a method, or may be one after a fit."""
        self._check_refit()
        if getattr(self, "_classes", ...) is None:
            raise AttributeError("it was fitted to pairs, and knows no classes: use best_kernel_")
        winner = getattr(self, "best_estimator_", None)
        return winner is None or self.blend_ is not None or hasattr(winner, method)

    def _check(
        self, X: Any, y: Any, pairs: Any, unlabelled: Any, groups: Any, sample_weight: Any
    ) -> tuple[LabelTask | PairTask, Any]:
        """Return what is searched on, labels or pairs, and how it is split."""
        self._check_parameters()
        if y is None and pairs is not None:
            for name, value in {
                "groups": groups,
                "sample_weight": sample_weight,
                "scoring": self.scoring,
            }.items():
                if value is not None:
                    raise ValueError(f"{name} is for labels: leave it out where pairs are given")
            X = encode_rows(self, X)
            more = self._encode_more(unlabelled, X.shape[1])
            return PairTask(X, Pairs(*pairs).check(len(X)), more), self.cv
        if pairs is not None:
            raise ValueError("give labels y or pairs, not both: with labels, pairs are not needed")
        X, y = encode_rows(self, X, y)
        check_classification_targets(y)
        X, y, groups, sample_weight, cv = self._count(X, y, groups, sample_weight)
        classes = np.unique(y)
        if len(classes) < 2:
            there = f"one class: {classes[0]}" if len(classes) else "none"
            raise ValueError(f"a search needs samples of two or more classes, but y holds {there}")
        more = self._encode_more(unlabelled, X.shape[1])
        scoring = find_scoring(self.scoring, y, sample_weight)
        self._check_blend(scoring)
        return LabelTask(X, y, more, groups, sample_weight, scoring, self.class_weight), cv

    def _blends(self, race: LabelRace) -> bool:
        return bool(race.scoring.slope) and not race.scoring.balances and self.class_weight in ("auto", None)

    def _keep_scores(self, race: LabelRace, winner: int, fitted: Fitted | None) -> None:
        self.calibration_: Calibration | None = race.calibration(winner)

    def _keep_blend(self, ballot: Ballot, weights: Array, fitted: dict[int, Any], kernel: Any) -> Measure:
        self.blend_ = make_blend(ballot, weights, fitted, kernel)
        values = held_out_values(ballot)
        self.calibration_ = ballot.race.find_unit(values, ballot.places)
        return measure_blend(ballot, values)
