"""The probability that two samples come from the same component, summed over mixtures of Gaussians."""

from typing import Any, final

import numpy as np
from sklearn.utils import gen_batches

from mercer._typing import Array
from mercer.array_api import apply, at_once, matching, namespace
from mercer.kernels.base import FeatureKernel, as_rows, check_columns, squared_lengths

_BLOCK = 2**20  # numbers per block of samples: 8 MiB of memory


@final
class Mixture(FeatureKernel):
    r"""The probability that two samples share a component, summed over mixtures [HBW06, (1) and (4)].

    .. math:: k(x, x') = \sum_{t=1}^T \alpha_t \sum_{j=1}^M p_t(j | x)\, p_t(j | x'), \qquad
              p_t(j | x) \propto e^{c_{tj}} \exp \bigl( -\tfrac12 \| (x - \mu_{tj})^\top P_{tj} \|^2 \bigr),

    where P Pᵀ is the inverse of a component's covariance, and :math:`c_{tj} = \log \pi_{tj} + \log |P_{tj}|`
    up to a constant of the mixture. The features are :math:`\sqrt{\alpha_t}\, p_t(j | x)`, T M of them (6):
    soft indicators of the cells into which each mixture divides the space. The kernel lies between 0 and Σα,
    and is positive semi-definite by construction.

    It costs O(T M d²) per sample, with diagonal covariances O(T M d).

    Parameters
    ----------
    alpha : array of shape (T,)
        The weight α of each mixture, not negative.
    offsets : array of shape (T, M)
        c.
    means : array of shape (T, M, d)
        μ.
    factors : array of shape (T, M, d, d), (T, 1, d, d) or (T, M, d)
        P: one per component, one for all components of a mixture, or the diagonals.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Mixture
    >>> kernel = Mixture(
    ...     alpha=np.array([2.0]),
    ...     offsets=np.zeros((1, 2)),
    ...     means=np.array([[[-5.0], [5.0]]]),
    ...     factors=np.ones((1, 2, 1)),
    ... )
    >>> kernel([[-4.0], [0.0], [6.0]]).round(3)
    array([[2., 1., 0.],
           [1., 1., 1.],
           [0., 1., 2.]])
    """

    def __init__(self, alpha: Any, offsets: Any, means: Any, factors: Any) -> None:
        self.alpha = alpha
        self.offsets = offsets
        self.means = means
        self.factors = factors

    def transform(self, X: Any) -> Array:
        """Return √α_t p_t(j | x), the components of the first mixture first, one row for each row of X."""
        rows = as_rows(X)
        n_mixtures, n_components, d = self.means.shape
        check_columns(rows, d)
        xp = namespace(rows)
        shape = len(rows), n_mixtures, n_components
        features: Array = xp.empty(shape, dtype=rows.dtype, device=rows.device)
        for block in gen_batches(len(rows), max(1, at_once(rows, _BLOCK) // (n_components * d))):
            some = xp.astype(rows[block], xp.float64, copy=False)
            for t in range(n_mixtures):
                features[block, t] = float(np.sqrt(self.alpha[t])) * self._posteriors(some, t)  # [HBW06] (6)
        return features.reshape(len(rows), n_mixtures * n_components)

    def covariances(self, t: int) -> Array:
        """Return Σ of the components of mixture t, of shape (M, d, d); zero along features it ignores."""
        P = self.factors[t]
        full = P[:, :, None] * np.eye(P.shape[1]) if P.ndim == 2 else P
        inverse = np.linalg.pinv(full)
        each: Array = inverse.transpose(0, 2, 1) @ inverse
        return np.broadcast_to(each, (self.means.shape[1], *each.shape[1:]))

    def _posteriors(self, X: Array, t: int) -> Array:
        """Return p_t(j | x)."""
        xp = namespace(X)
        centre = self.means[t].mean(axis=0)  # far from zero, differences of products would lose digits
        means, factors = matching(X, self.means[t] - centre), matching(X, self.factors[t])
        rows = X - matching(X, centre)
        values = xp.empty((len(X), len(means)), dtype=X.dtype, device=X.device)
        for j in range(len(means)):
            P = factors[min(j, len(factors) - 1)]
            Z = (rows - means[j]) * P if P.ndim == 1 else rows @ P - means[j] @ P
            values[:, j] = float(self.offsets[t, j]) - 0.5 * squared_lengths(Z)
        values -= xp.max(values, axis=1, keepdims=True)
        values = apply("exp", values)
        values /= xp.sum(values, axis=1, keepdims=True)  # [HBW06] (4)
        return values
