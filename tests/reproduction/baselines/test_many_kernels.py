import cvxpy as cp
import numpy as np
import pytest
from sklearn.svm import SVC

from mercer.learners import Superkernel
from mercer.metrics import alignment
from mercer.superkernels import Alignment, Explicit, Widths
from reproduction.baselines.many_kernels import align, average, easy, simple


@pytest.fixture
def problem(rng):
    """Five Gram matrices, two of them of noise, and labels."""
    X = rng.normal(size=(40, 5))
    y = np.where(X[:, 0] + 0.7 * X[:, 1] ** 2 + 0.4 * rng.normal(size=40) > 0.5, 1.0, -1.0)
    D = (X.T[:, :, None] - X.T[:, None, :]) ** 2
    return np.exp(-D), y


def combined(weights, grams):
    return sum(w * K for w, K in zip(weights, grams, strict=True))


def test_no_other_weights_are_better_aligned(problem, rng):
    grams, y = problem
    best = alignment(combined(align(grams, y), grams), np.outer(y, y), centred=True)
    others = [*np.eye(5), *rng.dirichlet(np.full(5, 0.5), size=200), average(grams, y)]
    assert max(alignment(combined(w, grams), np.outer(y, y), centred=True) for w in others) < best + 1e-9


def test_superkernel_with_alignment_and_next_to_no_penalty_is_alignf(rng):
    X = rng.normal(size=(60, 2))
    y = np.where(np.sin(3 * X[:, 0]) + 0.3 * rng.normal(size=60) > 0, 1.0, -1.0)
    listed = Widths().fitted_to(X)
    plain = Explicit(listed.kernels, normalize=False)
    learner = Superkernel(plain, quality=Alignment(centred=True), penalty=1e-10).fit(X, y)
    K = learner.kernel_(X)
    weights = align(np.stack([kernel(X) for kernel in listed.kernels]), y)
    expected = combined(weights, [kernel(X) for kernel in listed.kernels])
    assert alignment(K, np.outer(y, y), centred=True) == pytest.approx(
        alignment(expected, np.outer(y, y), centred=True), rel=1e-6
    )
    assert Alignment(centred=True)(K, y) == pytest.approx(
        1 - alignment(K, np.outer(y, y), centred=True), rel=1e-12
    )


@pytest.mark.parametrize("lam", [0.1, 0.7])
def test_easymkl_is_the_quadratic_problem(problem, lam):
    grams, y = problem
    factor = np.linalg.cholesky((1 - lam) * grams.mean(axis=0) + lam * np.eye(len(y)))
    gamma = cp.Variable(len(y), nonneg=True)
    sums = [cp.sum(gamma[y > 0]) == 1, cp.sum(gamma[y < 0]) == 1]
    cp.Problem(cp.Minimize(cp.sum_squares(factor.T @ cp.multiply(y, gamma))), sums).solve()
    signed = y * gamma.value
    expected = np.array([signed @ K @ signed for K in grams])
    np.testing.assert_allclose(easy(grams, y, lam=lam), expected / expected.sum(), rtol=1e-2)


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_simplemkl_has_the_least_svm_objective(problem, C):
    grams, y = problem

    def objective(weights):
        svm = SVC(kernel="precomputed", C=C, tol=1e-8).fit(combined(weights, grams), y)
        signed = np.zeros(len(y))
        signed[svm.support_] = svm.dual_coef_[0]
        return np.abs(signed).sum() - 0.5 * signed @ combined(weights, grams) @ signed

    alpha, largest = cp.Variable(len(y)), cp.Variable()  # the dual: a QCQP [Lanckriet et al. 2004]
    factors = [np.linalg.cholesky(K + 1e-10 * np.eye(len(y))) for K in grams]
    below = [cp.sum_squares(F.T @ cp.multiply(y, alpha)) <= largest for F in factors]
    limits = [alpha >= 0, alpha <= C, y @ alpha == 0]
    least = cp.Problem(cp.Maximize(cp.sum(alpha) - largest / 2), below + limits).solve()
    weights = simple(grams, y, C, tol=1e-3)
    assert weights.sum() == pytest.approx(1)
    assert objective(weights) == pytest.approx(least, rel=3e-3)
    assert objective(average(grams, y)) > least * 1.01
