"""What both searches are: a race, a model of its best, and how good that is; all of it in one object."""

import time
import warnings
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import Tags, check_random_state, column_or_1d
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
)

from mercer._typing import Array, Index
from mercer.learners.base import check_unlabelled
from mercer.parameters import check_count, check_option, check_positive
from mercer.scikit import CallbackContext, CallbackSupportMixin, check_feature_names, check_sample_weight
from mercer.search.blend import SETTINGS, Ballot
from mercer.search.clock import Clock, Deadline, WallClock
from mercer.search.fitting import Fitted, reason
from mercer.search.race import Race, names_of
from mercer.search.ranking import Ranking
from mercer.search.result import Difference, SearchResult, SearchWarning
from mercer.search.words import doubts
from mercer.validation import encode_rows, from_frame

if TYPE_CHECKING:
    import pandas as pd

OF_SAMPLES = ("n_features_in_", "feature_names_in_", "encoder_")  # what a fit knows before it searches


BETWEEN = 0.5  # seconds between two looks at the ranking, which takes some time itself


class HeldOut(NamedTuple):
    """What the model says of samples that had no part in it: its members' fits, weights and calibration."""

    rows: Index  # of what was given to `fit`; of pairs both (n, 2)
    said: (
        Array  # probabilities of classes (n, n_classes), or predicted numbers (n,); of pairs (n, 2): whether
    )
    # they are similar, and how far apart


class Counted(NamedTuple):
    """The samples that count, of what a search was given, and how they are split."""

    X: Array
    y: NDArray[Any]
    groups: NDArray[Any] | None
    sample_weight: Array | None
    cv: Any
    rows: Index  # of what was given


class Chosen(NamedTuple):
    """The members of a model: settings that are fitted, with their weights and units."""

    ballot: Ballot
    entries: list[int]
    fitted: list[Fitted]
    weights: Array
    units: list[Any]
    n_rows: int


