"""What every machine is: a kernel, a loss, and rows. Its fronts are the classifier and the regressor."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import has_fit_parameter

from mercer._typing import Array, Index
from mercer.array_api import is_of_numpy, is_of_torch, is_tensor, namespace, take, to_numpy
from mercer.kernels.tree import fit_kernel
from mercer.learners.base import check_unlabelled, report_steps
from mercer.limits import check_gram_fits
from mercer.machines.extent import check_extent
from mercer.machines.places import check_place
from mercer.machines.problems import How, Options, Solved, TrainingSamples
from mercer.machines.rows_of import METHODS, choose_method, prepare
from mercer.machines.samples import PreparedSamples
from mercer.machines.selection import Folds, Trial, Tried, go_along, make_grid
from mercer.parameters import check_count, check_option, check_positive
from mercer.scikit import CallbackContext, CallbackSupportMixin, check_feature_names
from mercer.solvers.newton import HINGE, Loss


class Machine(CallbackSupportMixin, BaseEstimator, ABC):
    r"""A machine of a kernel k and a loss ℓ: min ½‖f‖²_k + C Σ_i w_i ℓ(y_i, f(x_i) + b).

    A subclass says which kernels it chooses among (`_kernels`) and how its parameters say to compute
    (`_how`). It has the parameters `C`, `Cs`, `cv`, `scoring`, `loss`, `tol`, `max_iter`, `random_state` and
    `n_jobs`.
    """

    _methods: ClassVar[Sequence[str]] = METHODS
    _grid: ClassVar[tuple[int, int]]  # exponents of two: the ends of a grid of C of so many values

    @abstractmethod
    def _kernels(self, X: Array, y: Any, weight: Array, given: dict[str, Any]) -> list[Any]:
        """Return the kernels to choose among, learned from samples if there is something to learn."""

    @abstractmethod
    def _how(self) -> How:
        """Return how to compute, as the parameters say: `choose_method` says what "auto" is."""

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
        how = how._replace(method=self.method_, seed=seed, loss=loss, n_classes=n_classes)
        return how._replace(is_hinge=loss is HINGE and n_classes > 0)

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


class LearningMachine(Machine):
    """A machine of any kernel, given or learned, with `learner`, `method`, `n_landmarks`, `max_bins`."""

    _grid = (-4, 12)

    def _how(self) -> How:
        return How(self.method, self.n_landmarks, self.max_bins)

    @property
    def _learns(self) -> bool:
        return self.learner is not None and not isinstance(self.learner, sk_kernels.Kernel)

    def _kernels(self, X: Array, y: Any, weight: Array, given: dict[str, Any]) -> list[Any]:
        self.learner_ = learn(self, X, y, given)
        if self.learner_ is not None:
            return [self.learner_.kernel_]
        counted = np.flatnonzero(to_numpy(weight) > 0)
        return [as_kernel(self.learner, X if len(counted) == len(X) else take(X, counted))]


def learn(machine: Any, X: Array, y: Any, given: dict[str, Any]) -> Any:
    """Return the learner of a machine, fitted; None for a kernel, which has nothing to learn."""
    learner = machine.learner
    if learner is None or isinstance(learner, sk_kernels.Kernel):
        if given:
            what, name = " and ".join(given), type(machine).__name__
            raise ValueError(
                f"{what} given, but the kernel {learner} is fixed: give {name} a learner instead"
            )
        return None
    if isinstance(learner, type) or not hasattr(learner, "fit"):
        raise TypeError(f"learner must be a learner, a scikit-learn kernel or None, not {learner!r}")
    if "unlabelled" in given and not is_tensor(given["unlabelled"]):  # the learner sees no names
        check_feature_names(machine, given["unlabelled"], reset=False)
        given = {**given, "unlabelled": check_unlabelled(given["unlabelled"], X.shape[1])}
    is_number = is_regressor(machine) and has_fit_parameter(learner, "target")
    fitted = clone(learner).fit(X, **{"target" if is_number else "y": y}, **given)
    if not hasattr(fitted, "kernel_"):
        raise TypeError(f"learner must leave a kernel_ when it is fitted; {learner!r} does not")
    return fitted


def as_kernel(kernel: Any, X: Array) -> Any:
    """Return a given kernel, with what it takes from the samples; None is the plain inner product."""
    if kernel is None:
        return sk_kernels.DotProduct(sigma_0=0.0, sigma_0_bounds="fixed")
    return fit_kernel(clone(kernel), X)
