"""A learner and a support vector machine as one classifier."""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.utils import Tags, compute_sample_weight, gen_batches
from sklearn.utils.validation import _check_feature_names, has_fit_parameter

from mercer._typing import Array, Index
from mercer.array_api import at_once, is_of_numpy, is_of_torch, is_tensor, like, namespace, zeros_like_rows
from mercer.kernels import FeatureKernel
from mercer.kernels.tensors import gram_of
from mercer.kernels.tree import fit_kernel
from mercer.learners.base import check_unlabelled
from mercer.limits import check_gram_fits
from mercer.parameters import check_option, check_positive
from mercer.solvers.kernel_ridge import spread
from mercer.solvers.linear_svm import solve_linear_svm
from mercer.svm.base import Samples, SVMClassifier, check_samples
from mercer.svm.libsvm import finish_problems, solve_on_gram
from mercer.svm.multiclass import TwoClassProblem, split_problems
from mercer.svm.on_device import DeviceGram
from mercer.svm.tensors import check_place, check_tensors, follow, to_memory

MAX_STEPS = 1000  # Newton steps on a device, unless max_iter says otherwise
_BLOCK = 2**24  # entries of the largest matrix that a prediction computes at a time: 128 MiB
# small problems, if there are many, are faster by LIBSVM: rows of one, rows in all, C × variance
MANY_PROBLEMS, EASY_ROWS, EASY_TOTAL, EASY_EFFORT = 10, 150, 4000, 30.0


