"""The superkernel of a list of kernels [OSW02, (15)]."""

from collections.abc import Sequence
from typing import Any, NamedTuple, final

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from sklearn.base import clone
from sklearn.gaussian_process import kernels as sk_kernels

from mercer._typing import Array
from mercer.kernels import Combination
from mercer.kernels.combination import is_rbf, restrict, shape_of
from mercer.kernels.metrics import squared_distances
from mercer.limits import check_memory
from mercer.parameters import check_option
from mercer.solvers.cholesky import factor_low_rank
from mercer.solvers.superkernel.grams import (
    ComputedGrams,
    FactoredGrams,
    Grams,
    HeldGrams,
    JointGrams,
    PowerGrams,
)
from mercer.superkernels.base import HELD, Expansion, PairKernel, as_pairs, finite_values, values_of_pairs

Columns = tuple[int, ...] | None

FACTOR_TOL = 1e-10  # what a factor may leave of a kernel
FEW_COLUMNS = 2  # on which a kernel may have a low rank
MOST_SQUARINGS = 20  # of a Gaussian kernel, to get a narrower one
N_CHECKED = 100  # rows on which a kernel is checked for being one


class Term(NamedTuple):
    """One kernel of a list."""

    kernel: sk_kernels.Kernel
    columns: Columns
    weight: float  # c


@final
class Explicit(PairKernel):
    r"""The superkernel of a list of kernels [OSW02, (15)].

    .. math:: \underline{k}(\underline{x}, \underline{x}') = \sum_i c_i\, k_i(\underline{x})\,
              k_i(\underline{x}'),
              \qquad k = \sum_i \beta_i k_i, \quad \|k\|^2 = \sum_i \beta_i^2 / c_i .

    The β are optimised directly, under an ℓ2 penalty, as the paper advises.

    Parameters
    ----------
    kernels : sequence of scikit-learn kernels
        The kernels k_i.
    weights : array of shape (n_kernels,) or None, default=None
        The weights c_i; None means that all are one.
    columns : sequence of tuples of int, or None, default=None
        The columns that each kernel sees (None instead of a tuple: all of them).
    normalize : bool, default=True
        Whether each kernel is divided by the mean squared distance of the rows from their mean in its feature
        space, so that all count the same. That distance is near zero for very wide kernels.

    Notes
    -----
    Kernels of one or two columns are kept by their factors of low rank where they have any (what is left is
    10⁻¹⁰ of the kernel). Others are held in memory up to 2 GB; beyond that they are computed anew at each
    iteration. (15) asks for kernels with no negative values, so that any combination of pairs is a kernel;
    here the β themselves are not negative, and a linear kernel does no harm.
    """

    def __init__(
        self,
        kernels: Sequence[sk_kernels.Kernel],
        weights: Any = None,
        *,
        columns: Sequence[Columns] | None = None,
        normalize: bool = True,
    ) -> None:
        self.kernels = kernels
        self.weights = weights
        self.columns = columns
        self.normalize = normalize

    def list_terms(self) -> list[Term]:
        """Return the kernels with their columns and weights, checked."""
        kernels = list(self.kernels)
        if not kernels or not all(isinstance(kernel, sk_kernels.Kernel) for kernel in kernels):
            raise TypeError("kernels must be a list of scikit-learn kernels, one at least")
        weights = np.ones(len(kernels)) if self.weights is None else np.asarray(self.weights, dtype=float)
        columns = [None] * len(kernels) if self.columns is None else list(map(_as_columns, self.columns))
        if weights.shape != (len(kernels),) or not np.all((weights > 0) & np.isfinite(weights)):
            raise ValueError(f"weights must be {len(kernels)} positive numbers, one per kernel")
        if len(columns) != len(kernels):
            raise ValueError(f"columns has {len(columns)} entries for {len(kernels)} kernels")
        check_option(self.normalize, "normalize", (True, False))
        return [Term(*term) for term in zip(kernels, columns, weights.tolist(), strict=True)]

    def __call__(self, P: Any, Q: Any = None) -> Array:
        """Return the Gram matrix of pairs, arrays of shape (n, 2, n_features); nothing is normalised here."""
        pairs = as_pairs(P)
        others = pairs if Q is None else as_pairs(Q, "Q")
        K = np.zeros((len(pairs), len(others)))
        for kernel, columns, weight in self.list_terms():
            some = slice(None) if columns is None else list(columns)
            first, second = (values_of_pairs(kernel, pair[:, :, some]) for pair in (pairs, others))
            K += weight * np.outer(first, second)  # (15)
        return K

    def expand(self, X: Array, others: Array, *, tol: float, max_rank: int, rng: RandomState) -> Expansion:
        """Return the kernels as terms. There are no pairs to choose: only `X` counts."""
        terms = self.list_terms()
        grams = keep(terms, X)
        penalty = 1.0 / np.array([term.weight for term in terms])  # ‖k‖² = Σ β²/c, for (15)
        spread, size = grams.spreads(), mean_diagonals(terms, X)
        varies = spread > FACTOR_TOL * size
        if not np.any(varies):
            raise ValueError("all kernels are constant on these rows: take other kernels, or other rows")
        if self.normalize:
            # a kernel that is constant on the rows gets no weight; divided by its spread it would get all
            penalty *= np.where(varies, spread, np.maximum(size, 1e-100) / FACTOR_TOL) ** 2
        kernels = [clone(term.kernel) for term in terms]
        columns = None if self.columns is None else [term.columns for term in terms]

        def kernel(beta: Array) -> Combination:
            used = np.flatnonzero(beta > 0)
            some = None if columns is None else [columns[i] for i in used]
            return Combination([kernels[i] for i in used], beta[used], some)

        return Expansion(grams, penalty, kernel)


