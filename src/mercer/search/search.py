"""A classifier that compares kernels on the user's data and keeps the best."""

import time
import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackContext, CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._typing import Array
from mercer.learners.base import check_unlabelled
from mercer.limits import one_thread
from mercer.pairs import Pairs
from mercer.parameters import check_count, check_positive
from mercer.search.label_task import LabelTask
from mercer.search.pair_task import PairTask
from mercer.search.race import Race
from mercer.search.result import SearchResult
from mercer.search.schedule import Clock, Schedule
from mercer.search.task import Fitted, Task

if TYPE_CHECKING:
    import pandas as pd

ONE_THREAD = 1500  # samples up to which threads of matrix products wait more than they work


class KernelSearchCV(ClassifierMixin, CallbackSupportMixin, BaseEstimator):
    """Compare kernels on your data, select the best, and estimate its error without selection bias.

    All candidates are evaluated on the same cross-validation folds, and standardised inside them. Settings
    that fall far behind are dropped after a fold. Of the candidates whose difference to the best is within
    its standard error, the one listed first is selected, and fitted to all samples. Within a candidate, a
    setting is judged together with its neighbours in the grid.

    The error that is reported is not the lowest cross-validated one, which was selected for being low:
    samples are drawn with replacement, the winner on those drawn is judged on those not drawn, and this is
    repeated many times. It is the error of the whole search, and on random labels it stays at chance.

    Parameters
    ----------
    candidates : dict, list of str or None, default=None
        A dict of classifiers, or of (classifier, grid), by name, in order of preference. None: perceptron
        kernel, superkernel, RBF-SVM, stump kernel, linear SVM, boosted and idealized kernels and KernelBoost,
        with small grids. A list of names: some of these. To learn from pairs: a dict of learners, or of
        (learner, grid).
    cv : int, default=5
        Number of folds; fewer if a class has fewer samples.
    budget : float or None, default=None
        Time budget in seconds. Cheap candidates come first, those that would take too long are left out, and
        what is done when the time is up is ranked.
    max_rows : int, default=4000
        Maximum number of samples for the comparison, drawn by class; fewer (but at least 1000) if the budget
        requires it. The winner is fitted to all samples, or to as many as the budget is expected to allow.
        From pairs: all samples that are in a pair, and at most 1000 others.
    n_jobs : int or None, default=None
        Number of candidates evaluated in parallel, by joblib (``joblib.parallel_config(backend="dask")``
        distributes them).
    random_state : int, RandomState instance or None, default=None
        Random seed of the folds, the bootstrap and the learners.

    Attributes
    ----------
    result_ : SearchResult
        The outcome as one value: all candidates with their measures, the selection, and how it ended.
    best_estimator_ : Pipeline
        A scaler and the winner, fitted to all samples.
    best_kernel_ : kernel or None
        Its kernel, for samples that are not scaled.
    best_name_, best_settings_ : str, dict
        The selected candidate, and its settings.
    error_, std_error_ : float
        The expected error of the search on new samples, with its standard error. After a fit to pairs,
        `auc_` instead of `error_`.
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

    The leaderboard is sorted by errors corrected for the choice among a candidate's settings, and the winner
    is one that is not clearly worse than the best: so it need not rank first.

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
        cv: int = 5,
        budget: float | None = None,
        max_rows: int = 4000,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.candidates = candidates
        self.cv = cv
        self.budget = budget
        self.max_rows = max_rows
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any = None, *, pairs: Any = None, unlabelled: Any = None) -> Self:
        """Search, and fit the winner.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,), optional
            Their classes, two or more.
        pairs : Pairs, optional
            Similar and dissimilar samples, if there are no classes.
        unlabelled : array-like of shape (n_unlabelled, n_features), optional
            More samples, without classes, for the learners and the scaler.
        """
        clock = Clock(time.monotonic(), self.budget)
        task = self._check(X, y, pairs, unlabelled)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        searched = task.at_most(self.max_rows, seed)
        candidates = searched.list_candidates(self.candidates, seed)
        folds = searched.split(self.cv, seed)
        race = searched.start_race(candidates, folds, seed)
        context = self._init_callback_context(max_subtasks=len(folds) * len(candidates))
        context.call_on_fit_task_begin(estimator=self)
        with one_thread(searched.n_rows <= ONE_THREAD):
            schedule = Schedule(race, clock, self.n_jobs, lambda: self._report(context, race))
            stopped = schedule.run(searched, folds)
            _check_some_worked(race)
            winner = race.winner()
            result = race.result(winner, stopped)
            fitted, result = self._fit_winner(race, winner, result, task, searched, clock, seed)
        self.result_, self._classes = result, np.unique(task.y) if isinstance(task, LabelTask) else None
        self.best_estimator_, self.best_kernel_ = fitted.pipeline, fitted.unscaled_kernel
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
        """Return the winner's predictions."""
        check_is_fitted(self)
        if not hasattr(self.best_estimator_, "predict"):
            raise AttributeError("it was fitted to pairs, and knows no classes: use best_kernel_")
        labels: NDArray[Any] = self.best_estimator_.predict(
            validate_data(self, X, reset=False, dtype=np.float64)
        )
        return labels

    @available_if(lambda self: hasattr(self.best_estimator_, "decision_function"))
    def decision_function(self, X: Any) -> Array:
        """Return the winner's decision values."""
        check_is_fitted(self)
        values: Array = self.best_estimator_.decision_function(
            validate_data(self, X, reset=False, dtype=np.float64)
        )
        return values

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

    def _check(self, X: Any, y: Any, pairs: Any, unlabelled: Any) -> Task:
        """Return what is searched on: labels, or pairs."""
        check_count(self.cv, "cv", least=2)
        check_count(self.max_rows, "max_rows", least=10)
        if self.budget is not None:
            check_positive(self.budget, "budget")
        if y is None and pairs is not None:
            X = validate_data(self, X, dtype=np.float64)
            return PairTask(X, Pairs(*pairs).check(len(X)), check_unlabelled(unlabelled, X.shape[1]))
        if pairs is not None:
            raise ValueError("give labels y or pairs, not both: with labels, pairs are not needed")
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(
                f"a search needs samples of two or more classes, but y holds one class: {classes[0]}"
            )
        return LabelTask(X, y, check_unlabelled(unlabelled, X.shape[1]))

    def _report(self, context: CallbackContext, race: Race) -> bool:
        """Tell callbacks, if there are any, that a candidate is done with a fold; they may ask to stop."""
        if not hasattr(self, "_skl_callbacks"):
            return False
        self.result_ = race.result()
        task = context.subcontext("candidate")
        task.call_on_fit_task_begin(estimator=self)
        return bool(task.call_on_fit_task_end(estimator=self))

    def _fit_winner(
        self,
        race: Race,
        winner: int,
        result: SearchResult,
        task: Task,
        searched: Task,
        clock: Clock,
        seed: int,
    ) -> tuple[Fitted, SearchResult]:
        """Fit the winner to all samples, or to as many as there is time for."""
        entry = race.entries[winner]
        candidate = race.candidates[entry.candidate]
        seconds = float(race.fit_seconds[winner] / race.n_folds[winner])  # to fit it to a fold
        times = (max(clock.left(), 0.0) / max(seconds, 1e-9)) ** (1.0 / max(candidate.growth, 0.1))
        looked_at = race.share * searched.n_rows / task.n_rows  # so many cost little more than a fold did
        used = task.part(max(looked_at, race.n_trained * times / task.n_rows), seed)
        start = time.monotonic()
        try:
            fitted = used.fit(candidate, entry.setting)
        except (KeyboardInterrupt, MemoryError) as error:  # then to as many as in the comparison
            if isinstance(error, KeyboardInterrupt):
                result = result._replace(stopped="interrupt")
            else:
                warnings.warn(f"{candidate.name} is fitted to fewer samples: {error}", stacklevel=2)
            used = task.part(looked_at, seed)
            fitted = used.fit(candidate, entry.setting)
        self.refit_seconds_ = time.monotonic() - start
        return fitted, result._replace(n_fitted=len(used.X))


def _check_some_worked(race: Race) -> None:
    if not len(race.finalists()):
        reasons = "; ".join(f"{race.candidates[i].name}: {fate.note}" for i, fate in race.fates.items())
        raise ValueError(f"no candidate could be fitted ({reasons})")
