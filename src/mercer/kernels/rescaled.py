"""A kernel on rows that are shifted and scaled first."""

from typing import Any, final

import numpy as np
from sklearn.gaussian_process import kernels as sk_kernels

from mercer._typing import Array
from mercer.kernels.base import Kernel, check_columns


@final
class Rescaled(Kernel):
    r"""Another kernel, after each column was shifted and divided: what a scaler and a kernel are together.

    .. math:: k(x, x') = \kappa((x - \mu) / s,\; (x' - \mu) / s)

    Parameters
    ----------
    base : scikit-learn kernel
        κ.
    center, scale : array of shape (n_features,)
        μ and s.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> from mercer.kernels import Rescaled
    >>> Rescaled(DotProduct(0.0), np.array([1.0]), np.array([2.0]))([[3.0]], [[5.0]])
    array([[2.]])
    """

    def __init__(self, base: sk_kernels.Kernel, center: Any, scale: Any) -> None:
        self.base = base
        self.center = center
        self.scale = scale

    def gram(self, X: Array, Y: Array) -> Array:
        """Return κ of the scaled rows."""
        K: Array = np.asarray(self.base(self._scaled(X), self._scaled(Y)))
        return K

    def diag(self, X: Array) -> Array:
        """Return κ of each scaled row with itself."""
        values: Array = np.asarray(self.base.diag(self._scaled(X)))
        return values

    def _scaled(self, X: Array) -> Array:
        check_columns(X, len(self.center))
        return (X - self.center) / self.scale
