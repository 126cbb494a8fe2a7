"""A kernel that is a sum of power series of another kernel."""

from typing import Any, final

import numpy as np
from sklearn.gaussian_process import kernels as sk_kernels

from mercer._typing import Array
from mercer.array_api import is_of_numpy, namespace
from mercer.kernels.base import Kernel, as_rows, check_columns
from mercer.kernels.tensors import diag_of, gram_of
from mercer.power_series import FUNCTIONS, RADIUS, PowerSum, add_terms, add_terms_of_tensor

LARGEST = 700.0  # the exponential of much more is infinite


@final
class Series(Kernel):
    r"""A weighted sum of power series of a base kernel κ with values that are not negative.

    .. math:: k(x, x') = \sum_i w_i\, f(c_i\, \kappa(x, x')),

    the kernel in the span of a superkernel of power series [OSW02, (12)]. The series f has positive
    coefficients, the c_i and w_i are not negative, and so the kernel is positive semi-definite. With
    `by_feature` the base kernel looks at one column at a time, and a term is the product over columns,
    :math:`w_i \prod_j f(c_{ij}\, \kappa(x_j, x'_j))`.

    A pair of rows costs one evaluation of κ and O(r) for r terms of positive weight; with `by_feature` both
    times the number of columns.

    Parameters
    ----------
    base : scikit-learn kernel
        κ.
    function : {"geometric", "exp", "sinh", "cosh", "arctanh", "log"}
        f: 1/(1 − ξ), …, −log(1 − ξ).
    constants : array of shape (r,), or of shape (r, n_features) with `by_feature`
        The c_i.
    weights : array of shape (r,)
        The w_i.
    by_feature : bool, default=False
        Whether the terms are products over columns.
    factor : float, default=1.0
        What multiplies f, in each column.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from mercer.kernels import Series
    >>> kernel = Series(RBF(), "exp", np.array([1.0]), np.array([1.0]))
    >>> kernel([[0.0], [1.0]]).round(2)
    array([[2.72, 1.83],
           [1.83, 2.72]])
    """

    def __init__(
        self,
        base: sk_kernels.Kernel,
        function: str,
        constants: Any,
        weights: Any,
        by_feature: bool = False,
        factor: float = 1.0,
    ) -> None:
        self.base = base
        self.function = function
        self.constants = constants
        self.weights = weights
        self.by_feature = by_feature
        self.factor = factor

    def gram(self, X: Array, Y: Array) -> Array:
        """Return the sum of the terms for each pair of rows."""
        if not self.by_feature:
            return self._sum(gram_of(self.base, X, Y))
        check_columns(X, np.shape(self.constants)[1])
        columns = [(X[:, [j]], Y[:, [j]]) for j in range(X.shape[1])]
        return self._sum_of_products([gram_of(self.base, x, y) for x, y in columns])

    def diag(self, X: Array) -> Array:
        """Return the sum of the terms of each row with itself."""
        X = as_rows(X)
        if not self.by_feature:
            return self._sum(diag_of(self.base, X)[:, None])[:, 0]
        check_columns(X, np.shape(self.constants)[1])
        columns = [diag_of(self.base, X[:, [j]])[:, None] for j in range(X.shape[1])]
        return self._sum_of_products(columns)[:, 0]

    def _sum(self, kappa: Array) -> Array:
        total: Array = namespace(kappa).zeros_like(kappa)
        self._add(self.constants, self.factor * np.asarray(self.weights), kappa, total)
        return total

    def _sum_of_products(self, kappas: list[Array]) -> Array:
        xp = namespace(kappas[0])
        total: Array = xp.zeros_like(kappas[0])
        factor = xp.empty_like(total)
        for constants, weight in zip(self.constants, self.weights, strict=True):
            if weight == 0.0:
                continue
            term = xp.full_like(total, float(weight))
            for c, kappa in zip(constants, kappas, strict=True):
                factor[:] = 0.0
                self._add(np.array([c]), np.array([self.factor]), kappa, factor)
                term *= factor
            total += term
        return total

    def _add(self, constants: Array, weights: Array, kappa: Array, total: Array) -> None:
        check_inside(self.function, float(np.max(constants, initial=0.0)) * kappa)
        # read-only arrays would be another type to numba, for which it would compile once more
        numbers = np.array(constants, dtype=np.float64), np.asarray(weights, dtype=np.float64)
        terms = PowerSum(FUNCTIONS.index(self.function), *numbers)
        if is_of_numpy(kappa):
            add_terms(terms, np.ascontiguousarray(kappa, dtype=np.float64), total)
        else:
            add_terms_of_tensor(terms, kappa, total)


def check_inside(function: str, argument: Array) -> None:
    """Raise unless the arguments of a series are not negative and inside its radius of convergence."""
    if is_of_numpy(argument):
        low, high = float(np.min(argument, initial=0.0)), float(np.max(argument, initial=0.0))
    else:
        xp = namespace(argument)
        low, high = float(xp.min(argument)), float(xp.max(argument))
    limit = min(RADIUS[function], LARGEST)
    if low < -1e-12 or not high < limit:
        raise ValueError(
            f"the power series {function!r} has arguments from {low:.3g} to {high:.3g}, but takes those from "
            f"0 to less than {limit:g}: take a base kernel of smaller or non-negative values, or a "
            "smaller scale"
        )
