"""Regression by all decision stumps: an additive model, without a Gram matrix [LL05, IV]."""

from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array
from mercer.array_api import like
from mercer.regression.losses import NumberLoss
from mercer.regression.paths import FixedCRegressor, PathRegressor, SelectedCRegressor
from mercer.svm.additive import ShapeFunction, TrainingRows, fit_path
from mercer.svm.dual import TablePlan, TwoClassSVM


class StumpMachine(PathRegressor):
    """What `StumpRegressor` and `StumpRegressorCV` share: the stump kernel, and the parameter `max_bins`."""

    def _plan(self, n_rows: int) -> None:
        if self.max_bins is not None:
            check_scalar(self.max_bins, "max_bins", Integral, min_val=2, max_val=65_536)
        self._draw_seed()

    _takes_tensors = True

    @property
    def _computes_on_device(self) -> bool:
        return self.max_bins is not None

    def _table(self, loss: NumberLoss, n_features: int) -> TablePlan:
        if self.max_bins is None:
            raise ValueError("StumpRegressor needs bins for Dask collections: set max_bins, such as to 256.")
        return TablePlan(loss.solver)

    def _prepare(self, X: Array) -> TrainingRows:
        return TrainingRows.prepare(X, self.max_bins, self._seed)

    def _path(
        self, rows: TrainingRows, y: Array, weight: Array, Cs: Sequence[float], loss: NumberLoss
    ) -> Iterator[TwoClassSVM]:
        y, weight = (like(rows.columns.code, values) for values in (y, weight))
        return fit_path(rows, y, weight, Cs, loss.solver, tol=float(self.tol), max_iter=self.max_iter)

    @property
    def shape_functions_(self) -> list[Any]:
        """The g_d of f(x) = Σ_d g_d(x_d) + b, in units of the target."""
        check_is_fitted(self)
        shapes = [
            [ShapeFunction(knots, scale * values) for knots, values in function.shapes()]
            for function, scale in zip(self._functions, self._scaling.scale, strict=True)
        ]
        return shapes[0] if self._one_target else shapes


