"""The search for the best kernel as a quadratically constrained program, for a solver of another kind.

The dual of min over β ≥ 0 of φ(β) + ½ βᵀMβ, with φ the least risk of an SVM of C = 1 on Σ β_i K_i:

    max 1ᵀa / m − ½ ‖L⁻¹ (t / 2m + ν)‖²  s.t.  (a∘y)ᵀ K_i (a∘y) ≤ t_i,  0 ≤ a ≤ 1,  yᵀa = 0,  ν ≥ 0,  M = L Lᵀ.
"""

import numpy as np
import pytest


def least_risk(Ks, y, M):
    """Return the minimum. Unknowns are scaled to numbers near one, without which Clarabel is lost for small M."""
    cp = pytest.importorskip("cvxpy")
    m, r = len(y), len(Ks)
    whiten = np.linalg.inv(np.linalg.cholesky(M if M.ndim == 2 else np.diag(M)))
    typical = np.array([(y - y.mean()) @ K @ (y - y.mean()) for K in Ks])
    weight = np.sum((whiten @ (typical / (2 * m))) ** 2)
    s = min(1.0, weight ** (-1 / 3))  # a = s a', t = s² typical t': both terms of the objective are s times O(1)
    a, t, nu = cp.Variable(m), cp.Variable(r), cp.Variable(r, nonneg=True)
    constraints = [a >= 0, a <= 1 / s, y @ a == 0]
    for K, size, bound in zip(Ks, typical, t, strict=True):
        values, V = np.linalg.eigh((K + K.T) / (2 * size))
        F = (V * np.sqrt(np.maximum(values, 0.0))).T
        constraints.append(cp.sum_squares(F @ cp.multiply(y, a)) <= bound)
    whiten = whiten * typical * np.sqrt(s**3) / (2 * m)
    problem = cp.Problem(cp.Maximize(cp.sum(a) / m - cp.sum_squares(whiten @ (t + nu)) / 2), constraints)
    problem.solve(solver="CLARABEL", tol_gap_rel=1e-9, tol_gap_abs=1e-9)
    return s * problem.value
