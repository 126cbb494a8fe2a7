"""Superkernel against the QCQP in cvxpy, (19) written out, and what [OSW02] says of its minimum."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct
from sklearn.svm import SVC

from mercer import KernelRegressor, KernelSVC, Superkernel
from mercer.kernels import Combination, Series
from mercer.metrics import alignment
from mercer.solvers.superkernel.svm import balance, best_bias, solve_dense_svm
from mercer.superkernels import (
    ARD,
    Alignment,
    Explicit,
    GaussianHarmonic,
    Harmonic,
    Posterior,
    PowerSeries,
    Risk,
    SquaredRisk,
    Widths,
)
from qcqp import least_risk

LIST = Explicit([RBF(0.3), RBF(1.0), RBF(3.0), DotProduct()], [1.0, 2.0, 0.5, 1.0], normalize=False)
SOME_SUPERKERNELS = [None, LIST, GaussianHarmonic(4.0), Harmonic(RBF(4.0), 0.9), ARD(GaussianHarmonic(4.0))]
SOME_SUPERKERNELS += [PowerSeries(RBF(4.0), "sinh"), Widths((1.0,), feature_widths=(0.5, 2.0))]
EACH = pytest.mark.parametrize("superkernel", SOME_SUPERKERNELS, ids=str)
EACH_QUALITY = pytest.mark.parametrize("quality", [Risk(), Alignment(), Posterior()], ids=str)


def some_data(seed=0, m=40, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    score = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=m)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    return X, y


def easy_data(m=40):
    rng = np.random.default_rng(0)
    y = np.arange(m) % 2
    return rng.normal(size=(m, 3)) + 3.0 * y[:, None], y


def terms_of(learner, X, others=None):
    """The terms that the learner weighs, and M of ‖k‖²."""
    others = X[:0] if others is None else others
    return learner.superkernel_.expand(
        X, others, tol=learner.rank_tol, max_rank=learner.max_rank, rng=np.random.RandomState(0)
    )


def train(K, y, C):
    """The coefficients and the intercept of an SVM, to more digits than LIBSVM has."""
    alpha = C * solve_dense_svm(C * K, y, balance(y), 1e-10).coef
    return alpha, best_bias(y, K @ alpha)


def norm(learner, X):
    """‖k‖² of the learned kernel."""
    M = terms_of(learner, X).penalty
    return learner.beta_ @ (np.diag(M) if M.ndim == 1 else M) @ learner.beta_


def objective(learner, X, y, penalty):
    """Q of the learned kernel, by the quality functional and the norm, for two classes."""
    return learner.quality(learner.kernel_(X), y) + penalty / 2 * norm(learner, X)


# the minimum


@pytest.mark.parametrize("seed", range(20))
def test_the_objective_is_that_of_the_qcqp_and_the_gap_is_true(seed):
    rng = np.random.default_rng(seed)
    X, y = some_data(seed, m=int(rng.integers(12, 61)))
    C, penalty = 10.0 ** rng.uniform(-1, 3), 10.0 ** rng.uniform(-6, 1)
    superkernel = [LIST, Harmonic(RBF(1.0), 0.6), None, PowerSeries(RBF(0.7), "exp")][seed % 4]
    learner = Superkernel(superkernel, quality=Risk(C=C), penalty=penalty).fit(X, y)
    terms = terms_of(learner, X)
    Ks = [C * terms.grams.term(i) for i in range(terms.grams.n_terms)]
    least = least_risk(Ks, 2.0 * y - 1.0, penalty * terms.penalty)
    reached = learner.objective_[-1]
    assert reached >= least * (1 - 1e-5)
    assert reached * (1 - learner.gap_) <= least * (1 + 1e-5)
    assert learner.gap_ <= 1e-4
    assert objective(learner, X, y, penalty) == pytest.approx(reached, rel=3e-4)  # either is known to 1e-4


def pair_weights(learner, X):
    """β as the paper has it, a number for each pair (p, q): any pair that has the base kernel's value."""
    kappa = learner.kernel_.base(X)
    scale = learner.superkernel_.terms().scale
    beta = np.zeros((len(X), len(X)))
    for constant, weight in zip(learner.kernel_.constants, learner.beta_[learner.beta_ > 0], strict=True):
        p, q = np.unravel_index(np.argmin(np.abs(kappa - constant / scale)), kappa.shape)
        assert kappa[p, q] == pytest.approx(constant / scale)
        beta[p, q] = weight
    return beta


