"""The pair program against cvxpy, the literal primal and dual of [KT03], and its three propositions."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF

from mercer.solvers.idealized import Differences, PairProblem, solve_pair_qp
from mercer.solvers.idealized.differences import Projection
from reference import idealization_dual, idealization_loss, idealization_matrix

EITHER = pytest.mark.parametrize("psd", [True, False], ids=["exact", "qp"])


class Case(NamedTuple):
    """A random problem. Features have scales of 10^±spread before the mean squared distance is made one."""

    kind: str = "linear"
    n_columns: int = 4
    n_similar: int = 20
    n_dissimilar: int = 20
    C_S: float = 1e3
    C_D: float = 1e4
    nu: float = 0.05
    spread: float = 0.0
    seed: int = 0


CASES = [
    Case(C_S=1.0, C_D=1.0),
    Case(C_S=1.0, C_D=1e6, nu=0.0, seed=1),
    Case(C_S=1e6, C_D=1.0, nu=0.3, n_dissimilar=60, seed=2),
    Case(C_S=1e6, C_D=1e6, nu=0.9, n_similar=7, seed=3),
    Case(nu=0.3, n_columns=3, n_similar=40, n_dissimilar=50, seed=4),
    Case(nu=0.05, n_columns=6, n_similar=4, n_dissimilar=9, seed=5),
    Case(nu=0.3, n_columns=5, spread=3.0, n_similar=30, seed=24),
    Case(C_S=1e3, C_D=1e6, nu=0.9, n_columns=5, n_similar=4, n_dissimilar=6, spread=3.0, seed=7),
    Case(C_S=1.0, C_D=1e3, nu=0.0, n_columns=5, n_similar=12, n_dissimilar=31, spread=3.0, seed=8),
    Case("rbf", C_S=1.0, C_D=10.0, nu=0.3, seed=9),
    Case("rbf", nu=0.05, n_similar=11, n_dissimilar=25, seed=10),
    Case("rbf", C_S=1e6, C_D=1e6, nu=0.3, n_similar=12, n_dissimilar=9, seed=11),
    Case("rbf", C_S=1e2, C_D=1e6, nu=0.9, n_similar=30, n_dissimilar=60, seed=12),
    Case("rbf", C_S=1e3, C_D=1e3, nu=0.0, n_similar=40, n_dissimilar=50, seed=13),
]
EACH_CASE = pytest.mark.parametrize("case", CASES, ids=str)


def make_problem(case, psd):
    rng = np.random.default_rng(case.seed)
    n = 24 if case.kind == "linear" else 12
    label = np.arange(n) % 2
    X = rng.normal(size=(n, case.n_columns))
    X[:, 0] += 2.0 * label
    X *= 10.0 ** np.linspace(-case.spread, case.spread, case.n_columns)
    if case.kind == "rbf":
        X = np.linalg.cholesky(RBF(2.0)(X) + 1e-9 * np.eye(n))
    rows = np.column_stack(np.triu_indices(n, k=1))
    unlike = label[rows[:, 0]] != label[rows[:, 1]]
    similar = rng.permutation(rows[~unlike])[: case.n_similar]
    dissimilar = rng.permutation(rows[unlike])[: case.n_dissimilar]
    first, second = np.concatenate([similar, dissimilar])[rng.permutation(len(similar) + len(dissimilar))].T
    X = X / np.sqrt(np.mean(np.sum((X[first] - X[second]) ** 2, axis=1)))
    return PairProblem(
        Differences(X, first, second), label[first] != label[second], case.C_S, case.C_D, case.nu, psd
    )


def rows_of(problem):
    return np.column_stack([problem.pairs.first, problem.pairs.second])


def primal_value(problem, G, gamma):
    penalties = problem.C_similar, problem.C_dissimilar, problem.nu
    return idealization_loss(problem.pairs.X, rows_of(problem), problem.dissimilar, G, gamma, *penalties)


def excess_of(problem, G):
    U = problem.pairs.rows(slice(None))
    return np.einsum("pa,ab,pb->p", U, G, U) - np.sum(U**2, axis=1)


def solve_by_cvxpy(problem, unit):
    """Solve the SDP or the dual QP (14)–(16) for G / unit, so that the numbers are of order one."""
    cp = pytest.importorskip("cvxpy")
    U, D = problem.pairs.rows(slice(None)), problem.dissimilar
    d2, bound = np.sum(U**2, axis=1) / unit, problem.bounds / unit
    products = np.einsum("pa,pb->pab", U, U).reshape(len(U), -1)
    if problem.psd:
        G, gamma = cp.Variable((U.shape[1], U.shape[1]), PSD=True), cp.Variable(nonneg=True)
        gain = products @ cp.vec(G, order="C") - d2
        loss = bound[D] @ cp.pos(gamma - gain[D]) + bound[~D] @ cp.pos(gain[~D])
        reward = problem.nu * problem.C_dissimilar / unit * gamma
        program = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(G) + loss - reward))
    else:
        alpha = cp.Variable(len(U), nonneg=True)
        c = cp.multiply(np.where(D, 1.0, -1.0), alpha)
        enough = cp.sum(alpha[D]) >= problem.nu * problem.C_dissimilar / unit  # (15)
        value = c @ d2 - 0.5 * cp.sum_squares(products.T @ c)
        program = cp.Problem(cp.Maximize(value), [enough, alpha <= bound])
    accuracy = 1e-8 if problem.psd else 1e-11  # of what it says that it can
    program.solve("CLARABEL", tol_gap_abs=accuracy, tol_gap_rel=accuracy, tol_feas=accuracy)
    found = G.value if problem.psd else (products.T @ c.value).reshape(U.shape[1], -1)
    return program.value * unit**2, found * unit


@EACH_CASE
@EITHER
def test_it_finds_what_cvxpy_finds(case, psd):
    problem = make_problem(case, psd)
    found = solve_pair_qp(problem, tol=1e-8)
    # a power of two: the rival's numbers are then the same on all machines
    value, G = solve_by_cvxpy(problem, max(1.0, 2.0 ** np.round(np.log2(np.linalg.norm(found.G)))))
    assert_allclose([found.dual, found.primal], value, rtol=1e-5)
    assert np.linalg.norm(found.G - G) < 1e-3 * np.linalg.norm(G)


@EACH_CASE
@EITHER
def test_the_gap_is_the_literal_primal_less_the_literal_dual(case, psd):
    problem = make_problem(case, psd)
    found = solve_pair_qp(problem, tol=1e-7)
    X, D, rows = problem.pairs.X, problem.dissimilar, rows_of(problem)
    assert_allclose(found.matrix, idealization_matrix(X, rows, D, found.alpha), atol=1e-9 * found.alpha.max())
    if psd:
        sign = np.where(D, 1.0, -1.0)
        positive = np.maximum(np.linalg.eigvalsh(found.matrix), 0)
        dual = (
            sign * found.alpha @ np.sum((X[rows[:, 0]] - X[rows[:, 1]]) ** 2, axis=1)
            - positive @ positive / 2
        )
        assert np.linalg.eigvalsh(found.G)[0] > -1e-12 * np.linalg.norm(found.G)
    else:
        dual = idealization_dual(X, rows, D, found.alpha)
    size = abs(found.dual)
    assert_allclose(found.dual, dual, atol=1e-8 * size)
    assert_allclose(found.primal, primal_value(problem, found.G, found.gamma), atol=1e-8 * size)
    assert_allclose(found.gap, found.primal - found.dual)
    assert -1e-9 * size <= found.gap <= 1e-6 * size
    # the weights are feasible (15), (16), and the matrix is as near to theirs as the gap says
    assert np.all(found.alpha >= 0)
    assert np.all(found.alpha <= problem.bounds * (1 + 1e-12))
    assert np.sum(found.alpha[D]) >= problem.nu * problem.C_dissimilar * (1 - 1e-12)
    off = found.G - Projection.of(found.matrix, psd).G
    assert (
        np.sum(off**2) / 8 <= max(found.gap, 0) + 1e-9 * size
    )  # strong convexity, and the parallelogram law


@EACH_CASE
def test_the_qp_is_below_the_exact_optimum_and_the_clipped_qp_above(case):
    qp, exact = (solve_pair_qp(make_problem(case, psd), tol=1e-8) for psd in (False, True))
    clipped = Projection.of(qp.G, psd=True).G
    problem = make_problem(case, True)
    gains = excess_of(problem, clipped)[problem.dissimilar]
    best = min(primal_value(problem, clipped, max(gamma, 0.0)) for gamma in [0.0, *gains])
    slack = 1e-6 * abs(exact.dual)
    assert qp.dual <= exact.primal + slack
    assert exact.dual <= best + slack
    if np.linalg.eigvalsh(qp.G)[0] < -0.01 * np.linalg.norm(qp.G):
        assert qp.primal < exact.dual
        assert exact.primal < best


def test_some_of_these_programs_have_indefinite_solutions_and_some_none():
    shares = []
    for case in CASES:
        values = np.linalg.eigvalsh(solve_pair_qp(make_problem(case, False)).G)
        shares.append(values[0] / values[-1])
    assert min(shares) < -0.05
    assert max(shares) > 0


@EACH_CASE
@EITHER
def test_every_pair_is_one_of_the_three_cases_of_proposition_2(case, psd):
    problem = make_problem(case, psd)
    found = solve_pair_qp(problem, tol=1e-9)
    D, bound, side = problem.dissimilar, problem.bounds, found.at_bound
    size = max(np.abs(excess_of(problem, found.G)).max(), 1e-3)  # of squared distances of about one
    # positive: farther than it must be
    margin = np.where(D, excess_of(problem, found.G) - found.gamma, -excess_of(problem, found.G))
    assert set(np.unique(side)) <= {-1, 0, 1}
    assert np.all(np.abs(margin[side == 0]) < 2e-3 * size)
    assert np.all(margin[side == -1] > -2e-3 * size)
    assert np.all(margin[side == 1] < 2e-3 * size)
    # ... and the flags say what the weights are: those far from a bound are on none
    share = found.alpha / bound
    assert np.all(share[side == -1] < 0.05)
    assert np.all(share[side == 1] > 0.95)
    # the other way round: a pair that is clearly on one side has the weight of that side
    assert np.all(side[margin > 0.02 * size] == -1)
    assert np.all(side[margin < -0.02 * size] == 1)


@EACH_CASE
@EITHER
def test_nu_bounds_the_shares_of_support_and_error_pairs_as_proposition_3_says(case, psd):
    problem = make_problem(case, psd)
    found = solve_pair_qp(problem, tol=1e-9)
    side = found.at_bound[problem.dissimilar]
    assert np.mean(side != -1) >= case.nu - 1e-12
    if found.gamma > 1e-6:
        assert np.mean(side == 1) <= case.nu + 1e-12
        assert_allclose(found.alpha[problem.dissimilar].sum(), case.nu * case.C_D, rtol=1e-3)  # (12), μ = 0


def test_both_regimes_of_gamma_are_among_these_programs():
    gammas = [solve_pair_qp(make_problem(case, True)).gamma for case in CASES]
    assert min(gammas) == 0.0
    assert sum(gamma > 1.0 for gamma in gammas) > 3


@EITHER
@pytest.mark.parametrize("nu", [0.0, 0.05, 0.3, 0.35, 0.9])
def test_no_other_gamma_is_better_for_this_matrix(psd, nu):
    problem = make_problem(Case(nu=nu), psd)
    found = solve_pair_qp(problem, max_iter=4)
    gains = excess_of(problem, found.G)[problem.dissimilar]
    for gamma in [0.0, *gains, *(gains + 0.01), *(gains - 0.01)]:
        assert primal_value(problem, found.G, max(gamma, 0.0)) >= found.primal - 1e-9 * abs(found.primal)


@EITHER
@pytest.mark.parametrize(("C", "nu"), [(0.3, 0.5), (8.0, 0.05), (100.0, 0.3), (1e5, 0.9)])
def test_one_dissimilar_pair_is_moved_apart_by_as_much_as_its_penalty_says(psd, C, nu):
    # for a pair of distance one the dual is max c − c²/2 over [νC, C]: the point there that is nearest to one
    X = np.array([[0.0, 0.0], [0.6, 0.8]])
    pairs = Differences(X, np.array([0]), np.array([1]))
    found = solve_pair_qp(PairProblem(pairs, np.array([True]), 7.0, C, nu, psd), tol=1e-10)
    c = np.clip(1.0, nu * C, C)
    assert_allclose(found.alpha, c, rtol=1e-5)
    assert_array_equal(found.at_bound, [1 if c == C else 0])
    assert_allclose(found.dual, c - c**2 / 2, atol=1e-8 * c**2)
    if c >= 1:
        assert_allclose(found.gamma, c - 1, rtol=1e-4, atol=1e-4)
    assert_allclose(found.G, c * np.outer(X[1], X[1]), atol=1e-3 * c)


@EITHER
def test_one_pair_of_each_kind_at_right_angles_has_a_known_solution(psd):
    # similar: along the first axis; it may stay as it is, at no cost to the other
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    pairs = Differences(X, np.array([0, 0]), np.array([1, 2]))
    found = solve_pair_qp(PairProblem(pairs, np.array([False, True]), 100.0, 100.0, 0.3, psd), tol=1e-10)
    assert_allclose(found.G, np.diag([0.0, 30.0]), atol=1e-3)
    assert_array_equal(found.at_bound, [-1, 0])
    assert_allclose(found.gamma, 29.0, rtol=1e-5)
    assert_allclose(found.primal, 30**2 / 2 - 30 * 29)


@EITHER
def test_at_low_penalties_the_identity_is_optimal_and_nothing_moves(psd):
    problem = make_problem(Case(C_S=1e6, C_D=1e3, nu=0.01, n_columns=3, n_similar=60, n_dissimilar=60), psd)
    found = solve_pair_qp(problem, tol=1e-7)
    assert_allclose([found.primal, found.dual], 1.5, rtol=2e-6)
    assert found.gamma == 0.0
    assert_allclose(found.G, np.eye(3), atol=1e-2)
    assert solve_pair_qp(problem, max_iter=1).primal <= 1.5  # to move nothing is always possible


@EITHER
@pytest.mark.parametrize("C_D", [1e-3, 1e8])
@pytest.mark.parametrize("C_S", [1e-3, 1e7])
def test_penalties_may_be_as_unequal_as_they_like(C_S, C_D, psd):
    found = solve_pair_qp(make_problem(Case(C_S=C_S, C_D=C_D, nu=0.3), psd), tol=1e-7)
    assert found.gap <= 1e-6 * abs(found.dual)
    assert found.n_iter < 70


@EITHER
@pytest.mark.parametrize(
    ("n", "C_S", "C_D", "n_seeds"),
    [(60, 1e6, 1e8, 15), (60, 1e8, 1e8, 60), (5, 1e6, 1e6, 15), (5, 1e8, 1e8, 15), (10, 1e6, 1e8, 15)],
)
def test_features_of_all_scales_may_have_high_penalties(n, C_S, C_D, n_seeds, psd):
    # weights of 1e4 and more make a matrix of about one: M(c) alone has not the digits that the primal needs
    for seed in range(n_seeds):
        case = Case(n_similar=n, n_dissimilar=n, C_S=C_S, C_D=C_D, nu=0.1, spread=3.0, seed=seed)
        problem = make_problem(case, psd)
        found = solve_pair_qp(problem, tol=1e-7)
        assert found.relative_gap <= 3e-7
        assert not found.stalled
        # ... and that is no rounding error: the literal primal, of G − I lest d² cancel, and the literal dual
        U, D, bound = problem.pairs.rows(slice(None)), problem.dissimilar, problem.bounds
        excess = np.einsum("pa,ab,pb->p", U, found.G - np.eye(4), U)
        loss = bound[~D] @ np.maximum(excess[~D], 0) + bound[D] @ np.maximum(found.gamma - excess[D], 0)
        primal = np.sum(found.G**2) / 2 + loss - problem.nu * problem.C_dissimilar * found.gamma
        signed = np.where(D, found.alpha, -found.alpha)
        M = Projection.of((U.T * signed) @ U, psd).G
        dual = signed @ np.sum(U**2, axis=1) - np.sum(M**2) / 2
        size = max(abs(dual), np.sum(found.G**2) / 2)
        assert -1e-7 * size <= primal - dual <= 3.3e-7 * size


@EITHER
def test_pairs_that_count_twice_are_two_pairs(psd):
    problem = make_problem(Case(nu=0.3), psd)
    pairs, D = problem.pairs, problem.dissimilar
    twice = Differences(pairs.X, np.tile(pairs.first, 2), np.tile(pairs.second, 2))
    one = solve_pair_qp(problem, tol=1e-9)
    other = solve_pair_qp(problem._replace(pairs=twice, dissimilar=np.tile(D, 2)), tol=1e-9)
    assert_allclose(other.primal, one.primal, rtol=1e-7)
    assert_allclose(other.G, one.G, atol=1e-3 * np.abs(one.G).max())


def test_a_tolerance_out_of_reach_ends_with_the_best_that_rounding_allows():
    for case in CASES:
        problem = make_problem(case, True)
        best = solve_pair_qp(problem, tol=1e-300)
        assert best.gap <= 1e-5 * abs(best.dual)
        assert best.n_iter < 200
        assert best.stalled or best.gap <= 0
        assert np.all(np.isfinite(best.G))


def test_progress_is_told_and_may_stop_it():
    problem, seen = make_problem(Case(), True), []
    whole = solve_pair_qp(problem, progress=lambda step: seen.append(step))
    assert seen == list(range(1, whole.n_iter + 1))
    stopped = solve_pair_qp(problem, progress=lambda step: step == 3)
    capped = solve_pair_qp(problem, max_iter=3)
    assert stopped.n_iter == capped.n_iter == 3
    assert not any(one.stalled for one in (whole, stopped, capped))
    assert_array_equal(stopped.G, capped.G)
    assert stopped.gap > whole.gap


def test_more_steps_never_lose_what_is_proven():
    problem = make_problem(Case(nu=0.3, spread=2.0), True)
    found = [solve_pair_qp(problem, max_iter=n) for n in range(1, 12)]
    assert np.all(np.diff([one.primal for one in found]) <= 0)
    assert np.all(np.diff([one.dual for one in found]) >= 0)
    for one in found:  # each half is what it says, wherever it was found
        assert_allclose(one.primal, primal_value(problem, one.G, one.gamma), rtol=1e-8)
        values = np.maximum(np.linalg.eigvalsh(one.matrix), 0)
        signed = np.where(problem.dissimilar, one.alpha, -one.alpha)
        d2 = problem.pairs.measure(np.eye(4))
        assert_allclose(one.dual, signed @ d2 - values @ values / 2, rtol=1e-8)
