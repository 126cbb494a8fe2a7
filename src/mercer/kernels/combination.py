"""A weighted sum of kernels, each on columns of its own."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from sklearn.gaussian_process import kernels as sk_kernels

from mercer._typing import Array
from mercer.array_api import apply, at_once, is_of_numpy, namespace
from mercer.kernels.base import Kernel, as_rows
from mercer.kernels.metrics import squared_distances
from mercer.kernels.tensors import diag_of, gram_of

BLOCK = 2**20  # entries of the matrices that are computed at a time


@final
class Combination(Kernel):
    r"""A weighted sum of kernels, each of which may look at some of the columns only.

    .. math:: k(x, x') = \sum_i w_i\, k_i(x_{S_i}, x'_{S_i}), \qquad w_i \ge 0,

    positive semi-definite if the k_i are. The explicit superkernel [OSW02, (15)] learns the w_i. Kernels of
    weight zero cost nothing; RBF kernels on the same columns share their distances.

    Parameters
    ----------
    kernels : sequence of scikit-learn kernels
        The k_i.
    weights : array of shape (r,)
        The w_i.
    columns : sequence of tuples of int, or None, default=None
        The S_i; None: each kernel looks at all columns. A tuple may be None too.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF, DotProduct
    >>> from mercer.kernels import Combination
    >>> kernel = Combination([RBF(), DotProduct(0.0)], np.array([2.0, 1.0]), [(0,), (1,)])
    >>> kernel([[0.0, 3.0]], [[0.0, 1.0]])
    array([[5.]])
    """

    def __init__(
        self,
        kernels: Sequence[sk_kernels.Kernel],
        weights: Any,
        columns: Sequence[tuple[int, ...] | None] | None = None,
    ) -> None:
        self.kernels = kernels
        self.weights = weights
        self.columns = columns

    def gram(self, X: Array, Y: Array) -> Array:
        """Return the weighted sum of the Gram matrices."""
        total: Array = namespace(X).zeros((len(X), len(Y)), dtype=X.dtype, device=X.device)
        size = max(1, at_once(X, BLOCK) // max(1, len(Y)))
        for start in range(0, len(X), size):
            rows = slice(start, start + size)
            self._add(X[rows], Y, total[rows])
        return total

    def diag(self, X: Array) -> Array:
        """Return the weighted sum of the diagonals."""
        X = as_rows(X)
        total: Array = namespace(X).zeros(len(X), dtype=X.dtype, device=X.device)
        for kernel, weight, columns in self._used():
            total += weight * diag_of(kernel, restrict(X, columns))
        return total

    def _used(self) -> list[tuple[Any, float, tuple[int, ...] | None]]:
        columns = self.columns if self.columns is not None else [None] * len(self.kernels)
        terms = zip(self.kernels, self.weights, columns, strict=True)
        return [
            (kernel, float(weight), None if some is None else tuple(some))
            for kernel, weight, some in terms
            if weight > 0
        ]

    def _add(self, X: Array, Y: Array, total: Array) -> None:
        distances: dict[Any, Array] = {}
        for kernel, weight, columns in self._used():
            x, y = restrict(X, columns), restrict(Y, columns)
            if not is_rbf(kernel):
                total += weight * gram_of(kernel, x, y)
                continue
            shape, width = shape_of(kernel)
            if (columns, shape) not in distances:
                distances = {(columns, shape): squared_distances(x, y, shape)}  # kernels of a group follow
            part = apply("exp", distances[columns, shape] * (-0.5 / width**2))
            part *= weight
            total += part


def restrict(X: Array, columns: tuple[int, ...] | None) -> Array:
    """Return some of the columns; all of them for None."""
    if columns is None:
        return X
    if max(columns) >= X.shape[1]:
        raise ValueError(f"X has {X.shape[1]} columns, but the kernel looks at column {max(columns)}")
    some = X[:, list(columns)]
    return np.ascontiguousarray(some) if is_of_numpy(some) else some


def is_rbf(kernel: Any) -> bool:
    """Whether the kernel is an RBF, of one width or of one per column."""
    return type(kernel) is sk_kernels.RBF


def shape_of(kernel: sk_kernels.RBF) -> tuple[tuple[float, ...], float]:
    """Return the widths of the columns by that of the first one, and that; for one width, nothing and it."""
    widths = np.atleast_1d(kernel.length_scale).astype(np.float64)
    one_for_all = np.ndim(kernel.length_scale) == 0
    shape = () if one_for_all else tuple(float(f"{ratio:.12g}") for ratio in widths / widths[0])
    return shape, float(widths[0])