@pytest.mark.parametrize("superkernel", [Harmonic(RBF(0.6), 0.95), PowerSeries(RBF(0.5), "log")], ids=str)
def test_the_objective_is_the_four_index_sums_of_19(superkernel):
    X, y = some_data(m=6)
    y = 2.0 * y - 1.0
    C, m = 100.0, 6
    lam, penalty = 1 / (C * m), 1e-4
    learner = Superkernel(superkernel, quality=Risk(C=C), penalty=penalty, tol=1e-8).fit(X, y)
    beta = pair_weights(learner, X)
    pairs = np.array([[X[i], X[j]] for i in range(m) for j in range(m)])
    K = superkernel(pairs).reshape(m, m, m, m)  # K[i, j, p, q] of (19)
    alpha, b = train(learner.kernel_(X), y, C)
    f, length, norm = np.full(m, b), 0.0, 0.0
    for i, j, p, q in product(range(m), repeat=4):
        f[i] += alpha[j] * beta[p, q] * K[i, j, p, q]
        length += alpha[i] * alpha[j] * beta[p, q] * K[i, j, p, q]
        norm += beta[i, j] * beta[p, q] * K[i, j, p, q]
    risk = sum(max(0.0, 1 - y[i] * f[i]) for i in range(m)) / m
    assert learner.objective_[-1] == pytest.approx(risk + lam / 2 * length + penalty / 2 * norm, rel=1e-6)
    assert penalty * norm == pytest.approx(lam / 2 * length, rel=1e-3)  # at the minimum
    # … and none of all m² pairs could lower it: the slope of (19) along β_pq is not negative (Lemma 7)
    k = np.einsum("ijpq,pq->ij", K, beta)
    slope = penalty * k - lam / 2 * np.einsum("i,j,ijpq->pq", alpha, alpha, K)
    assert slope.min() > -1e-2 * penalty * np.abs(k).max()


@EACH
def test_at_the_minimum_the_norm_of_the_kernel_is_that_of_f(superkernel):
    X, y = some_data()
    C, penalty = 10.0, 1e-3
    learner = Superkernel(superkernel, quality=Risk(C=C), penalty=penalty, tol=1e-7).fit(X, y)
    alpha, _ = train(learner.kernel_(X), 2.0 * y - 1.0, C)
    length = alpha @ learner.kernel_(X) @ alpha
    assert penalty * norm(learner, X) == pytest.approx(length / (C * len(X)) / 2, rel=2e-3)


@pytest.mark.parametrize("seed", range(6))
def test_with_the_gaussian_harmonic_the_minimum_is_one_term_that_of_the_diagonal_pairs(seed):
    X, y = some_data(seed, m=50)
    learner = Superkernel(GaussianHarmonic()).fit(X, y)
    assert len(learner.beta_) > 1
    assert np.sum(learner.beta_ > 1e-4 * learner.beta_.sum()) == 1
    assert_allclose(learner.kernel_.constants[0], 0.6)  # λ_h κ(x, x)