class PairwiseSVMs(NamedTuple):
    """SVMs of pairs of classes with one kernel, as a function that is linear in k(x, anchors) or in φ(x)."""

    kernel: Any
    anchors: Array | None  # the support vectors; None: linear in the features
    coef: Array  # one column per pair of classes; positive values vote for the later class
    intercept: Array
    n_iter: Index

    def __call__(self, X: Array) -> Array:
        """Return the decision values, one column per pair of classes, computed in blocks of rows."""
        xp = namespace(X)
        blocks = gen_batches(len(X), max(1, at_once(X, _BLOCK) // max(1, len(self.coef))))
        inputs = (xp.astype(self._inputs(X[block]), xp.float64, copy=False) for block in blocks)
        values: Array = xp.concat([values @ self.coef for values in inputs])
        return values + self.intercept

    def _inputs(self, X: Array) -> Any:
        if self.anchors is None:
            return _features(self.kernel, X)
        if is_of_numpy(X):
            return self.kernel(X, self.anchors)
        return gram_of(self.kernel, X, namespace(X).astype(self.anchors, X.dtype, copy=False))

    def __sklearn_array_api_convert__(self, convert: Any) -> "PairwiseSVMs":
        """Return the function with its arrays converted; a kernel is the same everywhere."""
        anchors = None if self.anchors is None else convert(self.anchors)
        return PairwiseSVMs(self.kernel, anchors, *(convert(array) for array in self[2:]))


class KernelSVC(SVMClassifier):
    r"""A kernel learner and a soft-margin SVM as one classifier.

    `fit` learns the kernel and then solves, for each pair of classes, the SVM [LL05, (P1)]

    .. math:: \min_{w, b} \tfrac12 \|w\|^2 + \sum_i C_i \max(0, 1 - y_i (\langle w, \phi(x_i) \rangle + b)),

    where φ is the feature map of the learned kernel and :math:`C_i` is `C` times the weights of the sample
    and of its class. Since the kernel is learned inside `fit`, cross-validation of the whole learns it from
    the training folds alone: nothing leaks.

    Parameters
    ----------
    learner : learner, kernel or None, default=None
        An estimator whose ``fit(X, y, *, pairs, unlabelled)`` leaves a `kernel_`; or a kernel (of mercer or
        of scikit-learn), for which there is nothing to learn. None is the plain inner product.
    C : float or None, default=None
        The penalty of margin violations. Learned kernels have scales of their own: search C over 1e-4 … 1e2.
        None is the C that the learner learns for, if it has an `svm_C` (`Superkernel`), and else 1.
    relative_C : bool, default=False
        Whether `C` is divided by the mean squared distance of the samples, weighted by `sample_weight`, from
        their mean in the feature space of the kernel, so that its scale does not matter: then search C over
        0.1 … 100.
    kernel_per_class_pair : bool, default=False
        Whether each pair of classes has the part of the kernel that suits it, which the learner's
        `kernel_for` chooses: of `KernelBoost`, the number of rounds that is best aligned with the labels of
        these two [HBW06, 2.4]. The kernel is learned once, from all classes: those with few labels profit
        from the others. Each pair then is a problem of its own, in which `class_weight="balanced"` balances
        the two classes and `relative_C` looks at their samples. Predictions take longer.
    class_weight : dict, "balanced" or None, default=None
        What multiplies `C` for the samples of each class, as in `sklearn.svm.SVC`.
    solver : {"auto", "gram", "features"}, default="auto"
        "gram" computes the Gram matrix, O(n²) memory, and hands it to LIBSVM. "features" needs a kernel with
        a finite feature map of p features (a `FeatureKernel`, or the plain inner product), and solves the
        same problem by an interior-point method: O(n p²) time for each of some 15 iterations, O(n p) memory.
        "auto" takes the features where there are any and p ≤ n / 5, n the samples of a pair of classes; but
        LIBSVM for many problems that are small and easy, which have up to 150 samples and a small `C`.
    tol : float, default=1e-3
        LIBSVM's tolerance for the optimality conditions. The interior-point method, for which more digits
        cost little, stops at a relative duality gap of 10⁻⁶ `tol`.
    max_iter : int, default=-1
        Maximum number of iterations per pair of classes. -1: as many as needed; but where LIBSVM goes round
        in circles, for millions of iterations, it is given a larger tolerance, and a warning says so.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes.
    learner_ : estimator or None
        The fitted learner; None where a kernel was given.
    kernel_ : kernel
        The kernel that was learned or given.
    svms_ : list of PairwiseSVMs
        One for all pairs of classes (0, 1), (0, 2), …, or one for each pair with `kernel_per_class_pair`:
        `kernel`, `anchors` (the support vectors, the only samples that are kept; None if the features were
        used), `coef`, `intercept`, `n_iter`. Called on rows, it returns their decision values.
    n_iter_ : array of shape (n_class_pairs,)
        Number of iterations for each pair of classes.

    Notes
    -----
    "gram" and "features" give the same decision function up to the tolerance. LIBSVM's default one leaves up
    to about 10⁻²; where at most 500 samples of a problem lie on the margin, and there are at most 14 classes,
    the linear equations that say so give the other digits. The time of "features" hardly depends on `C`,
    where LIBSVM's grows with it. LIBLINEAR is not used: it penalises the intercept, which is another problem.

    More than two classes vote one against one, and the first class of the most votes is the prediction, as in
    `sklearn.svm.SVC`.

    Where samples are tensors, the Gram matrix is on their device, in their precision, and all pairs of
    classes are solved at once there, by Newton steps: at most `max_iter` of them, 1000 by default.

    LIBSVM stores the kernel in single precision, which a large constant in the kernel uses up. Hence K is
    centred first, K_ij − m_i − m_j: since Σ y_i λ_i = 0 this gives the same SVM (the argument of
    [LL05, Theorem 2]) but for its intercept, which Σ y_i λ_i m_i puts right.

    `sample_weight` is for the SVM; the learner does not see it. With `pairs` the kernel is learned from them
    alone, and `y` is for the SVM. They are row numbers of the `X` of the same `fit`: cross-validation, which
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

    Few labels, and a kernel for each pair of classes:

    >>> from mercer import KernelBoost
    >>> learner = KernelBoost(n_rounds=5, random_state=0)
    >>> model = KernelSVC(learner, C=100.0, kernel_per_class_pair=True)
    >>> bool(model.fit(X[::5], y[::5], unlabelled=X).score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        learner: Any = None,
        *,
        C: float | None = None,
        relative_C: bool = False,
        kernel_per_class_pair: bool = False,
        class_weight: Any = None,
        solver: str = "auto",
        tol: float = 1e-3,
        max_iter: int = -1,
    ) -> None:
        self.learner = learner
        self.C = C
        self.relative_C = relative_C
        self.kernel_per_class_pair = kernel_per_class_pair
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
        X : array-like of shape (n_samples, n_features)
            The samples; within ``sklearn.config_context(array_api_dispatch=True)`` also a tensor.
        y : array-like of shape (n_samples,)
            Their classes, two or more.
        pairs : Pairs, optional
            Similar and dissimilar rows of `X`, for the learner.
        unlabelled : array-like of shape (n_unlabelled, n_features), optional
            More samples, without classes, for the learner.
        sample_weight : array-like of shape (n_samples,), optional
            What multiplies `C` for each sample. Samples of weight zero are left out of the SVM.

        Returns
        -------
        KernelSVC
            This estimator.
        """
        C = self._check_parameters()
        check = check_tensors if is_tensor(X) else check_samples
        samples = check(self, X, y, sample_weight, self.class_weight)
        if not is_of_numpy(samples.X) and not is_of_torch(samples.X):
            samples = to_memory(self, samples)
        given = {"pairs": pairs, "unlabelled": unlabelled}
        given = {name: value for name, value in given.items() if value is not None}
        self.learner_ = learn(self, samples.X, samples.y, given)
        xp = namespace(samples.weight)
        counted = samples.select(xp.nonzero(samples.weight > 0)[0])
        self.kernel_ = find_kernel(self.learner, self.learner_, counted.X)
        problems = split_problems(counted.label, len(self.classes_), "ovo")
        if self.kernel_per_class_pair:
            self.svms_ = [self._solve_pair(counted.select(rows), y, C) for rows, y in problems]
        else:
            weights = C * counted.weight, counted.sample_weight
            self.svms_ = [self._solve(self.kernel_, counted.X, problems, *weights)]
        self.n_iter_ = xp.concat([svms.n_iter for svms in self.svms_])
        if not is_of_numpy(samples.X) and not is_of_torch(samples.X):
            follow(self, X)
        return self

    def _decisions(self, X: Array) -> Array:
        decisions: Array = namespace(X).concat([svms(X) for svms in self.svms_], axis=1)
        return decisions

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    @property
    def _fitted_array(self) -> Any:
        return self.svms_[0].coef

    def _check_place(self, X: Any, method: str) -> None:
        check_place(self, X, method)

    def _check_parameters(self) -> float:
        """Return C."""
        usual = 1.0 if self.relative_C else getattr(self.learner, "svm_C", 1.0)
        C = usual if self.C is None else self.C
        check_positive(C, "C")
        check_positive(self.tol, "tol")
        check_option(self.solver, "solver", ("auto", "gram", "features"))
        if self.kernel_per_class_pair and not hasattr(self.learner, "kernel_for"):
            raise TypeError(
                "kernel_per_class_pair=True needs a learner with kernel_for, such as KernelBoost; "
                f"{self.learner!r} has none"
            )
        return float(C)

    def _solve_pair(self, pair: Samples, y: Array, C: float) -> PairwiseSVMs:
        """Solve the SVM of two classes with the kernel, and with the weights, that suit them."""
        weight = pair.weight
        if self.class_weight == "balanced":
            weight = compute_sample_weight("balanced", pair.y)
            weight = weight if pair.sample_weight is None else weight * pair.sample_weight
        everything = [TwoClassProblem(np.arange(len(y)), y)]
        kernel = self.learner_.kernel_for(pair.X, pair.label)
        return self._solve(kernel, pair.X, everything, C * weight, pair.sample_weight)

    def _solve(
        self, kernel: Any, X: Array, problems: Sequence[TwoClassProblem], C: Array, weight: Array | None
    ) -> PairwiseSVMs:
        """Solve all problems with one kernel, on its features or on its Gram matrix.

        By `weight` samples count for the distances that C may be relative to.
        """
        if self.solver != "gram" and _has_features(kernel):
            F = namespace(X).astype(_features(kernel, X), C.dtype, copy=False)
            if self.solver == "features" or self._suits_features(F, problems, C):
                return self._solve_on_features(kernel, F, problems, C / self._unit(_spread, F, weight))
        if self.solver == "features":
            raise ValueError(
                f"{kernel} has no finite feature map: use solver='gram' or 'auto', or a FeatureKernel"
            )
        advice = "Use fewer samples, or a learner with a feature map."
        if not is_of_numpy(X):
            gram = DeviceGram.of(partial(gram_of, kernel), X, advice)
            C = C / self._unit(DeviceGram.spread, gram, weight)
            return self._solve_on_device(gram, kernel, X, problems, C)
        check_gram_fits(len(X), advice)
        K = kernel(X)
        return self._solve_on_gram(K, kernel, X, problems, C / self._unit(_spread_of_gram, K, weight))

    def _unit(
        self, spread: Callable[[Any, Array | None], float], samples: Any, weight: Array | None
    ) -> float:
        """Return what C is divided by: the spread of samples, if C is relative to it and it is not zero."""
        return (spread(samples, weight) if self.relative_C else 0.0) or 1.0

    def _suits_features(self, F: Array, problems: Sequence[TwoClassProblem], C: Array) -> bool:
        """Return whether an interior-point method on the features takes less time than LIBSVM."""
        n_rows = np.mean([len(rows) for rows, _ in problems])
        # a problem costs it milliseconds, however small; LIBSVM, which has all at once, slows down with C
        effort = float(C.max()) * (1.0 if self.relative_C else _spread(F))
        small = len(problems) >= MANY_PROBLEMS and n_rows <= EASY_ROWS and len(F) <= EASY_TOTAL
        return bool(5 * F.shape[1] <= n_rows) and not (small and effort <= EASY_EFFORT)

    def _solve_on_features(
        self, kernel: Any, F: Array, problems: Sequence[TwoClassProblem], C: Array
    ) -> PairwiseSVMs:
        limit = 200 if self.max_iter == -1 else self.max_iter
        tol = max(1e-6 * self.tol, 1e-10)  # less would be rounding errors
        sides = [(rows, namespace(F).astype(y, F.dtype, copy=False)) for rows, y in problems]
        found = [solve_linear_svm(F[rows], y, C[rows], tol=tol, max_iter=limit) for rows, y in sides]
        gap = max(solution.gap for solution in found)
        if not gap <= tol:
            warnings.warn(
                f"KernelSVC stopped at a relative duality gap of {gap:.1e}. Scale the features, or increase "
                "max_iter.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return PairwiseSVMs(
            kernel,
            anchors=None,
            coef=namespace(F).stack([solution.w for solution in found], axis=1),
            intercept=like(F, np.array([solution.b for solution in found])),
            n_iter=like(F, np.array([solution.n_iter for solution in found])),
        )

    def _solve_on_gram(
        self, K: Array, kernel: Any, X: Array, problems: Sequence[TwoClassProblem], C: Array
    ) -> PairwiseSVMs:
        means = K.mean(axis=1) - K.mean() / 2  # see the notes: LIBSVM has single precision
        K -= means[:, None]
        K -= means[None, :]
        found = solve_on_gram(K, _labels(len(X), problems), C, "ovo", tol=self.tol, max_iter=self.max_iter)
        found, _, _ = finish_problems(K, found, problems, C)
        support = np.any(found.coef != 0, axis=1)
        intercept = found.intercept - means @ found.coef
        n_iter = found.n_iter.astype(np.int64)
        return PairwiseSVMs(kernel, X[support], found.coef[support], intercept, n_iter)

    def _solve_on_device(
        self, gram: DeviceGram, kernel: Any, X: Array, problems: Sequence[TwoClassProblem], C: Array
    ) -> PairwiseSVMs:
        limit = MAX_STEPS if self.max_iter == -1 else self.max_iter
        (found,) = gram.solve(problems, C, [1.0], tol=float(self.tol), max_iter=limit)
        worst = max(found, key=lambda fit: fit[0].residual)
        if worst[0].residual > self.tol:
            warnings.warn(
                f"KernelSVC stopped after {worst[1]} steps with a residual of {worst[0].residual:.1e} "
                f"(tol={self.tol:g}). Scale the features, or increase max_iter.",
                ConvergenceWarning,
                stacklevel=4,
            )
        coef, xp = zeros_like_rows(X, len(X), len(problems)), namespace(X)
        for p, (problem, (solution, _)) in enumerate(zip(problems, found, strict=True)):
            coef[problem.rows, p] = solution.coef
        (support,) = xp.nonzero(xp.any(coef != 0, axis=1))
        intercept = like(X, np.array([solution.intercept for solution, _ in found]))
        return PairwiseSVMs(
            kernel, X[support], coef[support], intercept, like(X, np.array([steps for _, steps in found]))
        )


def _spread(F: Array, weight: Array | None = None) -> float:
    """Return the mean squared distance of the rows, each of some weight, from their mean."""
    if weight is None:
        return float(namespace(F).var(F, axis=0).sum())
    share = namespace(F).astype(weight / weight.sum(), F.dtype, copy=False)
    return float((share @ (F - share @ F) ** 2).sum())


def _spread_of_gram(K: Array, weight: Array | None) -> float:
    """Return the same from a Gram matrix; zero if rounding errors make it negative."""
    value = float(np.trace(K) / len(K) - K.mean()) if weight is None else spread(K, weight)
    return max(value, 0.0)


def _labels(n_rows: int, problems: Sequence[TwoClassProblem]) -> Index:
    """Return the class of each row, from the pairs of classes: (0, 1), (0, 2) and so on."""
    label = np.zeros(n_rows, dtype=np.intp)
    n_others = round((np.sqrt(8 * len(problems) + 1) - 1) / 2)  # the first class meets each of them first
    for k, (rows, y) in enumerate(problems[:n_others]):
        label[rows[y > 0]] = k + 1
    return label


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
        _check_feature_names(machine, given["unlabelled"], reset=False)
        given = {**given, "unlabelled": check_unlabelled(given["unlabelled"], X.shape[1])}
    is_number = is_regressor(machine) and has_fit_parameter(learner, "target")
    fitted = clone(learner).fit(X, **{"target" if is_number else "y": y}, **given)
    if not hasattr(fitted, "kernel_"):
        raise TypeError(f"learner must leave a kernel_ when it is fitted; {learner!r} does not")
    return fitted


def find_kernel(learner: Any, fitted: Any, X: Array) -> Any:
    """Return the kernel of a learner that was fitted, or the one that was given."""
    if learner is None:
        return sk_kernels.DotProduct(sigma_0=0.0, sigma_0_bounds="fixed")
    return fit_kernel(clone(learner), X) if fitted is None else fitted.kernel_


def _has_features(kernel: Any) -> bool:
    return isinstance(kernel, FeatureKernel) or (
        isinstance(kernel, sk_kernels.DotProduct) and kernel.sigma_0 == 0
    )


def _features(kernel: Any, X: Array) -> Array:
    """Return features of X whose inner products are the kernel."""
    return kernel.transform(X) if isinstance(kernel, FeatureKernel) else X
