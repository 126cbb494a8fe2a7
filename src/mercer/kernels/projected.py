"""A kernel that looks at a few directions of another kernel's feature space."""

from typing import Any, final

from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.utils import gen_batches

from mercer._typing import Array
from mercer.array_api import at_once, matching, namespace
from mercer.kernels.base import BLOCK, FeatureKernel, as_rows, check_columns
from mercer.kernels.tensors import gram_of


@final
class Projected(FeatureKernel):
    r"""The inner product of projections onto directions in the feature space of a base kernel.

    .. math:: k(x, x') = \kappa(x, Z)\, A A^\top \kappa(Z, x'),

    where κ is the base kernel, Z the landmarks and A the coefficients, one column for each direction
    :math:`w_t = \sum_r A_{rt} \phi(z_r)`. Without a base kernel the directions live in the input space and no
    landmarks are kept: :math:`k(x, x') = x^\top A A^\top x'`. It is positive semi-definite by construction.
    Boosted [CKS02] and idealized [KT03] kernels are of this shape.

    For p landmarks (or columns of X) and T directions, a row costs p evaluations of κ and O(pT). The values
    of κ are held 32 MB at a time.

    Parameters
    ----------
    coef : array of shape (p, T)
        A.
    base : scikit-learn kernel or None, default=None
        κ; None is the plain inner product, and then there are no landmarks.
    landmarks : array of shape (p, n_features) or None, default=None
        Z, with a base kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Projected
    >>> kernel = Projected(np.array([[1.0], [2.0]]))
    >>> kernel.transform([[1.0, 1.0], [3.0, -1.0]])
    array([[3.],
           [1.]])
    >>> kernel([[1.0, 1.0]], [[3.0, -1.0]])
    array([[3.]])
    """

    def __init__(self, coef: Any, base: sk_kernels.Kernel | None = None, landmarks: Any = None) -> None:
        self.coef = coef
        self.base = base
        self.landmarks = landmarks

    def transform(self, X: Any) -> Array:
        """Return κ(X, Z) A, one row for each row of X."""
        rows = as_rows(X)
        check_columns(rows, len(self.coef) if self.base is None else self.landmarks.shape[1])
        coef = matching(rows, self.coef)
        if self.base is None:
            features: Array = rows @ coef
            return features
        Z = matching(rows, self.landmarks)
        blocks = gen_batches(len(rows), max(1, at_once(rows, BLOCK) // max(1, len(Z))))
        parts = [gram_of(self.base, rows[block], Z) @ coef for block in blocks]
        return parts[0] if len(parts) == 1 else namespace(rows).concat(parts)
