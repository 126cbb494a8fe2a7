"""The SVM over all perceptrons, exact or by slices [LL05, V]."""

from collections.abc import Iterator, Sequence
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state, check_scalar, gen_batches

from mercer._typing import Array, Index
from mercer.array_api import at_once, is_of_numpy, like, namespace, zeros_like_rows
from mercer.kernels import Perceptron
from mercer.kernels.base import multiply_gram
from mercer.kernels.distance import inverse_mean_cosine
from mercer.kernels.metrics import euclidean
from mercer.limits import check_gram_fits
from mercer.parameters import check_option
from mercer.solvers.stump_svm import HINGE
from mercer.svm.additive import (
    MAX_STEPS,
    AdditiveFunction,
    TrainingRows,
    fit_path,
)
from mercer.svm.base import Samples
from mercer.svm.dual import DualSVC, FixedCSVC, Progress, TablePlan, TwoClassSVM
from mercer.svm.few_rows import FewRows, are_few, fit_by_libsvm
from mercer.svm.libsvm import DualSolution, distances_among, solve_completely
from mercer.svm.multiclass import TwoClassProblem
from mercer.svm.on_device import DeviceGram
from mercer.svm.selection import SelectedCSVC

Solutions = Sequence[tuple[DualSolution, int]]  # one for each problem, and its steps

# "auto" is exact up to so many rows, where the Gram matrix is 72 MB; or up to more, where it is 1.8 GB, if
# they are at most so many times the columns of slices of all problems, which then take longer than LIBSVM
EXACT_ROWS, MOST_EXACT_ROWS, ROWS_OF_A_SLICE = 3000, 15_000, 4
FARTHEST = 1e140  # samples may be apart: squares of larger distances have no sums


class DistanceFunction(NamedTuple):
    """f(x) = −Σ_j c_j ‖x − x_j‖₂ + intercept."""

    support: Array
    coef: Array
    intercept: float

    def __call__(self, X: Array) -> Array:
        """Return f for each row of X. O(D) for each support vector."""
        support = namespace(X).astype(self.support, X.dtype, copy=False)
        return self.intercept - multiply_gram(euclidean, X, support, self.coef)

    def __sklearn_array_api_convert__(self, convert: Any) -> "DistanceFunction":
        """Return the function with its arrays converted."""
        return DistanceFunction(convert(self.support), convert(self.coef), self.intercept)


