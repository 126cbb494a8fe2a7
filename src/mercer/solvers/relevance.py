"""What a recursive feature machine computes: ridge regression on a Gram matrix, and averages of gradients."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.random import RandomState
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotrf, dtrtri

from mercer._typing import Array, Index

BLOCK = 2**22  # numbers of the largest array that the gradients of some rows need: 16 MiB


class Ridge(NamedTuple):
    """Kernel ridge regression, f(x) = Σ_j coef_j k(x, x_j), one column for each target."""

    coef: Array
    penalty: float
    loss: float  # the mean squared error of leaving out each row


def fit_ridge(K: Array, T: Array, penalties: Sequence[float]) -> Ridge:
    r"""Return the ridge regression of the penalty λ that has the least leave-one-out loss.

    With :math:`G = (K + \lambda I)^{-1}` the coefficients are G T, and the error of f at row i, if i had been
    left out, is (G T)_i / G_ii. O(n³) for each λ.
    """
    fits = [_fit_ridge(K, T, penalty) for penalty in penalties]
    return min(fits, key=lambda fit: fit.loss)


def _fit_ridge(K: Array, T: Array, penalty: float) -> Ridge:
    A = np.array(K, order="F")
    A[np.diag_indices(len(A))] += penalty
    factor, failure = dpotrf(A, lower=1, overwrite_a=1)
    if failure:  # by rounding: this penalty is too small for the kernel
        return Ridge(np.zeros_like(T), penalty, np.inf)
    W, _ = dtrtri(factor, lower=1, overwrite_c=1)  # G = Wᵀ W, of which the diagonal is wanted alone
    coef = W.T @ (W @ T)
    return Ridge(coef, penalty, float(np.mean((coef / np.einsum("ij,ij->j", W, W)[:, None]) ** 2)))


def average_slopes(
    X: Array,
    points: Array,
    K: Array,
    S: Array,
    T: Array,
    penalty: float,
    *,
    power: int,
    n_splits: int,
    rng: RandomState,
) -> Array:
    r"""Return, for each feature, the average over points of the squared slope, without what noise adds to it.

    The slope of a machine is :math:`s_d(x) = \sum_j c_j S(x, x_j)\, (x - x_j)_d^{(p)}`, where
    :math:`z^{(1)} = \mathrm{sign}(z)` and :math:`z^{(2)} = z`: minus the gradient of f but for a factor of
    the feature. Of a useless feature its square is noise, and never zero. So two machines are fitted to the
    two halves of the rows: :math:`s_d s'_d` has the mean zero there, as often below it as above. This is
    averaged over points, targets and `n_splits` divisions into halves. O(n D) for each point.

    Parameters
    ----------
    X : array of shape (n, D)
        The rows.
    points : array of shape (m, D)
        Where the slopes are taken.
    K : array of shape (n, n)
        The Gram matrix.
    S : array of shape (m, n)
        S of points and rows; that of exp(−‖z‖₁) and exp(−‖z‖² / 2) is the kernel itself, that of −‖z‖ is
        1 / ‖z‖.
    T : array of shape (n, P)
        The targets.
    penalty : float
        λ.
    power : {1, 2}
        1 for functions of the city-block distance, 2 for those of the Euclidean one.
    """
    n, n_targets = T.shape
    coef = np.zeros((n, 2, n_splits, n_targets))  # of all machines: zero for the rows of the other half
    for k in range(n_splits):
        order = rng.permutation(n)
        for h, half in enumerate((order[: n // 2], order[n // 2 :])):
            coef[half, h, k] = _solve(K, T, half, penalty)
    every = coef.reshape(n, -1)
    total, step = np.zeros(X.shape[1]), max(1, BLOCK // (n * max(X.shape[1], every.shape[1])))
    for i in range(0, len(points), step):
        slopes = take_slopes(points[i : i + step], X, S[i : i + step], every, power)
        first, second = np.split(slopes, 2, axis=1)
        total += np.einsum("ipd,ipd->d", first, second)
    return total / (n_splits * len(points))


def compare_products(X: Array, coef: Array) -> Array:
    r"""Return, for each pair of features, how surely the coefficients of a machine depend on their product.

    .. math:: \sum_p \frac{(\sum_i c_{ip} z_{ia} z_{ib})^2}{\sum_i (c_{ip} z_{ia} z_{ib})^2}, \qquad a \ne b,

    of standardised features z, none of them beyond three deviations. The coefficients are what is left of the
    targets, times 1 / λ. Where a pair has no part in it, this is nearly chi-squared with as many degrees of
    freedom as there are targets. O(n D²).
    """
    Z = X - X.mean(axis=0)
    Z = np.clip(Z / np.where(Z.std(axis=0) > 0, Z.std(axis=0), 1.0), -3.0, 3.0)
    score = np.zeros((X.shape[1], X.shape[1]))
    for c in coef.T:
        weighted = Z * c[:, None]
        score += (weighted.T @ Z) ** 2 / np.maximum((weighted**2).T @ Z**2, 1e-300)
    np.fill_diagonal(score, 0.0)
    return score


def _solve(K: Array, T: Array, rows: Index, penalty: float) -> Array:
    A = K[np.ix_(rows, rows)]
    A[np.diag_indices(len(A))] += penalty
    coef: Array = cho_solve(cho_factor(A, lower=True, overwrite_a=True), T[rows])
    return coef


def take_slopes(points: Array, X: Array, S: Array, coef: Array, power: int) -> Array:
    """Return Σ_j S_ij c_jp (x_i − x_j)^(power) for point i, target p and each feature, an array (m, P, D)."""
    if power == 2:
        M = np.einsum("ij,jp->ipj", S, coef)
        return M.sum(axis=2)[:, :, None] * points[:, None, :] - M @ X
    rows, place = X.astype(np.float32), points.astype(np.float32)[:, None, :]
    signs = np.subtract(place > rows, place < rows, dtype=np.float32)
    M = S.astype(np.float32)[:, None, :] * coef.astype(np.float32).T
    return (M @ signs).astype(np.float64)
