"""The synthetic problem of [CKS02, Section 4]: two informative features among a hundred."""

import numpy as np
from sklearn.utils import check_random_state

from mercer._typing import Array, Labels

RandomState = int | np.random.RandomState | None

N_FEATURES = 100
MEAN = 0.03  # of both informative features in class +1; its negative in class −1
DEVIATION_ALONG, DEVIATION_ACROSS = 0.01, 0.1  # along (1, 1)/√2, on which the class means lie, and across it
DEVIATION_REST = 0.05  # of the other features, which carry no information about the class
AXES = np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2)  # the directions along and across, one per row


def slanted(
    n_samples: int = 300, *, noise: float = 0.0, random_state: RandomState = None
) -> tuple[Array, Labels]:
    r"""Draw the synthetic data of [CKS02]: two narrow slanted classes side by side, and 98 features of noise.

    A row of label y = ±1 has the first two features

    .. math:: y \begin{pmatrix} 0.03 \\ 0.03 \end{pmatrix}
              + 0.01 \, z_1 \, \tfrac{1}{\sqrt 2} \begin{pmatrix} 1 \\ 1 \end{pmatrix}
              + 0.1 \, z_2 \, \tfrac{1}{\sqrt 2} \begin{pmatrix} -1 \\ 1 \end{pmatrix}

    with standard normal :math:`z_1, z_2`, and 98 more that are normal with deviation 0.05. The Bayes
    classifier is the sign of the sum of the first two features. Its error is Φ(−0.03 √2 / 0.01), 1 in 90 000,
    and with noise of deviation s it is Φ(−0.03 √2 / √(0.01² + s²)), 9 % for s = 0.03. Either feature alone
    leaves an error of a third.

    Parameters
    ----------
    n_samples : int
        The number of rows. Each is of either class with probability 1/2.
    noise : float
        The standard deviation of normal noise added to each of the first two features; the paper's noisy test
        set has 0.03. But for this noise the rows are those of the same ``random_state`` without it.
    random_state : int, RandomState or None

    Returns
    -------
    X : array of shape (n_samples, 100)
    y : array of −1 and +1

    Notes
    -----
    **Departure from the paper.** Printed is the covariance :math:`\Delta \Sigma \Delta^{-1}` with
    :math:`\Delta = \frac{1}{\sqrt 2} \begin{pmatrix} 1 & -1 \\ 1 & 1 \end{pmatrix}` and
    :math:`\Sigma = \operatorname{diag}(0.1, 0.01)`. The first column of Δ is the direction of the class
    means, so that the *larger* entry lies along it, and the classes overlap. The rotation may be meant the
    other way, :math:`\Delta^{-1} \Sigma \Delta`, and the entries of Σ may be meant as standard deviations,
    as 0.05 is for the other features:

    ========  ===================  =========================  ===========
    rotation  entries of Σ         deviation along the means  Bayes error
    ========  ===================  =========================  ===========
    ΔΣΔ⁻¹     variances (printed)  √0.1                       45 %
    ΔΣΔ⁻¹     standard deviations  0.1                        34 %
    Δ⁻¹ΣΔ     variances            √0.01                      34 %
    Δ⁻¹ΣΔ     standard deviations  0.01                       0.001 %
    ========  ===================  =========================  ===========

    The paper's Perceptron finds a hyperplane that separates 300 training rows perfectly. Only with the last
    reading is there one, and the number of its updates is the paper's: this reading is the one drawn here.

    Examples
    --------
    >>> from mercer.datasets import slanted
    >>> X, y = slanted(1000, random_state=0)
    >>> bool((y * (X[:, 0] + X[:, 1]) > 0).all())
    True
    """
    if n_samples < 1:
        raise ValueError(f"n_samples must be positive, got {n_samples}.")
    if not 0 <= noise < np.inf:
        raise ValueError(f"noise is a standard deviation, zero or positive and finite, got {noise}.")
    rng = check_random_state(random_state)
    y = np.where(rng.random_sample(n_samples) < 0.5, 1, -1).astype(np.int64)
    X = DEVIATION_REST * rng.standard_normal((n_samples, N_FEATURES))
    spread = np.array([DEVIATION_ALONG, DEVIATION_ACROSS]) * rng.standard_normal((n_samples, 2))
    X[:, :2] = MEAN * y[:, None] + spread @ AXES
    X[:, :2] += noise * rng.standard_normal((n_samples, 2))
    return X, y
