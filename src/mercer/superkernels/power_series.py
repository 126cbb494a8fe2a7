"""Superkernels that are power series of the product of two kernel values [OSW02, (12)–(14) and Table 1]."""

from typing import Any, NamedTuple, Self, final

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.gaussian_process import kernels as sk_kernels

from mercer._typing import Array
from mercer.compiled import njit
from mercer.kernels import Series
from mercer.kernels.combination import is_rbf, shape_of
from mercer.kernels.metrics import squared_distances
from mercer.kernels.series import check_inside
from mercer.parameters import check_option, check_positive
from mercer.power_series import FUNCTIONS, RADIUS, PowerSum, evaluate_series
from mercer.solvers.cholesky import factor_low_rank
from mercer.solvers.superkernel.grams import ComputedGrams, Grams, HeldGrams, SeriesGrams
from mercer.superkernels.base import HELD, Expansion, PairKernel, as_pairs, finite_values, values_of_pairs

N_BINS = 4096  # of values of the base kernel, one candidate pair of each; all m² pairs would be too many
N_ROWS = 150  # whose pairs are the candidates of `ARD`: of a number per feature, bins do not help


class Terms(NamedTuple):
    """The series g(ξ) = factor · f(scale · ξ)."""

    function: str
    scale: float
    factor: float

    def at(self, argument: Array) -> Array:
        """Return g, inside its radius of convergence."""
        check_inside(self.function, self.scale * argument)
        return self.factor * evaluate_series(self.function, self.scale * argument)  # Table 1


class PowerSeries(PairKernel):
    r"""The superkernel of a power series with positive coefficients [OSW02, (12)].

    .. math:: \underline{k}((x, x'), (x'', x''')) = g(\kappa(x, x')\, \kappa(x'', x''')), \qquad
              g(\xi) = f(s \xi),

    for a base kernel κ ≥ 0. For a fixed pair it is a sum of powers of κ, hence a kernel. A pair enters by the
    number κ(x, x') alone.

    Parameters
    ----------
    base : scikit-learn kernel
        κ, with values that are not negative.
    function : {"exp", "sinh", "cosh", "arctanh", "log", "geometric"}, default="exp"
        f, a function of Table 1; "log" is −log(1 − ξ), "geometric" 1/(1 − ξ).
    scale : float or None, default=None
        s. The last three series are infinite at ξ = 1, where an RBF kernel has its diagonal: s κ² must stay
        below one. None is 0.9 for them, and 1 for the others.
    """

    def __init__(self, base: sk_kernels.Kernel, function: str = "exp", *, scale: float | None = None) -> None:
        self.base = base
        self.function = function
        self.scale = scale

    def terms(self) -> Terms:
        """Return the series."""
        check_option(self.function, "function", FUNCTIONS)
        if self.scale is not None:
            check_positive(self.scale, "scale")
            return Terms(self.function, float(self.scale), 1.0)
        return Terms(self.function, 1.0 if RADIUS[self.function] == np.inf else 0.9, 1.0)

    def fitted_to(self, X: Array) -> Self:
        """Return this superkernel: nothing is taken from the rows."""
        return self

    def check_values(self, kappa: Array) -> None:
        """Raise unless the base kernel's values are in the range that the series takes."""
        ends, terms = np.array([np.min(kappa, initial=0.0), np.max(kappa, initial=0.0)]), self.terms()
        check_inside(terms.function, terms.scale * float(np.max(np.abs(ends))) * ends)

    def __call__(self, P: Any, Q: Any = None) -> Array:
        """Return the Gram matrix of pairs, arrays of shape (n, 2, n_features)."""
        first = self._values(as_pairs(P))
        second = first if Q is None else self._values(as_pairs(Q, "Q"))
        return self.terms().at(np.outer(first, second))  # (12)

    def _values(self, P: Array) -> Array:
        values = values_of_pairs(self.fitted_to(P.reshape(-1, P.shape[2])).base, P)
        self.check_values(values)
        return values

    def expand(self, X: Array, others: Array, *, tol: float, max_rank: int, rng: RandomState) -> Expansion:
        """Return the terms of pairs that an incomplete Cholesky factor of the superkernel matrix picks.

        Since a pair is the number κ(x, x'), one pair of each of 4096 bins of these numbers stands for all.
        """
        base, terms = clone(self.base), self.terms()
        kappa = base_values(base, X, X)
        self.check_values(kappa)
        check_varied(base, kappa)
        candidates = one_of_each_bin(kappa, N_BINS)
        if len(others):
            more = base_values(base, X, others)
            self.check_values(more)
            candidates = np.concatenate([candidates, one_of_each_bin(more, N_BINS)])
        candidates = np.maximum(candidates, 0.0)
        c = candidates[pick_pairs(terms, candidates[:, None], tol, max_rank)]
        sums = PowerSum(FUNCTIONS.index(terms.function), terms.scale * c, np.full(len(c), terms.factor))

        def kernel(beta: Array) -> Series:
            used = beta > 0
            return Series(base, terms.function, sums.constants[used], (terms.factor * beta)[used])

        M = terms.at(np.outer(c, c))  # of ‖k‖² in (19)
        return Expansion(SeriesGrams(sums, kappa), M, kernel)  # Corollary 6


