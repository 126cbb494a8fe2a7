"""What regressors share whose targets are fitted one by one, for a given C or one that is chosen."""

import sys
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_consistent_length

from mercer._typing import Array, Index
from mercer.array_api import is_of_numpy, is_of_torch, like, namespace, to_numpy
from mercer.parameters import check_count, check_positive
from mercer.regression.base import NumberRegressor, Samples, TargetScaling, check_numbers
from mercer.regression.intervals import PredictsIntervals, UnseenErrors
from mercer.regression.losses import NumberLoss, make_loss
from mercer.svm.chunks import is_lazy
from mercer.svm.dual import TablePlan, TwoClassSVM, run_in_threads
from mercer.svm.selection import ChoosesC, check_score, make_grid
from mercer.svm.tensors import check_few, check_place, follow

EXPONENTS = (-12, 10)  # of two: the ends of the default grid
PATIENCE = 2  # values of C in a row that are worse than the best, after which larger ones are not tried, …
CLEARLY = 5.0  # … or one, by so many standard errors: the next would take the longest of all


class PathRegressor(NumberRegressor):
    """A regressor whose targets are fitted one by one. A subclass says how.

    It has the parameters `loss`, `quantile`, `epsilon`, `tol`, `max_iter`, `random_state` and `n_jobs`.
    """

    _takes_tensors: ClassVar[bool] = False

    @property
    def _computes_on_device(self) -> bool:
        """Whether, after `_plan`, tensors of torch are computed with where they are, or by way of NumPy."""
        return False

    @property
    def _fitted_array(self) -> Any:
        """One of the fitted arrays: all are of one library, and on one device."""
        return self._functions[0][0]

    def _check_place(self, X: Any, method: str) -> None:
        if self._takes_tensors:
            check_place(self, X, method)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = self._takes_tensors
        return tags

    @abstractmethod
    def _plan(self, n_rows: int) -> None:
        """Check the parameters, and decide what all targets and folds have in common."""

    def _table(self, loss: NumberLoss, n_features: int) -> TablePlan:
        """Return how samples in chunks become a table; raise if they do not."""
        raise TypeError(
            f"{type(self).__name__} takes no collections of Dask: StumpRegressor and PerceptronRegressor do."
        )

    def _check_room(self, n_rows: int, n_folds: int) -> None:
        """Raise MemoryError if fits to so many rows in each fold, all at once, do not fit in here."""

    @abstractmethod
    def _prepare(self, X: Array) -> Any:
        """Return samples that are ready for fits of any target and C."""

    @abstractmethod
    def _path(
        self, rows: Any, y: Array, weight: Array, Cs: Sequence[float], loss: NumberLoss
    ) -> Iterator[TwoClassSVM]:
        """Fit one standardised target for each C, in ascending order."""

    def _check_training(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> tuple[Samples, NumberLoss]:
        loss = self._check_parameters()
        samples = check_numbers(self, X, y, sample_weight, loss.is_log)
        self._plan(int(np.count_nonzero(samples.weight)))
        if not is_of_numpy(samples.X) and not (is_of_torch(samples.X) and self._computes_on_device):
            check_few(samples.X)
            samples = samples._replace(X=to_numpy(samples.X))
        return samples, make_loss(self.loss, self.quantile, self.epsilon, samples.spread())

    def _check_parameters(self) -> NumberLoss:
        check_positive(self.tol, "tol")
        if self.max_iter is not None:
            check_count(self.max_iter, "max_iter")
        return make_loss(self.loss, self.quantile, self.epsilon)

    def _draw_seed(self) -> None:
        """Draw one seed for all targets and folds: the same result on one thread and on two."""
        self._seed = int(check_random_state(self.random_state).randint(2**31))

    def _fit_all(self, samples: Samples, C: float, loss: NumberLoss) -> None:
        """Fit every target for one C and keep the result."""
        samples = samples.select(np.flatnonzero(samples.weight > 0))
        self._check_room(len(samples.X), 1)
        self._scaling, rows = TargetScaling.of(samples, loss.is_log), self._prepare(samples.X)
        work = [
            partial(self._fit_one, rows, *self._scaling.convert(samples, k), C, loss)
            for k in range(samples.Y.shape[1])
        ]
        fits = run_in_threads(self.n_jobs, work)
        self._warn_unless_converged(fits)
        self._keep(fits)

    def _keep(self, fits: Sequence[TwoClassSVM]) -> None:
        self._functions = [fit.function for fit in fits]
        self.intercept_ = self._shape_numbers(
            self._scaling.offset + self._scaling.scale * np.array([fit.intercept for fit in fits])
        )
        self.objective_ = self._shape_numbers(np.array([fit.objective for fit in fits]))
        self.residual_ = self._shape_numbers(np.array([fit.residual for fit in fits]))
        self.n_iter_ = int(max(fit.n_iter for fit in fits))

    def _fit_one(self, rows: Any, y: Array, weight: Array, C: float, loss: NumberLoss) -> TwoClassSVM:
        (fit,) = self._path(rows, y, weight, [C], loss)
        return fit

    def _values(self, X: Array) -> Array:
        xp = namespace(X)
        values: Array = xp.stack([xp.reshape(function(X), (-1,)) for function in self._functions], axis=1)
        return values

    def _shape_numbers(self, numbers: Array) -> Any:
        return float(numbers[0]) if self._one_target else numbers

    def _warn_unless_converged(self, fits: Sequence[TwoClassSVM]) -> None:
        worst = max(fits, key=lambda fit: fit.residual)
        if worst.residual > self.tol:
            warnings.warn(
                f"{type(self).__name__} stopped after {worst.n_iter} iterations with a residual of "
                f"{worst.residual:.1e} (tol={self.tol:g}). Scale the features, or increase max_iter.",
                ConvergenceWarning,
                stacklevel=5,
            )


class FixedCRegressor(PathRegressor):
    """A `PathRegressor` with a given C."""

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the regressor.

        Parameters
        ----------
        X : array-like, dask.array or dask.dataframe of shape (n_samples, n_features)
            The samples. Those of Dask stay where they are: in chunks of rows, put into bins (`StumpRegressor`
            and slices of `PerceptronRegressor`).
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets: numbers, one of each sample or several. With samples of Dask one alone, which may
            be a collection of Dask.
        sample_weight : array-like or collection of Dask of shape (n_samples,), default=None
            What multiplies C for each sample. Samples of weight zero are left out.
        """
        check_positive(self.C, "C")
        if is_lazy(X):
            self._fit_chunks(X, y, sample_weight)
            return self
        samples, loss = self._check_training(X, y, sample_weight)
        self._fit_all(samples, float(self.C), loss)
        follow(self, X)
        return self

    def _fit_chunks(self, X: Any, y: Any, sample_weight: Any) -> None:
        from mercer.regression.distributed import (
            fit_chunks,  # and Dask, which is here if there is a collection of it
        )

        loss = self._check_parameters()
        self._plan(sys.maxsize)  # whoever has chunks has many rows
        fit = fit_chunks(self, X, y, sample_weight, self._table(loss, X.shape[1]), loss.is_log)
        self._warn_unless_converged([fit])
        self._keep([fit])


class Trial(NamedTuple):
    """What a fold has shown for one C."""

    score: float
    predicted: Array  # of its test rows
    worst: TwoClassSVM  # the least converged fit


def is_past_the_best(scores: Array) -> bool:
    """Return whether the scores (n_folds, n_tried) have been worse than the best, surely or clearly.

    Surely is twice in a row by more than a standard error of the difference, clearly is once by five.
    """
    n_folds, n_tried = scores.shape
    n_since = n_tried - 1 - int(np.argmax(scores.mean(axis=0)))
    if n_folds < 2 or n_since == 0:
        return False
    lost = scores[:, [n_tried - 1 - n_since]] - scores[:, -min(n_since, PATIENCE) :]
    wanted = 1.0 if n_since >= PATIENCE else CLEARLY
    return bool(np.all(lost.mean(axis=0) > wanted * lost.std(axis=0, ddof=1) / np.sqrt(n_folds)))


class SelectedCRegressor(ChoosesC, PredictsIntervals, PathRegressor):
    """A `PathRegressor` whose C has the best cross-validated score. It has `Cs`, `cv` and `scoring`."""

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Choose C by cross-validation, then fit the regressor to all samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets: numbers, one of each sample or several.
        sample_weight : array-like of shape (n_samples,), default=None
            What multiplies C for each sample. The scores are weighted alike, unless `scoring` is a callable.
            Samples of weight zero are left out.
        groups : array-like of shape (n_samples,), default=None
            What a splitter such as `sklearn.model_selection.GroupKFold` keeps together.
        """
        self.Cs_ = make_grid(self.Cs, *EXPONENTS)
        samples, loss = self._check_training(X, y, sample_weight)
        folds = self._split(samples, groups)
        self.scores_, trials = self._run_folds(samples, folds, self.Cs_, loss)
        best = int(np.nanargmax(self.scores_.mean(axis=0)))  # the smallest of equals
        self.C_ = float(self.Cs_[best])
        self._keep_errors(samples, folds, trials[best], loss)
        self._fit_all(samples, self.C_, loss)
        follow(self, X)
        return self

    def _run_folds(
        self, samples: Samples, folds: Sequence[tuple[Index, Index]], Cs: Array, loss: NumberLoss
    ) -> tuple[Array, list[list[Trial]]]:
        """Return the scores of each fold and C, and for each C that was tried what each fold has shown.

        All folds go along their paths together, until larger C are worse: these take the longest.
        """
        self._check_room(max(len(train) for train, _ in folds), len(folds))
        walks = [self._walk(samples, train, test, list(Cs), loss) for train, test in folds]
        scores, trials = np.full((len(folds), len(Cs)), np.nan), []
        for k in range(len(Cs)):
            trials.append(run_in_threads(self.n_jobs, [partial(next, walk) for walk in walks]))
            scores[:, k] = [trial.score for trial in trials[-1]]
            if is_past_the_best(scores[:, : k + 1]):
                break
        self._warn_unless_converged([trial.worst for tried in trials for trial in tried])
        return scores, trials

    def _keep_errors(
        self,
        samples: Samples,
        folds: Sequence[tuple[Index, Index]],
        trials: Sequence[Trial],
        loss: NumberLoss,
    ) -> None:
        test = np.concatenate([test for _, test in folds])
        predicted = np.concatenate([trial.predicted for trial in trials])
        self.unseen_ = UnseenErrors.of(samples.Y[test], predicted, samples.weight[test], loss.is_log)

    def _split(self, samples: Samples, groups: ArrayLike | None) -> list[tuple[Index, Index]]:
        """Return the rows of each fold that count; of a number of folds, rows in random order."""
        check_consistent_length(samples.X, groups)
        if isinstance(self.cv, Integral) and not isinstance(self.cv, bool):
            rows = np.flatnonzero(samples.weight > 0)
            split = KFold(int(self.cv), shuffle=True, random_state=self._seed).split(rows)
        else:
            rows = np.arange(len(samples.X))
            split = check_cv(self.cv).split(samples.X, samples.Y, groups)
        folds = []
        for k, fold in enumerate(split):
            train, test = (part[samples.weight[part] > 0] for part in (rows[np.asarray(f)] for f in fold))
            if len(train) == 0 or len(test) == 0:
                raise ValueError(f"Fold {k} holds no training or no test sample of positive weight.")
            folds.append((train, test))
        return folds

    def _walk(
        self, samples: Samples, train: Index, test: Index, Cs: Sequence[float], loss: NumberLoss
    ) -> Iterator[Trial]:
        """Fit the training rows of a fold for each C, and look at its test rows."""
        known, held_out = samples.select(train), samples.select(test)
        scaling, rows = TargetScaling.of(known, loss.is_log), self._prepare(known.X)
        paths = (self._path(rows, *scaling.convert(known, k), Cs, loss) for k in range(known.Y.shape[1]))
        for fits in zip(*paths, strict=True):
            candidate = copy(self)
            candidate._functions, candidate._scaling = [fit.function for fit in fits], scaling
            predicted = to_numpy(candidate._predict_checked(held_out.X))
            score = self._score(candidate, held_out, predicted, loss)
            yield Trial(score, predicted, max(fits, key=lambda fit: fit.residual))

    def _score(self, candidate: Any, test: Samples, predicted: Array, loss: NumberLoss) -> float:
        """Return the score of a candidate on the test rows."""
        if self.scoring is None:
            return -float(loss.error(test.Y, predicted, sample_weight=test.weight))
        options = {} if callable(self.scoring) else {"sample_weight": test.weight}
        scorer = check_scoring(candidate, scoring=self.scoring)
        score = scorer(candidate, test.X, like(test.X, self._shape(test.Y)), **options)
        return check_score(score, self.scoring, len(test.X))
