"""Regression by all perceptrons: exact on the Gram matrix, or by slices where samples are many [LL05, V]."""

from collections.abc import Iterator, Sequence
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_scalar

from mercer._typing import Array
from mercer.array_api import like
from mercer.limits import check_gram_fits
from mercer.parameters import check_option
from mercer.regression.losses import NumberLoss
from mercer.regression.paths import FixedCRegressor, PathRegressor, SelectedCRegressor
from mercer.solvers.kernel_svm import solve_on_gram
from mercer.svm.additive import MAX_STEPS, TrainingRows, fit_path
from mercer.svm.dual import TablePlan, TwoClassSVM
from mercer.svm.perceptron import (
    EXACT_ROWS,
    DistanceFunction,
    SlicedFunction,
    draw_directions,
    minus_distances,
)


class ExactSamples(NamedTuple):
    """Samples, and minus their distances."""

    X: Array
    K: Array


class SlicedSamples(NamedTuple):
    """Directions, and the projections of the samples."""

    directions: Array
    rows: TrainingRows


class PerceptronMachine(PathRegressor):
    """What `PerceptronRegressor` and `PerceptronRegressorCV` share: the kernel, and two ways to compute."""

    def _plan(self, n_rows: int) -> None:
        check_option(self.method, "method", ("auto", "exact", "sliced"))
        if self.n_directions is not None:
            check_scalar(self.n_directions, "n_directions", Integral, min_val=1)
        if self.max_bins is not None:
            check_scalar(self.max_bins, "max_bins", Integral, min_val=2, max_val=65_536)
        # of all rows, so that every fold is solved in the same way
        self._exact = self.method == "exact" or (self.method == "auto" and n_rows <= EXACT_ROWS)
        self._draw_seed()

    _takes_tensors = True

    @property
    def _computes_on_device(self) -> bool:
        return not self._exact and self.max_bins is not None

    def _table(self, loss: NumberLoss, n_features: int) -> TablePlan:
        if self._exact or self.max_bins is None:
            raise ValueError(
                "PerceptronRegressor needs slices and bins for Dask collections: set method='sliced', and "
                "max_bins, such as to 64."
            )
        directions = self._directions(n_features)
        return TablePlan(loss.solver, directions, partial(SlicedFunction, directions))

    def _directions(self, n_features: int) -> Array:
        n_directions = 16 * n_features if self.n_directions is None else self.n_directions
        return draw_directions(n_features, n_directions, self._seed)

    def _check_room(self, n_rows: int, n_folds: int) -> None:
        if self._exact:
            check_gram_fits(n_rows, "Use method='sliced', or fewer rows.", n_folds)

    def _prepare(self, X: Array) -> ExactSamples | SlicedSamples:
        if self._exact:
            return ExactSamples(X, minus_distances(X))
        directions = like(X, self._directions(X.shape[1]))
        return SlicedSamples(directions, TrainingRows.prepare(X, self.max_bins, self._seed, directions))

    def _path(
        self, rows: Any, y: Array, weight: Array, Cs: Sequence[float], loss: NumberLoss
    ) -> Iterator[TwoClassSVM]:
        options: dict[str, Any] = {"tol": float(self.tol)}
        if isinstance(rows, SlicedSamples):
            y, weight = (like(rows.directions, values) for values in (y, weight))
            for fit in fit_path(rows.rows, y, weight, Cs, loss.solver, max_iter=self.max_iter, **options):
                yield fit._replace(function=SlicedFunction(rows.directions, fit.function))
        else:
            options["max_iter"] = self.max_iter or MAX_STEPS
            for solution in solve_on_gram(rows.K, y, weight, Cs, loss.solver, **options):
                coef, b = solution.function.coef, solution.bias
                support = np.flatnonzero(coef)
                function = DistanceFunction(rows.X[support], coef[support], b)
                yield TwoClassSVM(function, b, coef, solution.objective, solution.n_iter, solution.residual)


class PerceptronRegressor(FixedCRegressor, PerceptronMachine):
    r"""Regression with the perceptron kernel [LL05, Definition 3].

    The perceptron kernel :math:`\Delta_P - \|x - x'\|_2` is the inner product of what infinitely many linear
    threshold units say about two samples: the machine is a neural network with one infinitely wide hidden
    layer. Unlike that of stumps it sees how features act together, and it has no width to tune.

    Exact, it needs the Gram matrix: with the squared error it is the thin-plate-like spline of the kernel
    −‖x − x'‖₂. By slices, it needs none: the kernel is the average of stump kernels on projections, and the
    solver of `StumpRegressor` fits `n_directions` of them.

    Parameters
    ----------
    C : float, default=1.0
        The weight of the losses against the penalty. Standardised features need values of about 2⁻⁸ to 2¹⁰.
    loss, quantile, epsilon
        As in `StumpRegressor`.
    method : {"auto", "exact", "sliced"}, default="auto"
        "exact" needs 16 n² bytes (n = 3000: 0.14 GB) and O(n³) time, and says so before it starts if the
        machine has less memory. "sliced" needs some n × n_directions bytes. "auto" is exact up to 3000
        samples.
    n_directions : int or None, default=None
        Number of projections of "sliced"; None takes 16 for each feature.
    max_bins : int or None, default=64
        Number of bins of each projection, as in `StumpRegressor`; for "sliced" alone.
    tol, max_iter
        As in `StumpRegressor`.
    random_state : int, RandomState or None, default=None
        Random seed of the directions.
    n_jobs : int or None, default=None
        Number of threads, over several targets.

    Attributes
    ----------
    intercept_, objective_, residual_, n_iter_
        As in `StumpRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import PerceptronRegressor
    >>> X, y = make_friedman1(500, n_features=5, random_state=0)
    >>> model = PerceptronRegressor(C=64.0).fit(X, y)
    >>> X_new, y_new = make_friedman1(500, n_features=5, random_state=1)
    >>> model.score(X_new, y_new) > 0.9
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "squared_error",
        quantile: float = 0.5,
        epsilon: float = 0.1,
        method: str = "auto",
        n_directions: int | None = None,
        max_bins: int | None = 64,
        tol: float = 1e-3,
        max_iter: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.quantile = quantile
        self.epsilon = epsilon
        self.method = method
        self.n_directions = n_directions
        self.max_bins = max_bins
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs


class PerceptronRegressorCV(SelectedCRegressor, PerceptronMachine):
    """A `PerceptronRegressor` whose C is chosen by cross-validation along warm-started paths.

    Parameters
    ----------
    Cs, cv, scoring, n_jobs
        As in `StumpRegressorCV`.
    loss, quantile, epsilon, method, n_directions, max_bins, tol, max_iter
        As in `PerceptronRegressor`.
    random_state : int, RandomState or None, default=None
        Random seed of the folds and of the directions.

    Attributes
    ----------
    C_, edge_, Cs_, scores_, unseen_
        As in `StumpRegressorCV`.
    intercept_, objective_, residual_, n_iter_
        Of the fit to all samples, as in `StumpRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import PerceptronRegressorCV
    >>> X, y = make_friedman1(300, n_features=5, random_state=0)
    >>> model = PerceptronRegressorCV(random_state=0).fit(X, y)
    >>> model.C_ > 1
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
        method: str = "auto",
        n_directions: int | None = None,
        max_bins: int | None = 64,
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
        self.method = method
        self.n_directions = n_directions
        self.max_bins = max_bins
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
