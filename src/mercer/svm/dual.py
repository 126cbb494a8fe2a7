"""What the SVMs of [LL05] share: two-class problems that are solved in the dual (P2), in threads."""

import sys
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.callback import CallbackContext, CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.parallel import Parallel, delayed

from mercer._typing import Array, Index
from mercer.array_api import is_of_numpy, is_of_torch, is_tensor, namespace, zeros_like_rows
from mercer.learners.base import report_steps
from mercer.parameters import check_count, check_option, check_positive
from mercer.svm.base import Samples, SVMClassifier, check_samples
from mercer.svm.chunks import is_lazy
from mercer.svm.multiclass import TwoClassProblem, split_problems
from mercer.svm.tensors import check_place, check_tensors, follow, to_memory

Progress = Callable[[int], Any]


class TwoClassSVM(NamedTuple):
    """One fitted two-class SVM: its decision function and the dual solution behind it."""

    function: Any  # of rows, giving the decision values
    intercept: float
    coef: Array  # y_i λ_i of (P2)
    objective: float  # of (P2), at the minimum
    n_iter: int
    residual: float


class TablePlan(NamedTuple):
    """What an SVM of binned columns minimises, if its columns are projections of the samples, on which."""

    loss: Any
    directions: Array | None = None
    wrap: Callable[[Any], Any] | None = None  # a function of projections as one of samples