def _as_columns(columns: Sequence[int] | None) -> Columns:
    if columns is None:
        return None
    numbers = np.asarray(columns)
    if numbers.dtype == np.bool_:
        numbers = np.flatnonzero(numbers)
    if numbers.ndim != 1 or len(numbers) == 0 or numbers.dtype.kind not in "iu" or numbers.min() < 0:
        raise ValueError(f"columns must be numbers of columns, one at least, not {columns!r}; None means all")
    return tuple(numbers.tolist())


def keep(terms: Sequence[Term], X: Array) -> Grams:
    """Return the Gram matrices, by factors of low rank where kernels of few columns have any."""
    factors: dict[int, Array] = {}
    for i, (kernel, columns, _) in enumerate(terms):
        check_psd(kernel, restrict(X[:: max(1, len(X) // N_CHECKED)], columns))
        if columns is not None and len(columns) <= FEW_COLUMNS:
            F = factor_kernel(kernel, restrict(X, columns))
            if F is not None:
                factors[i] = F
    dense = [i for i in range(len(terms)) if i not in factors]
    kinds: list[tuple[list[int], Grams]] = []
    if factors:
        kinds.append((list(factors), FactoredGrams(list(factors.values()))))
    for group in group_powers(terms, dense):
        kinds.append((group, keep_powers([terms[i] for i in group], X)))
        dense = [i for i in dense if i not in group]
    if dense:
        kinds.append((dense, keep_dense([terms[i] for i in dense], X)))
    return kinds[0][1] if len(kinds) == 1 else JointGrams(kinds)


def factor_kernel(kernel: sk_kernels.Kernel, X: Array) -> Array | None:
    """Return F with K = F Fᵀ, if the rank is so low that this is shorter than K by far."""
    most = min(64, len(X) // 8)
    found = factor_low_rank(
        np.asarray(kernel.diag(X)), lambda i: finite_values(kernel, X, X[i : i + 1])[:, 0], FACTOR_TOL, most
    )
    return np.ascontiguousarray(found.L.T) if found.left <= FACTOR_TOL else None


def group_powers(terms: Sequence[Term], places: Sequence[int]) -> list[list[int]]:
    """Return groups of Gaussian kernels that are powers of two of the widest one of the group."""
    alike: dict[Any, list[tuple[float, int]]] = {}
    for i in places:
        kernel, columns, _ = terms[i]
        if is_rbf(kernel):
            shape, width = shape_of(kernel)
            power = 2.0 * np.log2(width)
            alike.setdefault((columns, shape, round(power % 1.0, 9) % 1.0), []).append((power, i))
    groups: list[list[int]] = []
    for members in alike.values():
        widest = np.inf
        for power, i in sorted(members, reverse=True):
            if widest - power > MOST_SQUARINGS:  # each squaring doubles the rounding errors
                widest = power
                groups.append([])
            groups[-1].append(i)
    return [sorted(group) for group in groups if len(group) > 1]


def keep_powers(terms: Sequence[Term], X: Array) -> Grams:
    """Return Gaussian kernels of one group, by the widest of them."""
    _, columns, _ = terms[0]
    widths = np.array([shape_of(term.kernel)[1] for term in terms])
    x = restrict(X, columns)
    E = squared_distances(x, x, shape_of(terms[0].kernel)[0])
    E *= -0.5 / widths.max() ** 2
    np.exp(E, out=E)
    return PowerGrams(E, np.round(2.0 * np.log2(widths.max() / widths)).astype(np.int64))


def keep_dense(terms: Sequence[Term], X: Array) -> Grams:
    """Return the Gram matrices held in memory, or computed anew each time if they are too many."""
    if len(terms) * len(X) ** 2 > HELD:

        def compute(i: int, rows: NDArray[np.intp], others: NDArray[np.intp]) -> Array:
            columns = terms[i].columns
            return finite_values(terms[i].kernel, restrict(X[rows], columns), restrict(X[others], columns))

        return ComputedGrams(compute, len(terms), len(X))
    check_memory(2 * 8 * len(terms) * len(X) ** 2, f"{len(terms)} Gram matrices", "Use fewer rows.")
    stack = np.empty((len(terms), len(X), len(X)))
    distances: dict[Any, Array] = {}  # of the last group: its kernels follow one another
    for K, (kernel, columns, _) in zip(stack, terms, strict=True):
        x = restrict(X, columns)
        if not is_rbf(kernel):
            K[:] = finite_values(kernel, x, x)
            continue
        shape, width = shape_of(kernel)
        if (columns, shape) not in distances:
            distances = {(columns, shape): squared_distances(x, x, shape)}
        np.multiply(distances[columns, shape], -0.5 / width**2, out=K)
        np.exp(K, out=K)
    return HeldGrams(stack)


def mean_diagonals(terms: Sequence[Term], X: Array) -> Array:
    """Return the mean of k(x, x) for each kernel."""
    return np.array([np.mean(kernel.diag(restrict(X, columns))) for kernel, columns, _ in terms])


def check_psd(kernel: sk_kernels.Kernel, X: Array) -> None:
    """Raise if the kernel is not positive semi-definite on these rows."""
    if is_rbf(kernel):
        return
    K = finite_values(kernel, X, X)
    if not np.allclose(np.diag(K), kernel.diag(X), rtol=1e-6):
        raise ValueError(f"the kernel {kernel} has noise on its diagonal: leave the WhiteKernel out")
    least = float(eigvalsh(0.5 * (K + K.T))[0])
    if least < -1e-8 * float(np.abs(np.diag(K)).sum()) or not np.allclose(K, K.T, rtol=1e-6):
        raise ValueError(
            f"the kernel {kernel} is not positive semi-definite on these rows (an eigenvalue is {least:.2g}"
            "): take one that is, such as Stump.spanning(X) instead of Stump()"
        )
