"""scikit-learn's own kernels on tensors: they are for NumPy alone, and here for other arrays as well."""

from functools import singledispatch
from typing import Any

from sklearn.gaussian_process import kernels as sk_kernels

from mercer._typing import Array
from mercer.array_api import is_of_numpy, matching, namespace
from mercer.kernels.base import Kernel, squared_lengths
from mercer.kernels.metrics import squared_distances


def gram_of(kernel: sk_kernels.Kernel, X: Array, Y: Array) -> Array:
    """Return the Gram matrix of any kernel, of scikit-learn as well, for arrays of NumPy or tensors."""
    if isinstance(kernel, Kernel):
        return kernel.gram(X, Y)
    K: Array = kernel(X, Y) if is_of_numpy(X) else _gram(kernel, X, Y)
    return K


def diag_of(kernel: sk_kernels.Kernel, X: Array) -> Array:
    """Return k(X[i], X[i]) of any kernel, for arrays of NumPy or tensors."""
    if isinstance(kernel, Kernel) or is_of_numpy(X):
        values: Array = kernel.diag(X)
        return values
    return _diag(kernel, X)


@singledispatch
def _gram(kernel: Any, X: Array, Y: Array) -> Array:
    raise TypeError(
        f"{kernel} takes arrays of NumPy, and no tensors: give X.cpu().numpy(), or take a kernel of mercer, "
        "RBF, DotProduct or ConstantKernel, or a sum, product or power of these"
    )


@singledispatch
def _diag(kernel: Any, X: Array) -> Array:
    """Return what a stationary kernel has for every row."""
    return namespace(X).zeros(len(X), dtype=X.dtype, device=X.device) + _gram(kernel, X[:1], X[:1])[0, 0]


@_gram.register
def _(kernel: sk_kernels.RBF, X: Array, Y: Array) -> Array:
    if type(kernel) is not sk_kernels.RBF:  # Matern derives from it, and is another kernel
        return _gram.dispatch(object)(kernel, X, Y)
    width = matching(X, kernel.length_scale)
    K: Array = namespace(X).exp(-0.5 * squared_distances(X / width, Y / width))
    return K


@_gram.register
def _(kernel: sk_kernels.ConstantKernel, X: Array, Y: Array) -> Array:
    xp = namespace(X)
    K: Array = xp.full((len(X), len(Y)), float(kernel.constant_value), dtype=X.dtype, device=X.device)
    return K


@_gram.register
def _(kernel: sk_kernels.DotProduct, X: Array, Y: Array) -> Array:
    return X @ Y.T + float(kernel.sigma_0) ** 2


@_diag.register
def _(kernel: sk_kernels.DotProduct, X: Array) -> Array:
    return squared_lengths(X) + float(kernel.sigma_0) ** 2


@_gram.register
def _(kernel: sk_kernels.Sum, X: Array, Y: Array) -> Array:
    return gram_of(kernel.k1, X, Y) + gram_of(kernel.k2, X, Y)


@_diag.register
def _(kernel: sk_kernels.Sum, X: Array) -> Array:
    return diag_of(kernel.k1, X) + diag_of(kernel.k2, X)


@_gram.register
def _(kernel: sk_kernels.Product, X: Array, Y: Array) -> Array:
    return gram_of(kernel.k1, X, Y) * gram_of(kernel.k2, X, Y)


@_diag.register
def _(kernel: sk_kernels.Product, X: Array) -> Array:
    return diag_of(kernel.k1, X) * diag_of(kernel.k2, X)


@_gram.register
def _(kernel: sk_kernels.Exponentiation, X: Array, Y: Array) -> Array:
    K: Array = gram_of(kernel.kernel, X, Y) ** kernel.exponent
    return K


@_diag.register
def _(kernel: sk_kernels.Exponentiation, X: Array) -> Array:
    values: Array = diag_of(kernel.kernel, X) ** kernel.exponent
    return values
