"""The search for the best kernel as a quadratically constrained program, for a solver of another kind.

The dual of min over β ≥ 0 of φ(β) + ½ βᵀMβ, with φ the least risk of an SVM of C = 1 on Σ β_i K_i:

    max 1ᵀa / m − ½ ‖w‖²  s.t.  L w = t / 2m + ν,  (a∘y)ᵀ K_i (a∘y) ≤ t_i,  0 ≤ a ≤ 1,  yᵀa = 0,  ν ≥ 0,

with M = L Lᵀ.
"""

import warnings

import numpy as np
import pytest


def least_risk(Ks, y, M):
    """Return the minimum. Unknowns are scaled to numbers near one: else Clarabel is lost for small M."""
    cp = pytest.importorskip("cvxpy")
    m, r = len(y), len(Ks)
    L = np.linalg.cholesky(M if M.ndim == 2 else np.diag(M))
    typical = np.array([(y - y.mean()) @ K @ (y - y.mean()) for K in Ks])
    weight = np.sum(np.linalg.solve(L, typical / (2 * m)) ** 2)
    s = min(1.0, weight ** (-1 / 3))  # a = s a', t = s² typical t': the objective is s times O(1)
    a, t, nu, w = cp.Variable(m), cp.Variable(r), cp.Variable(r, nonneg=True), cp.Variable(r)
    constraints = [a >= 0, a <= 1 / s, y @ a == 0]
    for K, size, bound in zip(Ks, typical, t, strict=True):
        values, V = np.linalg.eigh((K + K.T) / (2 * size))
        kept = values > 1e-12 * values[-1]
        F = V[:, kept] * np.sqrt(values[kept])
        constraints.append(cp.sum_squares(F.T @ cp.multiply(y, a)) <= bound)
    constraints.append((2 * m / typical[:, None] * L / np.sqrt(s**3)) @ w == t + nu)
    problem = cp.Problem(cp.Maximize(cp.sum(a) / m - cp.sum_squares(w) / 2), constraints)
    with warnings.catch_warnings():  # short of all digits, it says: they are four that the tests compare
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        problem.solve(solver="CLARABEL", tol_gap_rel=1e-6, tol_gap_abs=1e-6, tol_feas=1e-6)
    return s * problem.value
