"""What every machine is: a kernel, a loss, and rows. Its fronts are the classifier and the regressor."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state

from mercer._typing import Array, Index
from mercer.array_api import is_of_numpy, is_of_torch, namespace
from mercer.learners.base import report_steps
from mercer.limits import check_gram_fits
from mercer.machines.extent import check_extent
from mercer.machines.functions import features_of, has_features
from mercer.machines.losses import MachineLoss
from mercer.machines.places import check_place, follow, is_lazy
from mercer.machines.problems import How, Options, Problems, Solved, TrainingSamples
from mercer.machines.rows_of import METHODS, choose_method, prepare
from mercer.machines.samples import PreparedSamples
from mercer.machines.selection import Folds, Trial, Tried, go_along, make_grid
from mercer.parameters import check_count, check_option, check_positive
from mercer.scikit import CallbackContext, CallbackSupportMixin, with_callbacks
from mercer.solvers.newton import Loss

FEW_CLASSES = 5  # of fewer, problems are not so many that LIBSVM should have them all at once


class Fit(NamedTuple):
    """What a fit is of."""

    samples: Any  # TrainingSamples
    loss: MachineLoss
    how: How
    groups: Any
    given: dict[str, Any]  # pairs and unlabelled samples, for a learner
    context: CallbackContext


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
    def _check_parameters(self) -> MachineLoss:
        """Return the loss."""

    @abstractmethod
    def _check_samples(self, X: Any, y: Any, sample_weight: Any, loss: MachineLoss) -> TrainingSamples:
        """Check what `fit` was given."""

    @abstractmethod
    def _targets(self, samples: Any) -> Any:
        """Return the targets of samples, as `fit` takes them."""

    @abstractmethod
    def _pose(self, samples: Any, loss: MachineLoss) -> Problems:
        """Return the problems of some samples, and remember how their values become answers."""

    @abstractmethod
    def _select(self, fit: Fit, kernels: list[Any]) -> tuple[Any, float, float]:
        """Return the kernel, the C and the factor of f of the best mean score, of equals the smallest C."""

    @abstractmethod
    def _solve(self, fit: Fit, options: Options) -> list[Solved]:
        """Solve all problems of the samples that count with one kernel, or each with its own."""

    @abstractmethod
    def _judge(self, values: Array, test: Any, loss: MachineLoss) -> tuple[list[float], Array | None]:
        """Return the score of values of test samples for each factor; predictions of numbers, too."""

    @abstractmethod
    def _keep(self, each: list[Solved], rows: Any) -> None:
        """Keep what was found, of these rows."""

    def _run(self, X: Any, y: Any, sample_weight: Any, groups: Any, given: dict[str, Any]) -> Self:
        context = self._init_callback_context(max_subtasks=None, sequential_subtasks=False)
        context.call_on_fit_task_begin(estimator=self)
        loss = self._check_parameters()
        if is_lazy(X):
            from mercer.machines.distributed import fit_chunks  # and Dask, which is here

            fit_chunks(self, X, y, sample_weight, loss, context)
        else:
            samples = self._check_samples(X, y, sample_weight, loss)
            self._fit(Fit(samples, loss, self._how(), groups, given, context))
            follow(self, X)
        context.call_on_fit_task_end(estimator=self)
        return self

    def _fit(self, fit: Fit) -> None:
        """Choose what is to be chosen, solve all problems, and keep the result."""
        samples, loss = fit.samples, fit.loss
        check_extent(samples.X, samples.weight, self.Cs_ if self._selects else self._penalty)
        if not self._computes_on(samples.X):
            samples = samples.in_memory(self)
        kernels = self._kernels(samples.X, self._targets(samples), samples.given, fit.given)
        self.kernel_, C, factor = kernels[0], self._penalty, 1.0
        counted, rows = samples.counted()
        how = self._resolve(loss.solver, counted.X, self._effort(counted))
        if self._selects:
            self.kernel_, C, factor = self._select(fit._replace(samples=samples, how=how), kernels)
        self.C_ = float(C)
        with self._reporting(fit.context) as options:
            each = self._solve(fit._replace(samples=counted, how=how), options)
        self._warn_unless_done(each)
        self._keep([solved._replace(function=solved.function.scaled(factor)) for solved in each], rows)

    @property
    @abstractmethod
    def _learns(self) -> bool:
        """Whether the kernel is learned from the targets: then each fold must learn its own."""

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
    @abstractmethod
    def _is_relative(self) -> bool:
        """Whether C is divided by the spread of the samples, so that the kernel's scale does not matter."""

    def _unit(self, prepared: PreparedSamples, samples: TrainingSamples) -> float:
        """Return what C is divided by."""
        return (prepared.spread(samples.given) if self._is_relative else 0.0) or 1.0

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

    def _resolve(self, loss: Loss, X: Array, effort: float = np.inf) -> How:
        """Decide how to compute, once for all problems and folds; numbers are of no classes."""
        how, n_classes = self._how(), len(getattr(self, "classes_", ()))
        self.method_ = choose_method(self.kernel_, how, loss, X.shape, n_classes, effort)
        is_random = self._selects or self.method_ in ("sliced", "landmarks") or how.max_bins is not None
        seed = self._draw_seed() if is_random else 0
        return how._replace(method=self.method_, seed=seed, loss=loss, n_classes=n_classes)

    def _effort(self, samples: TrainingSamples) -> float:
        """Return C times the variance of the samples, in which LIBSVM's time grows, where it is asked for."""
        n_classes = len(getattr(self, "classes_", ()))
        if self._selects or n_classes < FEW_CLASSES or not has_features(self.kernel_):
            return np.inf
        C = float(self._penalty) * float(samples.weight.max())
        if self._is_relative:
            return C
        return C * float(namespace(samples.X).var(features_of(self.kernel_, samples.X), axis=0).sum())

    def _learns_in_folds(self, fit: Fit) -> bool:
        """Return whether each fold learns its own kernel: one from pairs has seen no targets."""
        return self._learns and "pairs" not in fit.given

    def _compare(self, fit: Fit, folds: Folds, kernels: Sequence[Any]) -> Tried:
        """Return the best of all kernels and C, and keep the scores."""
        results, learns = [], self._learns_in_folds(fit)
        for number, kernel in enumerate(kernels):
            names = [f"{number}, {k}" for k in range(len(folds))]
            tasks = [fit.context.subcontext("fold", task_id=name, max_subtasks=0) for name in names]
            for task in tasks:
                task.call_on_fit_task_begin(estimator=self)
            walks = self._walks(fit, folds, None if learns else kernel, self.Cs_)
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

    def _walks(self, fit: Fit, folds: Folds, kernel: Any, Cs: Array) -> list[Iterator[Trial]]:
        """Return the way of each fold along the path of C; without a kernel, each fold learns its own."""
        if kernel is None:
            return [self._learn_fold(fit, *fold, Cs) for fold in folds]
        rows = np.unique(np.concatenate([part for fold in folds for part in fold]))
        if fit.how.method == "gram" and len(folds) > 1:  # which go along their paths together
            check_gram_fits(max(len(train) for train, _ in folds), "Use fewer folds.", len(folds))
        some, place = fit.samples.select(rows), np.zeros(len(fit.samples.X), dtype=np.intp)
        place[rows] = np.arange(len(rows))
        prepared = prepare(kernel, some.X, fit.how)
        return [self._walk(prepared, some, place[train], place[test], fit.loss, Cs) for train, test in folds]

    def _learn_fold(self, fit: Fit, train: Index, test: Index, Cs: Array) -> Iterator[Trial]:
        learner, known, n = copy(self), fit.samples.select(train), len(train)
        (kernel,) = learner._kernels(known.X, self._targets(known), known.weight, fit.given)
        both = fit.samples.select(np.concatenate([train, test]))
        prepared = prepare(kernel, both.X, fit.how)
        yield from self._walk(prepared, both, np.arange(n), np.arange(n, len(both.X)), fit.loss, Cs)

    def _walk(
        self,
        prepared: PreparedSamples,
        samples: TrainingSamples,
        train: Index,
        test: Index,
        loss: MachineLoss,
        Cs: Array,
    ) -> Iterator[Trial]:
        """Fit the training samples of a fold for each C, and look at its test samples."""
        known, part, held_out = samples.select(train), prepared.select(train), samples.select(test)
        candidate, options = copy(self), self._options()._replace(n_jobs=1)
        problems = candidate._pose(known, loss)
        path = list(np.asarray(Cs) / self._unit(part, known))
        for solved in part.solve_path(problems, path, loss.solver, options):
            candidate.machines_ = [solved.function]
            scores, predicted = candidate._judge(prepared.values(solved, test, train), held_out, loss)
            yield Trial(scores, None if solved.is_done else solved, predicted)

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

    @property
    def _learns(self) -> bool:
        return False

    @property
    def _is_relative(self) -> bool:
        return False

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
