"""What searches share: a race, a clock, a winner that is fitted to all samples, and a blend."""

import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.callback import CallbackContext, CallbackSupportMixin
from sklearn.model_selection import check_cv
from sklearn.utils import Tags, check_random_state, column_or_1d
from sklearn.utils.validation import (
    _check_feature_names,
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
)

from mercer._typing import Array, Flags, Index
from mercer.learners.base import check_unlabelled
from mercer.limits import one_thread
from mercer.parameters import check_count, check_option, check_positive
from mercer.search.blend import Ballot, hold_ballot
from mercer.search.candidates import Candidate
from mercer.search.compilation import compiling
from mercer.search.last_fit import MORE, SAFE, STEP
from mercer.search.more_rows import STEPS
from mercer.search.race import Race
from mercer.search.result import Measure, SearchResult, SearchWarning
from mercer.search.sample_race import SampleRace
from mercer.search.schedule import Clock, Schedule
from mercer.search.scoring import Scoring
from mercer.search.task import ONE_THREAD, Fitted, Task, reason
from mercer.search.words import doubts

if TYPE_CHECKING:
    import pandas as pd

OF_SAMPLES = ("n_features_in_", "feature_names_in_", "encoder_")  # what a fit knows before it searches


class Counted(NamedTuple):
    """The samples that count, of what a search was given, and how they are split."""

    X: Array
    y: NDArray[Any]
    groups: NDArray[Any] | None
    sample_weight: Array | None
    cv: Any