class KernelSearch(CallbackSupportMixin, BaseEstimator):
    """A search among candidates, which has the parameters of `KernelSearchCV` but those about classes."""

    def _search(self, task: Any, cv: Any, clock: Clock | None, rows: Index) -> None:
        """Run the race, fit the members of the model, and measure it."""
        wall = WallClock() if clock is None else None
        given: Clock = wall or clock  # type: ignore[assignment]
        deadline = Deadline(given, given.now(), self.budget)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        remarks = tuple(task.remarks())
        for sentence in remarks:
            warnings.warn(sentence, SearchWarning, stacklevel=4)
        folds, candidates = task.folds(cv, seed), task.candidates(self.candidates, seed)
        self._next_look = 0.0
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self)
        with nullcontext() if wall is None else wall.watching():
            report = lambda race: self._report(context, race)  # noqa: E731
            race = Race(task, candidates, folds, seed, deadline, self.n_jobs, report)
            stopped = race.run(self.max_rows)
            race.check_some_worked()
            del self._next_look
            conclude = self._conclude if task.blends else self._conclude_pairs
            result = conclude(race, stopped, rows)
            self.compile_seconds_ = 0.0 if wall is None else wall.compiled
        self.result_ = result._replace(remarks=remarks)
        if task.blends:
            self.cv_results_ = Ranking(race).cv_results()
        for sentence in doubts(self.result_):
            warnings.warn(sentence, SearchWarning, stacklevel=4)
        context.call_on_fit_task_end(estimator=self)

    def _conclude(self, race: Race, stopped: str | None, rows: Index) -> SearchResult:
        """Make the model of the best, and say how good it is."""
        ranking, task = Ranking(race), race.task
        ballot, members, interrupted = self._fit_members(race, alone=stopped == "interrupt" or not self.blend)
        values = ballot.held_out()
        losses = ballot.judge(values)
        finish, entries = task.finish(values, ballot.rows), race.finalists()
        result = ranking.result()
        measure = ranking.of_losses(float(losses.mean()), losses, ballot.places, entries)
        if not self.blend:  # the choice is among all settings
            measure = ranking.measure(entries)
        self._forget()
        names = names_of(race, members.entries)
        main = members.entries[0]
        if self.refit:
            pipelines = [one.pipeline for one in members.fitted]
            self.model_ = task.model(
                list(zip(names, pipelines, strict=True)), members.weights, members.units, finish
            )
            self.best_estimator_, self.best_kernel_ = pipelines[0], members.fitted[0].unscaled_kernel
        self.best_index_ = main
        self.held_out_ = HeldOut(rows[ballot.rows], task.said(values, finish))
        shares: dict[str, float] = {}
        settings: dict[str, dict[str, Any]] = {}
        for name, e, weight in zip(names, members.entries, members.weights.tolist(), strict=True):
            shares[name] = shares.get(name, 0.0) + weight
            settings.setdefault(name, race.entries[e].setting)
        lines = tuple(
            one._replace(settings=settings[one.name]) if one.name in settings else one
            for one in result.candidates
        )
        versus, gain = (
            ranking.compare_model(losses, ballot.places, entries, other)
            for other in (race.reference, race.baseline)
        )
        return result._replace(
            candidates=lines,
            winner=names[0],
            settings=settings[names[0]],
            measure=measure,
            n_fitted=members.n_rows if self.refit else 0,
            stopped="interrupt" if interrupted else stopped or ("budget" if race.waits else None),
            gain=gain,
            versus=versus if set(names) != {task.reference} else Difference(),
            n_splits=int(race.wanted[main]),
            n_trained=int(race.n_trained[main]),
            blend=shares,
            decision=task.describe(finish),
        )

    def _fit_members(self, race: Race, *, alone: bool) -> tuple[Ballot, Chosen, bool]:
        """Fit the members to all samples, those that count most first; whom no time is left for is none.

        Then weights and units are those of the others: what is measured is what predicts.
        """
        while True:
            race.check_some_worked()
            best = race.choose(race.finalists())
            only = [int(race.rule.candidate[best])] if alone else None
            ballot = Ballot.of(race, only, 1 if alone else SETTINGS)
            every = np.arange(len(ballot.rows))
            own = [int(np.flatnonzero(ballot.entries == best)[0])] if alone else ballot.own(every)
            weights, _ = ballot.weigh(own, every)
            order = [own[k] for k in np.argsort(-weights, kind="stable") if weights[k] > 0]
            wanted = [int(ballot.entries[k]) for k in order]
            fitted, n_rows, interrupted = self._fit_each(race, wanted)
            if fitted:
                break
        if len(fitted) < len(wanted):
            ballot = Ballot.of(race, [int(race.rule.candidate[e]) for e in fitted], ballot.n_settings)
            every = np.arange(len(ballot.rows))
        own = [int(np.flatnonzero(ballot.entries == e)[0]) for e in fitted]
        weights, units = ballot.weigh(own, every)
        of = race.rule.candidate[list(fitted)]
        share = np.bincount(of, weights)[of]  # a candidate counts by all of its settings
        kept = [k for k in np.lexsort([-weights, of, -share.round(9)]) if weights[k] > 0]
        entries = [list(fitted)[k] for k in kept]
        chosen = Chosen(
            ballot,
            entries,
            [fitted[e] for e in entries],
            weights[kept] / weights[kept].sum(),
            [units[k] for k in kept],
            n_rows,
        )
        return ballot, chosen, interrupted

    def _fit_each(self, race: Race, wanted: Sequence[int]) -> tuple[dict[int, Any], int, bool]:
        """Return the fits that there was time for, to how many samples, and whether it was interrupted."""
        if not self.refit:
            return dict.fromkeys(wanted), 0, False
        fitted: dict[int, Any] = {}
        n_rows = race.n_all
        for e in wanted:
            i = int(race.rule.candidate[e])
            if fitted and race.last_seconds(e, n_rows) > race.deadline.left() and i != race.baseline:
                race.waits = True
                continue
            n_rows = n_rows if fitted else race.last_rows(e)
            rows = np.arange(race.n_all) if n_rows == race.n_all else np.sort(race.folds[0][0][:n_rows])
            try:
                with warnings.catch_warnings(action="ignore"):
                    fitted[e] = race.task.fit(race.candidates[i], race.entries[e].setting, rows)
            except KeyboardInterrupt:
                if not fitted:
                    raise
                return fitted, n_rows, True
            except Exception as error:  # the others do without it
                race.fail(e, reason(error))
                if not len(race.finalists()):
                    raise
        return fitted, n_rows, False

    def _conclude_pairs(self, race: Race, stopped: str | None, rows: Index) -> SearchResult:
        """Fit the best learner to all pairs, and say how good it is; there is nothing to blend."""
        ranking = Ranking(race)
        winner = race.choose(race.finalists())
        candidate, setting = race.entries[winner]
        fitted = race.task.fit(race.candidates[candidate], setting) if self.refit else None
        self._forget()
        if fitted is not None:
            self.best_estimator_, self.best_kernel_ = fitted.pipeline, fitted.unscaled_kernel
        fold = int(np.flatnonzero(race.done[winner])[0])
        pairs, said = race.parts[fold], race.said[winner][race.fold == fold]
        is_similar = np.repeat([1.0, 0.0], [len(pairs.similar), len(pairs.dissimilar)])
        self.held_out_ = HeldOut(
            race.task.samples.y[np.vstack(pairs)], np.column_stack([is_similar, np.sqrt(-said[:, 0])])
        )
        return ranking.result()._replace(
            winner=race.candidates[candidate].name,
            settings=setting,
            measure=ranking.measure(race.finalists()),
            n_fitted=len(race.task.samples.X),
            stopped=stopped,
            n_trained=int(race.n_trained[winner]),
        )

    # What is known afterwards

    @property
    def leaderboard_(self) -> "pd.DataFrame":
        """The ranking as a table."""
        check_is_fitted(self, "result_")
        return self.result_.as_table()

    @property
    def best_name_(self) -> str:
        """The main member of the model."""
        return str(self._outcome().winner)

    @property
    def best_settings_(self) -> dict[str, Any]:
        """The settings of the main member."""
        return self._outcome().settings

    @property
    def best_params_(self) -> dict[str, Any]:
        """The settings of the main member, as scikit-learn's searches call them."""
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
        """The number of samples that the model was fitted to."""
        return self._outcome().n_fitted

    def _model(self) -> Any:
        """Return what predicts, or say why there is nothing."""
        check_is_fitted(self, "result_")
        self._check_refit()
        return self.model_

    def _check_refit(self) -> bool:
        """Say so if there is no model, nor will be one."""
        if not hasattr(self, "best_estimator_") and (hasattr(self, "result_") or not self.refit):
            raise AttributeError("no model was fitted: use refit=True")
        return True

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

    def _html_repr(self) -> str:
        """Return what a notebook shows: the headline and the ranking, and the estimator."""
        diagram: str = super()._html_repr()
        return f"{self.result_._repr_html_()}{diagram}" if hasattr(self, "result_") else diagram

    def _forget(self) -> None:
        """Take out what an earlier fit left: it may have been to pairs, or with another `refit`."""
        for name in [name for name in vars(self) if name.endswith("_") and name not in OF_SAMPLES]:
            delattr(self, name)

    def _report(self, context: CallbackContext, race: Race) -> bool:
        """Tell callbacks, if there are any, that a candidate is done with a fold; they may ask to stop."""
        if not hasattr(self, "_skl_callbacks"):
            return False
        if time.monotonic() >= self._next_look:
            self.result_ = Ranking(race).result()
            self._next_look = time.monotonic() + BETWEEN
        task = context.subcontext("candidate")
        task.call_on_fit_task_begin(estimator=self)
        return bool(task.call_on_fit_task_end(estimator=self))

    # What is given

    def _check_parameters(self) -> None:
        if not isinstance(self.cv, Iterable) and not hasattr(self.cv, "split"):
            check_count(self.cv, "cv", least=2)
        check_count(self.max_rows, "max_rows", least=10)
        if self.budget is not None:
            check_positive(self.budget, "budget")
        check_option(self.blend, "blend", (True, False))

    def _encode(self, X: Any, *y: Any, reset: bool = True, unlabelled: Any = None) -> Any:
        """Return samples as numbers; a table is encoded, by all that is known of its columns."""
        return encode_rows(self, X, *y, reset=reset, encoder=self.encoder, more=unlabelled)

    def _encode_more(self, unlabelled: Any, n_features: int) -> Array | None:
        """Return samples without targets as the others are."""
        unlabelled = from_frame(unlabelled)
        if unlabelled is not None and self.encoder_ is not None:
            unlabelled = self.encoder_.transform(unlabelled)
        elif unlabelled is not None:
            check_feature_names(self, unlabelled, reset=False)
        return check_unlabelled(unlabelled, n_features)

    def _count(self, X: Array, y: NDArray[Any], groups: Any, sample_weight: Any) -> Counted:
        """Return the samples of a positive weight, with their groups, and how they are split.

        Weights that are whole numbers are repeats. Others count by their ratios: some sum to one, and C would
        be in no grid.
        """
        every = np.arange(len(y))
        if groups is not None:
            groups = column_or_1d(groups)
            check_consistent_length(X, groups)
        if sample_weight is None:
            return Counted(X, y, groups, None, self.cv, every)
        sample_weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        counts, cv = sample_weight > 0, self.cv
        if (
            not isinstance(cv, int) and not counts.all()
        ):  # folds of all samples, by the numbers of those that count
            number, splits = np.cumsum(counts) - 1, check_cv(cv, y, classifier=is_classifier(self))
            parts = ((every[a], every[b]) for a, b in splits.split(X, y, groups))
            cv = [(number[a[counts[a]]], number[b[counts[b]]]) for a, b in parts]
        groups = None if groups is None else groups[counts]
        weight = sample_weight[counts]
        weight = weight if np.all(weight == np.round(weight)) else weight / weight.mean()
        return Counted(X[counts], y[counts], groups, weight, cv, every[counts])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.encoder is not None
        return tags
