"""The kernel that a learner starts from, and the coordinates that it gives the rows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import svd
from sklearn.base import clone
from sklearn.gaussian_process import kernels as sk_kernels

from mercer._typing import Array
from mercer.kernels.tree import fit_kernel
from mercer.limits import check_memory
from mercer.solvers.cholesky import Factor, NotPositiveSemiDefiniteError, factor_gram


def check_base(base: Any) -> None:
    """Raise unless the base kernel is a kernel, or None."""
    if base is not None and not isinstance(base, sk_kernels.Kernel):
        raise TypeError(f"base must be a scikit-learn kernel or None, got {base!r}.")


def evaluate(base: sk_kernels.Kernel, X: Array, Y: Array | None = None) -> Array:
    """Return the Gram matrix of the base kernel, all of it finite.

    Y stands there always: k(X) of a `WhiteKernel` has noise on its diagonal, which no other row has.
    """
    Y = X if Y is None else Y
    K: Array = np.asarray(base(X, Y), dtype=np.float64)
    if K.shape != (len(X), len(Y)):
        raise ValueError(f"the base kernel {base} gives an array of shape {K.shape}, not one number per pair")
    if not np.all(np.isfinite(K)):
        raise ValueError(f"the base kernel {base} has values on these rows that are not finite")
    return K


@contextmanager
def psd_advice(what: str = "the base kernel") -> Iterator[None]:
    """Say what to do where a solver finds that a kernel is not positive semi-definite."""
    try:
        yield
    except NotPositiveSemiDefiniteError as error:
        raise ValueError(
            f"{what} is not positive semi-definite on these rows (what is left over is {error.left:.1g} of "
            "its largest value): take one that is, such as RBF, or Stump.spanning(X) instead of Stump()"
        ) from error


def factor_base(K: Array) -> Factor:
    """Return the Cholesky factor of the base kernel's Gram matrix, or say what to do if there is none."""
    with psd_advice():
        return factor_gram(K)


class Frame(NamedTuple):
    """Coordinates of rows in the feature space of a base kernel, and how to write directions down."""

    coordinates: Array  # (n, r); inner products are the base kernel's
    expand: Callable[[Array], Array]  # from coordinates of directions to coefficients on landmarks or columns
    base: sk_kernels.Kernel | None
    landmarks: Array | None


def frame_rows(X: Array, base: sk_kernels.Kernel | None, max_rank: int) -> Frame:
    """Return coordinates of the rows along at most `max_rank` directions, those that hold most of them.

    Without a base kernel and with at most as many columns as rows and as `max_rank`, they are the rows
    themselves.
    """
    n, p = X.shape
    if base is None:
        if p <= min(n, max_rank):
            return Frame(X, as_they_are, None, None)
        _, size, V = svd(X, full_matrices=False)
        basis = V[: _rank(size, max_rank)].T
        return Frame(X @ basis, basis.__matmul__, None, None)
    check_memory(4 * 8 * n**2, f"The base kernel of {n} rows", "Lower max_rows, or use no base kernel.")
    base = fit_kernel(clone(base), X)
    K = evaluate(base, X)
    factor = factor_base(K)
    L = factor.coordinates(K[:, factor.landmarks])
    _, size, V = svd(L, full_matrices=False)
    basis = V[: _rank(size, max_rank)].T
    return Frame(L @ basis, lambda U: factor.expand(basis @ U), base, X[factor.landmarks])


def _rank(size: Array, most: int) -> int:
    """Return the number of singular values that are more than rounding errors, at most `most`."""
    return min(most, int(np.sum(size > 1e-10 * np.max(size, initial=0.0))))


def as_they_are(U: Array) -> Array:
    """Return the coefficients of directions that are given on the columns or rows themselves."""
    return U
