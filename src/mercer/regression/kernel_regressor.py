"""A learner and a kernel machine of numbers as one regressor."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from mercer._typing import Array, Index
from mercer.limits import check_gram_fits
from mercer.parameters import check_count, check_positive
from mercer.regression.base import NumberRegressor, Samples, TargetScaling, check_numbers, find_support
from mercer.regression.intervals import PredictsIntervals, UnseenErrors
from mercer.regression.losses import NumberLoss, make_loss
from mercer.solvers.kernel_ridge import RidgePath, solve_ridge, spread
from mercer.solvers.kernel_svm import solve_on_gram
from mercer.solvers.stump_svm import Solution
from mercer.solvers.stump_svm.rows import thin
from mercer.svm.additive import MAX_STEPS
from mercer.svm.kernel_svc import PairwiseSVMs, find_kernel, learn
from mercer.svm.selection import ChoosesC

GRID = np.logspace(-10, 20, 31, base=2.0)  # of C, among which the leave-one-out error chooses
SELECTION_ROWS = 2000  # of more samples, C is chosen on one in two, say: the best hardly changes


class KernelRegressor(ChoosesC, NumberRegressor):
    r"""A kernel learner and a kernel machine of numbers as one regressor.

    `fit` learns the kernel and then solves

    .. math:: \min_{w, b} \tfrac12 \|w\|^2 + \sum_i C_i \, \ell(y_i, \langle w, \phi(x_i) \rangle + b),

    where φ is the feature map of the learned kernel. With the squared error this is kernel ridge regression:
    one eigendecomposition gives the fit for every C, and what each sample's error would be without it, in
    closed form. Of more than 2000 samples, some (1000 to 2000) choose C in this way. Since the kernel is
    learned inside `fit`, cross-validation of the whole learns it from the training folds alone.

    Parameters
    ----------
    learner : learner, kernel or None, default=None
        An estimator whose ``fit(X, *, target, pairs, unlabelled)`` leaves a `kernel_`; or a kernel (of mercer
        or of scikit-learn), for which there is nothing to learn. None is the plain inner product.
    C : float or None, default=None
        The weight of the losses against the penalty, for a kernel and a target of standard deviation one:
        their scales do not matter. None chooses among 2⁻¹⁰, 2⁻⁹, …, 2²⁰ by the leave-one-out error, for
        ``loss="squared_error"``; for other losses it is 1.
    loss, quantile, epsilon
        As in `StumpRegressor`.
    tol : float, default=1e-3
        Ten times the relative duality gap at which to stop, or the violation of the optimality conditions;
        the squared error has a closed form.
    max_iter : int or None, default=None
        Maximum number of Newton steps; None is 1000.

    Attributes
    ----------
    learner_ : estimator or None
        The fitted learner; None where a kernel was given.
    kernel_ : kernel
        The kernel that was learned or given.
    C_ : float
        C, given or chosen.
    edge_ : {"lower", "upper"} or None
        The end of the values that `C_` is at; there, further values of C may be better.
    Cs_, loo_errors_ : arrays of shape (n_Cs,)
        The values of C, and the leave-one-out mean squared errors in variances of the targets, of the samples
        that chose C. For the squared error alone.
    unseen_ : UnseenErrors
        The leave-one-out errors at `C_`, for `predict_interval`. For the squared error alone.
    machine_ : PairwiseSVMs
        The function of the standardised targets, with its support vectors.
    n_iter_ : int
        Number of Newton steps; one for the squared error.

    Notes
    -----
    The learner is told that y holds numbers, whatever their values are. `RelevanceKernel` learns from them;
    `BoostedKernel`, `IdealizedKernel` and `KernelBoost`, which in their papers know classes and pairs, learn
    from the pairs that `Pairs.from_target` makes of near and far numbers.

    The leave-one-out errors are exact for a kernel that is given: of a learned one, what it has learned from
    a sample stays.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from mercer import KernelRegressor
    >>> X, y = make_friedman1(300, n_features=5, random_state=0)
    >>> model = KernelRegressor(RBF(2.0)).fit(X, y)
    >>> X_new, y_new = make_friedman1(300, n_features=5, random_state=1)
    >>> model.score(X_new, y_new) > 0.95
    True
    """

    def __init__(
        self,
        learner: Any = None,
        *,
        C: float | None = None,
        loss: str = "squared_error",
        quantile: float = 0.5,
        epsilon: float = 0.1,
        tol: float = 1e-3,
        max_iter: int | None = None,
    ) -> None:
        self.learner = learner
        self.C = C
        self.loss = loss
        self.quantile = quantile
        self.epsilon = epsilon
        self.tol = tol
        self.max_iter = max_iter

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        pairs: Any = None,
        unlabelled: Any = None,
    ) -> Self:
        """Learn the kernel, then the regressor.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets: numbers, one of each sample or several.
        sample_weight : array-like of shape (n_samples,), default=None
            What multiplies `C` for each sample. Samples of weight zero are left out of the machine; the
            learner does not see weights.
        pairs : Pairs, optional
            Similar and dissimilar rows of `X`, for the learner.
        unlabelled : array-like of shape (n_unlabelled, n_features), optional
            More samples, without targets, for the learner.
        """
        loss = self._check_parameters()
        samples = check_numbers(self, X, y, sample_weight, loss.is_log)
        given = {"pairs": pairs, "unlabelled": unlabelled}
        given = {name: value for name, value in given.items() if value is not None}
        self.learner_ = learn(self, samples.X, self._shape(samples.Y), given)
        samples = samples.select(np.flatnonzero(samples.weight > 0))
        self.kernel_ = find_kernel(self.learner, self.learner_, samples.X)
        check_gram_fits(len(samples.X), "Use fewer samples.")
        self._scaling = TargetScaling.of(samples, loss.is_log)
        if loss.name == "squared_error":
            self._fit_ridge(samples)
        else:
            self._fit_machine(samples, loss)
        return self

    predict_interval = available_if(lambda self: self.loss == "squared_error")(
        PredictsIntervals.predict_interval
    )

    def _check_parameters(self) -> NumberLoss:
        if self.C is not None:
            check_positive(self.C, "C")
        check_positive(self.tol, "tol")
        if self.max_iter is not None:
            check_count(self.max_iter, "max_iter")
        return make_loss(self.loss, self.quantile, self.epsilon)

    def _gram(self, X: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            K: Array = self.kernel_(X)
            if not np.isfinite(K.sum()):
                raise ValueError(
                    "The kernel of these samples holds infinite numbers, or none: scale the features."
                )
        return K

    def _fit_ridge(self, samples: Samples) -> None:
        Y = np.column_stack([self._scaling.convert(samples, k)[0] for k in range(samples.Y.shape[1])])
        K, weight = self._gram(samples.X), samples.weight
        self.Cs_ = GRID if self.C is None else np.array([float(self.C)])
        unit = spread(K, weight)
        unit = unit if unit > 0.0 else 1.0
        some = np.arange(len(Y))
        if self.C is None:
            some = thin(some, -(-len(Y) // SELECTION_ROWS))
            of_some = K if len(some) == len(Y) else K[np.ix_(some, some)]
            path = RidgePath.of(of_some, Y[some], weight[some])
            solutions = [path.solve(C / unit) for C in self.Cs_]
        else:
            solutions = [solve_ridge(K, Y, weight, float(self.C) / unit)]
        errors = [np.average(s.left_out**2, axis=0, weights=weight[some]).mean() for s in solutions]
        self.loo_errors_, best = np.array(errors), int(np.argmin(errors))
        self.C_, solution = float(self.Cs_[best]), solutions[best]
        if len(some) < len(Y):
            solution = solve_ridge(K, Y, weight, self.C_ / unit)
        self.unseen_ = UnseenErrors(self._scaling.scale * solution.left_out, samples.weight, False)
        self._keep(samples.X, solution.coef, solution.intercept, np.ones(Y.shape[1], dtype=np.intp))

    def _fit_machine(self, samples: Samples, loss: NumberLoss) -> None:
        K = self._gram(samples.X)
        unit = spread(K, samples.weight)
        self.C_ = 1.0 if self.C is None else float(self.C)
        options: dict[str, Any] = {"tol": float(self.tol), "max_iter": self.max_iter or MAX_STEPS}
        found: list[Solution] = []
        C = self.C_ / (unit if unit > 0.0 else 1.0)
        for k in range(samples.Y.shape[1]):
            found += solve_on_gram(K, *self._scaling.convert(samples, k), [C], loss.solver, **options)
        worst = max(found, key=lambda solution: solution.residual)
        if worst.residual > self.tol:
            warnings.warn(
                f"KernelRegressor stopped after {worst.n_iter} iterations with a residual of "
                f"{worst.residual:.1e} (tol={self.tol:g}). Scale the features, or increase max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )
        coef = np.column_stack([solution.function.coef for solution in found])
        bias = np.array([solution.bias for solution in found])
        self._keep(samples.X, coef, bias, np.array([solution.n_iter for solution in found]))

    def _keep(self, X: Array, coef: Array, intercept: Array, n_iter: Index) -> None:
        support = find_support(coef)
        self.n_iter_ = int(n_iter.max())
        self.machine_ = PairwiseSVMs(self.kernel_, X[support], coef[support], intercept, n_iter)

    def _values(self, X: Array) -> Array:
        return self.machine_(X)