def test_only_the_penalty_by_the_square_of_c_matters():
    X, y = some_data()
    for superkernel in (None, GaussianHarmonic(1.0)):
        one = Superkernel(superkernel, quality=Risk(C=1.0), penalty=1e-4, tol=1e-6).fit(X, y)
        other = Superkernel(superkernel, quality=Risk(C=30.0), penalty=1e-4 * 30**2, tol=1e-6).fit(X, y)
        assert_allclose(other.beta_ * 30, one.beta_, rtol=1e-3, atol=1e-9)
        assert_allclose(other.objective_[-1], one.objective_[-1], rtol=2e-6)
        decisions = [
            KernelSVC(learner.kernel_, C=learner.svm_C, tol=1e-8).fit(X, y) for learner in (one, other)
        ]
        assert_allclose(*(svm.decision_function(X) for svm in decisions), atol=1e-3)


@pytest.mark.parametrize("scale", [0.01, 50.0])
def test_a_kernel_s_scale_is_undone_by_c(scale):
    X, y = some_data()
    learner = Superkernel(LIST, quality=Risk(C=10.0), penalty=1e-3, tol=1e-6).fit(X, y)
    scaled = Explicit([ConstantKernel(scale) * k for k in LIST.kernels], LIST.weights, normalize=False)
    other = Superkernel(scaled, quality=Risk(C=10.0 / scale), penalty=1e-3, tol=1e-6).fit(X, y)
    assert_allclose(other.beta_, learner.beta_, atol=1e-3 * learner.beta_.max())
    assert_allclose(other.objective_[-1], learner.objective_[-1], rtol=2e-6)
    rival = KernelSVC(learner.kernel_, C=10.0, tol=1e-8).fit(X, y).decision_function(X)
    assert_allclose(KernelSVC(other, tol=1e-8).fit(X, y).decision_function(X), rival, atol=1e-2)


def test_the_alternation_stops_above_the_minimum_and_says_how_far():
    X, y = some_data()
    found = Superkernel(GaussianHarmonic()).fit(X, y)
    stalled = Superkernel(GaussianHarmonic(), quality=Risk(solver="alternation")).fit(X, y)
    assert np.all(np.diff(stalled.objective_) <= 1e-6)
    assert stalled.objective_[-1] > 1.05 * found.objective_[-1]
    assert stalled.objective_[-1] * (1 - stalled.gap_) <= found.objective_[-1]


# the learned kernel


@EACH
@EACH_QUALITY
def test_the_kernel_is_psd_made_of_the_weights_and_reproduced_by_transform(superkernel, quality, rng):
    X, y = easy_data()
    new = rng.normal(size=(7, 3)) + 1.5
    learner = Superkernel(superkernel, quality=quality, penalty=1e-3).fit(X, y)
    K = learner.kernel_(X)
    assert isinstance(learner.kernel_, Series | Combination)
    assert_allclose(K, terms_of(learner, X).grams.combine(learner.beta_), rtol=1e-7, atol=1e-9 * K.max())
    assert np.linalg.eigvalsh(K)[0] > -1e-10 * np.trace(K)
    F = learner.transform(X)
    assert_allclose(F @ F.T, K, atol=1e-7 * K.max())
    assert_allclose(F @ learner.transform(new).T, learner.kernel_(X, new), atol=1e-4 * K.max())
    assert len(learner.get_feature_names_out()) == F.shape[1]
    assert learner.n_iter_ >= len(learner.objective_) > 0


def test_of_many_classes_the_objective_is_the_mean_over_the_rows_of_all_pairs_of_classes():
    X, y = load_iris(return_X_y=True)
    X, y = X[::4], y[::4]
    X, y = X[:-6], y[:-6]
    C, penalty = 5.0, 1e-2
    learner = Superkernel(quality=Risk(C=C), penalty=penalty, tol=1e-7).fit(X, y)
    total = n_rows = 0.0
    for a, b in [(0, 1), (0, 2), (1, 2)]:
        rows = np.isin(y, [a, b])
        total += rows.sum() * Risk(C)(learner.kernel_(X[rows]), y[rows])
        n_rows += rows.sum()
    assert learner.objective_[-1] == pytest.approx(total / n_rows + penalty / 2 * norm(learner, X), rel=1e-6)