class StumpRegressor(FixedCRegressor, StumpMachine):
    r"""Regression with the stump kernel, as an additive model [LL05].

    The stump kernel :math:`\Delta_S - \|x - x'\|_1` is the inner product of what infinitely many decision
    stumps say about two samples. With a loss ℓ of numbers in place of the hinge its machine is

    .. math:: f(x) = \sum_d g_d(x_d) + b, \qquad
              \min_{g, b} \tfrac14 \sum_d \int g_d'(t)^2 dt + \sum_i C_i \, \ell(y_i, f(x_i)),

    a first-order smoothing spline of each feature: piecewise linear :math:`g_d` (`shape_functions_`) that are
    constant beyond the data. The solver is that of `StumpSVC`: no Gram matrix, O(n D) memory.

    The target is standardised inside: C and ε do not depend on its units, but for ``loss="poisson"``, where
    a thousand counts say more than one, and C for targets in thousands is a thousand times that for units.
    The kernel adds up distances: scale the features, best by `ClippedScaler`. Samples may be tensors of
    torch, within ``sklearn.config_context(array_api_dispatch=True)``: with bins they are computed with where
    they are, on a GPU for example.

    Parameters
    ----------
    C : float, default=1.0
        The weight of the losses against the penalty. Standardised features need values of about 2⁻¹⁰ (noise
        almost everywhere) to 2¹⁰ (almost none).
    loss : {"squared_error", "absolute_error", "quantile", "epsilon_insensitive", "poisson"}
        (y − f)² / 2 for the mean, the default; \|y − f\| for the median; the pinball loss for a quantile;
        max(0, \|y − f\| − ε); or exp f − y f for counts and other targets of at least 0, with exp f as the
        prediction.
    quantile : float, default=0.5
        The level, for ``loss="quantile"``.
    epsilon : float, default=0.1
        ε in standard deviations of the target, for ``loss="epsilon_insensitive"``.
    max_bins : int or None, default=None
        None solves the exact problem. With a number (256 is good) each feature has at most that number of
        bins of equally many samples, and each value moves to the mean of its bin: faster for many samples.
    tol : float, default=1e-3
        Ten times the relative duality gap at which to stop; for the absolute error and quantiles without
        bins, the largest violation of the optimality conditions.
    max_iter : int or None, default=None
        Maximum number of Newton steps; None is 1000. Squared errors of samples in bins take steps of
        conjugate gradients, which are quicker: None is 10 000.
    random_state : int, RandomState or None, default=None
        Random seed of the samples that the bins are chosen on, if there are more than 200 000. Without bins
        nothing is random.
    n_jobs : int or None, default=None
        Number of threads, over several targets.

    Attributes
    ----------
    shape_functions_ : list
        Knots and values of g_d per feature, in units of the target (of its logarithm for "poisson"), of mean
        zero over the knots. For several targets one such list for each.
    intercept_ : float or array of shape (n_targets,)
        b, for these shape functions.
    objective_, residual_ : float or arrays of shape (n_targets,)
        The minimum of the dual problem of the standardised target, and how far it is from optimal.
    n_iter_ : int
        Number of Newton steps.

    Notes
    -----
    [LL05] has classifiers alone; the losses of numbers are ours. A target that is constant is predicted as it
    is. Two quantiles make an interval whose width depends on x; `StumpRegressorCV` has `predict_interval`.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import StumpRegressor
    >>> X, y = make_friedman1(500, random_state=0)
    >>> model = StumpRegressor(C=16.0).fit(X, y)
    >>> X_new, y_new = make_friedman1(500, random_state=1)
    >>> model.score(X_new, y_new) > 0.7
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "squared_error",
        quantile: float = 0.5,
        epsilon: float = 0.1,
        max_bins: int | None = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.quantile = quantile
        self.epsilon = epsilon
        self.max_bins = max_bins
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs


class StumpRegressorCV(SelectedCRegressor, StumpMachine):
    """A `StumpRegressor` whose C is chosen by cross-validation along warm-started paths.

    Parameters
    ----------
    Cs : int or array-like, default=12
        The values of C, or how many from 2⁻¹² to 2¹⁰ in equal ratios.
    cv : int, splitter or iterable, default=5
        The folds, as in `sklearn.linear_model.LassoCV`; but a number of folds takes samples in random order.
    scoring : str, callable or None, default=None
        The score to maximise; None is minus the mean of the loss.
    loss, quantile, epsilon, max_bins, tol, max_iter
        As in `StumpRegressor`.
    random_state : int, RandomState or None, default=None
        Random seed of the folds, and of what it is for in `StumpRegressor`.
    n_jobs : int or None, default=None
        Number of threads, over the folds, and over several targets.

    Attributes
    ----------
    C_ : float
        The C of the best mean score, the smallest of equals.
    edge_ : {"lower", "upper"} or None
        The end of the values that `C_` is at; there, further values of C may be better.
    Cs_ : array of shape (n_Cs,)
        The values of C, ascending.
    scores_ : array of shape (n_folds, n_Cs)
        The scores. A path ends when two values of C in a row are worse than the best by more than a
        standard error, or one by more than five; those that were not tried have NaN.
    unseen_ : UnseenErrors
        The errors of the folds' test samples at this C, for `predict_interval`.
    shape_functions_, intercept_, objective_, residual_, n_iter_
        Of the fit to all samples, as in `StumpRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import StumpRegressorCV
    >>> X, y = make_friedman1(500, random_state=0)
    >>> model = StumpRegressorCV(random_state=0).fit(X, y)
    >>> X_new, y_new = make_friedman1(2000, random_state=1)
    >>> low, high = model.predict_interval(X_new, coverage=0.9)
    >>> bool(0.86 < ((low <= y_new) & (y_new <= high)).mean() < 0.94)
    True
    """

    def __init__(
        self,
        Cs: int | ArrayLike = 12,
        cv: Any = 5,
        *,
        scoring: Any = None,
        loss: str = "squared_error",
        quantile: float = 0.5,
        epsilon: float = 0.1,
        max_bins: int | None = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.loss = loss
        self.quantile = quantile
        self.epsilon = epsilon
        self.max_bins = max_bins
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