class Harmonic(PowerSeries):
    r"""The harmonic superkernel [OSW02, (13)] of a base kernel with values in [0, 1].

    .. math:: \underline{k}(\underline{x}, \underline{x}') =
              \frac{1 - \lambda_h}{1 - \lambda_h\, \kappa(\underline{x})\, \kappa(\underline{x}')}

    Parameters
    ----------
    base : scikit-learn kernel
        κ, with values in [0, 1].
    decay : float, default=0.6
        λ_h, in (0, 1): how slowly the weights of the powers κ^i, (1 − λ_h) λ_h^i, fall. For λ_h to one only
        diagonal pairs count.
    """

    def __init__(self, base: sk_kernels.Kernel, decay: float = 0.6) -> None:
        self.base = base
        self.decay = decay

    def terms(self) -> Terms:
        """Return the geometric series."""
        check_positive(self.decay, "decay")
        if not self.decay < 1.0:
            raise ValueError(f"decay must be in (0, 1), got {self.decay!r}.")
        return Terms("geometric", float(self.decay), 1.0 - float(self.decay))  # (13)

    def check_values(self, kappa: Array) -> None:
        """Raise unless the base kernel's values are in [0, 1]."""
        low, high = float(np.min(kappa, initial=0.0)), float(np.max(kappa, initial=0.0))
        if low < -1e-12 or high > 1.0 + 1e-12:
            raise ValueError(
                f"the harmonic superkernel needs a base kernel with values in [0, 1], but {self.base} has "
                f"some from {low:.3g} to {high:.3g}: take an RBF kernel, or PowerSeries(base, 'exp')"
            )


class GaussianHarmonic(Harmonic):
    r"""The harmonic superkernel of a Gaussian kernel, the one of the paper's experiments [OSW02, (14)].

    Parameters
    ----------
    length_scale : float or None, default=None
        ℓ of κ = exp(−‖x − x'‖² / 2ℓ²). None is √(50 D) for D features, the paper's (for features in [0, 1] it
        is too wide on purpose, to avoid good default kernels).
    decay : float, default=0.6
        λ_h.
    """

    def __init__(self, length_scale: float | None = None, decay: float = 0.6) -> None:
        self.length_scale = length_scale
        self.decay = decay

    @property
    def base(self) -> sk_kernels.Kernel:
        """The Gaussian kernel."""
        if self.length_scale is None:
            raise AttributeError("length_scale is None: fitted_to(X) fills it in")
        check_positive(self.length_scale, "length_scale")
        return sk_kernels.RBF(float(self.length_scale), "fixed")  # k of (14)

    def fitted_to(self, X: Array) -> Self:
        """Return the superkernel with the paper's width for this number of features."""
        if self.length_scale is not None:
            return self
        return type(self)(float(np.sqrt(50.0 * X.shape[1])), self.decay)


