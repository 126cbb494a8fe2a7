"""What every machine is: a kernel, a loss, and rows. Its fronts are the classifier and the regressor."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackContext, CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state

from mercer._typing import Array, Index
from mercer.array_api import is_of_numpy, is_of_torch, namespace
from mercer.learners.base import report_steps
from mercer.limits import check_gram_fits
from mercer.machines.extent import check_extent
from mercer.machines.places import check_place
from mercer.machines.problems import How, Options, Solved, TrainingSamples
from mercer.machines.rows_of import METHODS, choose_method, prepare
from mercer.machines.samples import PreparedSamples
from mercer.machines.selection import Folds, Trial, Tried, go_along, make_grid
from mercer.parameters import check_count, check_option, check_positive
from mercer.solvers.newton import HINGE, Loss


@dataclass(kw_only=True, eq=False, repr=False)
class Machine(CallbackSupportMixin, BaseEstimator, ABC):
    r"""A machine of a kernel k and a loss ℓ: min ½‖f‖²_k + C Σ_i w_i ℓ(y_i, f(x_i) + b).

    A subclass says which kernels it chooses among (`_kernels`) and how its parameters say to compute
    (`_how`). Parameters are fields, which subclasses add to: scikit-learn reads them from `__init__`.
    """

    C: float | str | None = field(default=1.0, kw_only=False)
    loss: Any = "hinge"
    Cs: int | ArrayLike = 11
    cv: Any = 5
    scoring: Any = None
    tol: float = 1e-3
    max_iter: int | None = None
    random_state: Any = None
    n_jobs: int | None = None

    _methods: ClassVar[Sequence[str]] = METHODS
    _grid: ClassVar[tuple[int, int]]  # exponents of two: the ends of a grid of C of so many values

    @abstractmethod
    def _kernels(self, X: Array, y: Any, weight: Array, given: dict[str, Any]) -> list[Any]:
        """Return the kernels to choose among, learned from samples if there is something to learn."""

    @abstractmethod
    def _how(self) -> How:
        """Return how to compute, as the parameters say: `choose_method` says what "auto" is."""

    @abstractmethod
    def _fit(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, given: dict[str, Any], context: CallbackContext
    ) -> None:
        """Choose what is to be chosen, solve all problems, and keep the result."""

    def _run(self, X: Any, y: Any, sample_weight: Any, groups: Any, given: dict[str, Any]) -> Self:
        context = self._init_callback_context(max_subtasks=None, sequential_subtasks=False)
        context.call_on_fit_task_begin(estimator=self)
        self._fit(X, y, sample_weight, groups, given, context)
        context.call_on_fit_task_end(estimator=self)
        return self

    @property
    def _learns(self) -> bool:
        """Whether the kernel is learned from the targets: then each fold must learn its own."""
        return False

    @property
    def _penalty(self) -> Any:
        return self._default_penalty if self.C is None else self.C

    @property
    def _default_penalty(self) -> Any:
        """What `C` is if it is None."""
        return None

    @property
    def _selects(self) -> bool:
        return isinstance(self._penalty, str)

    @property
    def _is_relative(self) -> bool:
        """Whether C is divided by the spread of the samples, so that the kernel's scale does not matter."""
        return False

    def _unit(self, prepared: PreparedSamples, weight: Array) -> float:
        """Return what C is divided by."""
        return (prepared.spread(weight) if self._is_relative else 0.0) or 1.0

    def _check_machine(self) -> None:
        """Check the parameters that all machines have."""
        for name in ("Cs_", "scores_", "gammas_", "unseen_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if self._selects:
            check_option(self._penalty, "C", ("cv",))
            self.Cs_ = make_grid(self.Cs, *self._grid)
        else:
            check_positive(self._penalty, "C")
        check_positive(self.tol, "tol")
        if self.max_iter is not None:
            check_count(self.max_iter, "max_iter")
        how = self._how()
        check_option(how.method, "method", self._methods)
        if how.n_landmarks is not None:
            check_count(how.n_landmarks, "n_landmarks")
        if how.max_bins is not None:
            check_count(how.max_bins, "max_bins", least=2, most=65_536)
        if how.n_directions is not None:
            check_count(how.n_directions, "n_directions")

    def _check_extent(self, samples: TrainingSamples) -> None:
        """Check that samples, weights and C are of sizes that can be computed with."""
        check_extent(samples.X, samples.weight, self.Cs_ if self._selects else self._penalty)

    def _resolve(self, kernel: Any, loss: Loss, X: Array, n_classes: int = 0, effort: float = np.inf) -> How:
        """Decide how to compute, once for all problems and folds; numbers are of no classes."""
        how = self._how()
        self.method_ = choose_method(kernel, how, loss, X.shape, n_classes, effort)
        is_random = self._selects or self.method_ in ("sliced", "landmarks") or how.max_bins is not None
        seed = self._draw_seed() if is_random else 0
        return how._replace(method=self.method_, seed=seed, is_hinge=loss is HINGE and n_classes > 0)

    @abstractmethod
    def _targets(self, samples: Any) -> Any:
        """Return the targets of samples, as `fit` takes them."""

    @abstractmethod
    def _walk(
        self, prepared: PreparedSamples, samples: Any, train: Index, test: Index, loss: Any, Cs: Array
    ) -> Iterator[Trial]:
        """Fit the training samples of a fold for each C, and look at its test samples."""

    def _learns_in_folds(self, given: dict[str, Any]) -> bool:
        """Return whether each fold learns its own kernel: one from pairs has seen no targets."""
        return self._learns and "pairs" not in given

    def _compare(
        self,
        samples: TrainingSamples,
        folds: Folds,
        kernels: Sequence[Any],
        how: How,
        given: dict[str, Any],
        loss: Any,
        context: CallbackContext,
    ) -> Tried:
        """Return the best of all kernels and C, and keep the scores."""
        results, learns = [], self._learns_in_folds(given)
        for number, kernel in enumerate(kernels):
            names = [f"{number}, {k}" for k in range(len(folds))]
            tasks = [context.subcontext("fold", task_id=name, max_subtasks=0) for name in names]
            for task in tasks:
                task.call_on_fit_task_begin(estimator=self)
            walks = self._walks(samples, folds, None if learns else kernel, how, given, loss, self.Cs_)
            results.append(go_along(walks, len(self.Cs_), self.n_jobs))
            for task in tasks:
                task.call_on_fit_task_end(estimator=self)
        short = (trial.short for _, trials in results for tried in trials for trial in tried)
        self._warn_unless_done([solved for solved in short if solved is not None])
        every = np.stack([scores for scores, _ in results], axis=2)  # of folds, C, kernels and factors
        means = every.mean(axis=0)
        best, which, factor = (int(k) for k in np.unravel_index(np.nanargmax(means), means.shape))
        self.scores_ = every[:, :, :, factor] if len(kernels) > 1 else every[:, :, 0, factor]
        return Tried(kernels[which], float(self.Cs_[best]), factor, results[which][1][best])

    def _walks(
        self,
        samples: TrainingSamples,
        folds: Folds,
        kernel: Any,
        how: How,
        given: dict[str, Any],
        loss: Any,
        Cs: Array,
    ) -> list[Iterator[Trial]]:
        """Return the way of each fold along the path of C; without a kernel, each fold learns its own."""
        if kernel is None:
            return [self._learn_fold(samples, *fold, how, given, loss, Cs) for fold in folds]
        rows = np.unique(np.concatenate([part for fold in folds for part in fold]))
        if how.method == "gram" and len(folds) > 1:  # which go along their paths together
            check_gram_fits(max(len(train) for train, _ in folds), "Use fewer folds.", len(folds))
        some, place = samples.select(rows), np.zeros(len(samples.X), dtype=np.intp)
        place[rows] = np.arange(len(rows))
        prepared = prepare(kernel, some.X, how)
        return [self._walk(prepared, some, place[train], place[test], loss, Cs) for train, test in folds]

    def _learn_fold(
        self,
        samples: TrainingSamples,
        train: Index,
        test: Index,
        how: How,
        given: dict[str, Any],
        loss: Any,
        Cs: Array,
    ) -> Iterator[Trial]:
        learner, known, n = copy(self), samples.select(train), len(train)
        (kernel,) = learner._kernels(known.X, self._targets(known), known.weight, given)
        both = samples.select(np.concatenate([train, test]))
        prepared = prepare(kernel, both.X, how)
        yield from self._walk(prepared, both, np.arange(n), np.arange(n, len(both.X)), loss, Cs)

    def _draw_seed(self) -> int:
        """Draw one seed for all problems and folds: the same result on one thread and on two."""
        return int(check_random_state(self.random_state).randint(2**31))

    def _computes_on(self, X: Array) -> bool:
        """Return whether samples are computed with where they are, or by way of NumPy."""
        if is_of_numpy(X):
            return True
        how = self._how()
        return is_of_torch(X) and not (how.method == "table" and how.max_bins is None)

    @property
    def edge_(self) -> str | None:
        """The end of the values that `C_` is at, "lower" or "upper"; there, further values may be better."""
        if not self._selects:
            return None
        ends = {float(self.Cs_[0]): "lower", float(self.Cs_[-1]): "upper"}
        return ends.get(self.C_) if len(self.Cs_) > 1 else None

    @contextmanager
    def _reporting(self, context: CallbackContext) -> Any:
        """Give the options of a solver, whose Newton steps the callbacks see, problem by problem."""
        tasks: dict[int, CallbackContext] = {}

        def report(k: int) -> Callable[[int], bool] | None:
            tasks[k] = context.subcontext("problem", task_id=f"problem {k}", max_subtasks=None)
            tasks[k].call_on_fit_task_begin(estimator=self)
            return report_steps(self, tasks[k], "newton step")

        watched = hasattr(self, "_skl_callbacks")
        yield self._options()._replace(report=report if watched else None)
        for task in tasks.values():
            task.call_on_fit_task_end(estimator=self)

    def _options(self) -> Options:
        return Options(float(self.tol), self.max_iter, self.n_jobs)

    def _warn_unless_done(self, each: Sequence[Solved]) -> None:
        short = [solved for solved in each if not solved.is_done]
        if short:
            worst = max(short, key=lambda solved: float(np.max(solved.residual)))
            warnings.warn(
                f"{type(self).__name__} stopped after {int(np.max(worst.n_iter))} iterations with a residual "
                f"of {float(np.max(worst.residual)):.1e} (tol={self.tol:g}). Scale the features, or increase "
                "max_iter.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _values(self, X: Array) -> Array:
        """Return the values of checked rows, one column per problem."""
        values = [function(X) for function in self.machines_]
        return values[0] if len(values) == 1 else namespace(X).concat(values, axis=1)

    @property
    def _fitted_array(self) -> Any:
        """One of the fitted arrays: all are of one library, and on one device."""
        return self.machines_[0].array

    def _check_place(self, X: Any, method: str) -> None:
        check_place(self, X, method)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = True
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class NamedMachine(Machine):
    """A machine of a kernel that has a name: there is nothing to learn but it."""

    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Fit the machine; with ``C="cv"``, choose C by cross-validation first.

        Parameters
        ----------
        X : array-like, dask.array or dask.dataframe of shape (n_samples, n_features)
            The samples. Those of Dask stay where they are, in chunks of rows. So does a tensor, within
            ``sklearn.config_context(array_api_dispatch=True)``.
        y : array-like or collection of Dask of shape (n_samples,), or array-like (n_samples, n_targets)
            Their classes, two or more; or their targets, one number of each sample or several. With samples
            of Dask one alone.
        sample_weight : array-like or collection of Dask of shape (n_samples,), default=None
            What multiplies C for each sample. Samples of weight zero are left out. Scores of folds are
            weighted alike, unless `scoring` is a callable.
        groups : array-like of shape (n_samples,), default=None
            What a splitter such as `sklearn.model_selection.GroupKFold` keeps together, for ``C="cv"``.
        """
        return self._run(X, y, sample_weight, groups, {})
