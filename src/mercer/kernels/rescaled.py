"""A kernel on rows that are shifted and scaled first."""

from typing import Any, final

from sklearn.gaussian_process import kernels as sk_kernels

from mercer._typing import Array
from mercer.array_api import matching, namespace
from mercer.kernels.base import Kernel, check_columns
from mercer.kernels.tensors import diag_of, gram_of


@final
class Rescaled(Kernel):
    r"""Another kernel, after each column was shifted and divided: what a scaler and a kernel are together.

    .. math:: k(x, x') = \kappa((\bar x - \mu) / s,\; (\bar x' - \mu) / s), \quad
        \bar x = \min(\max(x, l), h)

    Parameters
    ----------
    base : scikit-learn kernel
        κ.
    center, scale : array of shape (n_features,)
        μ and s.
    low, high : array of shape (n_features,), optional
        l and h: columns are clipped first, as by `mercer.ClippedScaler`. None: they are not.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> from mercer.kernels import Rescaled
    >>> Rescaled(DotProduct(0.0), np.array([1.0]), np.array([2.0]))([[3.0]], [[5.0]])
    array([[2.]])
    """

    def __init__(
        self, base: sk_kernels.Kernel, center: Any, scale: Any, low: Any = None, high: Any = None
    ) -> None:
        self.base = base
        self.center = center
        self.scale = scale
        self.low = low
        self.high = high

    def gram(self, X: Array, Y: Array) -> Array:
        """Return κ of the scaled rows."""
        return gram_of(self.base, self.scaled(X), self.scaled(Y))

    def diag(self, X: Array) -> Array:
        """Return κ of each scaled row with itself."""
        return diag_of(self.base, self.scaled(X))

    def scaled(self, X: Array) -> Array:
        """Return rows as the base kernel sees them."""
        check_columns(X, len(self.center))
        clipped = X
        if self.low is not None:
            clipped = namespace(X).clip(X, matching(X, self.low), matching(X, self.high))
        return (clipped - matching(X, self.center)) / matching(X, self.scale)

    def with_base(self, base: sk_kernels.Kernel) -> "Rescaled":
        """Return another kernel of the same scaled rows."""
        return Rescaled(base, self.center, self.scale, self.low, self.high)