def test_alignment_learns_the_kernel_nearest_to_the_ideal_one():
    X, y = some_data(n_classes=3)
    learner = Superkernel(LIST, quality=Alignment(), penalty=1e-10).fit(X, y)
    H = np.eye(len(X)) - 1 / len(X)
    ideal = np.where(y[:, None] == y[None, :], 1.0, -0.5)
    best = alignment(H @ learner.kernel_(X) @ H, H @ ideal @ H)
    for kernel in LIST.kernels:
        assert alignment(H @ kernel(X) @ H, H @ ideal @ H) <= best + 1e-9
    distance = np.mean((H @ (learner.kernel_(X) - ideal) @ H) ** 2) / 2
    assert learner.objective_[-1] == pytest.approx(distance, rel=1e-6)
    assert learner.gap_ < 1e-9


def test_the_default_penalty_is_what_the_docstring_says():
    X, y = some_data()
    for superkernel, quality, penalty in [
        (None, Risk(C=7.0), 0.3 * 7.0**2),
        (None, Alignment(), 1e-2),
        (GaussianHarmonic(1.0), Risk(), 1e-4),
        (GaussianHarmonic(1.0), Alignment(), 1e-4),
    ]:
        learner = Superkernel(superkernel, quality=quality).fit(X, y)
        same = Superkernel(superkernel, quality=quality, penalty=penalty).fit(X, y)
        assert_allclose(learner.beta_, same.beta_)


def test_an_svm_takes_the_c_that_the_kernel_was_learned_for():
    X, y = some_data()
    learner = Superkernel(quality=Risk(C=7.0)).fit(X, y)
    rival = SVC(kernel=learner.kernel_, C=7.0).fit(X, y)
    model = KernelSVC(Superkernel(quality=Risk(C=7.0))).fit(X, y)
    assert_allclose(model.decision_function(X), rival.decision_function(X), atol=1e-2)
    own = KernelSVC(Superkernel(quality=Risk(C=7.0)), C=0.1).fit(X, y)
    rival = SVC(kernel=learner.kernel_, C=0.1).fit(X, y)
    assert_allclose(own.decision_function(X), rival.decision_function(X), atol=1e-2)
    plain, rival = KernelSVC(RBF()).fit(X, y), SVC(kernel=RBF(), C=1.0).fit(X, y)
    assert_allclose(plain.decision_function(X), rival.decision_function(X), atol=1e-2)


# numbers


@pytest.mark.parametrize("superkernel", SOME_SUPERKERNELS, ids=str)
def test_from_numbers_the_objective_is_the_squared_risk_with_the_penalty_and_the_gap_is_small(superkernel):
    X, _ = some_data()
    y = 100.0 * X[:, 0] * X[:, 1]
    learner = Superkernel(superkernel, quality=SquaredRisk(2.0), random_state=0).fit(X, target=y)
    terms = terms_of(learner, X)
    M = np.diag(terms.penalty) if terms.penalty.ndim == 1 else terms.penalty
    penalty = SquaredRisk(2.0).default_penalty(terms) / 2 * learner.beta_ @ M @ learner.beta_
    risk = SquaredRisk(2.0)(learner.kernel_(X), (y - y.mean()) / y.std())
    assert learner.objective_[-1] == pytest.approx(risk + penalty, rel=1e-6)
    assert learner.gap_ <= 1e-4


def test_a_regressor_learns_the_width_from_numbers():
    rng = np.random.default_rng(0)
    X, new = rng.uniform(-1.0, 1.0, size=(200, 4)), rng.uniform(-1.0, 1.0, size=(500, 4))
    kernels = Explicit([RBF(2.0), RBF(2.0)], columns=[(0, 1), (2, 3)])
    model = KernelRegressor(Superkernel(kernels)).fit(X, np.sin(3 * X[:, 0]) * X[:, 1])
    assert model.learner_.beta_[0] > 5 * model.learner_.beta_[1]  # that of the features that matter
    assert model.score(new, np.sin(3 * new[:, 0]) * new[:, 1]) > 0.98
