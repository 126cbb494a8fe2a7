"""Idealized kernels: the interior-point method beside cvxpy's best solver, and growth in the rows."""

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

from benchmarks.measure import peak_memory, report, wall_seconds
from mercer import IdealizedKernel
from mercer.solvers.idealized import Differences, PairProblem, solve_pair_qp

Array = NDArray[np.float64]

SOLVERS = ("CLARABEL", "OSQP", "PIQP")  # of cvxpy, for quadratic programs


def rows(n: int, n_features: int = 50) -> tuple[Array, NDArray[np.int_]]:
    """Return standardised rows of three classes."""
    X, y = make_classification(n, n_features, n_informative=15, n_redundant=0, n_classes=3, random_state=0)
    return StandardScaler().fit_transform(X), y


def solve_with_cvxpy(problem: PairProblem, solver: str) -> float:
    """Return the value of the dual (14)–(16), the paper's QP."""
    import cvxpy as cp

    pairs, D = problem.pairs, problem.dissimilar
    u = pairs.rows(slice(None))
    a, b = np.triu_indices(u.shape[1])
    Z = u[:, a] * u[:, b] * np.where(a == b, 1.0, np.sqrt(2.0))
    c = cp.Variable(len(u))
    M = cp.Variable(len(a))
    bound = problem.bounds
    constraints = [
        Z.T @ c == M,
        c >= np.where(D, 0.0, -bound),
        c <= np.where(D, bound, 0.0),
        cp.sum(c[D]) >= problem.nu * problem.C_dissimilar,
    ]
    program = cp.Problem(cp.Maximize(np.sum(u**2, axis=1) @ c - 0.5 * cp.sum_squares(M)), constraints)
    return float(program.solve(solver=solver))


def main() -> None:
    """Print the ratio to the fastest solver that is as accurate, and time, memory and growth in n."""
    X, y = rows(400, 20)
    learner = IdealizedKernel(psd="clip", C_dissimilar=1e5).fit(X, y)
    scale = np.sqrt(np.mean(np.sum((X[learner.pairs_[:, 0]] - X[learner.pairs_[:, 1]]) ** 2, axis=1)))
    problem = PairProblem(
        Differences(X / scale, *learner.pairs_.T), learner.dissimilar_, 1e3, 1e5, 0.1, psd=False
    )
    ours, solution = wall_seconds(lambda: solve_pair_qp(problem, tol=1e-5), 5)
    times = {}
    for solver in SOLVERS:
        try:
            seconds, value = wall_seconds(lambda solver=solver: solve_with_cvxpy(problem, solver))
        except Exception as error:
            print(f"{solver}: {error}")
            continue
        off = abs(value - solution.dual) / abs(solution.dual)
        print(f"  {solver}: {seconds:.2f} s, differs by {off:.0e}")
        if off <= 1e-5:
            times[solver] = seconds
    best = min(times, key=times.__getitem__)
    detail = f"{ours:.3f} s and {times[best]:.2f} s ({best}), {len(learner.pairs_)} pairs"
    report("QP against cvxpy", times[best] / ours, "≥ 30", detail)
    small, _ = wall_seconds(lambda: IdealizedKernel(C_dissimilar=1e5).fit(*rows(1250)))
    large, learner = wall_seconds(lambda: IdealizedKernel(C_dissimilar=1e5, max_rows=5000).fit(*rows(5000)))
    power = np.log(large / small) / np.log(4)
    detail = f"{small:.1f} s and {large:.1f} s (≤ 60), {len(learner.pairs_)} pairs, {peak_memory():.2f} GB"
    report("growth from 1250 to 5000 rows, as a power of n", power, "≤ 1.5", detail)
