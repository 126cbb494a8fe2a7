"""What a recursive feature machine computes: ridge regression on a Gram matrix, and averages of gradients.

Rows, Gram matrices and targets may be tensors of torch; what there is of each feature is of NumPy.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotrf, dtrtri

from mercer._typing import Array, Index
from mercer.array_api import at_once, is_of_numpy, like, namespace, take, to_numpy, zeros_like_rows

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
    if not is_of_numpy(K):
        return _fit_ridge_to_tensors(K, T, penalty)
    A = np.array(K, order="F")
    A[np.diag_indices(len(A))] += penalty
    factor, failure = dpotrf(A, lower=1, overwrite_a=1)
    if failure:  # by rounding: this penalty is too small for the kernel
        return Ridge(np.zeros_like(T), penalty, np.inf)
    W, _ = dtrtri(factor, lower=1, overwrite_c=1)  # G = Wᵀ W, of which the diagonal is wanted alone
    coef = W.T @ (W @ T)
    return Ridge(coef, penalty, float(np.mean((coef / np.einsum("ij,ij->j", W, W)[:, None]) ** 2)))


def _fit_ridge_to_tensors(K: Any, T: Any, penalty: float) -> Ridge:
    linalg = import_module("torch").linalg
    A = K.clone()
    A.diagonal().add_(penalty)
    L, failure = linalg.cholesky_ex(A)
    if int(failure):
        return Ridge(0.0 * T, penalty, np.inf)
    one = namespace(K).eye(len(K), dtype=K.dtype, device=K.device)
    W = linalg.solve_triangular(L, one, upper=False)
    coef = W.T @ (W @ T)
    return Ridge(coef, penalty, float(((coef / linalg.vecdot(W, W, dim=0)[:, None]) ** 2).mean()))


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
    # of all machines: zero for the rows of the other half
    coef = zeros_like_rows(X, n, 2, n_splits, n_targets)
    for k in range(n_splits):
        order = rng.permutation(n)
        for h, half in enumerate((order[: n // 2], order[n // 2 :])):
            coef[like(X, half), h, k] = _solve(K, T, half, penalty)
    every = coef.reshape(n, -1)
    total, n_machines = zeros_like_rows(X, X.shape[1]), n_splits * n_targets
    step = max(1, at_once(X, BLOCK) // (n * max(X.shape[1], every.shape[1])))
    for i in range(0, len(points), step):
        slopes = take_slopes(points[i : i + step], X, S[i : i + step], every, power)
        total += (slopes[:, :n_machines] * slopes[:, n_machines:]).sum(axis=(0, 1))
    mean: Array = to_numpy(total) / (n_splits * len(points))
    return mean


def compare_products(X: Array, coef: Array) -> Array:
    r"""Return, for each pair of features, how surely the coefficients of a machine depend on their product.

    .. math:: \sum_p \frac{(\sum_i c_{ip} z_{ia} z_{ib})^2}{\sum_i (c_{ip} z_{ia} z_{ib})^2}, \qquad a \ne b,

    of standardised features z, none of them beyond three deviations. The coefficients are what is left of the
    targets, times 1 / λ. Where a pair has no part in it, this is nearly chi-squared with as many degrees of
    freedom as there are targets. O(n D²).
    """
    xp = namespace(X)
    Z = X - xp.mean(X, axis=0)
    deviation = xp.std(Z, axis=0)
    Z = xp.clip(Z / xp.where(deviation > 0, deviation, 1.0), -3.0, 3.0)
    total = zeros_like_rows(X, X.shape[1], X.shape[1])
    for c in coef.T:
        weighted = Z * c[:, None]
        total += (weighted.T @ Z) ** 2 / xp.clip((weighted**2).T @ Z**2, 1e-300, None)
    score: Array = to_numpy(total)
    np.fill_diagonal(score, 0.0)
    return score


def _solve(K: Array, T: Array, rows: Index, penalty: float) -> Array:
    if not is_of_numpy(K):
        A = take(take(K, rows).T, rows)
        A.diagonal().add_(penalty)
        linalg = import_module("torch").linalg
        solution: Array = import_module("torch").cholesky_solve(take(T, rows), linalg.cholesky(A))
        return solution
    A = K[np.ix_(rows, rows)]
    A[np.diag_indices(len(A))] += penalty
    coef: Array = cho_solve(cho_factor(A, lower=True, overwrite_a=True), T[rows])
    return coef


def take_slopes(points: Array, X: Array, S: Array, coef: Array, power: int) -> Array:
    """Return Σ_j S_ij c_jp (x_i − x_j)^(power) for point i, target p and each feature, an array (m, P, D)."""
    xp = namespace(X)
    if power == 2:
        M = S[:, None, :] * coef.T
        return M.sum(axis=2)[:, :, None] * points[:, None, :] - M @ X
    rows, place, S, coef = (xp.astype(array, xp.float32) for array in (X, points[:, None, :], S, coef))
    slopes: Array = xp.astype((S[:, None, :] * coef.T) @ xp.sign(place - rows), xp.float64)
    return slopes