class DualSVC(CallbackSupportMixin, SVMClassifier):
    """A classifier of two-class SVMs that are solved in the dual. A subclass says how to solve one of them.

    It has the parameters `tol`, `max_iter`, `class_weight`, `multi_class`, `random_state` and `n_jobs`.
    """

    @abstractmethod
    def _path(
        self, X: Array, y: Array, weight: Array, Cs: Sequence[float], progress: Progress | None
    ) -> Iterator[TwoClassSVM]:
        """Solve one two-class problem for each C, in ascending order."""

    def _paths_together(
        self, samples: Samples, problems: Sequence[TwoClassProblem], Cs: Sequence[float]
    ) -> Iterator[Sequence[TwoClassSVM]] | None:
        """Solve all problems at once for each C, if that is the better way; return none if it is not."""
        return None

    def _fold_paths(
        self, samples: Samples, folds: Sequence[tuple[Index, Index]], Cs: Sequence[float]
    ) -> list[Iterator[Sequence[TwoClassSVM]]] | None:
        """Solve the problems of all folds at once for each C, if that is better; return none if not."""
        return None

    def _split(self, label: Index) -> list[TwoClassProblem]:
        return split_problems(label, len(self.classes_), self._scheme)

    @abstractmethod
    def _plan(self, n_rows: int) -> None:
        """Check the parameters, and decide what all problems and folds have in common."""

    @abstractmethod
    def _table(self, n_features: int) -> TablePlan:
        """Return how samples in chunks become a table."""

    @property
    def _computes_on_device(self) -> bool:
        """Whether, after `_plan`, tensors of torch are computed with where they are, or by way of NumPy."""
        return False

    def _draw_seed(self, needed: bool) -> None:
        """Draw one seed for all problems and folds: the same result on one thread and on two."""
        self._seed = int(check_random_state(self.random_state).randint(2**31)) if needed else None

    def _decisions(self, X: Array) -> Array:
        decisions: Array = namespace(X).stack([function(X) for function in self._functions], axis=1)
        return decisions

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    @property
    def _fitted_array(self) -> Any:
        """One of the fitted arrays: all are of one library, and on one device."""
        return self._functions[0][0]

    def _check_place(self, X: Any, method: str) -> None:
        check_place(self, X, method)

    def _check_training(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Samples:
        self._check_parameters()
        check = check_tensors if is_tensor(X) else check_samples
        samples = check(self, X, y, sample_weight, self.class_weight)
        self._plan(len(samples.X))
        if is_of_numpy(samples.X) or (is_of_torch(samples.X) and self._computes_on_device):
            return samples
        return to_memory(self, samples)

    def _check_parameters(self) -> None:
        check_positive(self.tol, "tol")
        if self.max_iter is not None:
            check_count(self.max_iter, "max_iter")
        check_option(self.multi_class, "multi_class", ("ovo", "ovr"))
        self._scheme = self.multi_class

    def _fit_problems(self, samples: Samples, C: float, context: CallbackContext) -> None:
        """Solve every two-class problem for one C and keep the result."""
        (rows,) = namespace(samples.weight).nonzero(samples.weight > 0)
        samples = samples.select(rows)
        problems = self._split(samples.label)
        together = self._paths_together(samples, problems, [C])
        fits = self._fit_each(samples, problems, C, context) if together is None else next(together)
        self._warn_unless_converged(fits)
        self._keep(rows, problems, fits)

    def _fit_each(
        self, samples: Samples, problems: Sequence[TwoClassProblem], C: float, context: CallbackContext
    ) -> Sequence[TwoClassSVM]:
        tasks = [
            context.subcontext("two-class problem", task_id=k, max_subtasks=None)
            for k in range(len(problems))
        ]
        return run_in_threads(
            self.n_jobs,
            [
                partial(self._fit_problem, samples, problem, C, task)
                for problem, task in zip(problems, tasks, strict=True)
            ],
        )

    def _fit_problem(
        self, samples: Samples, problem: TwoClassProblem, C: float, task: CallbackContext
    ) -> TwoClassSVM:
        task.call_on_fit_task_begin(estimator=self)
        progress = report_steps(self, task, "newton step")
        part = samples.select(problem.rows)
        (fit,) = self._path(part.X, problem.y, part.weight, [C], progress)
        task.call_on_fit_task_end(estimator=self)
        return fit

    def _keep_functions(self, fits: Sequence[TwoClassSVM]) -> None:
        """Keep what was fitted to samples in chunks, where the coefficients of the rows stay."""
        nothing = np.empty(0, dtype=np.intp)
        self._keep(nothing, [TwoClassProblem(nothing, np.empty(0))] * len(fits), fits)

    def _keep(self, rows: Index, problems: Sequence[TwoClassProblem], fits: Sequence[TwoClassSVM]) -> None:
        coef, xp = zeros_like_rows(rows, len(fits), len(rows)), namespace(rows)
        for k, (problem, fit) in enumerate(zip(problems, fits, strict=True)):
            coef[k, problem.rows] = fit.coef
        (support,) = xp.nonzero(xp.any(coef != 0, axis=0))
        self._functions = [fit.function for fit in fits]
        self.support_ = rows[support]
        self.dual_coef_ = coef[:, support]
        self.intercept_ = np.array([fit.intercept for fit in fits])
        self.objective_ = np.array([fit.objective for fit in fits])
        self.residual_ = np.array([fit.residual for fit in fits])
        self.n_iter_ = np.array([fit.n_iter for fit in fits])

    def _warn_unless_converged(self, fits: Sequence[TwoClassSVM]) -> None:
        worst = max(fits, key=lambda fit: fit.residual)
        if worst.residual > self.tol:
            warnings.warn(
                f"{type(self).__name__} stopped after {worst.n_iter} iterations with a residual of "
                f"{worst.residual:.1e} (tol={self.tol:g}). Scale the features, or increase max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )


class FixedCSVC(DualSVC):
    """A `DualSVC` with a given C."""

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the SVM.

        Parameters
        ----------
        X : array-like, dask.array or dask.dataframe of shape (n_samples, n_features)
            The samples. Those of Dask stay where they are: in chunks of rows, put into bins. So does a
            tensor, within ``sklearn.config_context(array_api_dispatch=True)``.
        y : array-like or collection of Dask of shape (n_samples,)
            Their classes, two or more.
        sample_weight : array-like or collection of Dask of shape (n_samples,), default=None
            What multiplies C for each sample. Samples of weight zero are left out.
        """
        check_positive(self.C, "C")
        samples = None if is_lazy(X) else self._check_training(X, y, sample_weight)
        context = self._init_callback_context(max_subtasks=None, sequential_subtasks=False)
        context.call_on_fit_task_begin(estimator=self)
        if samples is None:
            self._fit_chunks(X, y, sample_weight, context)
        else:
            self._fit_problems(samples, float(self.C), context)
            follow(self, X)
        context.call_on_fit_task_end(estimator=self)
        return self

    def _fit_chunks(self, X: Any, y: Any, sample_weight: Any, context: CallbackContext) -> None:
        from mercer.svm.distributed import (
            fit_chunks,  # and Dask, which is here if there is a collection of it
        )

        self._check_parameters()
        self._plan(sys.maxsize)  # whoever has chunks has many rows
        fits = fit_chunks(self, X, y, sample_weight, context)
        self._warn_unless_converged(fits)
        self._keep_functions(fits)


def run_in_threads(n_jobs: int | None, work: Sequence[Callable[[], Any]]) -> list[Any]:
    """Return the results of all the work. One job needs no pool: its setup takes longer than a small fit."""
    if len(work) == 1 or effective_n_jobs(n_jobs) == 1:
        return [job() for job in work]
    return Parallel(n_jobs=n_jobs, prefer="threads")(delayed(job)() for job in work)
