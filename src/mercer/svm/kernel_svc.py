"""A learner and a support vector machine as one classifier."""

import warnings
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.svm import SVC
from sklearn.utils import check_scalar, compute_sample_weight, gen_batches
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from mercer._typing import Array
from mercer.kernels import FeatureKernel
from mercer.limits import check_gram_fits
from mercer.solvers.linear_svm import solve_linear_svm
from mercer.svm.multiclass import TwoClassProblem, combine_decisions, split_problems

_BLOCK = 2**24  # entries of the largest matrix that a prediction makes at a time: 128 MiB


class Machines(NamedTuple):
    """The decision functions of all pairs of classes, linear in k(x, anchors), or in the features of x."""

    anchors: Array | None  # the support vectors; None: the features stand in their place
    coef: Array  # one column for each pair of classes; positive values vote for the later class
    intercept: Array
    n_iter: NDArray[np.intp]


class KernelSVC(ClassifierMixin, BaseEstimator):
    r"""A kernel learner and a soft-margin SVM as one classifier.

    `fit` learns the kernel and then solves, for each pair of classes, the SVM [LL05, (P1)]

    .. math:: \min_{w, b} \tfrac12 \|w\|^2 + \sum_i C_i \max(0, 1 - y_i (\langle w, \phi(x_i) \rangle + b)),

    where φ is the feature map of the learned kernel and :math:`C_i` is `C` times the weights of the row and
    of its class. Since the kernel is learned inside `fit`, cross-validation of the whole learns it from the
    training folds alone: nothing leaks.

    Parameters
    ----------
    learner : learner, kernel or None, default=None
        An estimator whose ``fit(X, y, *, pairs, unlabelled)`` leaves a `kernel_`; or a kernel (of mercer or
        of scikit-learn), for which there is nothing to learn. None is the plain inner product.
    C : float or None, default=None
        The price of a margin violation. Learned kernels have scales of their own: search C over 1e-4 … 1e2.
        None is the C that the learner learns for, if it says so (`Superkernel`), and else 1.
    relative_C : bool, default=False
        Whether `C` is divided by the mean squared distance of the rows from their mean in the feature space
        of the kernel, so that its scale does not matter: then search C over 0.1 … 100.
    class_weight : dict, "balanced" or None, default=None
        What multiplies `C` for the rows of each class, as in `sklearn.svm.SVC`.
    solver : {"auto", "gram", "features"}, default="auto"
        "gram" computes the Gram matrix, O(n²) memory, and hands it to LIBSVM. "features" needs a kernel with
        a finite feature map of p features (a `FeatureKernel`, or the plain inner product), and solves the
        same problem by an interior-point method: O(n p²) time for each of some 15 iterations, O(n p) memory.
        "auto" takes the features where there are any and p ≤ n / 5.
    tol : float, default=1e-3
        LIBSVM's tolerance for the optimality conditions. The interior-point method, for which more digits
        cost little, stops at a relative duality gap of 10⁻⁶ `tol`.
    max_iter : int, default=-1
        The most iterations for a pair of classes; -1: no limit of yours.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    learner_ : estimator or None
        The fitted learner; None where a kernel was given.
    kernel_ : kernel
        The kernel that was learned or given.
    svm_ : Machines
        The SVM of each pair of classes: `anchors` (the support vectors, the only rows that are kept; None if
        the features were used), `coef`, `intercept`, `n_iter`.
    n_iter_ : array of shape (n_pairs,)
        Iterations of the solver for each pair of classes.

    Notes
    -----
    "gram" and "features" give the same decision function up to the tolerance; LIBSVM's default one leaves up
    to about 10⁻². The time of "features" hardly depends on `C`, where LIBSVM's grows with it. LIBLINEAR is
    not used: it penalises the intercept, which is another problem.

    As in `sklearn.svm.SVC` more than two classes vote one against one. As with its ``break_ties=True`` a tie
    is broken by the decision values, so that the largest of them is always the prediction.

    LIBSVM stores the kernel in single precision, which a large constant in the kernel uses up. Hence K is
    centred first, K_ij − m_i − m_j: since Σ y_i λ_i = 0 this gives the same SVM (the argument of
    [LL05, Theorem 2]) but for its intercept, which Σ y_i λ_i m_i puts right.

    `sample_weight` is for the SVM; the learner does not see it. With `pairs` the kernel is learned from them
    alone, and `y` is for the SVM. They are row numbers of the `X` of this very `fit`: cross-validation, which
    passes on parts of `X`, does not renumber them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from mercer import KernelSVC
    >>> from mercer.kernels import Perceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(KernelSVC(Perceptron()), {"C": [0.1, 1.0, 10.0]}).fit(X, y)
    >>> bool(search.best_score_ > 0.95)
    True
    """

    def __init__(
        self,
        learner: Any = None,
        *,
        C: float | None = None,
        relative_C: bool = False,
        class_weight: Any = None,
        solver: str = "auto",
        tol: float = 1e-3,
        max_iter: int = -1,
    ) -> None:
        self.learner = learner
        self.C = C
        self.relative_C = relative_C
        self.class_weight = class_weight
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    def fit(
        self, X: Any, y: Any, *, pairs: Any = None, unlabelled: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn the kernel, then the SVM.

        Parameters
        ----------
        X : array-like of shape (n, D)
            The rows.
        y : array-like of shape (n,)
            Their classes, two or more.
        pairs : Pairs, optional
            Similar and dissimilar rows of `X`, for the learner.
        unlabelled : array-like of shape (m, D), optional
            More rows, without classes, for the learner.
        sample_weight : array-like of shape (n,), optional
            What multiplies `C` for each row.

        Returns
        -------
        KernelSVC
            This estimator.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        C = self._weigh(X, y, sample_weight)
        given = {"pairs": pairs, "unlabelled": unlabelled}
        self.learner_ = _learn(self.learner, X, y, {k: v for k, v in given.items() if v is not None})
        self.kernel_ = _kernel_of(self.learner, self.learner_)
        self.svm_ = self._solve(X[C > 0], y[C > 0], C[C > 0])
        self.n_iter_ = self.svm_.n_iter
        return self

    def decision_function(self, X: Any) -> Array:
        """Return how far each row is on the side of each class (of the second one, if there are two)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        blocks = gen_batches(len(X), max(1, _BLOCK // max(1, self.svm_.coef.shape[0])))
        values = (
            np.vstack([self._inputs(X[block]) @ self.svm_.coef for block in blocks]) + self.svm_.intercept
        )
        return combine_decisions(list(values.T), len(self.classes_), "ovo")

    def predict(self, X: Any) -> Any:
        """Return the class of each row."""
        values = self.decision_function(X)
        chosen = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return self.classes_[chosen]

    def _weigh(self, X: Array, y: NDArray[Any], sample_weight: Any) -> Array:
        """Check what was asked for, name the classes, and return the C of each row."""
        usual = 1.0 if self.relative_C else getattr(self.learner, "svm_price", 1.0)
        price = usual if self.C is None else self.C
        check_scalar(price, "C", Real, min_val=0, include_boundaries="neither")
        check_scalar(self.tol, "tol", Real, min_val=0, include_boundaries="neither")
        if self.solver not in ("auto", "gram", "features"):
            raise ValueError(f"solver must be 'auto', 'gram' or 'features', not {self.solver!r}")
        self.classes_ = np.unique(y)
        weight: Array = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        C = float(price) * weight * compute_sample_weight(self.class_weight, y)
        weighed = np.unique(y[C > 0])
        if len(weighed) < len(self.classes_):
            raise ValueError(f"of the classes {self.classes_}, only {weighed} have rows of positive weight")
        if len(weighed) < 2:
            raise ValueError(f"an SVM needs rows of two classes or more, but got one class: {weighed}")
        return C

    def _solve(self, X: Array, y: NDArray[Any], C: Array) -> Machines:
        problems = split_problems(np.searchsorted(self.classes_, y), len(self.classes_), "ovo")
        if self.solver != "gram" and _has_features(self.kernel_):
            F = _features(self.kernel_, X)
            if self.solver == "features" or 5 * F.shape[1] <= len(F):
                unit = float(F.var(axis=0).sum()) if self.relative_C else 1.0
                return _solve_on_features(F, problems, C / (unit or 1.0), self.tol, self.max_iter)
        if self.solver == "features":
            raise ValueError(
                f"{self.kernel_} has no finite feature map: use solver='gram' or 'auto', or a FeatureKernel"
            )
        check_gram_fits(len(X), "Use fewer rows, or a learner with a feature map.")
        K = self.kernel_(X)
        unit = float(np.trace(K) / len(K) - K.mean()) if self.relative_C else 1.0
        C = C / unit if unit > 0 else C
        return _solve_on_gram(K, X, problems, C, self.tol, self.max_iter)

    def _inputs(self, X: Array) -> Any:
        """Return what the machines are linear in."""
        anchors = self.svm_.anchors
        return _features(self.kernel_, X) if anchors is None else self.kernel_(X, anchors)


def _learn(learner: Any, X: Array, y: NDArray[Any], given: dict[str, Any]) -> Any:
    """Return the learner, fitted to what is given; None for a kernel, which has nothing to learn."""
    if learner is None or isinstance(learner, sk_kernels.Kernel):
        if given:
            what = " and ".join(given)
            raise ValueError(
                f"{what} given, but the kernel {learner} is fixed: give KernelSVC a learner instead"
            )
        return None
    if isinstance(learner, type) or not hasattr(learner, "fit"):
        raise TypeError(f"learner must be a learner, a scikit-learn kernel or None, not {learner!r}")
    fitted = clone(learner).fit(X, y, **given)
    if not hasattr(fitted, "kernel_"):
        raise TypeError(f"learner must leave a kernel_ when it is fitted; {learner!r} does not")
    return fitted


def _kernel_of(learner: Any, fitted: Any) -> Any:
    if learner is None:
        return sk_kernels.DotProduct(sigma_0=0.0, sigma_0_bounds="fixed")
    return clone(learner) if fitted is None else fitted.kernel_


def _has_features(kernel: Any) -> bool:
    return isinstance(kernel, FeatureKernel) or (
        isinstance(kernel, sk_kernels.DotProduct) and kernel.sigma_0 == 0
    )


def _features(kernel: Any, X: Array) -> Array:
    """Return features of X whose inner products are the kernel."""
    return kernel.transform(X) if isinstance(kernel, FeatureKernel) else X


def _solve_on_gram(
    K: Array, X: Array, problems: Sequence[TwoClassProblem], C: Array, tol: float, max_iter: int
) -> Machines:
    means = K.mean(axis=1) - K.mean() / 2
    K -= means[:, None]
    K -= means[None, :]
    columns, intercepts, n_iter = [], [], []
    for rows, target in problems:
        svc = SVC(kernel="precomputed", tol=tol, max_iter=max_iter)
        svc.fit(K if len(rows) == len(K) else K[np.ix_(rows, rows)], target, sample_weight=C[rows])
        column = np.zeros(len(X))
        column[rows[svc.support_]] = svc.dual_coef_[0]
        columns.append(column)
        intercepts.append(svc.intercept_[0] - column @ means)
        n_iter.append(svc.n_iter_[0])
    coef = np.column_stack(columns)
    support = np.any(coef != 0, axis=1)
    return Machines(X[support], coef[support], np.array(intercepts), np.array(n_iter))


def _solve_on_features(
    F: Array, problems: Sequence[TwoClassProblem], C: Array, tol: float, max_iter: int
) -> Machines:
    limit = 200 if max_iter == -1 else max_iter
    wanted = max(1e-6 * tol, 1e-10)  # less would be rounding errors
    found = [solve_linear_svm(F[rows], y, C[rows], tol=wanted, max_iter=limit) for rows, y in problems]
    gap = max(solution.gap for solution in found)
    if not gap <= wanted:
        warnings.warn(
            f"the SVM stopped at a relative duality gap of {gap:.1e}: scale the data or raise max_iter",
            ConvergenceWarning,
            stacklevel=4,
        )
    w, b, n_iter, _, _ = zip(*found, strict=True)
    return Machines(None, np.column_stack(w), np.array(b), np.array(n_iter))
