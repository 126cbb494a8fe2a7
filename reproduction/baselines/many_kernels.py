"""What others make of several kernels: weights of Gram matrices (r, n, n) for labels of −1 and 1.

C is that of the SVM to come; only `simple` asks for it.
"""

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls
from sklearn.svm import SVC

from mercer._typing import Array

HARD = 1e12  # a C that is never reached
N_ROUNDS = 200


def average(grams: Array, y: Array, C: float = 1.0) -> Array:
    """Return equal weights."""
    return np.full(len(grams), 1.0 / len(grams))


def align(grams: Array, y: Array, C: float = 1.0) -> Array:
    """Return weights of the largest centred alignment with yyᵀ [Cortes, Mohri and Rostamizadeh 2012].

    They are the v ≥ 0 of least ½ vᵀMv − vᵀa, up to a factor, with the products M of the centred matrices and
    a of these with yyᵀ.
    """
    rows, columns = grams.mean(axis=2, keepdims=True), grams.mean(axis=1, keepdims=True)
    flat = (grams - rows - columns + grams.mean(axis=(1, 2), keepdims=True)).reshape(len(grams), -1)
    M, a = flat @ flat.T, flat @ np.outer(y, y).ravel()
    L = cholesky(M + 1e-12 * np.trace(M) * np.eye(len(M)), lower=True)
    weights, _ = nnls(L.T, solve_triangular(L, a, lower=True))
    return weights / weights.sum() if weights.any() else average(grams, y)


def easy(grams: Array, y: Array, C: float = 1.0, *, lam: float = 0.1) -> Array:
    r"""Return the weights of EasyMKL [Aiolli and Donini 2015] of the mean matrix, each ∝ γᵀY K_r Yγ.

    .. math:: \min_{\gamma \ge 0} (1 - \lambda) \gamma^\top Y K Y \gamma + \lambda \|\gamma\|^2
              \quad \text{s.t.} \quad \sum_{y_i = 1} \gamma_i = \sum_{y_i = -1} \gamma_i = 1

    γ are the α of an SVM with a hard margin, up to a factor.
    """
    K = (1.0 - lam) * grams.mean(axis=0) + lam * np.eye(len(y))
    signed = _signed_alphas(SVC(kernel="precomputed", C=HARD, tol=1e-6).fit(K, y), len(y))
    weights = grams @ signed @ signed
    return weights / weights.sum()


def simple(grams: Array, y: Array, C: float, *, tol: float = 1e-2) -> Array:
    r"""Return the weights of SimpleMKL [Rakotomamonjy et al. 2008]: those of least SVM objective, of sum one.

    By turns, not by its gradient: an SVM, then each weight as ‖w_r‖ [Xu et al. 2010], until the relative
    duality gap is `tol`, 0.01 as its authors have it.
    """
    weights = average(grams, y)
    for _ in range(N_ROUNDS):
        svm = SVC(kernel="precomputed", C=C).fit(np.tensordot(weights, grams, 1), y)
        signed = _signed_alphas(svm, len(y))
        norms = np.maximum(grams @ signed @ signed, 0.0)  # of w_r / d_r, squared
        bound = np.abs(signed).sum() - 0.5 * norms.max()
        if 0.5 * (norms.max() - weights @ norms) <= tol * abs(bound):
            break
        weights = weights * np.sqrt(norms)
        weights /= weights.sum()
    return weights


def _signed_alphas(svm: SVC, n: int) -> Array:
    signed = np.zeros(n)
    signed[svm.support_] = svm.dual_coef_[0]
    return signed
