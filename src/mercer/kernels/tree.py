r"""The kernel of all decision trees: exp(−γ‖x − x'‖₁), as an infinite ensemble [LL08].

The product of L decision stumps is a decision tree of L levels, whose nodes of one level all ask the same
question. With :math:`K_S = \Delta_S - \|x - x'\|_1` the stump kernel of a box that holds the rows,

.. math:: e^{-\gamma \|x - x'\|_1}
          = \sum_{L=0}^\infty e^{-\gamma \Delta_S} \frac{(\gamma \Delta_S)^L}{L!}
            \left( \frac{K_S(x, x')}{\Delta_S} \right)^L,

and :math:`(K_S / \Delta_S)^L` is the mean of h(x) h(x') over all such trees h of L levels: the kernel is the
mean over all trees, where the number of levels has the Poisson distribution of mean γ Δ_S. Large γ: deep
trees. In other words, it is the probability that no cut of a Poisson process, γ of them per unit length of
each feature, parts the two rows.
"""

from typing import Any, Self, final

import numpy as np

from mercer._typing import Array
from mercer.array_api import apply, namespace, take, to_numpy
from mercer.kernels.base import Kernel, as_rows
from mercer.kernels.metrics import city_block
from mercer.validation import some_rows

SOME_ROWS = 1000  # of which the median distance is taken


@final
class Tree(Kernel):
    r"""The tree kernel [LL08]: all decision trees, of every depth, in one kernel.

    .. math:: K(x, x') = \exp(-\gamma \|x - x'\|_1)

    It is positive definite for distinct rows, whatever γ > 0 is, and needs no constant. It is known as the
    Laplacian kernel (`sklearn.metrics.pairwise.laplacian_kernel`). The Gram matrix of n and m rows costs
    O(n m D).

    Parameters
    ----------
    gamma : float or None, default=None
        γ. None is one over the median distance of two rows, which are still to come: `fitted_to` gives the
        kernel for them. `mercer.KernelSVC` and the learners do so with the rows of their `fit`; elsewhere
        write ``Tree(gamma)`` or ``Tree().fitted_to(X)``.

    Notes
    -----
    Scale the features as for any SVM. A category that is one-hot encoded as 0 and 1 changes two columns at a
    time: encode it as 0 and 1/2, and a change of the category counts as one split, like a step of length 1
    of a number. `mercer.TreeSVC` does that by itself.

    References
    ----------
    [LL08] H.-T. Lin, L. Li. Support vector machinery for infinite ensemble learning. Journal of Machine
    Learning Research 9, 285-312, 2008.

    Examples
    --------
    >>> from mercer.kernels import Tree
    >>> X = [[0.0, 0.0], [1.0, 3.0]]
    >>> Tree(gamma=0.5)(X).round(3)
    array([[1.   , 0.135],
           [0.135, 1.   ]])
    >>> Tree().fitted_to(X)
    Tree(gamma=0.25)
    """

    def __init__(self, gamma: float | None = None) -> None:
        self.gamma = gamma

    def fitted_to(self, X: Any) -> Self:
        """Return the kernel with a γ: its own, or else one over the median distance of the rows of X."""
        return type(self)(median_gamma(as_rows(X)) if self.gamma is None else self.gamma)

    def gram(self, X: Array, Y: Array) -> Array:
        """Return K with K[i, j] = exp(−γ ‖X[i] − Y[j]‖₁)."""
        if self.gamma is None:
            raise ValueError(
                "Tree() has no gamma yet: give one, Tree(gamma=…), or take the median rule, "
                "Tree().fitted_to(X)"
            )
        K = city_block(X, Y)
        K *= -self.gamma
        return apply("exp", K)

    def diag(self, X: Array) -> Array:
        """Return 1 for each row."""
        rows = as_rows(X)
        ones: Array = namespace(rows).ones(len(rows), dtype=rows.dtype, device=rows.device)
        return ones

    def is_stationary(self) -> bool:
        """Whether k(x, x') depends on x − x' alone: it does."""
        return True


def fit_kernel(kernel: Any, X: Array) -> Any:
    """Return a kernel with what it takes from the rows, if it takes anything."""
    return kernel.fitted_to(X) if isinstance(kernel, Tree) else kernel


def median_gamma(X: Array) -> float:
    """Return one over the median of ‖x − x'‖₁ over all pairs of distinct rows; of many rows, of some."""
    some = np.unique(to_numpy(take(X, some_rows(len(X), SOME_ROWS))), axis=0)
    distance = city_block(some, some)[np.triu_indices(len(some), 1)]
    return float(1.0 / np.median(distance)) if len(distance) else 1.0
