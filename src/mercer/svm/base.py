"""What mercer's own SVMs share: from labels and weights to two-class problems, and back."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackContext, CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, check_scalar, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from mercer._typing import Array
from mercer.parameters import check_option, check_positive
from mercer.svm.multiclass import TwoClassProblem, choose_classes, combine_decisions, split_problems

Progress = Callable[[int], Any]


class Fit(NamedTuple):
    """One fitted two-class SVM: its decision function and the dual solution behind it."""

    function: Any  # of rows, giving the decision values
    intercept: float
    coef: Array  # y_i λ_i of (P2)
    objective: float  # of (P2), at the minimum
    n_iter: int
    residual: float


class Training(NamedTuple):
    """Checked training data: labels are positions in `classes_`, and C_i = C × weight_i."""

    X: Array
    label: NDArray[np.intp]  # −1 for a class of no weight
    weight: Array
    sample_weight: Array | None  # as given

    def rows_that_count(self, rows: NDArray[np.intp]) -> "Training":
        """Return the data of those rows whose weight is positive, without a copy if that is all of them."""
        rows = rows[self.weight[rows] > 0]
        if len(rows) == len(self.X):
            return self
        return Training(self.X[rows], self.label[rows], self.weight[rows], None)


class DualSVC(ClassifierMixin, CallbackSupportMixin, BaseEstimator):
    """A classifier of one or more two-class SVMs. A subclass says how to solve one of them.

    It has the parameters `tol`, `max_iter`, `class_weight`, `multi_class`, `random_state` and `n_jobs`.
    """

    @abstractmethod
    def _path(
        self, X: Array, y: Array, weight: Array, Cs: Sequence[float], progress: Progress | None
    ) -> Iterator[Fit]:
        """Solve one two-class problem for each C, in ascending order."""

    @abstractmethod
    def _plan(self, n_rows: int) -> None:
        """Check the parameters, and decide what all problems and folds have in common."""

    def _draw_seed(self, needed: bool) -> None:
        """Draw one seed for all problems and folds: the same result on one thread and on two."""
        self._seed = int(check_random_state(self.random_state).randint(2**31)) if needed else None

    def decision_function(self, X: Any) -> Array:
        """Return the decision values.

        Two classes: f(x), positive for ``classes_[1]``. More: one score a class, the largest wins
        (``multi_class="ovo"``: the votes, with ties broken by the decision values).
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        decisions = [function(X) for function in self._functions]
        return combine_decisions(decisions, len(self.classes_), self._scheme)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row."""
        chosen = choose_classes(self.decision_function(X))
        return self.classes_[chosen]

    def _check_training(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Training:
        check_positive(self.tol, "tol")
        if self.max_iter is not None:
            check_scalar(self.max_iter, "max_iter", Integral, min_val=1)
        check_option(self.multi_class, "multi_class", ("ovo", "ovr"))
        X, y = validate_data(self, X, y, dtype=np.float64)
        self._plan(len(X))
        _check_labels(y)
        if sample_weight is None:
            weight, given = np.ones(len(X)), None
        else:
            given = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            weight = given
        if self.class_weight is not None:
            weight = weight * compute_sample_weight(self.class_weight, y)
        self.classes_ = np.unique(y[weight > 0])
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows of at least two classes with positive weight; "
                f"the data hold {len(self.classes_)} class: {list(self.classes_)}."
            )
        label = np.searchsorted(self.classes_, y)
        label[self.classes_.take(label, mode="clip") != y] = -1
        self._scheme = self.multi_class
        return Training(X, label, weight, given)

    def _fit_problems(self, data: Training, C: float, context: CallbackContext) -> None:
        """Solve every two-class problem for one C and keep the result."""
        rows = np.flatnonzero(data.weight > 0)
        data = data.rows_that_count(rows)
        problems = split_problems(data.label, len(self.classes_), self._scheme)
        tasks = [
            context.subcontext("two-class problem", task_id=k, max_subtasks=None)
            for k in range(len(problems))
        ]
        fits = run_in_threads(
            self.n_jobs,
            [
                partial(self._fit_problem, data, problem, C, task)
                for problem, task in zip(problems, tasks, strict=True)
            ],
        )
        self._warn_unless_converged(fits)
        self._keep(rows, problems, fits)

    def _fit_problem(self, data: Training, problem: TwoClassProblem, C: float, task: CallbackContext) -> Fit:
        task.call_on_fit_task_begin(estimator=self)
        progress = _report_steps(self, task) if hasattr(self, "_skl_callbacks") else None
        part = data.rows_that_count(problem.rows)
        (fit,) = self._path(part.X, problem.y, part.weight, [C], progress)
        task.call_on_fit_task_end(estimator=self)
        return fit

    def _keep(self, rows: NDArray[np.intp], problems: Sequence[TwoClassProblem], fits: Sequence[Fit]) -> None:
        coef = np.zeros((len(fits), len(rows)))
        for k, (problem, fit) in enumerate(zip(problems, fits, strict=True)):
            coef[k, problem.rows] = fit.coef
        support = np.flatnonzero(np.any(coef != 0, axis=0))
        self._functions = [fit.function for fit in fits]
        self.support_ = rows[support]
        self.dual_coef_ = coef[:, support]
        self.intercept_ = np.array([fit.intercept for fit in fits])
        self.objective_ = np.array([fit.objective for fit in fits])
        self.residual_ = np.array([fit.residual for fit in fits])
        self.n_iter_ = np.array([fit.n_iter for fit in fits])

    def _warn_unless_converged(self, fits: Sequence[Fit]) -> None:
        worst = max(fits, key=lambda fit: fit.residual)
        if worst.residual > self.tol:
            warnings.warn(
                f"{type(self).__name__} stopped after {worst.n_iter} steps with a residual of "
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
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their classes, two or more.
        sample_weight : array-like of shape (n_samples,), default=None
            What multiplies C for each row. Rows of weight zero are left out.
        """
        check_positive(self.C, "C")
        data = self._check_training(X, y, sample_weight)
        context = self._init_callback_context(max_subtasks=None, sequential_subtasks=False)
        context.call_on_fit_task_begin(estimator=self)
        self._fit_problems(data, float(self.C), context)
        context.call_on_fit_task_end(estimator=self)
        return self


def _check_labels(y: NDArray[Any]) -> None:
    """Let scikit-learn check the labels, where it may object: its check takes as long as a small fit."""
    if y.dtype.kind in "biu" and len(np.unique(y)) <= len(y) // 2:  # many look like numbers
        return
    check_classification_targets(y)


def run_in_threads(n_jobs: int | None, work: Sequence[Callable[[], Any]]) -> list[Any]:
    """Return the results of all the work. One job needs no pool: its setup takes longer than a small fit."""
    if len(work) == 1 or effective_n_jobs(n_jobs) == 1:
        return [job() for job in work]
    return Parallel(n_jobs=n_jobs, prefer="threads")(delayed(job)() for job in work)


def _report_steps(estimator: DualSVC, task: CallbackContext) -> Progress:
    def report(step: int) -> bool:
        context = task.subcontext("newton step")
        context.call_on_fit_task_begin(estimator=estimator)
        return context.call_on_fit_task_end(estimator=estimator)

    return report