class KernelSearch(CallbackSupportMixin, BaseEstimator):
    """A search among candidates. A subclass says what it is given, and what a blend is.

    It has the parameters `candidates`, `scoring`, `cv`, `budget`, `max_rows`, `blend`, `refit`, `n_jobs` and
    `random_state`.
    """

    @abstractmethod
    def _blends(self, race: Any) -> bool:
        """Return whether a blend predicts where nothing is said of it."""

    @abstractmethod
    def _keep_scores(self, race: Any, winner: int, fitted: Fitted | None) -> None:
        """Keep what follows from held-out samples for the winner's predictions."""

    @abstractmethod
    def _keep_blend(self, ballot: Ballot, weights: Array, fitted: dict[int, Any], kernel: Any) -> Measure:
        """Make the blend of fitted members, and what follows from held-out samples for its predictions."""

    def _html_repr(self) -> str:
        """Return what a notebook shows: the headline and the ranking, and the estimator."""
        diagram: str = super()._html_repr()
        return f"{self.result_._repr_html_()}{diagram}" if hasattr(self, "result_") else diagram

    def _forget(self) -> None:
        """Take out what an earlier fit left: it may have been to pairs, or with another `refit`."""
        for name in [name for name in vars(self) if name.endswith("_") and name not in OF_SAMPLES]:
            delattr(self, name)

    def _search(self, task: Task, cv: Any, clock: Clock) -> None:
        """Compare the candidates, and fit the winner."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        plan = task.plan(cv, self.max_rows, seed)
        searched, folds = plan.task, plan.folds
        candidates = searched.list_candidates(self.candidates, seed)
        race = searched.start_race(candidates, folds, seed)
        # each candidate on each fold, and a few times more with more samples
        n_more = STEPS + 1 if plan.whole is not None or clock.budget is not None else 0
        context = self._init_callback_context(max_subtasks=(len(folds) + n_more) * len(candidates))
        context.call_on_fit_task_begin(estimator=self)
        with one_thread(min(searched.n_rows, self.max_rows + searched.n_unlabelled) <= ONE_THREAD):
            report = lambda: self._report(context, race)  # noqa: E731
            schedule = Schedule(race, clock, self.n_jobs, report, task.n_rows)
            stopped = schedule.run(plan)
            _check_some_worked(race)
            start = time.monotonic()
            fitted, result, winner = self._fit_winner(schedule, stopped, task, seed)
            self._forget()
            self.blend_: Any = None
            if fitted is not None:
                self.best_estimator_, self.best_kernel_ = fitted.pipeline, fitted.unscaled_kernel
                self.refit_seconds_ = time.monotonic() - start
            if isinstance(race, SampleRace):
                self.cv_results_, self.best_index_ = race.cv_results(), winner
                self._keep_scores(race, winner, fitted)
                if fitted is not None and self._has_blend(race, result):
                    fit = partial(self._refit, schedule, task=task, seed=seed)
                    result = self._fit_blend(race, winner, fitted, result, clock, fit)
        self.compile_seconds_ = clock.excused
        asked = self.cv if isinstance(self.cv, int) else len(folds)
        self.result_ = result._replace(n_splits=max(asked, result.n_splits))
        for sentence in doubts(self.result_):
            warnings.warn(sentence, SearchWarning, stacklevel=4)
        context.call_on_fit_task_end(estimator=self)

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
    def std_error_(self) -> float:
        """The standard error of the score, or of the error."""
        return float(self._outcome().measure.std_error)

    @property
    def stopped_(self) -> str | None:
        """What ended the search early, if anything did."""
        return self.result_.stopped

    @property
    def rows_used_(self) -> int:
        """The number of samples that the winner was fitted to."""
        return self._outcome().n_fitted

    def _winner(self) -> Any:
        """Return the fitted winner, or say why there is none."""
        check_is_fitted(self, "result_")
        self._check_refit()
        return self.best_estimator_

    def _check_refit(self) -> bool:
        """Say so if there is no model, nor will be one."""
        if not hasattr(self, "best_estimator_") and (hasattr(self, "result_") or not self.refit):
            raise AttributeError("the winner was not fitted: use refit=True")
        return True

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

    def _check_parameters(self) -> None:
        if not isinstance(self.cv, Iterable) and not hasattr(self.cv, "split"):
            check_count(self.cv, "cv", least=2)
        check_count(self.max_rows, "max_rows", least=10)
        if self.budget is not None:
            check_positive(self.budget, "budget")
        check_option(self.blend, "blend", ("auto", True, False))

    def _check_blend(self, scoring: Scoring) -> None:
        if self.blend is True and scoring.slope is None:
            raise ValueError(
                f"blend=True needs a score of single samples, and {scoring.name} is one of whole folds: use "
                "another scoring, or blend=False"
            )

    def _count(self, X: Array, y: NDArray[Any], groups: Any, sample_weight: Any) -> Counted:
        """Return the samples of a positive weight, with their groups, and how they are split.

        Weights that are whole numbers are repeats. Others count by their ratios: some sum to one, and C would
        be in no grid.
        """
        if groups is not None:
            groups = column_or_1d(groups)
            check_consistent_length(X, groups)
        if sample_weight is None:
            return Counted(X, y, groups, None, self.cv)
        sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        counts, cv = sample_weight > 0, self.cv
        if not isinstance(cv, int) and not counts.all():
            cv = _folds_among(counts, cv, X, y, groups, classifier=is_classifier(self))
        groups = None if groups is None else groups[counts]
        weight = sample_weight[counts]
        weight = weight if np.all(weight == np.round(weight)) else weight / weight.mean()
        return Counted(X[counts], y[counts], groups, weight, cv)

    def _encode_more(self, unlabelled: Any, n_features: int) -> Array | None:
        """Return samples without labels as the others are."""
        if unlabelled is not None and self.encoder_ is not None:
            unlabelled = self.encoder_.transform(unlabelled)
        elif unlabelled is not None:
            _check_feature_names(self, unlabelled, reset=False)
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
        self, schedule: Schedule, stopped: str | None, task: Task, seed: int
    ) -> tuple[Fitted | None, SearchResult, int]:
        """Fit the winner to all samples, or to as many as there is time for; if that fails, the next best."""
        race = schedule.race
        while True:
            winner = race.winner()
            result = race.result(winner, stopped)
            if not self.refit:
                return None, result, winner
            try:
                fitted, n_fitted, interrupted = self._refit(schedule, winner, task, seed)
            except Exception as error:
                race.fail(winner, reason(error))
                if not len(race.finalists()):
                    raise
                continue
            result = result._replace(stopped="interrupt") if interrupted else result
            return fitted, result._replace(n_fitted=n_fitted), winner

    def _has_blend(self, race: SampleRace, result: SearchResult) -> bool:
        """Return whether a blend predicts: if there are several to blend, and nobody waits."""
        if result.stopped == "interrupt" or len(np.unique(race.rule.candidate[race.finalists()])) < 2:
            return False
        return self._blends(race) if self.blend == "auto" else bool(self.blend)

    def _fit_blend(
        self,
        race: SampleRace,
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
        measure = self._keep_blend(ballot, weights, estimators, fitted.unscaled_kernel)
        return result._replace(
            measure=measure,
            blend=dict(zip(self.blend_.names, self.blend_.weights.tolist(), strict=True)),
            stopped="interrupt" if interrupted else result.stopped,
        )

    def _refit(self, schedule: Schedule, winner: int, task: Task, seed: int) -> tuple[Fitted, int, bool]:
        """Return the fitted winner, the number of samples, and whether it was interrupted for fewer.

        Where it is to be fitted to many more samples than it was timed on, and might take too long, it is
        timed on a part of them first, which is the model if there is no time for more.
        """
        race, clock = schedule.race, schedule.clock
        entry = race.entries[winner]
        candidate, timed = race.candidates[entry.candidate], schedule.timed(winner)
        looked_at = race.n_rows / task.n_rows

        def share() -> float:  # so many as were looked at cost little more than a fold did
            most = min(timed.most_rows(SAFE * max(clock.left(), 0.0)), candidate.most_rows)
            return float(np.clip(most / task.n_rows, looked_at, 1.0))

        used, some = task.part(share(), seed), task.part(share() / STEP, seed)
        if timed.n_rows < some.n_rows < used.n_rows and timed.foretell(used.n_rows) > clock.left():
            start = time.monotonic()
            first = _fit_last(some, candidate, entry.setting, clock)
            timed = timed.then(some.n_rows, time.monotonic() - start)
            used = task.part(share(), seed)
            if used.n_rows < MORE * some.n_rows:
                return first, len(some.X), False
        fewer = task.part(looked_at, seed)
        try:
            return _fit_last(used, candidate, entry.setting, clock), len(used.X), False
        except (KeyboardInterrupt, MemoryError) as error:  # then to as many as in the comparison
            if len(fewer.X) >= len(used.X):  # which would begin the same again
                raise
            interrupted = isinstance(error, KeyboardInterrupt)
            if not interrupted:
                warnings.warn(f"{candidate.name} is fitted to fewer samples: {error}", stacklevel=4)
            return _fit_last(fewer, candidate, entry.setting, clock), len(fewer.X), interrupted


def _fit_last(task: Task, candidate: Candidate, setting: dict[str, Any], clock: Clock) -> Fitted:
    """Fit a candidate to everything that a task holds; compiling does not count."""
    with compiling() as spent:
        try:
            return task.fit(candidate, setting)
        finally:
            clock.excused += spent.seconds


def _folds_among(
    counts: Flags, cv: Any, X: Array, y: NDArray[Any], groups: Any, *, classifier: bool
) -> list[tuple[Index, Index]]:
    """Return a splitter's folds of all samples, by the numbers that those that count will have."""
    number, rows = np.cumsum(counts) - 1, np.arange(len(y))
    splits = check_cv(cv, y, classifier=classifier).split(X, y, groups)
    parts = ((rows[train], rows[test]) for train, test in splits)
    return [(number[train[counts[train]]], number[test[counts[test]]]) for train, test in parts]


def _check_some_worked(race: Race) -> None:
    if not len(race.finalists()):
        notes: dict[str, list[str]] = {}
        for i, fate in race.fates.items():
            notes.setdefault(fate.note, []).append(race.candidates[i].name)
        reasons = "; ".join(f"{', '.join(names)}: {note}" for note, names in notes.items())
        raise ValueError(f"no candidate could be fitted ({reasons})")
