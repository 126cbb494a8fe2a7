"""A kernel on ranks: of each column, what share of some rows has less."""

from typing import Any, Self, final

import numpy as np
from sklearn.gaussian_process import kernels as sk_kernels

from mercer._typing import Array
from mercer.array_api import matching, namespace, to_numpy
from mercer.kernels.base import Kernel, as_rows, check_columns
from mercer.kernels.tensors import diag_of, gram_of

MOST_QUANTILES = 200  # of a column: between two of them, ranks rise evenly


@final
class Ranked(Kernel):
    r"""Another kernel, after each number was replaced by its rank in its column.

    .. math:: k(x, x') = \kappa(r(x), r(x')), \qquad
              r_d(x) = \tfrac12 \bigl( P(X_d < x_d) + P(X_d \le x_d) \bigr)

    The ranks are shares of the rows that the kernel was made for, between 0 and 1, by the quantiles of each
    column; between two quantiles they rise evenly. No monotone change of a column's unit matters, as with
    decision trees. With `Tree` as its base, cuts are as dense as the rows are.

    Parameters
    ----------
    base : scikit-learn kernel
        κ.
    quantiles : array of shape (n_quantiles, n_features)
        The quantiles of each column from the least to the greatest, at equal steps. `spanning` takes them
        from rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Ranked, Tree
    >>> kernel = Ranked.spanning([[0.0], [1.0], [10.0], [1e6]], Tree(1.0))
    >>> kernel.ranks(np.array([[1.0], [10.0], [2e6]])).round(3)
    array([[0.333],
           [0.667],
           [1.   ]])
    """

    def __init__(self, base: sk_kernels.Kernel, quantiles: Any) -> None:
        self.base = base
        self.quantiles = quantiles

    @classmethod
    def spanning(cls, X: Any, base: sk_kernels.Kernel) -> Self:
        """Return the kernel on ranks among the rows of X."""
        rows = to_numpy(as_rows(X))
        steps = np.linspace(0.0, 1.0, max(2, min(len(rows), MOST_QUANTILES)))
        return cls(base, np.quantile(rows, steps, axis=0))

    def gram(self, X: Array, Y: Array) -> Array:
        """Return κ of the ranks."""
        return gram_of(self.base, self.ranks(X), self.ranks(Y))

    def diag(self, X: Array) -> Array:
        """Return κ of the ranks of each row with themselves."""
        return diag_of(self.base, self.ranks(X))

    def ranks(self, X: Array) -> Array:
        """Return rows as the base kernel sees them."""
        columns = matching(X, self.quantiles).T
        check_columns(X, len(columns))
        ranks: Array = namespace(X).stack(
            [_rank(X[:, d] + 0.0, columns[d] + 0.0) for d in range(len(columns))], axis=1
        )
        return ranks

    def with_base(self, base: sk_kernels.Kernel) -> "Ranked":
        """Return another kernel of the same ranks."""
        return Ranked(base, self.quantiles)


def _rank(x: Array, quantiles: Array) -> Array:
    """Return the ranks of numbers, given ascending quantiles at equal steps from 0 to 1."""
    xp, last = namespace(x), len(quantiles) - 1
    below = xp.clip(xp.searchsorted(quantiles, x, side="right") - 1, 0, last)  # the last that is not greater
    above = xp.clip(xp.searchsorted(quantiles, x, side="left"), 0, last)  # the first that is not less
    gap = quantiles[above] - quantiles[below]
    share = (x - quantiles[below]) / xp.where(gap > 0, gap, xp.ones_like(gap))
    # a number that some quantiles are equal to, or all are beyond, is in their middle
    place = xp.where(gap > 0, below + share, (below + above) / 2)
    rank: Array = xp.astype(place / last, x.dtype, copy=False)
    return rank
