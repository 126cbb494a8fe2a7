"""One learned kernel for all classes; an SVM for each pair of them, with the part that suits the pair."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._typing import Array
from mercer.svm.kernel_svc import KernelSVC
from mercer.svm.multiclass import choose_classes, combine_decisions, split_problems


class PairwiseKernelSVC(ClassifierMixin, BaseEstimator):
    """An SVM for each pair of classes, each with its own truncation of one learned kernel [HBW06, 2.4].

    The kernel is learned once, from all classes: those with few labels profit from the others. For each pair
    of classes the learner's `kernel_for` then chooses, by alignment with the labels of these two, how many
    of its rounds to use. The SVMs vote, as in `KernelSVC` ("all-pairs" error-correcting output codes).

    Parameters
    ----------
    learner : learner
        An estimator with `kernel_for`, such as `KernelBoost`.
    C, class_weight, solver, tol, max_iter
        As in `KernelSVC`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    learner_ : estimator
        The fitted learner.
    machines_ : list of KernelSVC
        The SVM of each pair of classes, in the order (0, 1), (0, 2), …, with its `kernel_`.
    n_iter_ : array of shape (n_pairs,)
        Iterations of the solver for each pair of classes.

    Notes
    -----
    Where all rounds suit all pairs this is `KernelSVC`, which is faster: it computes the features of a row
    once.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelBoost
    >>> from mercer.svm import PairwiseKernelSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = KernelBoost(n_rounds=5, random_state=0)
    >>> model = PairwiseKernelSVC(learner, C=100.0).fit(X[::5], y[::5], unlabelled=X)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        learner: Any,
        *,
        C: float = 1.0,
        class_weight: Any = None,
        solver: str = "auto",
        tol: float = 1e-3,
        max_iter: int = -1,
    ) -> None:
        self.learner = learner
        self.C = C
        self.class_weight = class_weight
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, *, pairs: Any = None, unlabelled: Any = None) -> Self:
        """Learn the kernel, then an SVM for each pair of classes; see `KernelSVC.fit` for the arguments."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        if not hasattr(self.learner, "kernel_for"):
            raise TypeError(
                f"the learner must have kernel_for, as KernelBoost has; {self.learner!r} has not: "
                "use KernelSVC"
            )
        self.classes_, label = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"an SVM needs rows of two classes or more, but got one class: {self.classes_}")
        self.learner_ = clone(self.learner).fit(X, y, pairs=pairs, unlabelled=unlabelled)
        self.machines_ = [
            self._machine(X[rows], label[rows]).fit(X[rows], y[rows])
            for rows, _ in split_problems(label, len(self.classes_), "ovo")
        ]
        self.n_iter_ = np.concatenate([machine.n_iter_ for machine in self.machines_])
        return self

    def decision_function(self, X: Any) -> Array:
        """Return how far each row is on the side of each class (of the second one, if there are two)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        decisions = [machine.decision_function(X) for machine in self.machines_]
        return combine_decisions(decisions, len(self.classes_), "ovo")

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row."""
        chosen = choose_classes(self.decision_function(X))
        return self.classes_[chosen]

    def _machine(self, X: Array, label: NDArray[np.intp]) -> KernelSVC:
        return KernelSVC(
            self.learner_.kernel_for(X, label),
            C=self.C,
            class_weight=self.class_weight,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
        )