@final
class ARD(PairKernel):
    r"""The product of a power-series superkernel over features, each with its own relevance.

    .. math:: \underline{k}((x, x'), (x'', x''')) = \prod_j g(\kappa(x_j, x'_j)\, \kappa(x''_j, x'''_j))

    A pair enters by one number per feature. It is not in the paper; its authors' later work has it.

    Parameters
    ----------
    series : PowerSeries
        g, and the base kernel κ, which sees one column at a time.
    """

    def __init__(self, series: PowerSeries) -> None:
        self.series = series

    def fitted_to(self, X: Array) -> "ARD":
        """Return the superkernel with widths for single features filled in."""
        return ARD(self.series.fitted_to(X[:, :1]))

    def __call__(self, P: Any, Q: Any = None) -> Array:
        """Return the Gram matrix of pairs, arrays of shape (n, 2, n_features)."""
        pairs = as_pairs(P)
        others = pairs if Q is None else as_pairs(Q, "Q")
        K = np.ones((len(pairs), len(others)))
        for j in range(pairs.shape[2]):
            K *= self.series(pairs[:, :, [j]], others[:, :, [j]])
        return K

    def expand(self, X: Array, others: Array, *, tol: float, max_rank: int, rng: RandomState) -> Expansion:
        """Return the terms of pairs of at most 150 rows that an incomplete Cholesky factor picks."""
        series = self.series
        base, terms = clone(series.base), series.terms()
        Z = np.vstack([X, others])
        Z = Z[np.sort(rng.permutation(len(Z))[:N_ROWS])]
        above = np.triu_indices(len(Z))
        candidates = np.column_stack([base_values(base, z[:, None], z[:, None])[above] for z in Z.T])
        series.check_values(candidates)
        check_varied(base, *candidates.T)
        candidates = np.maximum(candidates, 0.0)
        c = candidates[pick_pairs(terms, candidates, tol, max_rank)]
        M = np.ones((len(c), len(c)))
        for column in c.T:
            M *= terms.at(np.outer(column, column))

        def compute(i: int, rows: NDArray[np.intp], others: NDArray[np.intp]) -> Array:
            K = np.ones((len(rows), len(others)))
            for j in range(X.shape[1]):
                kappa = base_values(base, X[rows][:, [j]], X[others][:, [j]])
                K *= terms.at(c[i, j] * np.maximum(kappa, 0.0))
            return K

        def kernel(beta: Array) -> Series:
            used = beta > 0
            return Series(
                base, terms.function, terms.scale * c[used], beta[used], by_feature=True, factor=terms.factor
            )

        return Expansion(hold(ComputedGrams(compute, len(c), len(X))), M, kernel)


def hold(grams: ComputedGrams) -> Grams:
    """Return the matrices held in memory, if they take at most 2 GB."""
    if grams.n_terms * grams.n_rows**2 > HELD:
        return grams
    stack = np.empty((grams.n_terms, grams.n_rows, grams.n_rows))
    for i in range(grams.n_terms):
        stack[i] = grams.term(i)
    return HeldGrams(stack)


def base_values(base: sk_kernels.Kernel, X: Array, Y: Array) -> Array:
    """Return the base kernel's Gram matrix, all of it finite."""
    if is_rbf(base):  # by one matrix product, faster than scikit-learn's own
        shape, width = shape_of(base)
        K = squared_distances(X, Y, shape)
        K *= -0.5 / width**2
        return np.exp(K, out=K)
    return finite_values(base, X, Y)


def check_varied(base: sk_kernels.Kernel, *kappas: Array) -> None:
    """Raise if the base kernel has one value for all pairs, in each of several columns."""
    if all(np.ptp(kappa) <= 1e-12 * np.max(np.abs(kappa)) for kappa in kappas):
        raise ValueError(
            f"the base kernel {base} is constant on these rows, and so are all kernels made of it: take "
            "another, such as a narrower one, or other rows"
        )


def pick_pairs(terms: Terms, candidates: Array, tol: float, max_rank: int) -> NDArray[np.intp]:
    """Return the pivots of the superkernel matrix of candidates, one row of base-kernel values each.

    The fewest that leave nothing larger than `tol` times its largest entry, and whose own matrix has a
    Cholesky factor.
    """

    def column(pivot: int) -> Array:
        values = np.ones(len(candidates))
        for kappa in candidates.T:
            values *= terms.at(kappa[pivot] * kappa)
        return values

    diagonal = np.ones(len(candidates))
    for kappa in candidates.T:
        diagonal *= terms.at(kappa**2)
    return factor_low_rank(diagonal, column, max(tol, 1e-12), max_rank).pivots


@njit(cache=True)
def one_of_each_bin(values: Array, n_bins: int) -> Array:
    """Return the largest number, and the first one in each of many equal bins."""
    low, high = values.min(), values.max()
    width = (high - low) / n_bins
    found = np.full(n_bins, np.nan)
    if width > 0:
        for row in values:
            for value in row:
                place = min(int((value - low) / width), n_bins - 1)
                if np.isnan(found[place]):
                    found[place] = value
    kept = found[~np.isnan(found)]
    return np.concatenate((np.array([high]), kept))
