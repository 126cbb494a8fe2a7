"""A kernel on rows that are mapped first."""

from typing import Any, final

from sklearn.gaussian_process import kernels as sk_kernels

from mercer._typing import Array
from mercer.array_api import matching
from mercer.kernels.base import Kernel, check_columns
from mercer.kernels.tensors import diag_of, gram_of


@final
class Mapped(Kernel):
    r"""Another kernel, after a linear map: an RBF in a learned metric, for instance.

    .. math:: k(x, x') = \kappa(A^\top x,\; A^\top x')

    Parameters
    ----------
    base : scikit-learn kernel
        κ.
    coef : array of shape (n_features, n_mapped)
        A.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> from mercer.kernels import Mapped
    >>> Mapped(DotProduct(0.0), np.array([[2.0], [1.0]]))([[3.0, 1.0]], [[1.0, 0.0]])
    array([[14.]])
    """

    def __init__(self, base: sk_kernels.Kernel, coef: Any) -> None:
        self.base = base
        self.coef = coef

    def gram(self, X: Array, Y: Array) -> Array:
        """Return κ of the mapped rows."""
        return gram_of(self.base, self.mapped(X), self.mapped(Y))

    def diag(self, X: Array) -> Array:
        """Return κ of each mapped row with itself."""
        return diag_of(self.base, self.mapped(X))

    def mapped(self, X: Array) -> Array:
        """Return rows as the base kernel sees them."""
        check_columns(X, len(self.coef))
        rows: Array = X @ matching(X, self.coef)
        return rows
