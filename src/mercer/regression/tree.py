"""Regression by all decision trees: on the Gram matrix, or on landmarks where samples are many [LL08]."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from mercer._typing import Array, Index
from mercer.kernels import Kernel
from mercer.kernels.tree import median_gamma
from mercer.limits import check_gram_fits, check_memory
from mercer.parameters import check_count, check_option, check_positive
from mercer.regression.base import Samples, find_support
from mercer.regression.losses import NumberLoss
from mercer.regression.paths import EXPONENTS, FixedCRegressor, PathRegressor, SelectedCRegressor
from mercer.solvers.kernel_svm import FeatureMatrix, FeatureRows, solve_on_gram
from mercer.solvers.landmark_svm import whiten_landmarks
from mercer.solvers.stump_svm import Solution, solve_path
from mercer.svm.additive import MAX_STEPS
from mercer.svm.dual import TwoClassSVM
from mercer.svm.kernel_svc import PairwiseSVMs
from mercer.svm.selection import make_grid
from mercer.svm.tree import Columns, find_columns, gamma_of, make_multiples

EXACT_ROWS = 5000  # "auto" is exact up to this number of rows: a Cholesky factor takes seconds
SELECTION_ROWS = 3000  # of which C and γ are chosen: on more, they hardly change


class GramSamples(NamedTuple):
    """Samples with their Gram matrix."""

    X: Array
    K: Array


class LandmarkSamples(NamedTuple):
    """Landmarks Z, and features of all samples: k(x, Z) times what whitens them."""

    Z: Array
    whiten: Array
    F: Array


class TreeMachine(PathRegressor):
    """What `TreeRegressor` and `TreeRegressorCV` share: the tree kernel, and how to compute with it."""

    def _plan(self, n_rows: int) -> None:
        check_option(self.method, "method", ("auto", "exact", "nystroem"))
        check_count(self.n_landmarks, "n_landmarks")
        check_option(self.categories, "categories", ("auto", None))
        exact = self.method == "exact" or (self.method == "auto" and n_rows <= EXACT_ROWS)
        self.method_ = "exact" if exact else "nystroem"
        self._draw_seed()

    def _columns(self, X: Array, weight: Array) -> Columns:
        return find_columns(X, weight, ranks=False, categories=self.categories == "auto")

    def _use(self, kernel: Kernel) -> None:
        self.kernel_ = kernel
        self.gamma_ = gamma_of(kernel)

    def _check_room(self, n_rows: int, n_folds: int) -> None:
        if self.method_ == "exact":
            check_gram_fits(n_rows, "Use method='nystroem', or fewer rows.", n_folds)
        else:
            n_bytes = n_folds * 3 * 8 * n_rows * min(n_rows, self.n_landmarks)
            check_memory(n_bytes, f"Features of {n_folds} × {n_rows} rows", "Use fewer landmarks.")

    def _prepare(self, X: Array) -> GramSamples | LandmarkSamples:
        n = len(X)
        if self.method_ == "exact":
            return GramSamples(X, self.kernel_(X))
        chosen = np.random.default_rng(self._seed).choice(n, min(n, self.n_landmarks), replace=False)
        Z = X[np.sort(chosen)]
        whiten = whiten_landmarks(self.kernel_(Z))
        return LandmarkSamples(Z, whiten, self.kernel_(X, Z) @ whiten)

    def _path(
        self, rows: Any, y: Array, weight: Array, Cs: Sequence[float], loss: NumberLoss
    ) -> Iterator[TwoClassSVM]:
        options = {"tol": float(self.tol), "max_iter": self.max_iter or MAX_STEPS}
        if isinstance(rows, GramSamples):
            for solution in solve_on_gram(rows.K, y, weight, Cs, loss.solver, **options):
                coef = solution.function.coef
                support = find_support(coef)
                yield self._describe(rows.X[support], coef[support], solution)
        else:
            engine = FeatureRows.of(FeatureMatrix(rows.F), y, weight)
            for solution in solve_path(engine, Cs, loss.solver, **options):
                yield self._describe(rows.Z, rows.whiten @ solution.function.coef, solution)

    def _describe(self, anchors: Array, coef: Array, solution: Solution) -> TwoClassSVM:
        b, n_iter = np.array([solution.bias]), np.array([solution.n_iter])
        function = PairwiseSVMs(self.kernel_, anchors, coef[:, None], b, n_iter)
        return TwoClassSVM(
            function, solution.bias, coef, solution.objective, solution.n_iter, solution.residual
        )


class TreeRegressor(FixedCRegressor, TreeMachine):
    r"""Regression with the tree kernel [LL08].

    The tree kernel :math:`\exp(-\gamma \|x - x'\|_1)` is the mean of what all decision trees, of every depth,
    say about two samples (`mercer.kernels.Tree`). The machine sees how features act together, and like trees
    it is not led astray by one feature far out.

    Up to 5000 samples it is solved on the Gram matrix, in O(n³). Of more, m = `n_landmarks` drawn at random
    stand for all (Nyström's approximation), in O(n m²).

    Parameters
    ----------
    C : float, default=4.0
        The weight of the losses against the penalty. Try 1 to 1000.
    gamma : float or None, default=None
        γ; None is `relative_gamma` over the median distance of two samples.
    relative_gamma : float, default=0.5
        γ as a multiple of the median rule's, where `gamma` is None. Try 1/8 to 2.
    loss, quantile, epsilon
        As in `StumpRegressor`.
    method : {"auto", "exact", "nystroem"}, default="auto"
        "exact" needs 16 n² bytes and says so before it starts if the machine has less. "auto" is exact up to
        5000 samples.
    n_landmarks : int, default=1000
        Number of landmarks of "nystroem".
    categories : {"auto", None}, default="auto"
        How columns that one-hot encode a category are scaled, as in `TreeSVC`.
    tol, max_iter
        As in `StumpRegressor`.
    random_state : int, RandomState or None, default=None
        Random seed of the landmarks. "exact" is not random.
    n_jobs : int or None, default=None
        Number of threads, over several targets.

    Attributes
    ----------
    kernel_ : Tree or Rescaled
        The kernel, with its γ and the scales of categories.
    gamma_ : float
        γ.
    method_ : str
        "exact" or "nystroem".
    intercept_, objective_, residual_, n_iter_
        As in `StumpRegressor`.

    References
    ----------
    [LL08] H.-T. Lin, L. Li. Support vector machinery for infinite ensemble learning. Journal of Machine
    Learning Research 9, 285-312, 2008.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import TreeRegressor
    >>> X, y = make_friedman1(500, n_features=5, random_state=0)
    >>> model = TreeRegressor(C=100.0).fit(X, y)
    >>> X_new, y_new = make_friedman1(500, n_features=5, random_state=1)
    >>> model.score(X_new, y_new) > 0.9
    True
    """

    def __init__(
        self,
        C: float = 4.0,
        *,
        gamma: float | None = None,
        relative_gamma: float = 0.5,
        loss: str = "squared_error",
        quantile: float = 0.5,
        epsilon: float = 0.1,
        method: str = "auto",
        n_landmarks: int = 1000,
        categories: str | None = "auto",
        tol: float = 1e-3,
        max_iter: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.gamma = gamma
        self.relative_gamma = relative_gamma
        self.loss = loss
        self.quantile = quantile
        self.epsilon = epsilon
        self.method = method
        self.n_landmarks = n_landmarks
        self.categories = categories
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_training(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> tuple[Samples, NumberLoss]:
        check_positive(self.relative_gamma, "relative_gamma")
        if self.gamma is not None:
            check_positive(self.gamma, "gamma")
        samples, loss = super()._check_training(X, y, sample_weight)
        counted = samples.select(np.flatnonzero(samples.weight > 0))
        columns, gamma = self._columns(counted.X, counted.weight), self.gamma
        if gamma is None:
            gamma = self.relative_gamma * median_gamma(columns.seen(counted.X))
        self._use(columns.kernel(float(gamma)))
        return samples, loss


class TreeRegressorCV(SelectedCRegressor, TreeMachine):
    """A `TreeRegressor` whose C and γ are chosen by cross-validation.

    Parameters
    ----------
    Cs : int or array-like, default=(0.25, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)
        The values of C; a number of them is as in `StumpRegressorCV`.
    gammas : array-like, default=(0.125, 0.25, 0.5, 1.0, 2.0)
        The values of γ, as multiples of one over the median distance of two samples.
    cv, scoring
        As in `StumpRegressorCV`.
    loss, quantile, epsilon, method, n_landmarks, categories, tol, max_iter
        As in `TreeRegressor`.
    random_state : int, RandomState or None, default=None
        Random seed, of the folds, the landmarks and the samples that C and γ are chosen on.
    n_jobs : int or None, default=None
        Number of threads, over the folds.

    Attributes
    ----------
    C_, gamma_ : float
        Those of the best mean score; of equals the smallest C, and of these the smallest γ.
    Cs_, gammas_ : arrays of shape (n_Cs,) and (n_gammas,)
        The values of C and of γ, ascending.
    scores_ : array of shape (n_folds, n_Cs, n_gammas)
        The scores, NaN for the C that were not tried, as in `StumpRegressorCV`.
    unseen_ : UnseenErrors
        The errors of samples that were left out, for `predict_interval`.
    kernel_, method_, intercept_, objective_, residual_, n_iter_
        Of the fit to all samples, as in `TreeRegressor`.

    Notes
    -----
    Of more than 3000 samples, C and γ are chosen on 3000 drawn at random; then a fit to the first fold's
    training samples shows the errors of its test samples, for intervals.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import TreeRegressorCV
    >>> X, y = make_friedman1(200, n_features=5, random_state=0)
    >>> model = TreeRegressorCV(random_state=0).fit(X, y)
    >>> model.C_ > 4
    True
    """

    def __init__(
        self,
        Cs: int | ArrayLike = (0.25, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0),
        gammas: ArrayLike = (0.125, 0.25, 0.5, 1.0, 2.0),
        cv: Any = 5,
        *,
        scoring: Any = None,
        loss: str = "squared_error",
        quantile: float = 0.5,
        epsilon: float = 0.1,
        method: str = "auto",
        n_landmarks: int = 1000,
        categories: str | None = "auto",
        tol: float = 1e-3,
        max_iter: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.Cs = Cs
        self.gammas = gammas
        self.cv = cv
        self.scoring = scoring
        self.loss = loss
        self.quantile = quantile
        self.epsilon = epsilon
        self.method = method
        self.n_landmarks = n_landmarks
        self.categories = categories
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Choose C and γ by cross-validation, then fit the regressor to all samples.

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
        counted = np.flatnonzero(samples.weight > 0)
        few, X_counted = self._thin(counted, folds), samples.X[counted]
        columns = self._columns(X_counted, samples.weight[counted])
        self.gammas_ = make_multiples(self.gammas) * median_gamma(columns.seen(X_counted))
        results = []
        for gamma in self.gammas_:
            self._use(columns.kernel(float(gamma)))
            results.append(self._run_folds(samples, few, self.Cs_, loss))
        self.scores_ = np.stack([scores for scores, _ in results], axis=2)
        means = self.scores_.mean(axis=0)
        best_C, best_gamma = np.unravel_index(np.nanargmax(means), means.shape)
        self.C_ = float(self.Cs_[best_C])
        self._use(columns.kernel(float(self.gammas_[best_gamma])))
        trials = results[best_gamma][1][best_C]
        if few is not folds:
            folds = folds[:1]
            (trials,) = self._run_folds(samples, folds, np.array([self.C_]), loss)[1]
        self._keep_errors(samples, folds, trials, loss)
        self._fit_all(samples, self.C_, loss)
        return self

    def _thin(self, counted: Index, folds: list[tuple[Index, Index]]) -> list[tuple[Index, Index]]:
        """Return the folds among some of many samples that count."""
        if len(counted) <= SELECTION_ROWS:
            return folds
        some = np.zeros(counted[-1] + 1, dtype=bool)
        # another generator than that of the folds, whose first numbers would be one of them
        some[np.random.default_rng(self._seed).choice(counted, SELECTION_ROWS, replace=False)] = True
        thinned = [(train[some[train]], test[some[test]]) for train, test in folds]
        return thinned if all(len(part) for fold in thinned for part in fold) else folds
