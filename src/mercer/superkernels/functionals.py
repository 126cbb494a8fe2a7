r"""The quality functionals of the paper: how bad a kernel is for some labels [OSW02, Section 2].

Each looks at the Gram matrix alone, and is least for a kernel that is of no use for other rows:
`mercer.Superkernel` minimises them under a penalty.
"""

import warnings
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigvalsh
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, column_or_1d

from mercer._typing import Array
from mercer.parameters import check_positive
from mercer.quality import alignment
from mercer.solvers.superkernel.posterior import most_probable
from mercer.solvers.superkernel.svm import balance, solve_dense_svm

TOL = 1e-9  # the relative duality gap of the SVM
NEGATIVE = 1e-8  # of the trace: an eigenvalue that is more negative is no rounding error


def misalignment(K: Any, y: Any) -> float:
    r"""Return one minus the alignment of a kernel with the labels [OSW02, (3)].

    .. math:: 1 - \frac{y^\top K y}{\|y\|^2 \|K\|}, \qquad y_i \in \{-1, 1\},

    with the Frobenius norm. It is in [0, 1] for a kernel, and 0 for multiples of :math:`y y^\top` (4).
    Nothing is centred, and the scale of K does not count. O(n²).

    Parameters
    ----------
    K : array of shape (n, n)
        A Gram matrix that is not zero.
    y : array-like of shape (n,)
        The labels of the rows, of two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.superkernels.functionals import misalignment
    >>> y = np.array([1, 1, -1])
    >>> round(misalignment(np.outer(y, y), y), 6), round(misalignment(np.eye(3), y), 3)
    (0.0, 0.423)
    """
    gram, target = _check(K, y)
    return 1.0 - alignment(gram, np.outer(target, target))


def regularized_risk(K: Any, y: Any, C: float) -> float:
    r"""Return the least regularised risk that an SVM has with a kernel [OSW02, (6)].

    .. math:: \min_{\alpha, b} \frac1n \sum_i \max(0, 1 - y_i ((K \alpha)_i + b))
              + \frac{\lambda}2 \alpha^\top K \alpha, \qquad \lambda = \frac1{C n} .

    For :math:`K = \beta y y^\top` it is :math:`\lambda / (2 \beta)` unless β is small, and so goes to zero
    with 1/β. Among kernels of trace one, for classes of one size, :math:`K = y y^\top / n` has the least:
    :math:`1 / (2 C)` for C ≥ 1. It takes an SVM, solved to a relative
    duality gap of 10⁻⁹ if the digits suffice; a warning says if less than 10⁻⁶ was reached.

    The intercept b is free, and not in the paper. For classes of different sizes it puts :math:`y - \bar y`
    in the place of y as the best of trace one.

    Parameters
    ----------
    K : array of shape (n, n)
        A Gram matrix, positive semi-definite.
    y : array-like of shape (n,)
        The labels of the rows, of two classes.
    C : float
        The C of the SVM.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.superkernels.functionals import regularized_risk
    >>> y = np.array([1, 1, -1, -1])
    >>> round(regularized_risk(np.outer(y, y), y, C=10.0), 6)  # 1 / (2 C n)
    0.0125
    """
    check_positive(C, "C")
    gram, target = _check(K, y)
    _check_psd(gram)
    found = solve_dense_svm(float(C) * gram, target, balance(target), TOL)  # C K with C = 1 is K with C
    if not found.primal - found.dual <= 1e-6 * found.primal:
        gap = (found.primal - found.dual) / found.primal
        warnings.warn(
            f"the SVM stopped at a relative gap of {gap:.1e}: C times the kernel is too large for more",
            ConvergenceWarning,
            stacklevel=2,
        )
    return found.primal / len(target)


def negative_log_posterior(K: Any, y: Any, *, noise: float = 1.0) -> float:
    r"""Return how improbable the labels are under a Gaussian process at its most probable f [OSW02, (7)].

    .. math:: \min_f \sum_i \log(1 + e^{-y_i f_i}) + \tfrac12 f^\top K_\varepsilon^{-1} f
              + \tfrac12 \log\det K_\varepsilon, \qquad K_\varepsilon = K + \varepsilon I .

    The paper has ε = 0, with which it is unbounded below: it goes to −∞ as K, or any eigenvalue of it, goes
    to zero. ε > 0 keeps it above :math:`\tfrac n2 \log \varepsilon`. Even if det K is held at one, the K of
    (8) brings all the rest to zero as its β grows. O(n³).

    Parameters
    ----------
    K : array of shape (n, n)
        A Gram matrix, positive semi-definite.
    y : array-like of shape (n,)
        The labels of the rows, of two classes.
    noise : float, default=1.0
        ε, the variance of the noise on f. 0 is the paper's functional, for a K of full rank.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.superkernels.functionals import negative_log_posterior
    >>> y = np.array([1, 1, -1, -1])
    >>> negative_log_posterior(np.outer(y, y), y) < negative_log_posterior(np.ones((4, 4)), y)
    True
    """
    if noise != 0:
        check_positive(noise, "noise")
    gram, target = _check(K, y)
    _check_psd(gram)
    gram = gram + noise * np.eye(len(target))
    try:
        half_log_det = float(np.log(np.diag(cholesky(gram, lower=True))).sum())
    except LinAlgError:
        raise ValueError("K has not full rank, where (7) is −∞: set noise to a positive number") from None
    return most_probable(gram, target).value + half_log_det


def _check(K: Any, y: Any) -> tuple[Array, Array]:
    """Return a symmetric matrix, and labels of −1 and 1 for its rows."""
    gram: Array = check_array(K, dtype=np.float64, input_name="K")
    classes, label = np.unique(column_or_1d(y), return_inverse=True)
    if gram.shape != (len(label), len(label)):
        raise ValueError(
            f"K must be of shape {(len(label), len(label))}, as there are labels, not {gram.shape}"
        )
    if len(classes) != 2:
        raise ValueError(f"y must have two classes, not {len(classes)}")
    if not np.allclose(gram, gram.T, rtol=1e-6, atol=1e-8 * np.abs(gram).max()):
        raise ValueError("K is not symmetric: give the Gram matrix of all rows with themselves")
    return gram, np.where(label == 1, 1.0, -1.0)


def _check_psd(K: Array) -> None:
    least = float(eigvalsh(K, subset_by_index=(0, 0))[0])
    if least < -NEGATIVE * float(np.abs(np.diag(K)).sum()):
        raise ValueError(
            f"K is not positive semi-definite (an eigenvalue is {least:.2g}): take a kernel that is"
        )
