"""A classifier that compares kernels on the user's data and keeps the best."""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackContext, CallbackSupportMixin, with_callbacks
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from mercer._typing import Array
from mercer.kernels import Rescaled
from mercer.limits import one_thread
from mercer.pairs import Pairs
from mercer.parameters import check_count, check_positive
from mercer.search.candidates import (
    REFERENCE,
    Candidate,
    are_names,
    as_candidates,
    default_candidates,
    kernel_of,
    pick,
)
from mercer.search.clock import Clock
from mercer.search.folds import make_folds
from mercer.search.label_task import Rows, refit
from mercer.search.leaderboard import as_table, honest_error, rank, rank_pairs
from mercer.search.pair_folds import split_pairs
from mercer.search.pair_race import PairRace
from mercer.search.pair_task import (
    MOST_OTHERS,
    PLAIN,
    PairRows,
    as_learners,
    learn_scaled,
    pair_candidates,
    with_setting,
)
from mercer.search.race import LabelRace, Race
from mercer.search.schedule import run_race

if TYPE_CHECKING:
    import pandas as pd


ONE_THREAD = 1500  # rows up to which threads of matrix products wait more than they work


class KernelSearchCV(ClassifierMixin, CallbackSupportMixin, BaseEstimator):
    """Compare kernels on your data, keep the best, and say honestly how good it is.

    All candidates see the same folds, and are scaled inside them. Settings that fall far behind are dropped
    after a fold. The winner has the least cross-validated error, or one that is hardly larger (by one
    standard error on the same rows) and is listed before it; it is fitted to all rows. A setting counts with
    its neighbours in a grid of numbers.

    The error that is reported is not that least one, which was chosen for being small: rows are drawn with
    replacement, the winner on those drawn is judged on those not drawn, and so many times over. It is the
    error of the whole search, and on labels without meaning it stays at chance.

    Parameters
    ----------
    candidates : dict, list of str or None, default=None
        Names and classifiers, or (classifier, grid): those first that you would rather have. None:
        perceptron kernel, superkernel, RBF-SVM, stump kernel, a linear SVM, boosted and idealized kernels and
        KernelBoost, with small grids; a list of names: some of these. To learn from pairs: names and
        learners, or (learner, grid).
    cv : int, default=5
        The number of folds; fewer if a class has fewer rows.
    budget : float or None, default=None
        Seconds. Cheap candidates come first, those that would take too long are left out, and what is done
        when the time is over is ranked.
    max_rows : int, default=4000
        The search looks at no more rows than this, drawn by class; at fewer (but 1000) if the budget asks for
        it. The winner is fitted to all rows, or to as many as the budget is expected to allow. From pairs:
        all rows that are in one, and 1000 others at most.
    n_jobs : int or None, default=None
        Candidates at a time, by joblib (so ``joblib.parallel_config(backend="dask")`` spreads them out).
    random_state : int, RandomState instance or None, default=None
        For the folds, the draws and the learners.

    Attributes
    ----------
    best_estimator_ : Pipeline
        A scaler and the winner, fitted to all rows.
    best_kernel_ : kernel or None
        Its kernel, for rows as they are.
    best_name_, best_settings_ : str, dict
        Which it is.
    error_, std_error_ : float
        The error of the search, as described above, with its standard error.
    leaderboard_ : pandas.DataFrame
        A line for each candidate: error and standard error (with the choice among its own settings honest),
        difference to the RBF-SVM with the 95 % interval (low, high), seconds to fit and to predict,
        settings, and a note if it did not run to the end.
    classes_ : array of shape (n_classes,)
        The labels.
    stopped_ : str or None
        "budget", "interrupt" or "callback", if the search did not run to its end.

    Notes
    -----
    Ctrl-C ends the search as a budget does: what is done is ranked, and the best so far is fitted.

    The leaderboard is sorted by errors that allow for the choice among a candidate's settings, and the winner
    is one that is not clearly worse than the best: so it need not stand first.

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
            The rows.
        y : array-like of shape (n_samples,), optional
            Their classes, two or more.
        pairs : Pairs, optional
            Similar and dissimilar rows, if there are no classes.
        unlabelled : array-like of shape (n_unlabelled, n_features), optional
            More rows, without classes, for the learners and the scaler.
        """
        clock = Clock(time.monotonic(), self.budget)
        if y is None and pairs is not None:
            return self._fit_pairs(X, pairs, unlabelled, clock)
        if y is not None and pairs is not None:
            raise ValueError("give labels y or pairs, not both: with labels, pairs are not needed")
        self._forget("auc_")  # of an earlier fit, to pairs
        rows = self._check(X, y, unlabelled)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        searched = rows.part(self.max_rows / len(rows.X), seed, 0)._replace(unlabelled=rows.unlabelled)
        candidates = self._list_candidates(searched, seed)
        folds = make_folds(searched.y, self.cv, seed)
        race = LabelRace(candidates, len(searched.X))
        reference = _number_of(REFERENCE, candidates)

        def rank_now() -> None:
            self.ranking_ = rank(race, reference, seed)

        with self._run(race, searched, folds, clock, reference, rank_now):
            _check_some_worked(race, "no candidate could be fitted to these rows")
            self.error_, self.std_error_ = honest_error(race, seed)
            self._refit(race, rows, searched, clock, seed)
        return self

    @property
    def leaderboard_(self) -> "pd.DataFrame":
        """The ranking as a table."""
        check_is_fitted(self, "ranking_")
        return as_table(self.ranking_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the winner's predictions."""
        check_is_fitted(self)
        if not hasattr(self, "classes_"):
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

    def _fit_pairs(self, X: Any, pairs: Any, unlabelled: Any, clock: Clock) -> Self:
        """Search among learners, by how well their distances tell pairs apart that were held back."""
        self._check_parameters()
        X = validate_data(self, X, dtype=np.float64)
        checked = Pairs(*pairs).check(len(X))
        rows = PairRows(X, checked, self._check_unlabelled(unlabelled, X)).at_most(MOST_OTHERS)
        self._forget("classes_", "error_", "refit_seconds_")  # of an earlier fit, to labels
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        candidates = self._list_learners(seed)
        folds = split_pairs(rows.pairs, len(rows.X), self.cv, RandomState(seed))
        race = PairRace(candidates, [test for _, test in folds])
        reference = _number_of(PLAIN, candidates)

        def rank_now() -> None:
            self.ranking_ = rank_pairs(race, reference)

        with self._run(race, rows, folds, clock, reference, rank_now):
            self._refit_pairs(race, rows, seed)
        return self

    @contextmanager
    def _run(
        self,
        race: Race,
        task: Rows | PairRows,
        folds: Sequence[Any],
        clock: Clock,
        reference: int | None,
        rank_now: Callable[[], None],
    ) -> Iterator[None]:
        """Run the race and rank it; callbacks hear of it, and of the end once the winner is fitted."""
        context = self._init_callback_context(max_subtasks=len(folds) * len(race.candidates))
        context.call_on_fit_task_begin(estimator=self)
        with one_thread(task.n_rows <= ONE_THREAD):
            self.stopped_ = run_race(
                race,
                task,
                folds,
                clock,
                reference=reference,
                n_jobs=self.n_jobs,
                report=lambda: self._report(context, rank_now),
            )
            rank_now()
            yield
        context.call_on_fit_task_end(estimator=self)

    def _report(self, context: CallbackContext, rank_now: Callable[[], None]) -> bool:
        """Tell callbacks, if there are any, that a candidate is done with a fold; they may ask to stop."""
        if not hasattr(self, "_skl_callbacks"):
            return False
        rank_now()
        task = context.subcontext("candidate")
        task.call_on_fit_task_begin(estimator=self)
        return bool(task.call_on_fit_task_end(estimator=self))

    def _forget(self, *names: str) -> None:
        for name in names:
            self.__dict__.pop(name, None)

    def _check_parameters(self) -> None:
        check_count(self.cv, "cv", least=2)
        check_count(self.max_rows, "max_rows", least=10)
        if self.budget is not None:
            check_positive(self.budget, "budget")

    def _check_unlabelled(self, unlabelled: Any, X: Array) -> Array | None:
        if unlabelled is None:
            return None
        rows: Array = check_array(unlabelled, dtype=np.float64, input_name="unlabelled")
        if rows.shape[1] != X.shape[1]:
            raise ValueError(f"unlabelled has {rows.shape[1]} columns, X has {X.shape[1]}")
        return rows

    def _check(self, X: Any, y: Any, unlabelled: Any) -> Rows:
        self._check_parameters()
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"a search needs rows of two classes or more, but y holds one class: {self.classes_[0]}"
            )
        return Rows(X, y, self._check_unlabelled(unlabelled, X))

    def _list_candidates(self, rows: Rows, seed: int) -> list[Candidate]:
        if self.candidates is not None and not are_names(self.candidates):
            return as_candidates(self.candidates)
        n, d = rows.X.shape
        known = default_candidates(n, d, seed, unlabelled=rows.unlabelled is not None)
        return known if self.candidates is None else pick(self.candidates, known)

    def _list_learners(self, seed: int) -> list[Candidate]:
        if self.candidates is not None and not are_names(self.candidates):
            return as_learners(self.candidates)
        known = pair_candidates(seed)
        return known if self.candidates is None else pick(self.candidates, known)

    def _refit(self, race: LabelRace, rows: Rows, searched: Rows, clock: Clock, seed: int) -> None:
        winner = race.winner()
        candidate, setting = race.candidates[race.entries[winner].candidate], race.entries[winner].setting
        seconds = float(race.fit_seconds[winner] / race.n_folds[winner])  # to fit it to a fold
        times = (max(clock.left(), 0.0) / max(seconds, 1e-9)) ** (1.0 / max(candidate.growth, 0.1))
        looked_at = race.share * searched.n_rows / rows.n_rows  # so many cost little more than a fold did
        used = rows.part(max(looked_at, race.n_trained * times / rows.n_rows), seed)
        start = time.monotonic()
        try:
            scaler, fitted = refit(candidate, setting, used)
        except (KeyboardInterrupt, MemoryError) as error:  # then to as many as in the comparison
            if isinstance(error, KeyboardInterrupt):
                self.stopped_ = "interrupt"
            else:
                warnings.warn(f"{candidate.name} is fitted to fewer rows, for {error}", stacklevel=2)
            used = rows.part(looked_at, seed)
            scaler, fitted = refit(candidate, setting, used)
        self.rows_used_, self.refit_seconds_ = len(used.X), time.monotonic() - start
        self.best_name_, self.best_settings_ = candidate.name, setting
        self.best_estimator_ = Pipeline([("scale", scaler), ("svm", fitted)])
        kernel = kernel_of(fitted, scaler.transform(used.X))
        self.best_kernel_: Rescaled | None = (
            None if kernel is None else Rescaled(kernel, scaler.mean_, scaler.scale_)
        )

    def _refit_pairs(self, race: PairRace, rows: PairRows, seed: int) -> None:
        _check_some_worked(race, "no candidate could learn from these pairs")
        winner = race.winner()
        candidate, setting = race.candidates[race.entries[winner].candidate], race.entries[winner].setting
        self.auc_ = race.honest_auc(RandomState(seed))
        self.best_name_, self.best_settings_ = candidate.name, setting
        self.std_error_ = next(
            line["std_error"] for line in self.ranking_ if line["candidate"] == candidate.name
        )
        self.rows_used_ = len(rows.X)
        scaler, fitted, kernel = learn_scaled(with_setting(candidate, setting), rows, rows.pairs)
        steps = [("scale", scaler)] if fitted is None else [("scale", scaler), ("kernel", fitted)]
        self.best_estimator_ = Pipeline(steps)
        self.best_kernel_ = Rescaled(kernel, scaler.mean_, scaler.scale_)


def _number_of(name: str, candidates: list[Candidate]) -> int | None:
    return next((i for i, one in enumerate(candidates) if one.name == name), None)


def _check_some_worked(race: Race, words: str) -> None:
    if not len(race.finalists()):
        reasons = "; ".join(f"{race.candidates[i].name}: {why}" for i, why in race.reason.items())
        raise ValueError(f"{words} ({reasons})")
