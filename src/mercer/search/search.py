"""A classifier that compares kernels on the user's data and keeps the best."""

import time
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackContext, CallbackSupportMixin, with_callbacks
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import Tags, check_random_state, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
)

from mercer._typing import Array, Flags, Index
from mercer.learners.base import check_unlabelled
from mercer.limits import one_thread
from mercer.pairs import Pairs
from mercer.parameters import check_count, check_option, check_positive
from mercer.samples import encode_rows
from mercer.search.blend import (
    Blend,
    calibrate_blend,
    held_out_values,
    hold_ballot,
    make_blend,
    measure_blend,
)
from mercer.search.label_race import LabelRace
from mercer.search.label_task import LabelTask, decide
from mercer.search.pair_task import PairTask
from mercer.search.race import Race
from mercer.search.result import SearchResult, SearchWarning
from mercer.search.schedule import Clock, Schedule
from mercer.search.scoring import find_scoring
from mercer.search.task import Fitted, Task, reason
from mercer.search.words import doubts

if TYPE_CHECKING:
    import pandas as pd

ONE_THREAD = 1500  # samples up to which threads of matrix products wait more than they work


class KernelSearchCV(ClassifierMixin, CallbackSupportMixin, BaseEstimator):
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
        A dict of classifiers, or of (classifier, grid), by name, in order of preference. None: perceptron
        kernel, superkernel, RBF-SVM, stump kernel, linear SVM, boosted and idealized kernels and KernelBoost,
        with small grids. A list of names: some of these. To learn from pairs: a dict of learners, or of
        (learner, grid).
    scoring : str, callable or None, default=None
        What candidates are judged by, as scikit-learn calls it: "accuracy" (None), "balanced_accuracy",
        "roc_auc", "average_precision", "neg_log_loss", "f1", "f1_macro"; or another scorer, which is known
        for whole folds only and has wider intervals. Average precision and F1 of two classes are those of
        class 1, or of the rarer one if there is no class called 1.
    cv : int, splitter or iterable, default=5
        Number of folds, fewer if a class has fewer samples; or what gives training and test samples, as in
        scikit-learn. A number with `groups` keeps each group together.
    budget : float or None, default=None
        Time budget in seconds. Cheap candidates come first, those that would take too long are left out, and
        what is done when the time is up is ranked.
    max_rows : int, default=4000
        Maximum number of samples for the comparison, drawn by class; fewer (but at least 1000) if the budget
        requires it. The winner is fitted to all samples, or to as many as the budget is expected to allow.
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
        distributes them).
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
            How much each sample counts, for the classifiers and in their scores. Samples of weight zero are
            left out.
        """
        clock = Clock(time.monotonic(), self.budget)
        task, cv = self._check(X, y, pairs, unlabelled, groups, sample_weight)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        plan = task.plan(cv, self.max_rows, seed)
        searched, folds = plan.task, plan.folds
        candidates = searched.list_candidates(self.candidates, seed)
        race = searched.start_race(candidates, folds, seed)
        context = self._init_callback_context(max_subtasks=len(folds) * len(candidates))
        context.call_on_fit_task_begin(estimator=self)
        with one_thread(min(searched.n_rows, self.max_rows + searched.n_unlabelled) <= ONE_THREAD):
            report = lambda: self._report(context, race)  # noqa: E731
            stopped = Schedule(race, clock, self.n_jobs, report, task.n_rows).run(plan)
            _check_some_worked(race)
            fitted, result, winner = self._fit_winner(race, stopped, task, clock, seed)
            self.blend_: Blend | None = None
            if isinstance(race, LabelRace):
                self.cv_results_, self.best_index_ = race.cv_results(), winner
                self.calibration_ = race.calibration(winner)
                if fitted is not None and self._blends(race, result):
                    fit = partial(self._refit, race, task=task, clock=clock, seed=seed)
                    result = self._fit_blend(race, winner, fitted, result, clock, fit)
        self.compile_seconds_ = clock.excused
        asked = self.cv if isinstance(self.cv, int) else len(folds)
        self.result_ = result._replace(n_splits=max(asked, result.n_splits))
        self._classes = task.classes if isinstance(task, LabelTask) else None
        if fitted is not None:
            self.best_estimator_, self.best_kernel_ = fitted.pipeline, fitted.unscaled_kernel
        elif hasattr(self, "best_estimator_"):  # of an earlier fit
            del self.best_estimator_, self.best_kernel_
        for sentence in doubts(self.result_):
            warnings.warn(sentence, SearchWarning, stacklevel=3)
        context.call_on_fit_task_end(estimator=self)
        return self

    @property
    def leaderboard_(self) -> "pd.DataFrame":
        """The ranking as a table."""
        check_is_fitted(self, "result_")
        return self.result_.as_table()

    @property
    def best_name_(self) -> str:
        """The candidate that was selected."""
        return str(self._outcome().winner)

    @property
    def best_settings_(self) -> dict[str, Any]:
        """The settings that were fitted."""
        return self._outcome().settings

    @property
    def best_params_(self) -> dict[str, Any]:
        """The settings that were fitted, as scikit-learn's searches call them."""
        return self.best_settings_

    @property
    def best_score_(self) -> float:
        """The expected score on new samples, greater is better: 1 − error, minus the log loss."""
        outcome = self._outcome()
        value, key = float(outcome.measure.value), outcome.metric.key
        if outcome.metric.greater_is_better:
            return value
        return 1.0 - value if key == "error" else -value

    @property
    def stopped_(self) -> str | None:
        """What ended the search early, if anything did."""
        return self.result_.stopped

    @property
    def rows_used_(self) -> int:
        """The number of samples that the winner was fitted to."""
        return self._outcome().n_fitted

    @property
    def error_(self) -> float:
        """The error of the search."""
        return self._measured("error")

    @property
    def auc_(self) -> float:
        """The AUC of the search, after a fit to pairs."""
        return self._measured("auc")

    @property
    def std_error_(self) -> float:
        """The standard error of `error_` or `auc_`."""
        return float(self._outcome().measure.std_error)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        if self._classes is None:
            raise AttributeError("it was fitted to pairs, and knows no classes")
        return self._classes

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predictions of the winner, or of the blend."""
        estimator = self._predictor()
        if not hasattr(estimator, "predict"):
            raise AttributeError("it was fitted to pairs, and knows no classes: use best_kernel_")
        labels: NDArray[Any] = estimator.predict(encode_rows(self, X, reset=False))
        return labels

    @available_if(lambda self: self.blend_ or hasattr(self.best_estimator_, "decision_function"))
    def decision_function(self, X: Any) -> Array:
        """Return the decision values of the winner, or of the blend."""
        estimator = self._predictor()
        values: Array = estimator.decision_function(encode_rows(self, X, reset=False))
        return values

    @available_if(lambda self: self.calibration_ is not None)
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
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(check_scoring(self, self.scoring or "accuracy")(self, X, y, **options))

    def _winner(self) -> Any:
        """Return the fitted winner, or say why there is none."""
        check_is_fitted(self, "result_")
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("the winner was not fitted: use refit=True")
        return self.best_estimator_

    def _predictor(self) -> Any:
        """Return what predicts: the winner, or the blend."""
        winner = self._winner()
        return winner if self.blend_ is None else self.blend_

    def _outcome(self) -> Any:
        """Return the result of a search that is over."""
        check_is_fitted(self, "result_")
        if self.result_.winner is None:
            raise AttributeError("the search is not over: nothing was selected yet")
        return self.result_

    def _measured(self, key: str) -> float:
        """Return the value of a metric, if it is the one that candidates were judged by."""
        outcome = self._outcome()
        if outcome.metric.key != key:
            raise AttributeError(f"the search was judged by {outcome.metric.key}, not by {key}")
        return float(outcome.measure.value)

    def _check(
        self, X: Any, y: Any, pairs: Any, unlabelled: Any, groups: Any, sample_weight: Any
    ) -> tuple[LabelTask | PairTask, Any]:
        """Return what is searched on, labels or pairs, and how it is split."""
        if not isinstance(self.cv, Iterable) and not hasattr(self.cv, "split"):
            check_count(self.cv, "cv", least=2)
        check_count(self.max_rows, "max_rows", least=10)
        if self.budget is not None:
            check_positive(self.budget, "budget")
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
        if groups is not None:
            groups = column_or_1d(groups)
            check_consistent_length(X, groups)
        cv = self.cv
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            counts = sample_weight > 0
            cv = cv if isinstance(cv, int) or counts.all() else _folds_among(counts, cv, X, y, groups)
            groups = None if groups is None else groups[counts]
            X, y, sample_weight = X[counts], y[counts], sample_weight[counts]
        classes = np.unique(y)
        if len(classes) < 2:
            there = f"one class: {classes[0]}" if len(classes) else "none"
            raise ValueError(f"a search needs samples of two or more classes, but y holds {there}")
        more = self._encode_more(unlabelled, X.shape[1])
        scoring = find_scoring(self.scoring, y)
        check_option(self.blend, "blend", ("auto", True, False))
        if self.blend is True and scoring.slope is None:
            raise ValueError(
                f"blend=True needs a score of single samples, and {scoring.name} is one of whole folds: use "
                "another scoring, or blend=False"
            )
        return LabelTask(X, y, more, groups, sample_weight, scoring, self.class_weight), cv

    def _encode_more(self, unlabelled: Any, n_features: int) -> Array | None:
        """Return samples without labels as the others are."""
        if unlabelled is not None and self.encoder_ is not None:
            unlabelled = self.encoder_.transform(unlabelled)
        return check_unlabelled(unlabelled, n_features)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _report(self, context: CallbackContext, race: Race) -> bool:
        """Tell callbacks, if there are any, that a candidate is done with a fold; they may ask to stop."""
        if not hasattr(self, "_skl_callbacks"):
            return False
        self.result_ = race.result()
        task = context.subcontext("candidate")
        task.call_on_fit_task_begin(estimator=self)
        return bool(task.call_on_fit_task_end(estimator=self))

    def _fit_winner(
        self, race: Race, stopped: str | None, task: Task, clock: Clock, seed: int
    ) -> tuple[Fitted | None, SearchResult, int]:
        """Fit the winner to all samples, or to as many as there is time for; if that fails, the next best."""
        start = time.monotonic()
        while True:
            winner = race.winner()
            result = race.result(winner, stopped)
            if not self.refit:
                return None, result, winner
            try:
                fitted, n_fitted, interrupted = self._refit(race, winner, task, clock, seed)
            except Exception as error:
                race.fail(winner, reason(error))
                if not len(race.finalists()):
                    raise
                continue
            self.refit_seconds_ = time.monotonic() - start
            result = result._replace(stopped="interrupt") if interrupted else result
            return fitted, result._replace(n_fitted=n_fitted), winner

    def _blends(self, race: LabelRace, result: SearchResult) -> bool:
        """Return whether a blend predicts: if there are several to blend, and nobody waits."""
        if result.stopped == "interrupt" or len(np.unique(race.rule.candidate[race.finalists()])) < 2:
            return False
        if self.blend != "auto":
            return bool(self.blend)
        return bool(race.scoring.slope) and not race.scoring.balances and self.class_weight in ("auto", None)

    def _fit_blend(
        self,
        race: LabelRace,
        winner: int,
        fitted: Fitted,
        result: SearchResult,
        clock: Clock,
        fit: Callable[[int], tuple[Fitted, int, bool]],
    ) -> SearchResult:
        """Fit the members of the blend, those that count most first, as many as there is time for."""
        ballot, interrupted = hold_ballot(race), False
        weights, estimators = ballot.weigh(), {winner: fitted.pipeline}
        for k in np.argsort(-weights, kind="stable")[: np.count_nonzero(weights)]:
            entry = int(ballot.entries[k])
            if interrupted or entry in estimators:
                continue
            if clock.left() > race.fit_seconds[entry] / race.n_folds[entry]:
                try:
                    member, _, interrupted = fit(entry)
                    estimators[entry] = member.pipeline
                except KeyboardInterrupt:  # then with those that there are
                    interrupted = True
                except Exception:  # the others do without it
                    continue
        self.blend_ = make_blend(race, ballot, weights, estimators, fitted.unscaled_kernel)
        values = held_out_values(race, ballot)
        self.calibration_ = calibrate_blend(race, ballot, values)
        return result._replace(
            measure=measure_blend(race, ballot, values),
            blend=dict(zip(self.blend_.names, self.blend_.weights.tolist(), strict=True)),
            stopped="interrupt" if interrupted else result.stopped,
        )

    def _refit(
        self, race: Race, winner: int, task: Task, clock: Clock, seed: int
    ) -> tuple[Fitted, int, bool]:
        """Return the fitted winner, the number of samples, and whether it was interrupted for fewer."""
        entry = race.entries[winner]
        candidate, n_trained = race.candidates[entry.candidate], int(race.n_trained[winner])
        seconds = float(race.fit_seconds[winner] / race.n_folds[winner])  # to fit it to a fold
        times = (max(clock.left(), 0.0) / max(seconds, 1e-9)) ** (1.0 / max(candidate.growth, 0.1))
        looked_at = race.n_rows / task.n_rows  # so many cost little more than a fold did
        used, fewer = (
            task.part(max(looked_at, n_trained * times / task.n_rows), seed),
            task.part(looked_at, seed),
        )
        try:
            return used.fit(candidate, entry.setting), len(used.X), False
        except (KeyboardInterrupt, MemoryError) as error:  # then to as many as in the comparison
            if len(fewer.X) >= len(used.X):  # which would begin the same again
                raise
            interrupted = isinstance(error, KeyboardInterrupt)
            if not interrupted:
                warnings.warn(f"{candidate.name} is fitted to fewer samples: {error}", stacklevel=4)
            return fewer.fit(candidate, entry.setting), len(fewer.X), interrupted


def _folds_among(counts: Flags, cv: Any, X: Array, y: NDArray[Any], groups: Any) -> list[tuple[Index, Index]]:
    """Return a splitter's folds of all samples, by the numbers that those that count will have."""
    number, rows = np.cumsum(counts) - 1, np.arange(len(y))
    splits = check_cv(cv, y, classifier=True).split(X, y, groups)
    parts = ((rows[train], rows[test]) for train, test in splits)
    return [(number[train[counts[train]]], number[test[counts[test]]]) for train, test in parts]


def _check_some_worked(race: Race) -> None:
    if not len(race.finalists()):
        reasons = "; ".join(f"{race.candidates[i].name}: {fate.note}" for i, fate in race.fates.items())
        raise ValueError(f"no candidate could be fitted ({reasons})")