class SlicedFunction(NamedTuple):
    """f(x) = Σ_k g_k(θ_kᵀ x) + intercept: additive in projections."""

    directions: Array
    additive: AdditiveFunction

    def __call__(self, X: Array) -> Array:
        """Return f for each row of X. O(D + log k) for each direction."""
        if is_of_numpy(X):
            return self.additive(X @ self.directions)
        xp, out = namespace(X), zeros_like_rows(X, len(X))
        for block in gen_batches(len(X), max(1, at_once(X, 1) // self.directions.shape[1])):
            out[block] = self.additive(xp.astype(X[block], xp.float64) @ self.directions)
        return out

    def __sklearn_array_api_convert__(self, convert: Any) -> "SlicedFunction":
        """Return the function with its arrays converted."""
        return SlicedFunction(convert(self.directions), self.additive.__sklearn_array_api_convert__(convert))


class PerceptronSVM(DualSVC):
    """What `PerceptronSVC` and `PerceptronSVCCV` share: the perceptron kernel, and how to compute with it."""

    def _plan(self, n_rows: int) -> None:
        check_option(self.method, "method", ("auto", "exact", "sliced"))
        if self.n_directions is not None:
            check_scalar(self.n_directions, "n_directions", Integral, min_val=1)
        if self.max_bins is not None:
            check_scalar(self.max_bins, "max_bins", Integral, min_val=2, max_val=65_536)
        # of all rows, so that every fold and every pair of classes is solved in the same way
        self._exact = self.method == "exact" or (self.method == "auto" and self._is_small(n_rows))
        self._draw_seed(not self._exact)

    def _is_small(self, n_rows: int) -> bool:
        if EXACT_ROWS < n_rows <= MOST_EXACT_ROWS:
            n_slices = self._n_slices(self.n_features_in_) * (len(self.classes_) - 1)
            return n_rows <= ROWS_OF_A_SLICE * n_slices
        return n_rows <= EXACT_ROWS

    def _n_slices(self, n_features: int) -> int:
        return 16 * n_features if self.n_directions is None else int(self.n_directions)

    @property
    def _computes_on_device(self) -> bool:
        return self._exact or self.max_bins is not None

    def _paths_together(
        self, samples: Samples, problems: Sequence[TwoClassProblem], Cs: Sequence[float]
    ) -> Iterator[Sequence[TwoClassSVM]] | None:
        if self._exact and not is_of_numpy(samples.X):
            return _describe_path(samples.X, problems, self._solve_on_device(samples, problems, Cs))
        if self._exact:
            return _describe_path(samples.X, problems, self._exact_paths(samples, problems, Cs))
        if not is_of_numpy(samples.X) or not are_few(len(samples.X), len(self.classes_), Cs):
            return None
        return self._few_sliced_paths(samples, problems, Cs)

    def _few_sliced_paths(
        self, samples: Samples, problems: Sequence[TwoClassProblem], Cs: Sequence[float]
    ) -> Iterator[Sequence[TwoClassSVM]]:
        directions = self._directions(samples.X.shape[1])
        rows = FewRows.prepare(samples.X @ directions, self.max_bins, self._seed)
        for fits in fit_by_libsvm(rows, problems, samples, Cs, self._scheme, float(self.tol), self.max_iter):
            yield [fit._replace(function=SlicedFunction(directions, fit.function)) for fit in fits]

    def _table(self, n_features: int) -> TablePlan:
        if self._exact or self.max_bins is None:
            raise ValueError(
                "PerceptronSVC needs slices and bins for Dask collections: set method='sliced', and "
                "max_bins, for example to 64."
            )
        directions = self._directions(n_features)
        return TablePlan(HINGE, directions, partial(SlicedFunction, directions))

    def _directions(self, n_features: int) -> Array:
        return draw_directions(n_features, self._n_slices(n_features), self._seed)

    def _exact_paths(
        self, samples: Samples, problems: Sequence[TwoClassProblem], Cs: Sequence[float]
    ) -> Iterator[Solutions]:
        check_gram_fits(len(samples.X), "Use method='sliced', or fewer rows.")
        K = minus_distances(samples.X)
        options = {"tol": float(self.tol), "max_iter": self.max_iter}
        for C in Cs:
            weight = C * samples.weight
            yield solve_completely(K, samples.label, problems, weight, self._scheme, **options).each()

    def _solve_on_device(
        self, samples: Samples, problems: Sequence[TwoClassProblem], Cs: Sequence[float]
    ) -> Iterator[Solutions]:
        gram = DeviceGram.of(Perceptron().gram, samples.X, "Use method='sliced', or fewer rows.")
        options = {"tol": float(self.tol), "max_iter": self.max_iter or MAX_STEPS}
        return gram.solve(problems, samples.weight, Cs, **options)

    def _fold_paths(
        self, samples: Samples, folds: Sequence[tuple[Index, Index]], Cs: Sequence[float]
    ) -> list[Iterator[Sequence[TwoClassSVM]]] | None:
        """Solve the problems of all folds at once, with one Gram matrix, if the samples are tensors."""
        if not self._exact or is_of_numpy(samples.X):
            return None
        problems = [
            [TwoClassProblem(train[p.rows], p.y) for p in self._split(samples.label[train])]
            for train, _ in folds
        ]
        found = list(self._solve_on_device(samples, [p for fold in problems for p in fold], Cs))
        n = len(problems[0])
        return [
            _describe_path(samples.X, fold, iter([fits[k * n : (k + 1) * n] for fits in found]))
            for k, fold in enumerate(problems)
        ]

    def _path(
        self, X: Array, y: Array, weight: Array, Cs: Sequence[float], progress: Progress | None
    ) -> Iterator[TwoClassSVM]:
        directions = like(X, self._directions(X.shape[1]))
        rows = TrainingRows.prepare(X, self.max_bins, self._seed, directions)
        options: dict[str, Any] = {"tol": float(self.tol), "max_iter": self.max_iter, "progress": progress}
        for fit in fit_path(rows, y, weight, Cs, **options):
            yield fit._replace(function=SlicedFunction(directions, fit.function))


def minus_distances(X: Array) -> Array:
    """Return −‖x − x'‖₂ of all samples; raise ValueError where a solver could not compute with them."""
    K = distances_among(X, "euclidean")
    if not K.max() <= FARTHEST:
        raise ValueError(
            f"features are as large as {np.abs(X).max():.0e}, and the squared distances of samples are no "
            "numbers: scale the features, for example with sklearn.preprocessing.StandardScaler."
        )
    return np.negative(K, out=K)


def _describe_path(
    X: Array, problems: Sequence[TwoClassProblem], path: Iterator[Solutions]
) -> Iterator[Sequence[TwoClassSVM]]:
    for found in path:
        yield [_describe(X[p.rows], *fit) for p, fit in zip(problems, found, strict=True)]


def _describe(X: Array, solution: DualSolution, n_iter: int) -> TwoClassSVM:
    coef, intercept, objective, residual = solution
    (support,) = namespace(coef).nonzero(coef)
    function = DistanceFunction(X[support], coef[support], intercept)
    return TwoClassSVM(function, intercept, coef, objective, n_iter, residual)


def draw_directions(n_features: int, n_directions: int, random_state: Any) -> Array:
    """Draw directions θ_k, one per column, scaled so that Σ_k |θ_kᵀ(x − x')| estimates ‖x − x'‖₂ unbiasedly.

    For θ uniform on the unit sphere of D dimensions E|θᵀz| = ‖z‖₂ / c_D with
    c_D = √π Γ((D+1)/2) / Γ(D/2) [LL05, V]. They come in orthogonal blocks, which lowers the variance.
    """
    rng = check_random_state(random_state)
    n_blocks = -(-n_directions // n_features)
    blocks = []
    for _ in range(n_blocks):
        Q, R = np.linalg.qr(rng.standard_normal((n_features, n_features)))
        blocks.append(Q * np.sign(np.diag(R)))  # uniform over the orthogonal matrices
    directions = np.hstack(blocks)[:, :n_directions]
    return np.ascontiguousarray(directions * (inverse_mean_cosine(n_features) / n_directions))


class PerceptronSVC(FixedCSVC, PerceptronSVM):
    r"""The soft-margin SVM over all perceptrons [LL05, Definition 3 and (P2)].

    The perceptron kernel :math:`\Delta_P - \|x - x'\|_2` is the inner product of what infinitely many linear
    threshold units say about two samples: the SVM is a neural network with one infinitely wide hidden layer.
    It works about as well as the Gaussian kernel and has no width to tune.

    Exact, it needs the Gram matrix, and LIBSVM solves it, or where samples are tensors, a solver on their
    device. By slices, it needs none: for a unit vector θ drawn at random,
    :math:`\|z\|_2 = c_D \, E|\theta^\top z|`, so that the kernel is the average of stump kernels on
    projections, and the solver of `StumpSVC` trains it on `n_directions` of them.

    Parameters
    ----------
    C : float, default=1.0
        The penalty of margin violations. Features in [−1, 1] need values of about 2⁻¹⁰ to 2³ [LL05, VI].
    method : {"auto", "exact", "sliced"}, default="auto"
        "exact" needs 16 n² bytes (n = 3000: 0.14 GB, n = 20 000: 6.4 GB) and says so before it starts if the
        machine has less. "sliced" needs some n × n_directions bytes. "auto" is exact up to 3000 samples, and
        up to 15 000 where slices take longer: if they are at most 4 n_directions for each class but one.
    n_directions : int or None, default=None
        Number of projections of "sliced"; None takes 16 for each feature.
    max_bins : int or None, default=64
        Number of bins of each projection, as in `StumpSVC`; for "sliced" alone.
    max_iter : int or None, default=None
        Maximum number of iterations: of LIBSVM, which None leaves without limit, or Newton steps, 1000.
    tol, class_weight, multi_class
        As in `StumpSVC`.
    random_state : int, RandomState or None, default=None
        Random seed of the directions.
    n_jobs : int or None, default=None
        Number of threads, over the two-class problems of more than two classes.

    Attributes
    ----------
    classes_, intercept_, support_, dual_coef_, objective_, residual_, n_iter_
        As in `StumpSVC`.

    Examples
    --------
    >>> from mercer import PerceptronSVC
    >>> from mercer.datasets import threenorm
    >>> X, y = threenorm(300, random_state=0)
    >>> model = PerceptronSVC(C=0.125).fit(X, y)
    >>> X_new, y_new = threenorm(1000, random_state=1)
    >>> model.score(X_new, y_new) > 0.8
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        method: str = "auto",
        n_directions: int | None = None,
        max_bins: int | None = 64,
        tol: float = 1e-3,
        max_iter: int | None = None,
        class_weight: Any = None,
        multi_class: str = "ovo",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.method = method
        self.n_directions = n_directions
        self.max_bins = max_bins
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.random_state = random_state
        self.n_jobs = n_jobs


class PerceptronSVCCV(SelectedCSVC, PerceptronSVM):
    """A `PerceptronSVC` whose C is chosen by cross-validation along warm-started paths.

    Parameters
    ----------
    Cs, cv, scoring, n_jobs
        As in `StumpSVCCV`.
    method, n_directions, max_bins, tol, max_iter, class_weight, multi_class, random_state
        As in `PerceptronSVC`.

    Attributes
    ----------
    C_, edge_, Cs_, scores_
        As in `StumpSVCCV`.
    classes_, intercept_, support_, dual_coef_, objective_, residual_, n_iter_
        Of the fit to all samples, as in `StumpSVC`.

    Examples
    --------
    >>> from mercer import PerceptronSVCCV
    >>> from mercer.datasets import threenorm
    >>> X, y = threenorm(300, random_state=0)
    >>> model = PerceptronSVCCV().fit(X, y)
    >>> model.C_ < 8
    True
    """

    def __init__(
        self,
        Cs: int | ArrayLike = 11,
        cv: Any = 5,
        *,
        scoring: Any = None,
        method: str = "auto",
        n_directions: int | None = None,
        max_bins: int | None = 64,
        tol: float = 1e-3,
        max_iter: int | None = None,
        class_weight: Any = None,
        multi_class: str = "ovo",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.method = method
        self.n_directions = n_directions
        self.max_bins = max_bins
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.random_state = random_state
        self.n_jobs = n_jobs
